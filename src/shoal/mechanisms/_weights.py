"""Exponential weights of many candidates: exact where it counts, bounded from above everywhere else.

Candidate i has the weight w_i = exp(-x_i), x_i = rate (max score - score_i), a rational exponent. Samplers propose
from integers W_i >= 2^bits w_i, which vectorised arithmetic can give, and then correct the proposal with the exact
w_i of the one candidate proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, fraction, rational, working_precision

TABLE_BITS = 62
STEPS_PER_HALVING = 1 << 12
BLUR = 2.0**-50
SMALLEST = 2.0**-1000


@dataclass(frozen=True, slots=True)
class Weights:
    """The candidates' exact exponents and integer upper bounds of their weights.

    A score means what it prints. ``blur`` bounds how far the doubles in ``scores`` are from that, relative to their
    size: 0 for whole numbers and rationals, which are held as they are.
    """

    scores: NDArray[Any]
    best: Fraction
    rate: Fraction
    blur: float = 0.0

    @classmethod
    def of(cls, scores: ArrayLike | Sequence[Number], rate: Fraction) -> Weights:
        """Take scores as they are: floats and integers as NumPy arrays, rationals as objects."""
        given = _checked(np.asarray(scores))
        if given.dtype == object:
            return cls(given, max(given), rate)
        whole = bool((np.abs(given) <= 2**53).all() and (given == np.rint(given)).all())
        # shortest decimals are in the order of their doubles, each within half a unit in the last place
        return cls(given, fraction(given.max().item()), rate, 0.0 if whole else BLUR)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return int(self.scores.size)

    def scaled(self, i: int, scale: Fraction = Fraction(1)) -> Callable[[], Any]:
        """Return a function that encloses scale w_i by a ball at the working precision."""
        score = fraction(self.scores[i].item() if self.is_plain else self.scores[i])
        exponent = self.rate * (self.best - score)
        return lambda: ball(scale) * (-ball(exponent)).exp()

    @property
    def is_plain(self) -> bool:
        """Whether the scores are machine numbers, not rational objects."""
        return self.scores.dtype != object

    def upper_bounds(self, bits: int) -> NDArray[np.int64]:
        """Return integers W_i >= 2^bits w_i, at most 1 + 2^bits w_i (1 + 2^-12) wherever that matters.

        Only addition, subtraction and multiplication of IEEE 754 doubles are trusted, each with a relative error
        of at most 2^-53; no library's exp or log is. Let y_i = x_i / ln 2, so that w_i = 2^-y_i. The gap (where
        decimals are not doubles, lowered by more than the two differ, see `_gaps`), the
        factor rate / ln 2 and their product are three roundings, so (computed product) (1 - 2^-50) <= y_i. Rounded
        down to t / 4096, the bound is 2^-(t / 4096) = 2^-(t div 4096) 2^-((t mod 4096) / 4096), a shift of an
        entry of a table that was rounded up in ball arithmetic; the shift rounds down and the 1 makes up for it.
        """
        with np.errstate(over="ignore"):
            halvings = np.minimum(self._gaps() * self._factor() * (1 - 2.0**-50), 64.0)
        steps = (halvings * STEPS_PER_HALVING).astype(np.int64)
        shifts = np.minimum(steps // STEPS_PER_HALVING + (TABLE_BITS - bits), 63)
        return (_table()[steps % STEPS_PER_HALVING] >> shifts) + 1

    def _gaps(self) -> NDArray[np.float64]:
        """Return max - score: correctly rounded for exact scores, else rounded and no more than the exact gap.

        With m the larger magnitude, each decimal is within 2^-53 m of its double, and the two subtractions round by at
        most 2^-52 m each; 2^-50 m covers them all. Below the normal doubles the smallest one covers them.
        """
        try:
            with np.errstate(over="raise"):
                best: Fraction | float = float(self.best) if self.is_plain else self.best
                gaps: NDArray[np.float64] = (best - self.scores).astype(np.float64, copy=False)
                if not self.blur:
                    return gaps
                size = np.maximum(abs(float(best)), np.abs(self.scores))
                lowered: NDArray[np.float64] = np.maximum(gaps - (size * self.blur + SMALLEST), 0.0)
                return lowered
        except (FloatingPointError, OverflowError):
            raise ParameterError(
                "`scores` of a selection must differ by less than 2^1024; some differ by more."
            ) from None

    def _factor(self) -> float:
        from flint import arb

        with working_precision(STARTING_BITS):
            factor = float((ball(self.rate) / arb.const_log2()).mid())
        if not 2.0**-1000 < factor < 2.0**1000:
            raise ParameterError(
                "`epsilon` / `sensitivity` of a selection must be in (2^-1000, 2^1000).",
                hint="scale the scores so that their sensitivity is near 1",
            )
        return factor


@cache
def _table() -> NDArray[np.int64]:
    """Return ceil(2^(62 - f / 4096)) for f = 0 .. 4095."""
    from flint import arb

    with working_precision(STARTING_BITS):
        powers = ((-arb.const_log2() * f / STEPS_PER_HALVING).exp() * 2**TABLE_BITS for f in range(STEPS_PER_HALVING))
        return np.array([int(power.upper().ceil().unique_fmpz()) for power in powers], dtype=np.int64)


def _checked(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores that doubles hold exactly as doubles, and others as rationals."""
    if scores.ndim != 1 or scores.size == 0:
        raise ParameterError(f"`scores` of a selection must be one non-empty list; got shape {scores.shape}.")
    if scores.dtype.kind == "f" and scores.dtype.itemsize <= 8:
        return _finite(scores.astype(np.float64, copy=False))
    if scores.dtype.kind in "iu":
        if max(abs(int(scores.max())), abs(int(scores.min()))) <= 2**53:
            return scores.astype(np.float64)
        scores = scores.astype(object)
    if scores.dtype == object:
        return np.array([rational(score, "scores", "selection") for score in scores], dtype=object)
    raise ParameterError(f"`scores` of a selection must be numbers; got {scores.dtype}.")


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    unusable = int((~np.isfinite(scores)).sum())
    if unusable:
        raise ParameterError(f"`scores` of a selection must be finite; {unusable} are not.")
    return scores
