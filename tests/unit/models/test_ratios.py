from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.models._ratios import Ratios, arithmetic

counts = st.integers(0, 2**62)


def ratios(pairs: list[tuple[int, int]], kind: object = np.int64) -> Ratios:
    return Ratios(np.array([a for a, _ in pairs], dtype=kind), np.array([b for _, b in pairs], dtype=kind))


@given(
    st.lists(st.tuples(counts, st.integers(1, 2**62)), min_size=1, max_size=5),
    st.integers(0, 10),
    st.sampled_from([Fraction(0), Fraction(1, 2**130), Fraction(-1, 2**130)]),
    st.sampled_from([np.int64, object]),
)
def test_comparisons_are_those_of_fractions(
    pairs: list[tuple[int, int]], chosen: int, shift: Fraction, kind: object
) -> None:
    threshold = max(Fraction(*pairs[chosen % len(pairs)]) + shift, Fraction(0))
    found, exact = ratios(pairs, kind), [Fraction(*pair) for pair in pairs]
    assert found.at_most(threshold).tolist() == [value <= threshold for value in exact]
    assert found.below(threshold).tolist() == [value < threshold for value in exact]
    assert found.at_least(threshold).tolist() == [value >= threshold for value in exact]
    assert found.largest() == max(exact)
    assert found.smallest() == min(exact)


@pytest.mark.parametrize("threshold", [Fraction(1, 3), Fraction(10) ** 400, Fraction(1, 10**400), Fraction(0)])
def test_a_denominator_of_0_is_infinitely_large(threshold: Fraction) -> None:
    found = ratios([(1, 0), (0, 5)])
    assert found.at_most(threshold).tolist() == [False, True]
    assert found.largest() == math.inf
    assert found.smallest() == 0


def test_no_ratios_at_all() -> None:
    assert ratios([]).largest() == 0
    assert ratios([]).smallest() == math.inf
    assert ratios([]).at_most(Fraction(1)).tolist() == []


def test_python_integers_are_used_beyond_62_bits() -> None:
    assert arithmetic(2**62 - 1) is np.int64
    assert arithmetic(2**62) is object
