"""Laws of the samplers' inner numbers, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference.examples import examples
from reference.mechanisms import exponential
from shoal.mechanisms import SeededSource, binomial
from shoal.mechanisms._selection import TABLE_BITS, Weights

QUICK = examples(200)
floats = st.floats(-1e6, 1e6)
tiny_floats = st.floats(-1e-3, 1e-3)
fractions = st.fractions(-1000, 1000, max_denominator=10**6)
rates = st.fractions("0.001", 1000, max_denominator=10**6)


def _exact_weights(scores: list[float] | list[Fraction], rate: Fraction) -> list[Fraction]:
    best = max(map(Fraction, scores))
    return [Fraction(exponential(max(rate * (Fraction(score) - best), Fraction(-5000)))) for score in scores]


@pytest.mark.slow
@QUICK
@given(
    scores=st.one_of(
        st.lists(floats, min_size=1, max_size=20),
        st.lists(tiny_floats, min_size=1, max_size=20),
        st.lists(fractions, min_size=1, max_size=10),
    ),
    rate=rates,
    bits=st.integers(10, TABLE_BITS),
)
def test_integer_bounds_are_never_below_the_weights_and_close_to_them(
    scores: list[float] | list[Fraction], rate: Fraction, bits: int
) -> None:
    bounds = Weights.of(scores, rate).upper_bounds(bits)
    for bound, weight in zip(bounds.tolist(), _exact_weights(scores, rate), strict=True):
        assert weight * 2**bits * (1 - Fraction(1, 10**50)) <= bound
        assert bound <= 1 + weight * 2**bits * (1 + Fraction(1, 4096)) + Fraction(1, 2**1000)


@QUICK
@given(st.lists(st.integers(0, 500), max_size=40), st.integers(0, 2**64), st.integers(0, 10**6))
def test_binomial_draws_are_within_their_counts(counts: list[int], steps: int, seed: int) -> None:
    drawn = binomial(np.array(counts, dtype=np.int64), Fraction(steps, 2**64), source=SeededSource(seed))
    assert drawn.shape == (len(counts),)
    assert ((drawn >= 0) & (drawn <= counts)).all()


@pytest.mark.slow
@QUICK
@given(st.lists(st.integers(1, 300), min_size=1, max_size=10), st.integers(1, 2**64 - 1), st.integers(0, 10**6))
def test_a_count_of_zero_takes_no_bits(counts: list[int], steps: int, seed: int) -> None:
    assume(steps % 2**60)
    beta = Fraction(steps, 2**64)
    plain = binomial(counts, beta, source=SeededSource(seed))
    padded = [value for count in counts for value in (0, count)]
    assert binomial(padded, beta, source=SeededSource(seed))[1::2].tolist() == plain.tolist()
