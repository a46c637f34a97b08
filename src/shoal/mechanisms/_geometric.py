"""The geometric distribution with ratio exp(-x), exactly."""

from __future__ import annotations

from fractions import Fraction

from shoal.mechanisms._bernoulli import _exponential_coin
from shoal.mechanisms._random import SYSTEM, RandomSource

__all__ = ["discrete_laplace", "geometric"]

_ONE = Fraction(1)


def geometric(x: Fraction, *, source: RandomSource = SYSTEM) -> int:
    """Return i = 0, 1, 2, ... with probability exactly (1 - e^-x) e^-(i x), for a rational x > 0.

    Guarantee
    ---------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 2. Write x = s /
    t. U uniform in [0, t), kept with probability exp(-U / t), and V the number of heads of exp(-1) before the
    first tail make U + t V geometric with ratio exp(-1 / t); dividing by s and rounding down multiplies the
    exponent by s.

    Notes
    -----
    O(1) coins are expected, whatever x is.

    Examples
    --------
    >>> geometric(Fraction(1000))
    0
    """
    s, t = x.numerator, x.denominator
    while not _exponential_coin(Fraction(u := source.below(t), t), source):
        pass
    v = 0
    while _exponential_coin(_ONE, source):
        v += 1
    return (u + t * v) // s


def discrete_laplace(scale: Fraction, *, source: RandomSource = SYSTEM) -> int:
    """Return the integer k with probability exactly proportional to exp(-abs(k) / scale).

    A sign and a geometric magnitude, drawn again where they give -0, so that 0 does not count twice.
    """
    while True:
        magnitude, negative = geometric(1 / scale, source=source), source.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude
