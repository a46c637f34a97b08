"""Arguments of models: read as the numbers that the user typed, checked all at once, written back as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from shoal.errors import ParameterError, Problems

__all__ = ["Arguments", "Number", "Quantity", "fraction", "plain"]

#: What a user may type for a rational threshold. A float means its decimal notation: 0.2 is 1/5, not the binary
#: number next to it. A text is a decimal or a fraction such as "1/3".
Number = int | float | str | Fraction | Decimal
#: What a model reports: exact, or a float on the safe side where the exact figure is irrational.
Quantity = int | float | Fraction


def fraction(value: Number) -> Fraction:
    """Return the exact number that was typed.

    Examples
    --------
    >>> fraction(0.2), fraction("1/3")
    (Fraction(1, 5), Fraction(1, 3))
    """
    if isinstance(value, Fraction):
        return value
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def plain(value: object) -> object:
    """Return a value as TOML and JSON know it, so that :func:`fraction` gives the same number back.

    Examples
    --------
    >>> plain(Fraction(1, 5)), plain(Fraction(1, 3)), plain(Fraction(2))
    (0.2, '1/3', 2)
    """
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if not isinstance(value, Fraction):
        return value
    if value.denominator == 1:
        return int(value)
    try:
        nearest = float(value)
    except OverflowError:
        return str(value)
    return nearest if math.isfinite(nearest) and fraction(nearest) == value else str(value)


@dataclass(slots=True)
class Arguments:
    """Checks the arguments of one model and raises all problems together."""

    title: str
    problems: Problems = field(default_factory=Problems)

    def whole(self, name: str, value: object, *, minimum: int = 1) -> int:
        """Return an integer of at least ``minimum``."""
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= minimum:
            return int(value)
        self._refuse(name, f"an integer in [{minimum}, inf)", value)
        return minimum

    def rational(self, name: str, value: object, interval: str) -> Fraction:
        """Return the exact number that was typed, if it lies in an interval such as ``"[0, 1)"``."""
        if isinstance(value, (int, float, str, Fraction, Decimal)) and not isinstance(value, bool):
            try:
                number = fraction(value)
            except (ValueError, OverflowError, ZeroDivisionError):  # not a number, infinite, or "1/0"
                number = None
            if number is not None and _inside(number, interval):
                return number
        self._refuse(name, f"in {interval}", value)
        return Fraction(1)

    def column(self, name: str, value: object) -> str:
        """Return the name of a column."""
        if isinstance(value, str) and value:
            return value
        self._refuse(name, "the name of a column", value)
        return ""

    def columns(self, name: str, value: object) -> tuple[str, ...]:
        """Return the names of one or more different columns."""
        entries = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
        if entries and all(isinstance(entry, str) and entry for entry in entries) and len({*entries}) == len(entries):
            return entries
        self._refuse(name, "one or more different names of columns", value)
        return ()

    def choice(self, name: str, value: object, options: Sequence[str]) -> None:
        """Check that a value is one of the options."""
        if value not in options:
            self._refuse(name, "one of " + ", ".join(f'"{option}"' for option in options), value)

    def flag(self, name: str, value: object) -> bool:
        """Return a truth value."""
        if not isinstance(value, bool):
            self._refuse(name, "true or false", value)
        return bool(value)

    def finish(self) -> None:
        """Raise the problems, if any."""
        self.problems.raise_as(ParameterError)

    def _refuse(self, name: str, expected: str, value: object) -> None:
        self.problems.add(f"`{name}` of `{self.title}` must be {expected}; got {value!r}.")


def _inside(number: Fraction, interval: str) -> bool:
    lower, upper = (bound.strip() for bound in interval[1:-1].split(","))
    above = lower == "-inf" or number > Fraction(lower) or (interval[0] == "[" and number == Fraction(lower))
    below = upper == "inf" or number < Fraction(upper) or (interval[-1] == "]" and number == Fraction(upper))
    return above and below
