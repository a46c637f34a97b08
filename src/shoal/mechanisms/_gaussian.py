"""Discrete Gaussian noise, drawn exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.exact import Number, ball, positive
from shoal.kernels import Integers
from shoal.mechanisms._coins import below_real
from shoal.mechanisms._geometric import discrete_laplaces
from shoal.mechanisms._random import SYSTEM, RandomSource

#: of the noise: 64 bits hold hundreds of standard deviations
LARGEST_VARIANCE = 1 << 104
#: Floating point decides a coin whose threshold is at least that far from the drawn bits; exp is far more precise.
_SURE = 2.0**-30


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Discrete Gaussian noise for whole numbers, under zero-concentrated differential privacy.

    Guarantee
    ---------
    rho-zero-concentrated differential privacy with the parameter s^2 = sensitivity^2 / (2 rho), an exact rational
    (Canonne, Kamath, Steinke 2020, Theorem 14 for vectors); the noise is drawn exactly.

    Examples
    --------
    >>> noise = DiscreteGaussian(sensitivity=1, rho="1/200")
    >>> noise.variance, noise.interval(0.95)
    (Fraction(100, 1), 20)
    """

    #: The most that one record changes the numbers by: the root of the sum of the squares of the changes.
    sensitivity: int
    #: What the release costs.
    rho: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho", "DiscreteGaussian"))
        if type(self.sensitivity) is not int or self.sensitivity < 1:
            raise ParameterError("`sensitivity` of `DiscreteGaussian` must be an integer of at least 1.")
        if self.variance > LARGEST_VARIANCE:
            raise ParameterError("`rho` is so small that the noise would not fit 64 bits.", hint="use a larger `rho`")

    @property
    def variance(self) -> Fraction:
        """The parameter s^2, which the variance of the noise is never above."""
        return self.sensitivity**2 / (2 * Fraction(self.rho))

    def interval(self, confidence: float = 0.95) -> int:
        """Return an a with P[abs(noise) <= a] >= confidence.

        P[noise >= m] <= P[N >= m - 1] for N continuous and as wide (Canonne, Kamath, Steinke 2020, Prop. 25).
        """
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(self.variance) * (1 + 2.0**-30))

    def release(self, value: int, *, source: RandomSource = SYSTEM) -> int:
        """Return one number with noise."""
        return self.release_all([value], source=source)[0]

    def release_all(self, values: Sequence[int], *, source: RandomSource = SYSTEM) -> list[int]:
        """Return the numbers with independent noise."""
        drawn = discrete_gaussians(self.variance, len(values), source=source)
        return [value + int(each) for value, each in zip(values, drawn, strict=True)]


def discrete_gaussians(variance: Number, size: int, *, source: RandomSource = SYSTEM) -> Integers:
    """Return ``size`` independent integers, each i with probability exactly proportional to exp(-i^2 / (2 variance)).

    ``variance`` is the parameter s^2 of the distribution, which its variance is never above.

    Guarantee
    ---------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3: with t = floor(s) +
    1, draw Y with probability proportional to exp(-abs(Y) / t) and keep it with probability exp(-(abs(Y) - s^2 / t)^2 /
    (2 s^2)). The product is proportional to exp(-Y^2 / (2 s^2)). Coins are 64 bits against a threshold in floating
    point; within 2^-30 of it, more bits and ball arithmetic decide.

    Notes
    -----
    Fewer than two draws per number are expected.

    Examples
    --------
    >>> discrete_gaussians("1/1000", 3).tolist()
    [0, 0, 0]
    """
    exact = positive(variance, "variance", "discrete_gaussians")
    scale = math.isqrt(math.floor(exact)) + 1
    found = np.zeros(size, dtype=np.int64)
    places = np.arange(size)
    while len(places):
        drawn = discrete_laplaces(scale, len(places), source=source)
        found[places] = drawn
        places = places[~_heads(drawn, exact, scale, source)]
    return found


def _heads(drawn: Integers, variance: Fraction, scale: int, source: RandomSource) -> npt.NDArray[np.bool_]:
    """Flip a coin of bias exp(-(abs(Y) - s^2 / t)^2 / (2 s^2)) for each draw."""
    bits = source.uint64(len(drawn))
    biases = np.exp(-((np.abs(drawn) - float(variance / scale)) ** 2) / (2 * float(variance)))
    gaps = bits.astype(np.float64) * 2.0**-64 - biases
    heads = gaps < 0
    for place in np.flatnonzero(np.abs(gaps) < _SURE).tolist():
        exponent = (abs(int(drawn[place])) - variance / scale) ** 2 / (2 * variance)
        heads[place] = below_real(int(bits[place]), 64, _bias(exponent), source=source)
    return heads


def _bias(exponent: Fraction) -> Callable[[], Any]:
    return lambda: (-ball(exponent)).exp()
