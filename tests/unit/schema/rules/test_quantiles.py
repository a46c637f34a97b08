from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.hierarchies import build
from shoal.schema import Attribute, Domain, Kind, Quantiles


def made(values, *counts, records=None, domain=None):
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=Quantiles(counts=counts), domain=domain)
    return build(attribute, pa.array(values), counts=None if records is None else np.array(records))


def test_intervals_hold_equally_many_records():
    hierarchy = made([4, 2, 1, 3], 4, 2)
    assert hierarchy.labels[1:] == (("< 2", "[2, 3)", "[3, 4)", ">= 4"), ("< 3", ">= 3"), ("*",))


def test_records_count_not_values():
    assert made([1, 2, 3, 4], 2, records=[1, 1, 1, 9]).labels[1] == ("< 4", ">= 4")


def test_a_value_that_most_records_have_leaves_fewer_intervals():
    hierarchy = made([1, 2, 3], 4, 2, records=[100, 1, 1])
    assert hierarchy.labels[1:] == (("any number",), ("any number",), ("*",))
    assert hierarchy.height == 3


def test_counts_of_declared_values_are_those_observed():
    hierarchy = made([3, 1], 2, records=[1, 9], domain=Domain(values=("1", "2", "3")))
    assert hierarchy.labels[1] == ("any number",)
    assert made([3, 1], 2, records=[9, 1], domain=Domain(values=("1", "2", "3"))).labels[1] == ("< 3", ">= 3")
