"""Optimal noise for one number: no other noise of the same epsilon is more concentrated around zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import Number, positive, rational
from shoal.mechanisms._mechanism import Neighbours, NoiseGrid, check_neighbours
from shoal.mechanisms._random import SYSTEM, RandomSource
from shoal.mechanisms._rings import Rings


@dataclass(frozen=True, slots=True, init=False)
class OptimalNoise:
    """Add k steps of the grid, with probability falling by e^-epsilon from ring to ring.

    Ring 0 holds the integers -m..m; ring i >= 1 holds the next N integers on either side. Use
    `minimal_variance` or `minimal_interval`, or give the half-width d of ring 0.

    Parameters
    ----------
    sensitivity : number, above 0
        Delta, the largest change of the number between neighbours.
    epsilon : number, above 0
        The privacy cost of one release.
    core : number in [0, sensitivity]
        d, the half-width of the flat top; m = floor(d / step).
    grid : number, above 0
        The step of the grid.
    neighbours : "add/remove" or "replace"
        The neighbour relation that the sensitivity is about.

    Guarantee
    ---------
    epsilon-differential privacy. With N = ceil(Delta / step), k lies in ring r(k) = max(0, ceil((abs(k) - m) / N)),
    and P[k] = M e^(-r(k) epsilon), M = 1 / (2m + 1 + 2N / (e^epsilon - 1)). Neighbours' answers, rounded to the grid,
    differ by at most N steps; abs(k) then changes by at most N and r(k) by at most 1. It is [SC13 Thm 1] (seed 000)
    on a grid: d of the theorem is (m + 1/2) steps. By [SC13 Thm 2] no noise can be moved towards zero without
    breaking the guarantee.

    Assumptions
    -----------
    Sampling is exact: the box by exact coins, the point in it uniformly. Running time is not protected.

    Notes
    -----
    Compared with Laplace noise the gain is small for small epsilon and grows with it [SC13 Tables 4.1 and 4.2]. O(1)
    per release.

    Examples
    --------
    >>> noise = OptimalNoise.minimal_variance(sensitivity=1, epsilon=1, grid="0.001")
    >>> round(noise.variance, 3), float(noise.core)
    (1.918, 0.416)
    >>> noise.privacy_map(2)
    Fraction(2, 1)
    """

    sensitivity: Fraction
    epsilon: Fraction
    core: Fraction
    grid: NoiseGrid
    neighbours: Neighbours

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        core: Number,
        grid: Number | NoiseGrid = 1,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        owner = "OptimalNoise"
        check_neighbours(neighbours, owner)
        object.__setattr__(self, "sensitivity", positive(sensitivity, "sensitivity", owner))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon", owner))
        object.__setattr__(self, "core", rational(core, "core", owner))
        object.__setattr__(self, "grid", grid if isinstance(grid, NoiseGrid) else NoiseGrid(grid))
        object.__setattr__(self, "neighbours", neighbours)
        if not 0 <= self.core <= self.sensitivity:
            raise ParameterError(f"`core` of `{owner}` must be in [0, {float(self.sensitivity)}]; got {core!r}.")

    @classmethod
    def minimal_variance(
        cls,
        *,
        sensitivity: Number,
        epsilon: Number,
        grid: Number | NoiseGrid = 1,
        neighbours: Neighbours = "add/remove",
    ) -> OptimalNoise:
        """Return the noise with the smallest variance on this grid."""
        share = variance_optimal_core(float(positive(epsilon, "epsilon", cls.__name__)))
        candidates = _around(share, sensitivity, epsilon, grid, neighbours)
        return min(candidates, key=lambda each: each.variance)

    @classmethod
    def minimal_interval(
        cls,
        *,
        sensitivity: Number,
        epsilon: Number,
        confidence: float = 0.95,
        grid: Number | NoiseGrid = 1,
        neighbours: Neighbours = "add/remove",
    ) -> OptimalNoise:
        """Return the noise whose symmetric interval of this probability is shortest on this grid."""
        share = interval_optimal_core(float(positive(epsilon, "epsilon", cls.__name__)), confidence)
        candidates = _around(share, sensitivity, epsilon, grid, neighbours)
        return min(candidates, key=lambda each: (each.interval(confidence), each.variance))

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return float(self.grid.step) ** 2 * self.rings.variance(0, discrete=True)

    def interval(self, confidence: float = 0.95) -> int | float:
        """Return the smallest a with P[abs(noise) <= a] >= confidence."""
        points = self.rings.region(confidence)[1]
        # the region is a number of points, 2c + 1; what rounding errors leave over is not worth a step
        return self.grid.value(max(math.ceil((points - 1) / 2 - 1e-9), 0))

    @property
    def domain(self) -> str:
        """What goes in."""
        return f"a number, rounded to multiples of {self.grid.step}"

    @property
    def rings(self) -> Rings:
        """The shape of the noise, in steps of the grid."""
        core, span = math.floor(self.core / self.grid.step), self.grid.span(self.sensitivity)
        return Rings((Fraction(2 * core + 1),), (Fraction(2 * span),), self.epsilon)

    def privacy_map(self, distance: Number) -> Fraction:
        """Return the epsilon between two inputs whose numbers differ by ``distance``: one epsilon per ring crossed."""
        rings = math.ceil(Fraction(self.grid.span(distance), self.grid.span(self.sensitivity)))
        return self.epsilon * rings

    def release(self, value: Number, *, source: RandomSource = SYSTEM) -> int | float:
        """Return the number with noise. A source other than the system's is for tests."""
        rings = self.rings
        side = int(rings.sides[0] + rings.growths[0] * rings.draw_box(source=source))
        return self.grid.value(self.grid.steps(value) + source.below(side) - side // 2)


def _around(
    share: float,
    sensitivity: Number,
    epsilon: Number,
    grid: Number | NoiseGrid,
    neighbours: Neighbours,
) -> list[OptimalNoise]:
    """Return the noises of a grid whose cores are next to a share of the sensitivity: d = (m + 1/2) step."""
    exact = positive(sensitivity, "sensitivity", "OptimalNoise")
    grid = grid if isinstance(grid, NoiseGrid) else NoiseGrid(grid)
    near = math.floor(Fraction(share) * exact / grid.step - Fraction(1, 2))
    cores = {min(max(m * grid.step, Fraction(0)), exact) for m in (near - 1, near, near + 1, near + 2)}
    return [
        OptimalNoise(sensitivity=exact, epsilon=epsilon, core=d, grid=grid, neighbours=neighbours)
        for d in sorted(cores)
    ]


def variance_optimal_core(epsilon: float) -> float:
    """Return d / Delta of the smallest variance.

    The closed form (METHODS 8) factors: b - 2b^2 + 2b^4 - b^5 = b (1 + b) (1 - b)^3, b = e^-epsilon, so d / Delta =
    ((b (1 + b) / 2)^(1/3)
    - b) / (1 - b). It tends to 1/2 for small epsilon.

    Examples
    --------
    >>> round(variance_optimal_core(1.0), 6)
    0.416737
    """
    b = math.exp(-epsilon)
    return (math.cbrt(b * (1 + b) / 2) - b) / -math.expm1(-epsilon)


def interval_optimal_core(epsilon: float, confidence: float = 0.95) -> float:
    """Return d / Delta of the shortest symmetric interval of this probability.

    For an end c in a given ring, c is linear in d, with slope 1 - (1 - confidence) e^(i epsilon): falling while ring
    i has density below (1 - confidence) M0, rising before. So the shortest interval ends where ring i ends, for the
    last i with e^(-i epsilon) >= 1 - confidence, and c = d + i Delta there gives d / Delta = (e^(-i epsilon) / (1 -
    confidence) - 1) / (e^epsilon - 1).

    Examples
    --------
    >>> round(interval_optimal_core(1.0), 3)
    0.993
    """
    i = math.floor(-math.log1p(-confidence) / epsilon)
    ratio = math.exp(-epsilon) / -math.expm1(-epsilon)
    return (math.exp(-i * epsilon) / (1 - confidence) - 1) * ratio
