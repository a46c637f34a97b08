from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.hierarchies import build
from shoal.schema import Attribute, Cuts, Domain, Kind


def made(values, levels, domain=None):
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=Cuts(levels=levels), domain=domain)
    return build(attribute, values)


def test_cut_points_start_intervals():
    hierarchy = made(pa.array([17.5, 18, 64, 65, 90]), ((18, 40, 65), (65,)))
    assert hierarchy.labels[1:] == (("< 18", "[18, 40)", "[40, 65)", ">= 65"), ("< 65", ">= 65"), ("*",))
    assert hierarchy.codes[1].tolist() == [0, 1, 2, 3, 3]


def test_open_intervals_end_at_the_domain():
    hierarchy = made(pa.array([0, 50, 100]), ((20, 60),), Domain(minimum=0, maximum=100))
    assert hierarchy.shares[1].tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_intervals_without_a_value_do_not_appear():
    assert made(pa.array([0, 100]), ((20, 60),)).labels[1] == ("< 20", ">= 60")


def test_cut_points_outside_the_domain_cover_nothing():
    hierarchy = made(pa.array([30]), ((20, 60),), Domain(minimum=25, maximum=50))
    assert hierarchy.shares[1].tolist() == [1]
    assert made(pa.array([70]), ((20, 60),), Domain(minimum=70, maximum=80)).shares[1].tolist() == [1]
