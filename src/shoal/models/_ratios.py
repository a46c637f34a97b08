"""Exact fractions in bulk: compared with a threshold without rounding, at the speed of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.exact import Quantity
from shoal.kernels import Mask

#: 64-bit integers, or Python integers (dtype object) where those would overflow.
Integers = npt.NDArray[np.int64] | npt.NDArray[np.object_]
#: Sums of two numbers below this stay within 64 bits.
LIMIT = 2**62
# Two conversions and a division round once each: a quotient is right to a relative error below 2^-51.
MARGIN = 2.0**-50


def arithmetic(largest: int) -> type[np.int64] | type[object]:
    """Return the integers to compute with, given the largest number that can occur."""
    return np.int64 if largest < LIMIT else object


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Fractions ``numerators / denominators``, none negative; infinite where a denominator is 0.

    A comparison is decided in 64-bit integers where the products fit. Else quotients in floating point decide all that
    are farther from the threshold than the rounding error, and Python integers the few that are left.

    Examples
    --------
    >>> Ratios(np.array([1, 2, 1]), np.array([3, 3, 0])).at_most(Fraction(1, 3)).tolist()
    [True, False, False]
    """

    numerators: Integers
    denominators: Integers

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(int(self.numerators[index]), int(self.denominators[index]))

    def at_most(self, threshold: Fraction) -> Mask:
        """Return where ``ratio <= threshold``, exactly."""
        return self._compare(threshold) <= 0

    def below(self, threshold: Fraction) -> Mask:
        """Return where ``ratio < threshold``, exactly."""
        return self._compare(threshold) < 0

    def at_least(self, threshold: Fraction) -> Mask:
        """Return where ``ratio >= threshold``, exactly."""
        return self._compare(threshold) >= 0

    def largest(self) -> Quantity:
        """Return the greatest ratio, exactly; infinity if one is infinite, 0 if there is none."""
        if not len(self):
            return 0
        if bool(np.any(self.denominators == 0)):
            return math.inf
        quotients = self.quotients()
        return max(self._candidates(quotients >= quotients.max() * (1 - MARGIN)))

    def smallest(self) -> Quantity:
        """Return the least ratio, exactly; infinity if all are infinite or there is none."""
        quotients = self.quotients()
        least = quotients.min(initial=math.inf)
        return min(self._candidates(quotients <= least * (1 + MARGIN))) if math.isfinite(least) else math.inf

    def quotients(self) -> npt.NDArray[np.float64]:
        """Return the ratios as floats with a relative error below 2^-51."""
        if self.numerators.dtype == object or self.denominators.dtype == object:
            return self._long_division()
        with np.errstate(divide="ignore"):
            return self.numerators.astype(np.float64) / self.denominators.astype(np.float64)

    def _long_division(self) -> npt.NDArray[np.float64]:
        """Return the ratios of Python integers, which may be beyond every float, as floats rounded once."""
        quotients = np.full(len(self), math.inf)
        finite = self.denominators != 0
        quotients[finite] = (self.numerators[finite].astype(object) / self.denominators[finite].astype(object)).astype(
            float
        )
        return quotients

    def _candidates(self, chosen: Mask) -> set[Fraction]:
        pairs = {*zip(self.numerators[chosen].tolist(), self.denominators[chosen].tolist(), strict=True)}
        return {Fraction(*pair) for pair in pairs}

    def _compare(self, threshold: Fraction) -> npt.NDArray[np.int8]:
        """Return the sign of ``ratio - threshold``."""
        numerator, denominator = threshold.numerator, threshold.denominator
        left, right = self.numerators, self.denominators
        if left.dtype == np.int64 and right.dtype == np.int64:
            widest = max(int(left.max(initial=1)) * denominator, int(right.max(initial=1)) * numerator)
            if widest < LIMIT:
                return np.sign(left * denominator - right * numerator).astype(np.int8)
        finite = right != 0
        distance = np.where(finite, self.quotients(), np.inf) - _nearest(threshold)
        signs = np.where(distance > 0, 1, -1).astype(np.int8)
        near = finite & (np.abs(distance) <= MARGIN * _nearest(threshold))
        for index in np.flatnonzero(near).tolist():
            difference = int(left[index]) * denominator - int(right[index]) * numerator
            signs[index] = (difference > 0) - (difference < 0)
        return signs


def _nearest(threshold: Fraction) -> float:
    try:
        return float(threshold)
    except OverflowError:  # beyond every ratio of counts
        return float(np.finfo(np.float64).max)
