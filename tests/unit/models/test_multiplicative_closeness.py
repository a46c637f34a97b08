from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import MultiplicativeCloseness


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(9), [True] * len(rows))


@pytest.mark.parametrize("t", [2, 3, 5, 8])
def test_the_optimal_buckets_of_the_paper_use_up_the_allowed_distance(t: int) -> None:
    """[DFSC15, Table 1]: of t + 1 equal buckets class i holds t/(t + 1) of bucket i and 1/(t (t + 1)) of each other."""
    rows = [{j: t * t if i == j else 1 for j in range(t + 1)} for i in range(t + 1)]
    classes = release(*rows).classes()
    assert MultiplicativeCloseness("s", 1).achieved(classes) == {"t": t}
    assert MultiplicativeCloseness("s", t).holds(classes)
    assert not MultiplicativeCloseness("s", t - Fraction(1, 10**30)).keep(classes, np.ones(t + 1, dtype=np.bool_)).any()


def test_the_halves_of_the_figure() -> None:
    """[DFSC15, Fig. 3]: a uniform distribution, and one with density 2 on a third of the range and 1/2 elsewhere."""
    classes = release({0: 4, 1: 1, 2: 1}, {0: 2, 1: 5, 2: 5}).classes()
    assert MultiplicativeCloseness("s", 2).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, True]


def test_a_missing_value_is_infinitely_far() -> None:
    classes = release({0: 5, 1: 5}, {0: 5}).classes()
    assert MultiplicativeCloseness("s", 10**9).keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [True, False]
    assert MultiplicativeCloseness("s", 2).achieved(classes) == {"t": math.inf}


def test_a_value_may_be_too_rare_as_well_as_too_frequent() -> None:
    classes = release({0: 50, 1: 50}, {0: 99, 1: 1}, {0: 1, 1: 99}).classes()
    assert MultiplicativeCloseness("s", 2).keep(classes, np.ones(3, dtype=np.bool_)).tolist() == [True, False, False]


def test_t_below_1_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`t` of `MultiplicativeCloseness` must be in \[1, inf\); got 0.5"):
        MultiplicativeCloseness("s", 0.5)
