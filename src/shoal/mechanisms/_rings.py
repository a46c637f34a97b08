"""Densities that fall by e^-epsilon from ring to ring, as mixtures of uniform boxes.

Box i has the sides a_j + c_j i, j = 1..n, and is centred at 0; ring i is box i without box i - 1. A density M b^i on
ring i, b = e^-epsilon, is the mixture of the uniform densities on all boxes with weights proportional to b^i V_i, V_i
the volume of box i: at a point of ring r the mixture adds up to sum_{i >= r} b^i, which is b^r / (1 - b). So noise of
this shape is drawn by drawing a box and then a uniform point in it, and its moments are those of boxes.

The volume is a polynomial in i: V_i = sum_k w_k C(i, k) with w_k its k-th forward difference at 0, an exact rational,
at least 0. With sum_i b^i C(i, k) = x^k / (1 - b), x = 1 / (e^epsilon - 1), every sum over infinitely many boxes is
finite.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from shoal.exact import STARTING_BITS, ball, working_precision
from shoal.mechanisms._coins import WeightedChoice, geometric
from shoal.mechanisms._random import RandomSource


@dataclass(frozen=True, slots=True)
class Rings:
    """A density that falls by e^-epsilon from ring to ring."""

    #: a_j, the sides of box 0: lengths, or numbers of grid points.
    sides: tuple[Fraction, ...]
    #: c_j, what each side gains from box to box.
    growths: tuple[Fraction, ...]
    #: The privacy loss from ring to ring.
    epsilon: Fraction

    @property
    def dimensions(self) -> int:
        """The number n of dimensions."""
        return len(self.sides)

    def draw(self, source: RandomSource) -> list[int]:
        """Draw a point of a grid whose boxes have whole sides: a box, then a uniform point in it.

        Box i has a probability exactly proportional to b^i V_i: k with probability proportional to w_k x^k, then i from
        C(i, k) b^i, which is k plus k + 1 independent geometric draws.
        """
        k = _choice(self).draw(source=source)
        box = k + sum(geometric(self.epsilon, source=source) for _ in range(k + 1))
        sides = [int(a + c * box) for a, c in zip(self.sides, self.growths, strict=True)]
        return [source.below(side) - side // 2 for side in sides]

    def volume(self, i: Fraction | int) -> Fraction:
        """Return the volume of box i; i need not be whole."""
        return Fraction(_volumes(self)(i))

    def variance(self, dimension: int, *, discrete: bool) -> float:
        """Return the variance of one component; on a grid a side of w points has variance (w^2 - 1) / 12."""
        return _mean_power(self, dimension, 2) / 12 - (1 / 12 if discrete else 0)

    def mean_side(self, dimension: int) -> float:
        """Return the expected side of the drawn box: four times how far a component is from 0 on average."""
        return _mean_power(self, dimension, 1)

    def mass_within(self, i: int) -> float:
        """Return the probability of box i; 0 for i = -1."""
        return self._inside(i) + self._outside(i) * float(self.volume(i)) if i >= 0 else 0.0

    def region(self, confidence: float) -> tuple[int, float]:
        """Return (i, size): the smallest region of this probability holds box i and lies in box i + 1; i may be -1."""
        last = -1
        while self.mass_within(last + 1) < confidence:
            last = self._advance(last, confidence)
        size = (confidence - self._inside(last)) / self._outside(last)
        return last, size

    def _advance(self, last: int, confidence: float) -> int:
        """Return the largest box found by doubling steps that is still too small."""
        step = 1
        while self.mass_within(last + 2 * step) < confidence:
            step *= 2
        return last + step

    def _inside(self, last: int) -> float:
        """Return the part of the mixture that boxes up to ``last`` contribute."""
        rest = self._sum(lambda i: self.volume(i + last + 1), self.dimensions)
        return 1.0 - math.exp(-float(self.epsilon) * (last + 1)) * rest / self._sum(self.volume, self.dimensions)

    def _outside(self, last: int) -> float:
        """Return what the boxes beyond ``last`` contribute to the density inside them."""
        tail = math.exp(-float(self.epsilon) * (last + 1)) / -math.expm1(-float(self.epsilon))
        return tail / self._sum(self.volume, self.dimensions)

    def _sum(self, polynomial: Callable[[int], Fraction], degree: int) -> float:
        """Return sum_i b^i polynomial(i)."""
        epsilon = float(self.epsilon)
        # b / (1 - b), which overflows for no epsilon
        x = math.exp(-epsilon) / -math.expm1(-epsilon)
        terms = (float(w) * x**k for k, w in enumerate(_differences(polynomial, degree)))
        return math.fsum(terms) / -math.expm1(-epsilon)


def _volumes(rings: Rings) -> Callable[[Fraction | int], Fraction | int]:
    """Return the volume of box i as a function of i; equal sides are multiplied as a power."""
    alike = Counter((_whole(a), _whole(c)) for a, c in zip(rings.sides, rings.growths, strict=True))
    return lambda i: math.prod((a + c * i) ** times for (a, c), times in alike.items())


def _differences(polynomial: Callable[[int], Fraction | int], degree: int) -> list[Fraction | int]:
    """Return the forward differences at 0 of a polynomial: w_k with polynomial(i) = sum_k w_k C(i, k)."""
    values = [_whole(polynomial(i)) for i in range(degree + 1)]
    differences: list[Fraction | int] = []
    while values:
        differences.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return differences


def _whole(value: Fraction | int) -> Fraction | int:
    """Return a whole number as an int, which is quicker to reckon with."""
    return value.numerator if value.denominator == 1 else value


@lru_cache(maxsize=256)
def _mean_power(rings: Rings, dimension: int, power: int) -> float:
    """Return the expectation of a power of a side of the drawn box, in balls: volumes overflow floats."""
    a, c = _whole(rings.sides[dimension]), _whole(rings.growths[dimension])
    volume = _volumes(rings)
    above = _differences(lambda i: volume(i) * (a + c * i) ** power, rings.dimensions + power)
    below = _differences(volume, rings.dimensions)
    with working_precision(STARTING_BITS):
        x = 1 / ball(rings.epsilon).expm1()
        sums = [sum((ball(w) * x**k for k, w in enumerate(terms)), start=ball(0)) for terms in (above, below)]
        return float((sums[0] / sums[1]).mid())


@lru_cache(maxsize=256)
def _choice(rings: Rings) -> WeightedChoice:
    differences = _differences(_volumes(rings), rings.dimensions)

    def weights() -> list[object]:
        x = 1 / ball(rings.epsilon).expm1()
        return [ball(w) * x**k for k, w in enumerate(differences)]

    return WeightedChoice(weights)
