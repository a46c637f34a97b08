from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import BetaLikeness


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(4), [True] * len(rows))


def test_a_gain_of_exactly_beta_is_allowed() -> None:
    """Value 0 has a share of 1/4 in the release and of 1/2 in the first class: a gain of 1."""
    classes = release({0: 2, 1: 2}, {0: 1, 1: 7}).classes()
    everything = np.ones(2, dtype=np.bool_)
    assert BetaLikeness("s", 1).keep(classes, everything).tolist() == [True, True]
    assert BetaLikeness("s", 1 - Fraction(1, 10**30)).keep(classes, everything).tolist() == [False, True]
    assert BetaLikeness("s", 0).find_achieved(classes) == {"beta": 1}


def test_a_loss_is_not_bounded() -> None:
    assert BetaLikeness("s", 1).keep(release({0: 5, 1: 5}, {1: 5}).classes(), np.array([True, True]))[1]


def test_enhanced_likeness_keeps_a_frequent_value_from_becoming_certain() -> None:
    """Value 0 has a share of 1/2; a class of nothing else gains 1, more than ln 2 allows."""
    classes = release({0: 5}, {1: 5}).classes()
    assert BetaLikeness("s", 1).holds(classes)
    assert not BetaLikeness("s", 1, enhanced=True).keep(classes, np.ones(2, dtype=np.bool_)).any()
    assert BetaLikeness("s", 1, enhanced=True).find_achieved(classes) == {"beta": math.inf}


def test_enhanced_likeness_is_decided_at_the_logarithm_to_any_digit() -> None:
    """With q = 1/2 a share up to (1 + ln 2) / 2 = 0.8465735902799726547... is allowed."""
    records = 10**18
    allowed = 846573590279972654
    for first, expected in ((allowed, True), (allowed + 1, False)):
        half = {0: first, 1: records - first}
        other = {0: records - first, 1: first}
        assert BetaLikeness("s", 5, enhanced=True).holds(release(half, other).classes()) is expected


def test_equal_distributions_gain_nothing() -> None:
    classes = release({0: 1, 1: 2}, {0: 2, 1: 4}, {0: 3, 1: 6}).classes()
    for enhanced in (False, True):
        assert BetaLikeness("s", 0, enhanced=enhanced).holds(classes)
        assert BetaLikeness("s", 0, enhanced=enhanced).find_achieved(classes) == {"beta": 0}


def test_enhanced_is_a_keyword_and_a_truth_value() -> None:
    with pytest.raises(TypeError):
        BetaLikeness("s", 1, True)  # type: ignore[misc]
    with pytest.raises(ParameterError, match="`enhanced` of `BetaLikeness` must be true or false"):
        BetaLikeness("s", 1, enhanced="yes")  # type: ignore[arg-type]
