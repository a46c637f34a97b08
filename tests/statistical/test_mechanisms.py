"""Samplers against their distribution: chi-square at alpha = 1e-6 on 20,000 draws.

The same draws must be rejected for a twin whose parameter is 0.9 or 1.1 times the true one, so that a test that
accepts everything fails. Seeds make runs repeatable; the system's source is tested once with fresh bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from reference.mechanisms import binomial_masses, exponential, exponential_mechanism, permute_and_flip
from shoal.mechanisms import (
    SYSTEM,
    ExponentialMechanism,
    PermuteAndFlip,
    RandomSource,
    SeededSource,
    Selection,
    bernoulli,
    bernoulli_exponential,
    binomial,
)

ALPHA = 1e-6
DRAWS = 20_000
TWINS = [Fraction(9, 10), Fraction(11, 10)]


def fits(drawn: Sequence[int], probabilities: Sequence[float | Fraction]) -> bool:
    """Decide whether the draws come from the distribution; cells of few expected draws are put together."""
    observed = np.bincount(drawn, minlength=len(probabilities)).astype(float)
    expected = np.array([float(p) for p in probabilities]) * len(drawn)
    order = np.argsort(expected)
    groups = np.cumsum(expected[order]) // 10
    _, group = np.unique(groups, return_inverse=True)
    pooled_observed, pooled_expected = np.bincount(group, observed[order]), np.bincount(group, expected[order])
    statistic = float(((pooled_observed - pooled_expected) ** 2 / pooled_expected).sum())
    return statistic < stats.chi2.ppf(1 - ALPHA, len(pooled_expected) - 1)


def to_64_bits(beta: Fraction) -> Fraction:
    return Fraction(int(beta * 2**64), 2**64)


@pytest.mark.parametrize("source", [SeededSource(11), SYSTEM], ids=["seeded", "system"])
def test_binomial_draws_follow_their_distribution_and_no_other(source: RandomSource) -> None:
    count, beta = 20, to_64_bits(Fraction(2, 5))
    drawn = binomial(np.full(DRAWS, count), beta, source=source).tolist()
    assert fits(drawn, binomial_masses(count, beta))
    for twin in TWINS:
        assert not fits(drawn, binomial_masses(count, beta * twin))


def test_binomial_draws_of_a_large_count_follow_the_normal_limit() -> None:
    count, beta = 100_003, to_64_bits(Fraction(7, 11))
    drawn = binomial(np.full(2000, count), beta, source=SeededSource(12))
    spread = np.sqrt(count * float(beta) * (1 - float(beta)))
    standard = (drawn - count * float(beta)) / spread
    assert stats.kstest(standard, "norm").pvalue > ALPHA
    for twin in TWINS:
        assert stats.kstest((drawn - count * float(beta * twin)) / spread, "norm").pvalue < ALPHA


def test_counts_side_by_side_do_not_influence_each_other() -> None:
    drawn = binomial(np.tile([3, 5], DRAWS), to_64_bits(Fraction(2, 5)), source=SeededSource(13)).reshape(-1, 2)
    table = np.zeros((4, 6))
    np.add.at(table, (drawn[:, 0], drawn[:, 1]), 1)
    assert stats.chi2_contingency(table[:, :5]).pvalue > ALPHA


def test_rational_coins_follow_their_bias_and_no_other() -> None:
    source, bias = SeededSource(14), Fraction(3, 7)
    drawn = [bernoulli(bias, source=source) for _ in range(DRAWS)]
    assert fits(drawn, [1 - bias, bias])
    for twin in TWINS:
        assert not fits(drawn, [1 - bias * twin, bias * twin])


@pytest.mark.parametrize("x", [Fraction(2, 3), Fraction(5, 3)])
def test_exponential_coins_follow_their_bias_and_no_other(x: Fraction) -> None:
    source = SeededSource(15)
    drawn = [bernoulli_exponential(x, source=source) for _ in range(DRAWS)]

    def masses(scale: Fraction) -> list[float]:
        heads = float(exponential(-x * scale))
        return [1 - heads, heads]

    assert fits(drawn, masses(Fraction(1)))
    for twin in TWINS:
        assert not fits(drawn, masses(twin))


SCORES = [10.0, 8.5, 0.1, 6.25, 9.0]


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize(
    ("mechanism", "masses"),
    [(ExponentialMechanism, exponential_mechanism), (PermuteAndFlip, permute_and_flip)],
    ids=["exponential", "permute-and-flip"],
)
def test_selections_follow_their_distribution_and_no_other(
    mechanism: type[Selection], masses: object, monotone: bool
) -> None:
    source = SeededSource(16)
    made = mechanism(epsilon="1.5", sensitivity=2 if monotone else 1, monotone=monotone)
    drawn = [made.select(SCORES, source=source) for _ in range(DRAWS)]
    assert fits(drawn, masses(SCORES, Fraction(3, 4)))  # type: ignore[operator]
    for twin in TWINS:
        assert not fits(drawn, masses(SCORES, Fraction(3, 4) * twin))  # type: ignore[operator]


def test_permute_and_flip_is_not_the_exponential_mechanism() -> None:
    source = SeededSource(17)
    made = PermuteAndFlip(epsilon=1, sensitivity=1)
    drawn = [made.select(SCORES, source=source) for _ in range(DRAWS)]
    assert not fits(drawn, exponential_mechanism(SCORES, made.rate))
    errors = [
        np.dot(np.array(SCORES).max() - SCORES, masses(SCORES, made.rate))
        for masses in (permute_and_flip, exponential_mechanism)
    ]
    assert errors[0] < errors[1]
