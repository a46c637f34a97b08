"""How text reads as numbers and days: the same on every engine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

__all__ = ["Number", "day_of", "not_finite", "number_of"]

# the engines' own conversions differ (Spark takes 1d for a number), so the text is looked at first
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"  # fits into 64 bits
_NOT_FINITE = r"^[+-]?(nan|inf|infinity)$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Number:
    """Text read as a number: all expressions, null where the text is null."""

    #: the number, null where the text is none
    value: Any
    #: the number as an integer, null where it is none or has too many digits
    integer: Any
    #: whether the text is a whole number
    whole: Any
    #: whether the text stands for infinity or for no number
    not_finite: Any


def number_of(text: Any, *, decimal: str | None = None) -> Number:
    """Read text as numbers with a decimal point, or comma; spaces around them do not matter."""
    text = text.strip()
    if decimal == ",":
        # a point next to a decimal comma separates thousands or is a mistake: neither is read
        text = text.contains(".").ifelse(None, text.replace(",", "."))
    value = text.re_search(_NUMBER).ifelse(text.try_cast("float64"), None)
    whole = text.re_search(_WHOLE)
    return Number(
        value=value,
        integer=whole.ifelse(text.try_cast("int64"), None),
        whole=whole.fill_null(False),
        not_finite=text.lower().re_search(_NOT_FINITE).fill_null(False) | not_finite(value).fill_null(False),
    )


def not_finite(number: Any) -> Any:
    """Return whether a floating-point number is infinite or no number; engines sort the latter above all others."""
    return number.abs() > sys.float_info.max


def day_of(text: Any) -> Any:
    """Read text as ISO days (a time of day after them is ignored); null where it is none."""
    text = text.strip()
    return text.re_search(_DAY).ifelse(text.substr(0, 10).try_cast("date"), None)
