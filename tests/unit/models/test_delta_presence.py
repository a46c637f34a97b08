from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models import Classes, DeltaPresence

CLASSES = Classes(sizes=np.array([1, 2, 4, 3]), population=np.array([4, 4, 4, 0]))


def test_shares_between_the_bounds_are_kept() -> None:
    everything = np.ones(4, dtype=np.bool_)
    assert DeltaPresence(0, 0.5).keep(CLASSES, everything).tolist() == [True, True, False, False]
    assert DeltaPresence("1/4", "1/2").keep(CLASSES, everything).tolist() == [True, True, False, False]
    assert DeltaPresence(0.3, 1).keep(CLASSES, everything).tolist() == [False, True, True, False]


def test_the_least_and_the_greatest_share_are_achieved() -> None:
    part = np.array([True, True, False, False])
    assert DeltaPresence(0, 1).find_achieved(CLASSES, part) == {"minimum": Fraction(1, 4), "maximum": Fraction(1, 2)}


def test_bounds_must_be_in_order() -> None:
    with pytest.raises(
        ParameterError, match=r"`minimum` of `DeltaPresence` must not exceed `maximum`; got 0\.5 and 0\.2"
    ):
        DeltaPresence(0.5, 0.2)
    with pytest.raises(ParameterError, match=r"`maximum` of `DeltaPresence` must be in \[0, 1\]; got 2"):
        DeltaPresence(0, 2)


def test_without_a_population_table_the_user_is_told() -> None:
    with pytest.raises(ParameterError, match="`DeltaPresence` needs a population table"):
        DeltaPresence(0, 1).keep(Classes(sizes=np.array([1])), np.array([True]))


def test_the_statement_names_the_lower_bound_where_there_is_one() -> None:
    assert DeltaPresence(0, 0.5).statement().endswith("with a probability of at most 0.5.")
    assert DeltaPresence(0.1, 0.5).statement().endswith("with a probability between 0.1 and 0.5.")
