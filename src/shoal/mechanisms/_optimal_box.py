"""Optimal noise for several numbers whose changes fill a box."""

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
        exact = tuple(positive(each, "sensitivities", owner) for each in sensitivities)
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
        rings = self.rings
        if len(values) != rings.dimensions:
            raise ParameterError(
                f"`values` of `OptimalBoxNoise` must be {rings.dimensions} numbers; got {len(values)}."
            )
        box = rings.draw_box(source=source)
        sides = [int(a + c * box) for a, c in zip(rings.sides, rings.growths, strict=True)]
        return tuple(
            grid.value(grid.steps(value) + source.below(side) - side // 2)
            for grid, value, side in zip(self.grids, values, sides, strict=True)
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
