"""One of several outcomes whose weights are real numbers, exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from shoal.exact import working_precision
from shoal.mechanisms._random import SYSTEM, RandomSource

__all__ = ["Choice"]

FIRST_BITS = 64


class Choice:
    """Draw i with probability exactly w_i / (w_0 + w_1 + ...).

    Parameters
    ----------
    weights
        Returns balls around the weights at the working precision: the same real numbers, at least 0, at every
        call, in balls that shrink to them.

    Guarantee
    ---------
    U is uniform in [0, 1), known to be in [u, u + 2^-b] after b bits; the answer is the i whose part of [0, 1)
    holds U. It is given only once that interval lies inside one part; until then both U and the ends of the parts
    are refined, which happens with probability about 2^-64 times the number of parts.

    Examples
    --------
    >>> from flint import arb
    >>> Choice(lambda: [arb(0), arb(3).sqrt(), arb(0)]).draw()
    1
    """

    __slots__ = ("_first", "_weights")

    def __init__(self, weights: Callable[[], Sequence[Any]]) -> None:
        self._weights = weights
        self._first = self._ends(FIRST_BITS)

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one outcome. O(log n), after the first draw of a choice."""
        bits, u = FIRST_BITS, source.bits(FIRST_BITS)
        ends = self._first
        while (found := _part(u, ends)) is None:
            bits, u = 2 * bits, (u << bits) | source.bits(bits)
            ends = self._ends(bits)
        return found

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
    found = bisect_right(lower, u)
    return found if found == 0 or upper[found - 1] <= u else None
