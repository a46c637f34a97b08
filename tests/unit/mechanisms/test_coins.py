"""Coins of exact bias, checked on every script of random bits; many draws at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import stats

from reference.mechanisms import exact_distribution, exponential
from reference.noise import ALPHA, QuickSource, discrete_laplace, fits
from shoal.errors import ParameterError
from shoal.exact import ball
from shoal.mechanisms import (
    RandomSource,
    SeededSource,
    bernoulli,
    bernoulli_exponential,
    bernoulli_real,
    discrete_laplaces,
    geometrics,
)
from shoal.mechanisms._coins import WeightedChoice, geometric
from shoal.mechanisms._coins import discrete_laplace as draw_laplace


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


@pytest.mark.slow
@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 7), Fraction(5, 2), Fraction(0.3)])
def test_a_geometric_draw_has_ratio_exp_minus_x_and_no_other(x: Fraction) -> None:
    source = QuickSource(11)
    drawn = [geometric(x, source=source) for _ in range(20_000)]

    def mass(rate: float) -> object:
        return lambda i: -math.expm1(-rate) * math.exp(-i * rate) if i >= 0 else 0.0

    assert fits(drawn, mass(float(x))) > ALPHA  # type: ignore[arg-type]
    assert fits(drawn, mass(float(x) * 0.9)) < ALPHA  # type: ignore[arg-type]
    assert fits(drawn, mass(float(x) * 1.1)) < ALPHA  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [Fraction(2), Fraction(21, 2)])
def test_a_discrete_laplace_draw_has_its_scale_and_no_other(scale: Fraction) -> None:
    source = QuickSource(12)
    drawn = [draw_laplace(scale, source=source) for _ in range(20_000)]
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale))) > ALPHA
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale) * 0.9)) < ALPHA
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale) * 1.1)) < ALPHA


def test_zero_is_not_counted_twice() -> None:
    source = QuickSource(13)
    zeros = sum(draw_laplace(Fraction(1), source=source) == 0 for _ in range(20_000))
    once = 20_000 * discrete_laplace(0, 1.0)
    assert abs(zeros - once) < 5 * math.sqrt(once)


class Scripted(RandomSource):
    """Bits written down beforehand, then zeros."""

    cryptographic = False

    def __init__(self, *draws: int) -> None:
        self.draws, self.asked = list(draws), 0

    def random_bytes(self, size: int) -> bytes:
        raise NotImplementedError

    def bits(self, count: int) -> int:
        self.asked += 1
        return self.draws.pop(0) if self.draws else 0


def test_outcomes_come_as_often_as_their_weights_say() -> None:
    source, weights = QuickSource(3), [1.0, 2**0.5, 0.0, 3.0]
    choice = WeightedChoice(lambda: [arb(1), arb(2).sqrt(), arb(0), arb(3)])
    seen = Counter(choice.draw(source=source) for _ in range(20_000))
    assert seen[2] == 0
    observed = [seen[i] for i in (0, 1, 3)]
    expected = [20_000 * weights[i] / sum(weights) for i in (0, 1, 3)]
    assert stats.chisquare(observed, expected).pvalue > ALPHA
    assert stats.chisquare(observed, [expected[0] * 1.1, expected[1], expected[2] - expected[0] * 0.1]).pvalue < 0.01


def test_more_bits_are_drawn_until_the_part_is_known() -> None:
    # 1/3 lies inside [u, u + 1] / 2^64 for this u, so 64 bits cannot tell; the next 64 settle it
    u = 2**64 // 3
    choice = WeightedChoice(lambda: [arb(1) / 3, arb(2) / 3])
    assert choice.draw(source=(low := Scripted(u, 0))) == 0
    assert choice.draw(source=(high := Scripted(u, 2**64 - 1))) == 1
    assert low.asked == high.asked == 2
    assert choice.draw(source=(sure := Scripted(u - 1))) == 0
    assert sure.asked == 1


def test_an_end_that_is_a_dyadic_number_is_decided() -> None:
    choice = WeightedChoice(lambda: [arb(1), arb(1)])
    assert choice.draw(source=Scripted(2**63 - 1, *[2**64 - 1] * 3)) == 0
    assert choice.draw(source=Scripted(2**63, 1)) == 1


class Words(RandomSource):
    """A source that gives one word again and again, and fair bits when a draw goes on."""

    cryptographic = False

    def __init__(self, word: int) -> None:
        self.word, self.rest = word, SeededSource(1)
        self.asked = 0

    def random_bytes(self, size: int) -> bytes:
        self.asked += 1
        return self.word.to_bytes(8, "little") * (size // 8) if self.asked == 1 else self.rest.random_bytes(size)


def balls(weights: list[Fraction]) -> Callable[[], list[Any]]:
    from shoal.exact import ball

    return lambda: [ball(weight) for weight in weights]


@pytest.mark.parametrize("word", [0, 1, 2**62 - 1, 2**62, 2**62 + 1, 2**63, 2**64 - 2, 2**64 - 1])
def test_all_draws_are_those_that_one_draw_would_be(word: int) -> None:
    choice = WeightedChoice(balls([Fraction(1, 4), Fraction(1, 4), Fraction(0), Fraction(1, 2)]))
    assert choice.draw_all(3, source=Words(word)).tolist() == [[0, 1, 3, 3][word >> 62]] * 3


def test_a_word_that_lies_on_an_end_is_decided_by_more_bits() -> None:
    choice = WeightedChoice(balls([Fraction(1, 3), Fraction(2, 3)]))
    source = Words(2**64 // 3)
    found = choice.draw_all(400, source=source)
    assert source.asked > 1
    assert set(found.tolist()) == {0, 1}
    assert 80 < int((found == 0).sum()) < 190  # a third of the word belongs to the first part


@pytest.mark.parametrize("x", ["1e-7", "0.01", "0.9", 3, 40])
def test_geometric_draws_have_their_mean(x: str | int) -> None:
    found = geometrics(x, 40_000, source=SeededSource(4))
    ratio = np.exp(-float(Fraction(str(x))))
    mean, deviation = ratio / -np.expm1(-float(Fraction(str(x)))), np.sqrt(ratio) / -np.expm1(-float(Fraction(str(x))))
    assert abs(found.mean() - mean) < 6 * deviation / 200
    assert found.min() >= 0


def test_no_draws_are_no_draws() -> None:
    assert geometrics(1, 0).tolist() == []
    assert discrete_laplaces(1, 0).tolist() == []


def test_both_signs_are_drawn_and_zero_does_not_count_twice() -> None:
    found = discrete_laplaces(1, 40_000, source=SeededSource(5))
    ratio = np.exp(-1)
    for value in (-1, 0, 1):
        expected = 40_000 * (1 - ratio) / (1 + ratio) * ratio ** abs(value)
        assert abs(int((found == value).sum()) - expected) < 6 * np.sqrt(expected)


@pytest.mark.parametrize("draw", [geometrics, discrete_laplaces])
def test_a_rate_must_be_above_0(draw: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="above 0"):
        draw(0, 3)
