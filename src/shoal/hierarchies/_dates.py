"""Days truncated to months, quarters, years and decades: ``2024-05``, ``2024-Q2``, ``2024``, ``2020s``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.hierarchies._column import Column, Days
from shoal.hierarchies._intervals import covered
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Dates

__all__ = ["dates"]

Integers = npt.NDArray[np.int64]


def dates(column: Column, rule: Dates) -> Tree:
    """Return the days truncated to each of the levels."""
    days = column.days
    bounds = _domain(column, days)
    levels = []
    for name in rule.levels:
        number, start, label = _UNITS[name]
        periods, groups = np.unique(number(days), return_inverse=True)
        low, high = (pa.array(start(edge).astype(np.int64)) for edge in (periods, periods + 1))
        labels = pa.array(label(periods), pa.string())
        levels.append(Level(groups=groups, labels=labels, shares=covered(low, high, bounds)))
    return Tree(leaves=column.leaves, levels=levels)


def _domain(column: Column, days: Days) -> tuple[float, float]:
    declared = column.attribute.domain
    low = None if declared is None else declared.minimum
    high = None if declared is None else declared.maximum
    numbers = days.astype(np.int64)
    return (
        _day(low) if isinstance(low, dt.date) else float(numbers.min(initial=0 if not len(numbers) else numbers[0])),
        _day(high) if isinstance(high, dt.date) else float(numbers.max(initial=0 if not len(numbers) else numbers[0])),
    )


def _day(day: dt.date) -> float:
    return float(np.datetime64(dt.date(day.year, day.month, day.day), "D").astype(np.int64))


def _of(unit: str, size: int = 1) -> tuple[Callable[[Days], Integers], Callable[[Integers], Days]]:
    """Return what numbers the periods of ``size`` units, and what gives the first day of a period.

    The epoch, 1970, starts a month, a quarter, a year and a decade.
    """

    def number(days: Days) -> Integers:
        return days.astype(f"datetime64[{unit}]").astype(np.int64) // size

    def start(periods: Integers) -> Days:
        return (periods * size).astype(f"datetime64[{unit}]").astype("datetime64[D]")

    return number, start


def _iso(unit: str) -> Callable[[Integers], list[str]]:
    return lambda periods: np.datetime_as_string(periods.astype(f"datetime64[{unit}]")).tolist()


def _quarters(periods: Integers) -> list[str]:
    return [f"{1970 + period // 4:04d}-Q{period % 4 + 1}" for period in periods.tolist()]


def _decades(periods: Integers) -> list[str]:
    return [f"{1970 + period * 10:04d}s" for period in periods.tolist()]


_UNITS: dict[str, tuple[Callable[[Days], Integers], Callable[[Integers], Days], Callable[[Integers], list[str]]]] = {
    "day": (*_of("D"), _iso("D")),
    "month": (*_of("M"), _iso("M")),
    "quarter": (*_of("M", 3), _quarters),
    "year": (*_of("Y"), _iso("Y")),
    "decade": (*_of("Y", 10), _decades),
}
