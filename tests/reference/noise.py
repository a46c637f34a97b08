"""Noise distributions written out as their definitions say, and the tests that samples must pass and fail."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from scipy import stats

from shoal.mechanisms import SeededSource

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
