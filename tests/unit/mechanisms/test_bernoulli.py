"""Coins of exact bias, checked on every script of random bits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reference.mechanisms import exact_distribution, exponential
from shoal.errors import ParameterError
from shoal.exact import ball
from shoal.mechanisms import SeededSource, bernoulli, bernoulli_exponential, bernoulli_real


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(5, 7), Fraction(255, 256)])
def test_a_rational_coin_has_exactly_its_bias(probability: Fraction) -> None:
    found, _ = exact_distribution(lambda source: bernoulli(probability, source=source))
    assert found.get(True, 0) == probability


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(2, 3), Fraction(1), Fraction(3, 2), Fraction(2)])
def test_an_exponential_coin_has_the_bias_of_its_series(x: Fraction) -> None:
    smallest = Fraction(1, 20_000)
    found, left_open = exact_distribution(lambda source: bernoulli_exponential(x, source=source), smallest=smallest)
    expected = Fraction(exponential(-x))
    assert left_open < Fraction(1, 20)
    assert found.get(True, 0) <= expected <= found.get(True, 0) + left_open


def test_exp_of_a_huge_number_is_never_heads() -> None:
    source = SeededSource(1)
    assert not any(bernoulli_exponential(10**6, source=source) for _ in range(100))


def test_a_real_coin_refines_until_it_is_decided() -> None:
    """The bias 1/3 is between u / 2^64 and (u + 1) / 2^64 for one u: only there are more bits drawn."""
    calls = []

    class Near(SeededSource):
        def bits(self, count: int) -> int:
            calls.append(count)
            return 2**64 // 3 if len(calls) == 1 else super().bits(count)

    heads = [bernoulli_real(lambda: ball(Fraction(1, 3)), source=Near(seed)) for seed in range(60) if not calls.clear()]
    assert calls == [64, 64]
    assert {True, False} == set(heads)


def test_a_real_coin_at_the_ends() -> None:
    source = SeededSource(5)
    assert all(bernoulli_real(lambda: ball(Fraction(1)), source=source) for _ in range(50))
    assert not any(bernoulli_real(lambda: ball(Fraction(0)), source=source) for _ in range(50))


def test_senseless_biases_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"`probability` of `bernoulli` must be in \[0, 1\]; got 1\.5"):
        bernoulli(1.5)
    with pytest.raises(ParameterError, match=r"`x` of `bernoulli_exponential` must be at least 0; got -1\.0"):
        bernoulli_exponential(-1)
