"""Coins whose bias is exact: rational, exp(-x), or any real number that balls can enclose."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from shoal.errors import ParameterError
from shoal.exact import Number, rational, working_precision
from shoal.mechanisms._random import SYSTEM, RandomSource

__all__ = ["below_real", "bernoulli", "bernoulli_exponential", "bernoulli_real"]


def bernoulli(probability: Number, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly ``probability``, a rational p/q in [0, 1].

    Guarantee
    ---------
    A uniform integer in [0, q) is below p with probability p/q.

    Examples
    --------
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    """
    exact = rational(probability, "probability", "bernoulli")
    if not 0 <= exact <= 1:
        raise ParameterError(f"`probability` of `bernoulli` must be in [0, 1]; got {float(exact)!r}.")
    return _rational_coin(exact.numerator, exact.denominator, source)


def bernoulli_exponential(x: Number, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly exp(-x), for a rational x >= 0.

    Guarantee
    ---------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 1. For x in [0, 1]
    flip coins of bias x/1, x/2, x/3, ... up to the first tail, at position K: P[K > m] = x^m / m!, so P[K is odd]
    = sum_m (-x)^m / m! = exp(-x). For x > 1, exp(-x) is a product of floor(x) coins exp(-1) and one coin exp(-(x -
    floor(x))), all of which must show heads.

    Notes
    -----
    Fewer than 2.6 rational coins are expected for x <= 1, and the work stops at the first tail beyond, so the
    expected cost is O(1) coins for every x.

    Examples
    --------
    >>> bernoulli_exponential(0)
    True
    """
    exact = rational(x, "x", "bernoulli_exponential")
    if exact < 0:
        raise ParameterError(f"`x` of `bernoulli_exponential` must be at least 0; got {float(exact)!r}.")
    whole, part = divmod(exact, 1)
    heads = all(_exponential_coin(Fraction(1), source) for _ in range(whole))
    return heads and _exponential_coin(part, source)


def bernoulli_real(probability: Callable[[], Any], *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly the real number p that ``probability`` encloses.

    Parameters
    ----------
    probability
        Returns a ball around p in [0, 1] at the working precision; p must be the same real number at every call, and
        the balls must shrink to it.

    Guarantee
    ---------
    U is uniform in [0, 1), known to be in [u, u + 2^-b] after b bits; the answer is U < p. It is given only once the
    ball lies on one side of that interval; until then both U and p are refined. U = p has probability 0, so the
    procedure ends almost surely; each refinement is needed with probability about 2^-b.
    """
    return below_real(source.bits(64), 64, probability, source=source)


def below_real(u: int, bits: int, probability: Callable[[], Any], *, source: RandomSource = SYSTEM) -> bool:
    """Decide U < p as in `bernoulli_real`, where ``u`` holds the first ``bits`` bits of U."""
    while True:
        with working_precision(2 * bits):
            p = probability() * 2**bits
            if p >= u + 1:
                return True
            if p <= u:
                return False
        bits, u = 2 * bits, (u << bits) | source.bits(bits)


def _exponential_coin(x: Fraction, source: RandomSource) -> bool:
    position = 1
    while _rational_coin(x.numerator, x.denominator * position, source):
        position += 1
    return position % 2 == 1


def _rational_coin(numerator: int, denominator: int, source: RandomSource) -> bool:
    return source.below(denominator) < numerator
