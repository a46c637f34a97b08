"""Coins whose bias is exact, and what is made of them: choices with real weights, geometric and Laplace draws."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.exact import Number, ball, positive, rational, working_precision
from shoal.kernels import Integers
from shoal.mechanisms._random import SYSTEM, RandomSource


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
    return source.below(exact.denominator) < exact.numerator


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
    heads = all(_exponential_coin(_ONE, source) for _ in range(whole))
    return heads and _exponential_coin(part, source)


def bernoulli_real(probability: Callable[[], Any], *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly the real number p that ``probability`` encloses.

    It returns a ball around p in [0, 1] at the working precision; p must be the same real number at every call, and the
    balls must shrink to it.

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
    while source.below(x.denominator * position) < x.numerator:
        position += 1
    return position % 2 == 1


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


FIRST_BITS = 64
_LAST = 2**FIRST_BITS - 1


class WeightedChoice:
    """Draw i with probability exactly w_i / (w_0 + w_1 + ...).

    ``weights`` returns balls around the weights at the working precision: the same real numbers, at least 0, at every
    call, in balls that shrink to them.

    Guarantee
    ---------
    U is uniform in [0, 1), known to be in [u, u + 2^-b] after b bits; the answer is the i whose part of [0, 1)
    holds U. It is given only once that interval lies inside one part; until then both U and the ends of the parts
    are refined, which happens with probability about 2^-64 times the number of parts.

    Examples
    --------
    >>> from flint import arb
    >>> WeightedChoice(lambda: [arb(0), arb(3).sqrt(), arb(0)]).draw()
    1
    """

    __slots__ = ("_first", "_weights", "_words")

    def __init__(self, weights: Callable[[], Sequence[Any]]) -> None:
        self._weights = weights
        self._first = self._ends(FIRST_BITS)
        self._words = [np.array([min(end, _LAST) for end in ends], dtype=np.uint64) for ends in self._first]

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one outcome. O(log n), after the first draw of a choice."""
        return self._settled(source.bits(FIRST_BITS), source)

    def draw_all(self, size: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return the positions of so many independent outcomes; vectorised."""
        drawn, (lower, upper) = source.uint64(size), self._words
        parts = np.searchsorted(lower[:-1], drawn, side="right").astype(np.int64)
        # an end at 2^64 does not fit into the words: what may lie beyond it is settled one by one
        before = upper[np.maximum(parts - 1, 0)]
        open_still = (parts > 0) & ((before > drawn) | (before == _LAST))
        for position in np.flatnonzero(open_still).tolist():
            parts[position] = self._settled(int(drawn[position]), source)
        return parts

    def _settled(self, u: int, source: RandomSource) -> int:
        """Return the outcome of a draw that starts with the bits ``u``."""
        bits, ends = FIRST_BITS, self._first
        while (part := _part(u, ends)) is None:
            bits, u = 2 * bits, (u << bits) | source.bits(bits)
            ends = self._ends(bits)
        return part

    def _ends(self, bits: int) -> tuple[list[int], list[int]]:
        """Return lower and upper bounds of 2^bits times the ends of the parts; the last end is 2^bits."""
        with working_precision(2 * bits + 64):
            weights = list(self._weights())
            total = sum(weights[1:], start=weights[0])
            lower: list[int] = []
            upper: list[int] = []
            sofar = 0 * weights[0]
            for weight in weights[:-1]:
                sofar = sofar + weight
                end = sofar / total * 2**bits
                # the ends rise, whatever the rounding of their balls says
                lower.append(max(int(end.lower().floor().unique_fmpz()), lower[-1] if lower else 0))
                upper.append(min(int(end.upper().ceil().unique_fmpz()), 2**bits))
        return [*lower, 2**bits], [*upper, 2**bits]


def _part(u: int, ends: tuple[list[int], list[int]]) -> int | None:
    """Return the part that holds all of [u, u + 1], or None where the ends are not known well enough to say."""
    lower, upper = ends
    # the first part whose end is surely not below u + 1; every part before it must surely end by u
    part = bisect_right(lower, u)
    return part if part == 0 or upper[part - 1] <= u else None


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
    draws, unit = np.zeros(size, dtype=np.int64), 1
    while exact * DIGIT < _TAIL:
        draws += unit * _digits(exact).draw_all(size, source=source)
        exact, unit = exact * DIGIT, unit * DIGIT
    table, last = _table(exact)
    drawn = table.draw_all(size, source=source)
    for position in np.flatnonzero(drawn == last).tolist():
        drawn[position] += geometric(exact, source=source)
    return draws + unit * drawn


def discrete_laplaces(scale: Number, size: int, *, source: RandomSource = SYSTEM) -> Integers:
    """Return ``size`` independent integers, each i with probability exactly proportional to exp(-abs(i) / scale).

    Signs and geometric magnitudes, drawn again where they give -0, so that 0 does not count twice.

    Examples
    --------
    >>> discrete_laplaces("1/1000", 3).tolist()
    [0, 0, 0]
    """
    x = 1 / positive(scale, "scale", "discrete_laplaces")
    draws = np.zeros(size, dtype=np.int64)
    positions = np.arange(size)
    while len(positions):
        magnitudes = geometrics(x, len(positions), source=source)
        negative = source.uint8(len(positions)) < 128
        draws[positions] = np.where(negative, -magnitudes, magnitudes)
        positions = positions[negative & (magnitudes == 0)]
    return draws


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
