"""Exact numbers: what the user wrote as a rational, and balls around what is not rational.

A float is taken at its exact binary value and a string or ``Decimal`` at its decimal value, so two people who
write the same parameters get the same mechanism. Numbers that are not rational (exponentials, logarithms) live
in python-flint balls: an interval that provably holds the true value, at any working precision.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from shoal.errors import ParameterError

__all__ = ["MAXIMAL_BITS", "STARTING_BITS", "Number", "ball", "precisions", "rational", "round_up", "working_precision"]

Number = int | float | str | Decimal | Fraction

# 64-bit sampling rates put thresholds about 2^-64 away from integers, so fewer than 128 bits would rarely decide.
STARTING_BITS = 128
MAXIMAL_BITS = 1 << 14

# The precision of python-flint is one global of the process. Balls are sound at every precision; the lock keeps
# another thread from making them needlessly wide, which would make answers differ from run to run.
_precision_lock = threading.RLock()


def rational(value: Number, name: str, owner: str) -> Fraction:
    """Return ``value`` as the exact rational number it stands for.

    Parameters
    ----------
    value
        A float counts as its binary value, a string or ``Decimal`` as its decimal value.
    name, owner
        For the error message: the parameter and the thing that has it.

    Raises
    ------
    ParameterError
        If ``value`` is not a finite number.

    Examples
    --------
    >>> rational("1e-6", "delta", "parameters")
    Fraction(1, 1000000)
    >>> rational(0.1, "epsilon", "parameters") == Fraction(1, 10)
    False
    """
    given: object = None if isinstance(value, bool) else value
    try:
        if isinstance(given, (str, Decimal, Rational)):
            return Fraction(given)
        if isinstance(given, Real):  # floats, those of NumPy included
            return Fraction(float(given))
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    raise ParameterError(
        f"`{name}` of `{owner}` must be a finite number; got {value!r}.",
        hint="give an int, a float, a Fraction, a Decimal, or a decimal string such as '1e-6'",
    )


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute balls with ``bits`` bits inside the ``with`` block."""
    from flint import ctx

    with _precision_lock, ctx.workprec(bits):
        yield


def precisions() -> Iterator[int]:
    """Yield working precisions to try until a question is decided."""
    bits = STARTING_BITS
    while bits <= MAXIMAL_BITS:
        yield bits
        bits *= 2


def ball(value: Fraction) -> Any:
    """Return a ball around ``value`` at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def round_up(value: Any) -> float:
    """Return a float that is at least every number of the ball ``value``, and at most one float too large."""
    upper = float(value.upper())
    # The conversion rounds to nearest; one step up covers both roundings.
    return upper if upper == math.inf or ball(Fraction(upper)) >= value else math.nextafter(upper, math.inf)
