"""Many exact geometric and discrete Laplace draws at once."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from shoal.exact import Number, ball, positive
from shoal.kernels import Integers
from shoal.mechanisms._coins import WeightedChoice, geometric
from shoal.mechanisms._random import SYSTEM, RandomSource

DIGIT = 1 << 10
"""Values of one digit of a geometric draw."""
# Beyond 2^-64 of the probability a table would hold only what is hardly ever drawn.
_TAIL = 64 * math.log(2)


def geometrics(x: Number, size: int, *, source: RandomSource = SYSTEM) -> Integers:
    """Return ``size`` independent draws of i = 0, 1, 2, ... with probability exactly (1 - e^-x) e^-(i x).

    Guarantee
    ---------
    Exact. Write i = d + D j with D = 1024 and 0 <= d < D: the probability is proportional to e^(-d x) e^(-j D x), so
    the digit d and the rest j are independent, d with weights e^(-d x), j geometric with D x for x. Once x is so large
    that a table of at most D values holds all but 2^-64 of the probability, one choice draws them and a last one,
    "this far or farther", from which on the distribution is the same again. Choices are exact (`WeightedChoice`).

    Examples
    --------
    >>> geometrics(1000, 3).tolist()
    [0, 0, 0]
    """
    exact = positive(x, "x", "geometrics")
    found, unit = np.zeros(size, dtype=np.int64), 1
    while exact * DIGIT < _TAIL:
        found += unit * _digits(exact).draw_all(size, source=source)
        exact, unit = exact * DIGIT, unit * DIGIT
    table, last = _table(exact)
    drawn = table.draw_all(size, source=source)
    for place in np.flatnonzero(drawn == last).tolist():
        drawn[place] += geometric(exact, source=source)
    return found + unit * drawn


def discrete_laplaces(scale: Number, size: int, *, source: RandomSource = SYSTEM) -> Integers:
    """Return ``size`` independent integers, each i with probability exactly proportional to exp(-abs(i) / scale).

    Signs and geometric magnitudes, drawn again where they give -0, so that 0 does not count twice.

    Examples
    --------
    >>> discrete_laplaces("1/1000", 3).tolist()
    [0, 0, 0]
    """
    x = 1 / positive(scale, "scale", "discrete_laplaces")
    found = np.zeros(size, dtype=np.int64)
    places = np.arange(size)
    while len(places):
        magnitudes = geometrics(x, len(places), source=source)
        negative = source.uint8(len(places)) < 128
        found[places] = np.where(negative, -magnitudes, magnitudes)
        places = places[negative & (magnitudes == 0)]
    return found


@lru_cache(maxsize=64)
def _digits(x: Fraction) -> WeightedChoice:
    return WeightedChoice(lambda: _powers(x, DIGIT))


@lru_cache(maxsize=64)
def _table(x: Fraction) -> tuple[WeightedChoice, int]:
    last = math.ceil(_TAIL / x)

    def weights() -> list[Any]:
        powers = _powers(x, last + 1)
        # all from `last` on together: e^(-last x) / (1 - e^-x)
        return [*powers[:-1], powers[-1] / -(-ball(x)).expm1()]

    return WeightedChoice(weights), last


def _powers(x: Fraction, count: int) -> list[Any]:
    """Return balls around e^0, e^-x, e^-2x, ..."""
    return [(-ball(x * number)).exp() for number in range(count)]
