from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import DeltaDisclosure, MultiplicativeCloseness


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(9), [True] * len(rows))


@pytest.mark.parametrize("t", [2, 3, 5, 8])
def test_the_optimal_buckets_of_the_paper_use_up_the_allowed_distance(t: int) -> None:
    """[DFSC15, Table 1]: of t + 1 equal buckets class i holds t/(t + 1) of bucket i and 1/(t (t + 1)) of each other."""
    rows = [{j: t * t if i == j else 1 for j in range(t + 1)} for i in range(t + 1)]
    classes = release(*rows).classes()
    assert MultiplicativeCloseness("s", 1).find_achieved(classes) == {"t": t}
    assert MultiplicativeCloseness("s", t).holds(classes)
    assert not MultiplicativeCloseness("s", t - Fraction(1, 10**30)).keep(classes, np.ones(t + 1, dtype=np.bool_)).any()


def test_the_halves_of_the_figure() -> None:
    """[DFSC15, Fig. 3]: a uniform distribution, and one with density 2 on a third of the range and 1/2 elsewhere."""
    classes = release({0: 4, 1: 1, 2: 1}, {0: 2, 1: 5, 2: 5}).classes()
    assert MultiplicativeCloseness("s", 2).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, True]


def test_a_missing_value_is_infinitely_far() -> None:
    classes = release({0: 5, 1: 5}, {0: 5}).classes()
    assert MultiplicativeCloseness("s", 10**9).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, False]
    assert MultiplicativeCloseness("s", 2).find_achieved(classes) == {"t": math.inf}


def test_a_value_may_be_too_rare_as_well_as_too_frequent() -> None:
    classes = release({0: 50, 1: 50}, {0: 99, 1: 1}, {0: 1, 1: 99}).classes()
    assert MultiplicativeCloseness("s", 2).keep(classes, np.ones(3, dtype=np.bool_)).tolist() == [True, False, False]


def test_t_below_1_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`t` of `MultiplicativeCloseness` must be in \[1, inf\); got 0.5"):
        MultiplicativeCloseness("s", 0.5)


LN2 = "0.693147180559945309417232121458176568075500134360255254120680"


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
    assert DeltaDisclosure("s", 0).find_achieved(classes) == {"delta": 0}


def test_a_missing_value_violates_every_delta() -> None:
    classes = release({0: 5, 1: 5}, {0: 5}).classes()
    assert DeltaDisclosure("s", 10**6).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, False]
    assert DeltaDisclosure("s", 1).find_achieved(classes) == {"delta": math.inf}


def test_the_achieved_figure_is_rounded_up() -> None:
    """Value 0 has a share of 3/7 in the release and of 1/3 in the second class."""
    classes = release({0: 4, 1: 4}, {0: 2, 1: 4}).classes()
    achieved = DeltaDisclosure("s", 1).find_achieved(classes)["delta"]
    assert isinstance(achieved, float)
    assert achieved == pytest.approx(math.log(9 / 7), rel=1e-15)
    assert DeltaDisclosure("s", achieved).holds(classes)
    assert not DeltaDisclosure("s", achieved * (1 - 1e-15)).holds(classes)
