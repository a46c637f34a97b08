"""Optimal noise: no other noise of the same epsilon is more concentrated around zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

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
        (noise,) = self.rings.draw(source)
        return self.grid.value(self.grid.steps(value) + noise)


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


@dataclass(frozen=True, slots=True, init=False)
class OptimalBoxNoise:
    """Add noise to n numbers jointly, with density falling by e^-epsilon from box to box.

    Parameters
    ----------
    sensitivities : numbers, above 0
        s_j: between neighbours, number j changes by at most s_j, whatever the others do; S_f = [-s_1, s_1] x ... x
        [-s_n, s_n].
    epsilon : number, above 0
        The privacy cost of one release of all numbers.
    core : number in [0, 1]
        S_0 = core S_f, the box of the highest density.
    grids : numbers, above 0
        The step of each number's grid; one for all, or one each.
    neighbours : "add/remove" or "replace"
        The neighbour relation that the sensitivities are about.

    Guarantee
    ---------
    epsilon-differential privacy, [SC13 Thm 3] (seed 000) on a grid. With N_j = ceil(s_j / step_j) and m_j =
    floor(core s_j / step_j), the point k lies in ring r(k) = max_j max(0, ceil((abs(k_j) - m_j) / N_j)) and P[k] = M
    e^(-r(k) epsilon). Neighbours' answers, rounded to the grids, differ by at most N_j in each number, so r(k)
    changes by at most 1.

    Assumptions
    -----------
    Sampling is exact: the box by exact coins, the point in it uniformly. Running time is not protected.

    Notes
    -----
    Independent Laplace noise pays for the sum of the sensitivities; this noise pays once, and gives the small
    numbers small noise. O(n) per release.

    Examples
    --------
    >>> noise = OptimalBoxNoise(sensitivities=(1, 10), epsilon=1, core="0.1", grids="0.001")
    >>> [round(noise.variance(j), 2) for j in (0, 1)]
    [4.03, 403.34]
    >>> noise.privacy_map((1, 10)), noise.privacy_map((1, 11))
    (Fraction(1, 1), Fraction(2, 1))
    """

    sensitivities: tuple[Fraction, ...]
    epsilon: Fraction
    core: Fraction
    grids: tuple[NoiseGrid, ...]
    neighbours: Neighbours
    #: The shape of the noise, in steps of the grids.
    rings: Rings = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        sensitivities: Sequence[Number],
        epsilon: Number,
        core: Number = "0.5",
        grids: Number | Sequence[Number] = 1,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        owner = "OptimalBoxNoise"
        check_neighbours(neighbours, owner)
        if not sensitivities:
            raise ParameterError(f"`sensitivities` of `{owner}` must not be empty.")
        several: Sequence[Number] = [grids] * len(sensitivities) if isinstance(grids, Number) else grids
        if len(several) != len(sensitivities):
            raise ParameterError(f"`grids` of `{owner}` must be one or {len(sensitivities)} steps; got {len(several)}.")
        exact = tuple(positive(sensitivity, "sensitivities", owner) for sensitivity in sensitivities)
        object.__setattr__(self, "sensitivities", exact)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon", owner))
        object.__setattr__(self, "core", rational(core, "core", owner))
        object.__setattr__(self, "grids", tuple(NoiseGrid(step) for step in several))
        object.__setattr__(self, "neighbours", neighbours)
        if not 0 <= self.core <= 1:
            raise ParameterError(f"`core` of `{owner}` must be in [0, 1]; got {core!r}.")
        pairs = list(zip(self.sensitivities, self.grids, strict=True))
        sides = tuple(Fraction(2 * math.floor(self.core * s / grid.step) + 1) for s, grid in pairs)
        growths = tuple(Fraction(2 * grid.span(s)) for s, grid in pairs)
        object.__setattr__(self, "rings", Rings(sides, growths, self.epsilon))

    def variance(self, j: int) -> float:
        """Return the variance of the noise of number j."""
        return float(self.grids[j].step) ** 2 * self.rings.variance(j, discrete=True)

    def region(self, confidence: float = 0.95) -> tuple[int | float, ...]:
        """Return (a_1, ..., a_n) with P[abs(noise_j) <= a_j for all j] >= confidence, a box in the shape of S_f."""
        return _region(self, confidence)

    def _halves(self, last: int, part: int) -> list[int]:
        rings = self.rings
        return [
            (int(a) - 1) // 2 + int(c) // 2 * last + int(c) // 2 * part // 4096
            for a, c in zip(rings.sides, rings.growths, strict=True)
        ]

    @property
    def domain(self) -> str:
        """What goes in."""
        steps = ", ".join(str(grid.step) for grid in self.grids)
        return f"{len(self.grids)} numbers, rounded to multiples of {steps}"

    def privacy_map(self, distances: Sequence[Number]) -> Fraction:
        """Return the epsilon between two inputs whose numbers differ by ``distances``: one epsilon per ring crossed."""
        crossed = (
            math.ceil(Fraction(grid.span(distance), grid.span(s)))
            for distance, s, grid in zip(distances, self.sensitivities, self.grids, strict=True)
        )
        return self.epsilon * max(crossed)

    def release(self, values: Sequence[Number], *, source: RandomSource = SYSTEM) -> tuple[int | float, ...]:
        """Return the numbers with noise. A source other than the system's is for tests."""
        if len(values) != len(self.grids):
            raise ParameterError(f"`values` of `OptimalBoxNoise` must be {len(self.grids)} numbers; got {len(values)}.")
        noise = self.rings.draw(source)
        return tuple(
            grid.value(grid.steps(value) + each) for grid, value, each in zip(self.grids, values, noise, strict=True)
        )


@lru_cache(maxsize=256)
def _region(noise: OptimalBoxNoise, confidence: float) -> tuple[int | float, ...]:
    """Between two boxes, take the smallest number of 1/4096 of the way from one to the other that is enough."""
    last, points = noise.rings.region(confidence)
    low, high = 0, 4096
    while last >= 0 and low < high:
        middle = (low + high) // 2
        if math.prod(2 * c + 1 for c in noise._halves(last, middle)) >= points:
            high = middle
        else:
            low = middle + 1
    halves = noise._halves(max(last, 0), low)
    return tuple(grid.value(c) for grid, c in zip(noise.grids, halves, strict=True))
