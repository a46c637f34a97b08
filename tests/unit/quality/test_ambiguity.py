from __future__ import annotations

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import Column, Table, node_recoding
from shoal.quality import Ambiguity


def test_volumes_multiply() -> None:
    frequencies = PEOPLE.frequencies()
    assert Ambiguity().value(node_recoding(PEOPLE, MIDDLE, np.ones(3, dtype=np.bool_)), frequencies) == pytest.approx(
        3 / 15
    )
    kept = np.array([True, False, True])
    assert Ambiguity().value(node_recoding(PEOPLE, MIDDLE, kept), frequencies) == pytest.approx((7 * 3 / 15 + 1) / 8)


def test_one_covered_tuple_is_no_ambiguity() -> None:
    recoding = node_recoding(PEOPLE, (0, 0), np.ones(7, dtype=np.bool_))
    assert Ambiguity().value(recoding, PEOPLE.frequencies()) == 0


def test_volumes_beyond_floats_are_no_problem() -> None:
    size = 1000
    wide = Column((tuple(range(size)), (0,) * size))
    table = Table((wide,) * 150, (((7,) * 150, 0),))  # 10^450 tuples
    frequencies = table.frequencies()
    top = node_recoding(table, (1,) * 150, np.array([True]))
    assert Ambiguity().value(top, frequencies) == pytest.approx(1)
    assert Ambiguity().objective(frequencies).floor((1,) * 149 + (0,)) == pytest.approx(1 / size)


def test_the_geometric_mean_bounds_the_mean() -> None:
    objective = Ambiguity().objective(PEOPLE.frequencies())
    assert objective.floor(MIDDLE) == pytest.approx(3 / 15)
    assert Ambiguity(balance=0.1).objective(PEOPLE.frequencies()).floor(MIDDLE) == 0
