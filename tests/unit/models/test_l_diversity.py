from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity


def test_values_are_counted_not_weighed() -> None:
    release = Release([Group({0: 99, 1: 1}), Group({2: 5}), Group({0: 1, 1: 1, 2: 1})], Domain(3), [True] * 3)
    model = DistinctLDiversity("s", 2)
    assert model.keep(release.classes(), release.mask).tolist() == [True, False, True]
    assert model.find_achieved(release.classes()) == {"l": 1}


def test_l_values_need_l_records() -> None:
    assert DistinctLDiversity("s", 4).capabilities.minimal_class_size == 4


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(8), [True] * len(rows))


@pytest.mark.parametrize("scale", [1, 10**9, 2**58])
def test_equally_frequent_values_meet_l_exactly(scale: int) -> None:
    uniform = release({0: scale, 1: scale, 2: scale})
    assert EntropyLDiversity("s", 3).holds(uniform.classes())
    assert not EntropyLDiversity("s", 3 + Fraction(1, 10**40)).holds(uniform.classes())
    assert EntropyLDiversity("s", 1).find_achieved(uniform.classes()) == {"l": 3}


def test_equality_is_recognised_where_values_are_not_equally_frequent() -> None:
    """Shares 1/2, 1/4, 1/4 have an entropy of 3/2 bits: exp of it is 2 sqrt(2), whose square is 8."""
    halves = release({0: 2, 1: 1, 2: 1})
    below, above = Fraction("2.82842712474619009760337744841"), Fraction("2.82842712474619009760337744842")
    assert EntropyLDiversity("s", below).holds(halves.classes())
    assert not EntropyLDiversity("s", above).holds(halves.classes())
    # Shares 1/2 and eight times 1/16: 1/2 + 8/16 * 4 = 5/2 bits; with four 1/8: 1/2 + 3/2 = 2 bits, l = 4 exactly.
    two_bits = release({0: 4, 1: 1, 2: 1, 3: 1, 4: 1})
    assert EntropyLDiversity("s", 4).holds(two_bits.classes())
    assert not EntropyLDiversity("s", 4 + Fraction(1, 10**60)).holds(two_bits.classes())
    assert EntropyLDiversity("s", 4).find_achieved(two_bits.classes()) == {"l": 4}


def test_one_unit_off_a_tie_of_large_counts_is_told_apart() -> None:
    """The entropies of these differ from ln 2 by about 1e-32: no float sees it."""
    count = 2**52
    assert EntropyLDiversity("s", 2).holds(release({0: count, 1: count}).classes())
    assert not EntropyLDiversity("s", 2).holds(release({0: count, 1: count + 1}).classes())


def test_the_achieved_figure_is_rounded_down() -> None:
    achieved = EntropyLDiversity("s", 1).find_achieved(release({0: 2, 1: 1, 2: 1}).classes())["l"]
    assert isinstance(achieved, float)
    assert achieved == pytest.approx(math.sqrt(8), rel=1e-15)
    assert EntropyLDiversity("s", achieved).holds(release({0: 2, 1: 1, 2: 1}).classes())


def test_a_class_with_one_value_is_1_diverse() -> None:
    assert EntropyLDiversity("s", 1).find_achieved(release({0: 5}).classes()) == {"l": 1}
    assert not EntropyLDiversity("s", "1.000000000000000000001").holds(release({0: 5}).classes())


def test_l_below_1_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`l` of `EntropyLDiversity` must be in \[1, inf\); got 0.5"):
        EntropyLDiversity("s", 0.5)


def test_a_huge_l_is_simply_not_met() -> None:
    assert not EntropyLDiversity("s", "1e400").holds(release({0: 1, 1: 1}).classes())


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
    assert RecursiveLDiversity("s", c=3, l=2).find_achieved(classes) == {"l": 2}
    assert RecursiveLDiversity("s", c=7, l=2).find_achieved(classes) == {"l": 3}
    assert RecursiveLDiversity("s", c="1/2", l=2).find_achieved(classes) == {"l": 0}


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
