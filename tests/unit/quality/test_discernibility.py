from __future__ import annotations

import numpy as np
import pytest

from reference.example import MIDDLE, PEOPLE
from reference.quality import node_classes, node_recoding
from shoal.quality import Discernibility

ALL = np.ones(3, dtype=np.bool_)


def test_class_sizes_are_squared() -> None:
    found = Discernibility().value(node_recoding(PEOPLE, MIDDLE, ALL), PEOPLE.frequencies())
    assert found == pytest.approx((16 + 1 + 9) / 64)


def test_a_suppressed_record_is_told_from_none() -> None:
    kept = np.array([True, False, True])
    found = Discernibility().value(node_recoding(PEOPLE, MIDDLE, kept), PEOPLE.frequencies())
    assert found == pytest.approx((16 + 8 + 9) / 64)


def test_bounds_hold_from_the_levels_and_from_the_classes() -> None:
    objective = Discernibility().objective(PEOPLE.frequencies())
    classes, _ = node_classes(PEOPLE, MIDDLE)
    assert objective.floor(MIDDLE) == pytest.approx(1 / 4)  # at most four classes
    assert objective.floor((0, 0)) == pytest.approx(1 / 7)  # seven different tuples
    assert objective.base(MIDDLE, classes) == pytest.approx(26 / 64)
    assert objective.reads_classes


def test_nothing_is_pruned_by_classes_where_suppression_is_cheaper() -> None:
    objective = Discernibility(balance=0.1).objective(PEOPLE.frequencies())
    assert not objective.superadditive
    assert objective.floor((2, 2)) <= 0.2  # suppressing everything costs a fifth
