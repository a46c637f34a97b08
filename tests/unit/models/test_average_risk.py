from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import AverageRisk, Classes


def test_the_risk_is_classes_over_records() -> None:
    classes = Classes(sizes=np.array([1, 4, 5]))
    assert AverageRisk(1).find_achieved(classes) == {"risk": Fraction(3, 10)}
    assert AverageRisk(0.3).holds(classes)
    assert not AverageRisk("0.29999999999999999999").holds(classes)


def test_the_smallest_classes_go_first_and_no_more_than_needed() -> None:
    classes = Classes(sizes=np.array([5, 1, 2, 1, 8]))
    assert AverageRisk("1/4").keep(classes, np.ones(5, dtype=np.bool_)).tolist() == [True, False, True, True, True]
    assert AverageRisk("1/6").keep(classes, np.ones(5, dtype=np.bool_)).tolist() == [True, False, False, False, True]


def test_nothing_is_kept_where_even_the_largest_class_is_too_small() -> None:
    assert not AverageRisk(0.01).keep(Classes(sizes=np.array([5, 99])), np.array([True, True])).any()
    assert AverageRisk(0.01).keep(Classes(sizes=np.array([5, 100])), np.array([True, True])).tolist() == [False, True]


def test_a_risk_of_0_cannot_be_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"`risk` of `AverageRisk` must be in \(0, 1\]; got 0"):
        AverageRisk(0)


def test_of_equally_small_classes_those_that_cost_most_go_first() -> None:
    everything = np.ones(3, dtype=np.bool_)
    classes = Classes(sizes=np.array([1, 1, 8]), costs=np.array([0.1, 0.7, 0.5]))
    assert AverageRisk(0.25).keep(classes, everything).tolist() == [True, False, True]
