"""Noise distributions written out as their definitions say, and the tests that samples must pass and fail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from shoal.mechanisms import SeededSource
from shoal.mechanisms._rings import Rings

ALPHA = 1e-6


class QuickSource(SeededSource):
    """The bits of a seed, drawn many at a time."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._kept, self._used = b"", 0

    def random_bytes(self, size: int) -> bytes:
        if self._used + size > len(self._kept):
            self._kept, self._used = super().random_bytes(max(1 << 16, size)), 0
        self._used += size
        return self._kept[self._used - size : self._used]


def discrete_laplace(k: int, scale: float) -> float:
    b = math.exp(-1 / scale)
    return (1 - b) / (1 + b) * b ** abs(k)


def ring(k: int, core: int, span: int) -> int:
    """Count the rings from 0 outwards, one by one."""
    found, end = 0, core
    while abs(k) > end:
        found, end = found + 1, end + span
    return found


def optimal(k: int, core: int, span: int, epsilon: float) -> float:
    top = 1 / (2 * core + 1 + 2 * span / math.expm1(epsilon))
    return top * math.exp(-epsilon * ring(k, core, span))


def fits(drawn: Iterable[int], mass: Callable[[int], float]) -> float:
    """Return the p-value of a chi-square test; outcomes expected fewer than 20 times are put together."""
    seen = Counter(drawn)
    size = sum(seen.values())
    outcomes = sorted(range(min(seen) - 1, max(seen) + 2), key=mass, reverse=True)
    kept = [k for k in outcomes if size * mass(k) >= 20]
    expected = [size * mass(k) for k in kept]
    observed = [seen[k] for k in kept]
    expected.append(size - sum(expected))
    observed.append(size - sum(observed))
    if expected[-1] < 1:
        expected, observed = expected[:-1], observed[:-1]
        expected = list(np.array(expected) * sum(observed) / sum(expected))
    return float(stats.chisquare(observed, expected).pvalue)


@dataclass(frozen=True, slots=True)
class OptimalDensity:
    """The density of [SC13 Thm 1] on the real line, which `OptimalNoise` follows on a grid.

    Examples
    --------
    >>> density = OptimalDensity(1.0, 1.0, 0.4167)
    >>> round(density.variance, 4), round(density.interval(0.95), 4)
    (1.9181, 5.9915)
    """

    sensitivity: float
    epsilon: float
    core: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self._rings.variance(0, discrete=False)

    def interval(self, confidence: float = 0.95) -> float:
        """Return the length of the symmetric interval of this probability."""
        return self._rings.region(confidence)[1]

    def density(self, x: float) -> float:
        """Return M0 e^(-i epsilon) for x in ring i."""
        ring = max(0, math.ceil((abs(x) - self.core) / self.sensitivity))
        ratio = math.exp(-self.epsilon) / -math.expm1(-self.epsilon)
        top = 1 / (2 * (self.core + self.sensitivity * ratio))
        return top * math.exp(-ring * self.epsilon)

    @property
    def _rings(self) -> Rings:
        return Rings((2 * Fraction(self.core),), (2 * Fraction(self.sensitivity),), Fraction(self.epsilon))


@dataclass(frozen=True, slots=True)
class BoxDensity:
    """The density of [SC13 Thm 3] for boxes S_0 and S_f around 0, which `OptimalBoxNoise` follows on a grid.

    Parameters
    ----------
    core, differences
        The half-sides z_j of S_0 and s_j of S_f.
    epsilon
        The privacy cost.

    Examples
    --------
    >>> density = BoxDensity((0.1, 1.0), (1.0, 10.0), 1.0)
    >>> round(density.variance(0), 4), round(density.region_size(0.95), 1)
    (4.0338, 916.9)
    """

    core: tuple[float, ...]
    differences: tuple[float, ...]
    epsilon: float

    def variance(self, j: int) -> float:
        """Return the variance of component j."""
        return self._rings.variance(j, discrete=False)

    def region_size(self, confidence: float) -> float:
        """Return the smallest volume that holds this probability."""
        return self._rings.region(confidence)[1]

    def region_factor(self, confidence: float) -> float:
        """Return beta: the box with half-sides z_j + beta s_j holds this probability."""
        last, size = self._rings.region(confidence)
        low, high = float(last), float(last + 1)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._rings.volume(Fraction(middle)) < size else (low, middle)
        return high

    @property
    def _rings(self) -> Rings:
        sides = tuple(2 * Fraction(z) for z in self.core)
        growths = tuple(2 * Fraction(s) for s in self.differences)
        return Rings(sides, growths, Fraction(self.epsilon))
