from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.models import Classes, SampleUniqueness


def test_the_share_of_unique_records_is_achieved() -> None:
    classes = Classes(sizes=np.array([1, 3, 1, 5]))
    assert SampleUniqueness(0).achieved(classes) == {"share": Fraction(1, 5)}
    assert SampleUniqueness(0.2).holds(classes)
    assert not SampleUniqueness("0.19").holds(classes)


def test_as_few_unique_records_as_needed_are_removed() -> None:
    classes = Classes(sizes=np.array([1, 3, 1, 5]))
    everything = np.ones(4, dtype=np.bool_)
    assert SampleUniqueness(0.19).keep(classes, everything).tolist() == [True, True, False, True]
    assert SampleUniqueness(0.1).keep(classes, everything).tolist() == [False, True, False, True]
    assert SampleUniqueness("1/9").keep(classes, everything).tolist() == [True, True, False, True]


def test_no_unique_records_at_all_is_2_anonymity() -> None:
    assert SampleUniqueness(0).keep(Classes(sizes=np.array([1, 2, 1])), np.ones(3, dtype=np.bool_)).tolist() == [
        False,
        True,
        False,
    ]
    assert SampleUniqueness(0).statement() == "No record is the only one with its quasi-identifiers."


def test_everything_may_be_unique_if_the_share_is_1() -> None:
    assert SampleUniqueness(1).holds(Classes(sizes=np.array([1, 1, 1])))


def test_the_unique_records_that_cost_most_go_first() -> None:
    everything = np.ones(4, dtype=np.bool_)
    classes = Classes(sizes=np.array([1, 9, 1, 1]), costs=np.array([0.7, 0.5, 0.1, 0.2]))
    assert SampleUniqueness(0.1).keep(classes, everything).tolist() == [False, True, True, False]
