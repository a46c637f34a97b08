from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.models import DeltaDisclosure

LN2 = "0.693147180559945309417232121458176568075500134360255254120680"


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(4), [True] * len(rows))


def doubled() -> Release:
    """The first class has value 0 twice as often as the release, exactly."""
    return release({0: 4, 1: 2}, {0: 2, 1: 10})


def test_the_threshold_is_told_apart_from_a_logarithm_to_any_digit() -> None:
    everything = np.ones(2, dtype=np.bool_)
    below, above = Fraction(LN2) - Fraction(1, 10**59), Fraction(LN2) + Fraction(1, 10**59)
    assert not DeltaDisclosure("s", below).keep(doubled().classes(), everything)[0]
    assert DeltaDisclosure("s", above).keep(doubled().classes(), everything)[0]


def test_equal_distributions_need_no_delta() -> None:
    classes = release({0: 1, 1: 2}, {0: 10, 1: 20}).classes()
    assert DeltaDisclosure("s", 0).holds(classes)
    assert DeltaDisclosure("s", 0).achieved(classes) == {"delta": 0}


def test_a_missing_value_violates_every_delta() -> None:
    classes = release({0: 5, 1: 5}, {0: 5}).classes()
    assert DeltaDisclosure("s", 10**6).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, False]
    assert DeltaDisclosure("s", 1).achieved(classes) == {"delta": math.inf}


def test_the_achieved_figure_is_rounded_up() -> None:
    """Value 0 has a share of 3/7 in the release and of 1/3 in the second class."""
    classes = release({0: 4, 1: 4}, {0: 2, 1: 4}).classes()
    achieved = DeltaDisclosure("s", 1).achieved(classes)["delta"]
    assert isinstance(achieved, float)
    assert achieved == pytest.approx(math.log(9 / 7), rel=1e-15)
    assert DeltaDisclosure("s", achieved).holds(classes)
    assert not DeltaDisclosure("s", achieved * (1 - 1e-15)).holds(classes)
