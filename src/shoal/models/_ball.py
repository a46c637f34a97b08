"""Signs of irrational quantities, decided in ball arithmetic: the precision is raised until the sign is certain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

__all__ = ["above", "below", "enclosures", "exact", "logarithm", "product_is_one", "sign"]

START = 128


def sign(quantity: Callable[[], arb], is_zero: Callable[[], bool] | None = None) -> int:
    """Return the sign of a quantity.

    ``quantity`` is evaluated with 128 bits, then with twice as many until the sign is certain. ``is_zero`` decides
    whether the quantity is 0, and is asked at most once; without it the caller has a proof that it is not.
    """
    from flint import ctx

    precision = START
    while True:
        with ctx.workprec(precision):
            ball = quantity()
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
        if precision == START and is_zero is not None and is_zero():
            return 0
        precision *= 2


def exact(value: Fraction | int) -> arb:
    """Return a ball around a rational number."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def logarithm(value: Fraction | int) -> arb:
    """Return a ball around the natural logarithm of a positive rational number."""
    return exact(value).log()


def product_is_one(exponents: Mapping[int, int]) -> bool:
    """Return whether the product of ``base ** exponent`` is 1, by the prime factors of the bases.

    Examples
    --------
    >>> product_is_one({4: 3, 2: -6}), product_is_one({6: 1, 2: -1})
    (True, False)
    """
    from flint import fmpz

    primes: dict[int, int] = {}
    for base, exponent in exponents.items():
        for prime, multiplicity in fmpz(base).factor():
            primes[int(prime)] = primes.get(int(prime), 0) + exponent * int(multiplicity)
    return not any(primes.values())


def enclosures(quantity: Callable[[], arb]) -> Iterator[tuple[Fraction, Fraction]]:
    """Give rational bounds of a quantity, each pair narrower than the one before."""
    from flint import ctx

    precision = START
    while True:
        with ctx.workprec(precision):
            ball = quantity()
            bounds = _rational(ball.lower()), _rational(ball.upper())
        yield bounds
        precision *= 2


def below(quantity: Callable[[], arb]) -> float:
    """Return a float whose decimal notation is at most the quantity, and next to it."""
    return _safe(quantity, toward=-math.inf)


def above(quantity: Callable[[], arb]) -> float:
    """Return a float whose decimal notation is at least the quantity, and next to it."""
    return _safe(quantity, toward=math.inf)


def _safe(quantity: Callable[[], arb], *, toward: float) -> float:
    bound = next(enclosures(quantity))[toward > 0]
    value = float(bound)
    # The decimal that is printed for a float need not be on the same side as the float itself.
    while Fraction(repr(value)) < bound if toward > 0 else Fraction(repr(value)) > bound:
        value = math.nextafter(value, toward)
    return value


def _rational(end: arb) -> Fraction:
    exact = end.fmpq()
    return Fraction(int(exact.p), int(exact.q))
