"""The kinds of noise that means of clusters get: Laplace, optimal noise in a box, and Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from shoal.mechanisms import SYSTEM, Laplace, NoiseGrid, OptimalBoxNoise, RandomSource, discrete_gaussians

NoiseKind = Literal["laplace", "box", "gaussian"]
"""How the noise of means is distributed."""

MOST_IN_BOX = 500
"""The most means that share a box; drawing from it takes time in proportion to the square of their number."""


class LaplaceMeans(Laplace):
    """Independent Laplace noise; pays for how far all means move together."""

    __slots__ = ()

    @property
    def typical(self) -> float:
        """How far a mean is from its true value on average, in its own units."""
        return self.scale * float(self.grid.step)

    def figures(self) -> dict[str, object]:
        """Return what a certificate says of the noise."""
        return {
            "sensitivity": str(self.sensitivity),
            "grid": str(self.grid.step),
            "scale in steps of the grid": self.scale,
            "scale": self.typical,
        }


class BoxMeans(OptimalBoxNoise):
    """Noise of all means together, whose density falls by e^-epsilon from box to box [SC13 Thm 3].

    One record moves each of c means by at most s, so their moves fill a box. Independent noise pays for the sum c s and
    has the variance 2 (c s / epsilon)^2; this has about (c + 1) (c + 2) / 3 (s / epsilon)^2, a sixth of it.

    Examples
    --------
    >>> noise = BoxMeans(sensitivities=[1] * 29, epsilon=1, grids=Fraction(1, 2**20), neighbours="replace")
    >>> round(noise.variance(0)), 2 * 29**2
    (310, 1682)
    """

    __slots__ = ()

    @property
    def grid(self) -> NoiseGrid:
        """The grid of all means."""
        return self.grids[0]

    @property
    def typical(self) -> float:
        """How far a mean is from its true value on average, in its own units."""
        return self.rings.mean_side(0) / 4 * float(self.grid.step)

    def release_all(self, values: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> list[int | float]:
        """Return the means with noise."""
        return list(self.release(values, source=source))

    def figures(self) -> dict[str, object]:
        """Return what a certificate says of the noise."""
        return {
            "sensitivity of each": str(self.sensitivities[0]),
            "grid": str(self.grid.step),
            "core": str(self.core),
            "on average": self.typical,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianMeans:
    """Independent discrete Gaussian noise; pays for the square root of the sum of the squares of all moves.

    Guarantee
    ---------
    P[noise = i steps] is exactly proportional to exp(-i^2 / 2v) with v = square / (2 rho step^2), so the Renyi
    divergence of every order a > 1 between neighbours is at most a square / (2 v step^2) = a rho (Canonne, Kamath,
    Steinke 2020, Prop. 5 and Thm 14).

    Examples
    --------
    >>> noise = GaussianMeans(square=Fraction(29), rho=Fraction(1, 2), grid=NoiseGrid(Fraction(1, 1024)))
    >>> float(noise.variance) / 1024**2
    29.0
    """

    #: The most that the squares of the moves of all means add up to between neighbours, in units of the column.
    square: Fraction
    #: What the noise costs: it is rho-zero-concentrated differentially private.
    rho: Fraction
    #: Noise and means are multiples of its step.
    grid: NoiseGrid

    @property
    def variance(self) -> Fraction:
        """The parameter of the distribution, in steps squared."""
        return self.square / (2 * self.rho * self.grid.step**2)

    @property
    def typical(self) -> float:
        """How far a mean is from its true value on average, in its own units."""
        return math.sqrt(2 * self.variance / math.pi) * float(self.grid.step)

    def release_all(self, values: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> list[int | float]:
        """Return the means, multiples of the step, with noise."""
        noise = discrete_gaussians(self.variance, len(values), source=source).tolist()
        return [self.grid.value(self.grid.steps(value) + each) for value, each in zip(values, noise, strict=True)]

    def figures(self) -> dict[str, object]:
        """Return what a certificate says of the noise."""
        return {
            "sum of squared moves": str(self.square),
            "grid": str(self.grid.step),
            "variance in steps of the grid": str(self.variance),
            "on average": self.typical,
        }


MeansNoise = LaplaceMeans | BoxMeans | GaussianMeans
