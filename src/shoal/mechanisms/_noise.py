"""Laplace and Gaussian noise for whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import MissingExtraError, ParameterError
from shoal.exact import Number, ball, positive
from shoal.kernels import Integers
from shoal.mechanisms._coins import below_real, discrete_laplace, discrete_laplaces
from shoal.mechanisms._mechanism import Neighbours, NoiseGrid, check_neighbours
from shoal.mechanisms._random import SYSTEM, RandomSource

# OpenDP returns 64-bit integers and stops at their ends; answers this far out are a mistake in the grid.
LARGEST_STEPS = 2**62


@dataclass(frozen=True, slots=True, init=False)
class Laplace:
    """Add k steps of the grid to each number, with probability proportional to exp(-abs(k) / scale).

    On the grid 1 this is the discrete Laplace (two-sided geometric) mechanism; on a fine grid it is Laplace noise to
    every purpose but that of its low-order bits.

    Parameters
    ----------
    sensitivity : number, above 0
        The largest sum of changes of all numbers (L1) between neighbours.
    epsilon : number, above 0
        The privacy cost of one release.
    grid : number, above 0
        The step of the grid; 1 for counts.
    neighbours : "add/remove" or "replace"
        The neighbour relation that the sensitivity is about.

    Guarantee
    ---------
    epsilon-differential privacy (Dwork, McSherry, Nissim, Smith; [SC13 2.9], seed 000). Rounded to the grid,
    neighbours' answers differ by at most N = ceil(sensitivity / step) steps in total, and the probability of every
    output by at most the factor exp(N / scale) <= e^epsilon: ``scale`` is the smallest float that is at least N /
    epsilon. Rounding moves a single number by at most that much; of several numbers each could gain a step, which the
    sensitivity does not cover, so several numbers must lie on the grid already.

    Assumptions
    -----------
    OpenDP's sampler is exact: integer arithmetic on the operating system's random bits. Running time is not protected.

    Notes
    -----
    O(1) per number; about 10 microseconds each in one call.

    Examples
    --------
    >>> mechanism = Laplace(sensitivity=1, epsilon="0.5")
    >>> mechanism.scale, round(mechanism.variance, 3), mechanism.interval(0.95)
    (2.0, 7.835, 6)
    >>> mechanism.privacy_map(2)
    Fraction(1, 1)
    >>> isinstance(mechanism.release(100), int)
    True
    """

    sensitivity: Fraction
    epsilon: Fraction
    grid: NoiseGrid
    neighbours: Neighbours

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        grid: Number | NoiseGrid = 1,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        check_neighbours(neighbours, "Laplace")
        object.__setattr__(self, "sensitivity", positive(sensitivity, "sensitivity", "Laplace"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon", "Laplace"))
        object.__setattr__(self, "grid", grid if isinstance(grid, NoiseGrid) else NoiseGrid(grid))
        object.__setattr__(self, "neighbours", neighbours)
        if not 2**-40 <= self.scale <= 2.0**52:
            raise ParameterError(
                "`sensitivity` / (`grid` `epsilon`) of `Laplace` must be in [2^-40, 2^52].",
                hint="choose a grid that fits the size of the noise",
            )

    @property
    def domain(self) -> str:
        """What goes in."""
        return f"numbers, rounded to multiples of {self.grid.step}"

    @property
    def scale(self) -> float:
        """The scale of the noise in steps of the grid."""
        return _scale(self.grid.span(self.sensitivity) / self.epsilon)

    @property
    def variance(self) -> float:
        """The variance of the noise: 2 b / (1 - b)^2 steps squared, b = exp(-1 / scale)."""
        half = min(1 / (2 * self.scale), 350.0)  # beyond, a double holds no sinh
        return float(self.grid.step) ** 2 / (2 * math.sinh(half) ** 2)

    def interval(self, confidence: float = 0.95) -> int | float:
        """Return the smallest a with P[abs(noise) <= a] >= confidence: P[abs(k) > c] = 2 b^(c+1) / (1 + b)."""
        b = math.exp(-1 / self.scale)
        steps = math.ceil(-self.scale * math.log((1 - confidence) * (1 + b) / 2)) - 1
        return self.grid.value(max(steps, 0))

    def privacy_map(self, distance: Number) -> Fraction:
        """Return the epsilon between two inputs whose numbers differ by ``distance`` in total."""
        return self.grid.span(distance) / Fraction(self.scale)

    def release(self, value: Number, *, source: RandomSource = SYSTEM) -> int | float:
        """Return one number with noise."""
        return self.release_all([value], source=source)[0]

    def release_all(self, values: Sequence[Number], *, source: RandomSource = SYSTEM) -> list[int | float]:
        """Return the numbers with independent noise. A source other than the system's is for tests.

        Several numbers must be multiples of the grid's step; the sensitivity is that of all of them together.
        """
        steps = [self.grid.steps(value) for value in values]
        if len(values) > 1 and not all(map(self.grid.holds, values)):
            raise ParameterError(
                "several `values` of `Laplace` must be multiples of its grid's step.",
                hint="round them before you work out their joint sensitivity: each rounding can add a step to it",
            )
        if any(abs(step) > LARGEST_STEPS for step in steps):
            raise ParameterError(
                "`value` of `Laplace` must be within 2^62 steps of its grid.", hint="choose a coarser grid"
            )
        if source.from_system():
            noisy = _opendp(self.scale)(steps) if steps else []
        else:
            scale = Fraction(self.scale)
            noisy = [step + discrete_laplace(scale, source=source) for step in steps]
        return [self.grid.value(each) for each in noisy]


@lru_cache(maxsize=256)
def _scale(exact: Fraction) -> float:
    """Return the smallest float that is at least ``exact``."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


@lru_cache(maxsize=256)
def _opendp(scale: float) -> Any:
    """Return OpenDP's mechanism for vectors of 64-bit integers."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("OpenDP", extra="noise") from None
    dp.enable_features("contrib")
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64), scale=scale)


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
            raise ParameterError(
                "`rho` is so small that the noise would not fit in 64 bits.", hint="use a larger `rho`"
            )

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
    draws = np.zeros(size, dtype=np.int64)
    positions = np.arange(size)
    while len(positions):
        drawn = discrete_laplaces(scale, len(positions), source=source)
        draws[positions] = drawn
        positions = positions[~_heads(drawn, exact, scale, source)]
    return draws


def _heads(drawn: Integers, variance: Fraction, scale: int, source: RandomSource) -> npt.NDArray[np.bool_]:
    """Flip a coin of bias exp(-(abs(Y) - s^2 / t)^2 / (2 s^2)) for each draw."""
    bits = source.uint64(len(drawn))
    biases = np.exp(-((np.abs(drawn) - float(variance / scale)) ** 2) / (2 * float(variance)))
    gaps = bits.astype(np.float64) * 2.0**-64 - biases
    heads = gaps < 0
    for position in np.flatnonzero(np.abs(gaps) < _SURE).tolist():
        exponent = (abs(int(drawn[position])) - variance / scale) ** 2 / (2 * variance)
        heads[position] = below_real(int(bits[position]), 64, _bias(exponent), source=source)
    return heads


def _bias(exponent: Fraction) -> Callable[[], Any]:
    return lambda: (-ball(exponent)).exp()
