"""Estimators of population uniques, against other ways to compute them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from shoal.kernels.superpopulation import (
    SizeCounts,
    _expected_counts,
    _thin_nodes,
    pitman,
    pitman_maximum,
    slide_negative_binomial,
    zayatz,
)

SIZES = st.lists(st.integers(1, 30), min_size=3, max_size=60)


@pytest.mark.slow
@given(SIZES, st.integers(1, 40))
def test_zayatz_is_bayes_rule_with_the_hypergeometric_distribution(sizes: list[int], factor: int) -> None:
    counts = SizeCounts.of(np.array(sizes))
    n, population = sum(sizes), sum(sizes) * factor
    chance = {j: stats.hypergeom(population, j, n).pmf(1) for j in set(sizes)}
    unique = sizes.count(1)
    seen = sum(chance[j] for j in sizes)
    expected = unique * (unique * chance[1] / seen) / (n / population) if unique else 0.0
    assert zayatz(counts, population) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("end", [0, 1, 63, 64, 65, 83, 84, 85, 127, 128, 1000, 123_456])
@pytest.mark.parametrize("shift", [-0.9, 0.5, 10.0, 1e5])
def test_thinned_sums_are_sums(end: int, shift: float) -> None:
    nodes, weights = _thin_nodes(end)
    terms = np.arange(1, end + 1)
    for function in (lambda x: np.log(shift + x), lambda x: 1 / (shift + x), lambda x: 1 / (shift + x) ** 2):
        assert weights @ function(nodes) == pytest.approx(function(terms).sum(), rel=1e-12, abs=1e-12)


def _likelihood(sizes: np.ndarray, theta: float, alpha: float) -> float:
    """Return the logarithm of Pitman's sampling formula, term by term."""
    value = sum(np.log(theta + i * alpha) for i in range(1, len(sizes)))
    value -= sum(np.log(theta + i) for i in range(1, int(sizes.sum())))
    return value + sum(np.log(j - alpha) for size in sizes for j in range(1, size))


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_pitmans_maximum_is_where_a_general_solver_finds_it(alpha: float) -> None:
    sizes = _drawn(theta=10.0, alpha=alpha, records=400, seed=3)
    found = pitman_maximum(SizeCounts.of(sizes))
    assert found is not None
    solved = optimize.minimize(
        lambda x: -_likelihood(sizes, x[0], x[1]), [5.0, 0.5], bounds=[(1e-3, 1e4), (1e-3, 0.999)], method="L-BFGS-B"
    )
    assert _likelihood(sizes, *found) >= -solved.fun - 1e-6
    assert found[1] == pytest.approx(solved.x[1], abs=1e-2)


def _drawn(*, theta: float, alpha: float, records: int, seed: int) -> np.ndarray:
    """Draw class sizes by the Chinese restaurant process of Pitman's formula."""
    generator = np.random.default_rng(seed)
    sizes = [1]
    for seated in range(1, records):
        weights = np.array([*(size - alpha for size in sizes), theta + alpha * len(sizes)]) / (theta + seated)
        table = int(generator.choice(len(weights), p=weights))
        if table == len(sizes):
            sizes.append(1)
        else:
            sizes[table] += 1
    return np.array(sizes)


def test_pitman_recovers_the_uniques_of_a_population_that_it_describes() -> None:
    population = _drawn(theta=50.0, alpha=0.6, records=4000, seed=1)
    people = np.repeat(np.arange(len(population)), population)
    sample = np.random.default_rng(2).choice(people, size=400, replace=False)
    found = pitman(SizeCounts.of(np.bincount(sample)), 4000)
    assert found == pytest.approx(np.count_nonzero(population == 1), rel=0.2)


def test_pitman_has_no_maximum_where_everybody_is_unique() -> None:
    assert pitman(SizeCounts.of(np.ones(500, dtype=np.int64)), 5000) is None


@pytest.mark.slow
@given(st.floats(0.05, 20.0), st.floats(0.02, 0.98), st.floats(0.05, 0.95))
def test_expected_class_sizes_are_those_of_the_distribution(a: float, b: float, fraction: float) -> None:
    sizes = 1 + np.arange(4000)
    chance = stats.nbinom(a, b).pmf(sizes - 1)
    expected = [1e4 * (chance * stats.binom(sizes, fraction).pmf(seen)).sum() for seen in (1, 2)]
    if chance.sum() > 1 - 1e-9 and min(expected) > 1e-6:
        assert np.exp(_expected_counts(1e4, fraction, a, b)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.2), (2.0, 0.5), (1.0, 0.9)])
def test_the_slide_negative_binomial_model_recovers_its_own_population(a: float, b: float) -> None:
    generator = np.random.default_rng(4)
    population = 1 + generator.negative_binomial(a, b, size=100_000)
    found = slide_negative_binomial(SizeCounts.of(generator.binomial(population, 0.5)), 0.5)
    assert found == pytest.approx(np.count_nonzero(population == 1), rel=0.05)


def test_the_slide_negative_binomial_model_needs_classes_of_one_and_two() -> None:
    assert slide_negative_binomial(SizeCounts.of(np.array([2, 2, 3])), 0.2) is None
    assert slide_negative_binomial(SizeCounts.of(np.array([1, 1, 3])), 0.2) is None
