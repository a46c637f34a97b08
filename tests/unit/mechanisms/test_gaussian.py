"""Discrete Gaussian numbers: their distribution, from its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from shoal.errors import ParameterError
from shoal.mechanisms import SeededSource, discrete_gaussians


def _chi_square(found: np.ndarray, variance: float) -> float:
    reach = 6 * int(math.sqrt(variance) + 1)
    weights = np.array([math.exp(-i * i / (2 * variance)) for i in range(-reach, reach + 1)])
    expected = len(found) * weights / weights.sum()
    seen = np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)
    large = expected >= 5
    observed, wanted = np.append(seen[large], seen[~large].sum()), np.append(expected[large], expected[~large].sum())
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)


@pytest.mark.parametrize("variance", ["1/3", "1", "30", "2000"])
def test_the_distribution_is_the_defined_one_and_no_other(variance: str) -> None:
    found = discrete_gaussians(variance, 100_000, source=SeededSource(7))
    exact = float(Fraction(variance))
    assert _chi_square(found, exact) > 1e-6
    assert _chi_square(found, exact * 0.81) < 1e-6
    assert _chi_square(found, exact * 1.21) < 1e-6


def test_coins_that_floating_point_cannot_decide_are_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    import shoal.mechanisms._gaussian as module

    monkeypatch.setattr(module, "_SURE", 2.0)
    found = discrete_gaussians(4, 3000, source=SeededSource(3))
    assert _chi_square(found, 4.0) > 1e-6


@pytest.mark.parametrize("variance", [0, -1])
def test_a_variance_that_is_none_is_refused(variance: int) -> None:
    with pytest.raises(ParameterError, match="variance"):
        discrete_gaussians(variance, 1)
