"""What a released label says of a number or a day: ``[20, 25)``, ``< 18``, ``2024-Q2``, ``2020s``."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable

INTERVAL = re.compile(r"^([\[(])\s*(.+?)\s*,\s*(.+?)\s*([\])])$")
HALF = re.compile(r"^(<=|>=|<|>)\s*(.+)$")
_PERIOD = re.compile(r"^(\d{4})(?:-(\d\d)|-Q([1-4])|(s))?$")
_EVERYTHING = ("*", "any number")

Extent = tuple[float, float]
"""The least and the greatest number that a label may stand for, or days since 1970; infinite where it says nothing."""


def number_extent(label: str) -> Extent | None:
    """Return the ends of the numbers that a label covers, or None for one that is not about numbers.

    Examples
    --------
    >>> number_extent("[20, 25)"), number_extent("34"), number_extent(">= 65"), number_extent("young")
    ((20.0, 25.0), (34.0, 34.0), (65.0, inf), None)
    """
    return _extent(label, _number)


def day_extent(label: str) -> Extent | None:
    """Return the first and the last day that a label covers, in days since 1970.

    Examples
    --------
    >>> [str(dt.date(1970, 1, 1) + dt.timedelta(end)) for end in day_extent("2024-Q2")]
    ['2024-04-01', '2024-06-30']
    """
    return _extent(label, _days)


def _extent(label: str, read: Callable[[str], Extent | None]) -> Extent | None:
    if label in _EVERYTHING:
        return -math.inf, math.inf
    if between := INTERVAL.match(label):
        low, high = read(between[2]), read(between[3])
        return None if low is None or high is None else (low[0], high[1])
    if half := HALF.match(label):
        end = read(half[2])
        if end is None:
            return None
        return (-math.inf, end[1]) if half[1].startswith("<") else (end[0], math.inf)
    return read(label)


def _number(text: str) -> Extent | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return (found, found) if math.isfinite(found) else None


def _days(text: str) -> Extent | None:
    try:
        if period := _PERIOD.match(text):
            year, month, months = int(period[1]), 1, 12
            if period[2]:
                month, months = int(period[2]), 1
            elif period[3]:
                month, months = 3 * int(period[3]) - 2, 3
            elif period[4]:
                months = 120
            last = year * 12 + month - 1 + months
            return _since(dt.date(year, month, 1)), _since(dt.date(last // 12, last % 12 + 1, 1)) - 1
        day = _since(dt.datetime.fromisoformat(text).date())
    except ValueError:
        return None
    return day, day


def _since(day: dt.date) -> float:
    return float((day - dt.date(1970, 1, 1)).days)
