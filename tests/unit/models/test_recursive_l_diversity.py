from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import RecursiveLDiversity


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(5), [True] * len(rows))


def test_the_inequality_is_strict() -> None:
    classes = release({0: 6, 1: 2, 2: 1}).classes()
    assert not RecursiveLDiversity("s", c=2, l=2).holds(classes)  # 6 < 2 * 3 is false
    assert RecursiveLDiversity("s", c=2 + Fraction(1, 10**30), l=2).holds(classes)
    assert not RecursiveLDiversity("s", c=6, l=3).holds(classes)  # 6 < 6 * 1 is false
    assert RecursiveLDiversity("s", c="6.1", l=3).holds(classes)


def test_fewer_than_l_values_never_suffice() -> None:
    assert not RecursiveLDiversity("s", c=10**9, l=3).holds(release({0: 1, 1: 1}).classes())


def test_the_greatest_l_for_c_is_achieved() -> None:
    classes = release({0: 6, 1: 2, 2: 1}, {0: 1, 1: 1, 2: 1, 3: 1}).classes()
    assert RecursiveLDiversity("s", c=3, l=2).achieved(classes) == {"l": 2}
    assert RecursiveLDiversity("s", c=7, l=2).achieved(classes) == {"l": 3}
    assert RecursiveLDiversity("s", c="1/2", l=2).achieved(classes) == {"l": 0}


@pytest.mark.parametrize("l", [1, 2, 3])
def test_counts_too_large_for_one_sort_key_are_decided_alike(l: int) -> None:  # noqa: E741
    scale = 2**59
    small, large = release({0: 3, 1: 2, 2: 1}), release({0: 3 * scale, 1: 2 * scale, 2: scale})
    for c in (Fraction(1, 2), Fraction(1), Fraction(3), 3 + Fraction(1, 10**9)):
        model = RecursiveLDiversity("s", c=c, l=l)
        everything = np.ones(1, dtype=np.bool_)
        assert model.keep(small.classes(), everything).tolist() == model.keep(large.classes(), everything).tolist()


@pytest.mark.parametrize(
    ("l", "words"), [(1, "all values"), (2, "all other values"), (3, "all but the 2 most frequent values")]
)
def test_the_statement_says_what_is_compared(l: int, words: str) -> None:  # noqa: E741
    assert words in RecursiveLDiversity("s", c=3, l=l).statement()


def test_c_must_be_positive() -> None:
    with pytest.raises(ParameterError, match=r"`c` of `RecursiveLDiversity` must be in \(0, inf\); got 0"):
        RecursiveLDiversity("s", c=0, l=2)
