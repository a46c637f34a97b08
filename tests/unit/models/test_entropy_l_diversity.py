from __future__ import annotations

import math
from fractions import Fraction

import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import EntropyLDiversity


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(8), [True] * len(rows))


@pytest.mark.parametrize("scale", [1, 10**9, 2**58])
def test_equally_frequent_values_meet_l_exactly(scale: int) -> None:
    uniform = release({0: scale, 1: scale, 2: scale})
    assert EntropyLDiversity("s", 3).holds(uniform.classes())
    assert not EntropyLDiversity("s", 3 + Fraction(1, 10**40)).holds(uniform.classes())
    assert EntropyLDiversity("s", 1).achieved(uniform.classes()) == {"l": 3}


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
    assert EntropyLDiversity("s", 4).achieved(two_bits.classes()) == {"l": 4}


def test_one_unit_off_a_tie_of_large_counts_is_told_apart() -> None:
    """The entropies of these differ from ln 2 by about 1e-32: no float sees it."""
    count = 2**52
    assert EntropyLDiversity("s", 2).holds(release({0: count, 1: count}).classes())
    assert not EntropyLDiversity("s", 2).holds(release({0: count, 1: count + 1}).classes())


def test_the_achieved_figure_is_rounded_down() -> None:
    achieved = EntropyLDiversity("s", 1).achieved(release({0: 2, 1: 1, 2: 1}).classes())["l"]
    assert isinstance(achieved, float)
    assert achieved == pytest.approx(math.sqrt(8), rel=1e-15)
    assert EntropyLDiversity("s", achieved).holds(release({0: 2, 1: 1, 2: 1}).classes())


def test_a_class_with_one_value_is_1_diverse() -> None:
    assert EntropyLDiversity("s", 1).achieved(release({0: 5}).classes()) == {"l": 1}
    assert not EntropyLDiversity("s", "1.000000000000000000001").holds(release({0: 5}).classes())


def test_l_below_1_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`l` of `EntropyLDiversity` must be in \[1, inf\); got 0.5"):
        EntropyLDiversity("s", 0.5)


def test_a_huge_l_is_simply_not_met() -> None:
    assert not EntropyLDiversity("s", "1e400").holds(release({0: 1, 1: 1}).classes())
