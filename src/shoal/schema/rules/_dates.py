"""Days truncated to months, quarters, years and decades: ``2024-05``, ``2024-Q2``, ``2024``, ``2020s``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.kernels import Integers
from shoal.schema._domain import Kind
from shoal.schema._entry import many, text
from shoal.schema._rule import Level, LevelsRule, RuledColumn, Tree, at
from shoal.schema._values import Days

DATE_LEVELS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates(LevelsRule):
    """Truncate a day to ``month``, ``quarter``, ``year``, ``decade``; any ascending choice of these.

    ``day`` is for time stamps; the values of a column of days are days already.
    """

    name: ClassVar[str] = "dates"
    known: ClassVar[tuple[str, ...]] = DATE_LEVELS
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.DATE,)
    levels: tuple[str, ...] = field(default=DATE_LEVELS[1:], metadata=at("dates", many(text)))

    def explain(self) -> str:
        return f"dates shortened to the {', then the '.join(self.levels)}"

    def tree(self, column: RuledColumn) -> Tree:
        days = column.days
        levels = []
        for name in self.levels:
            number, start, label = _UNITS[name]
            periods, groups = np.unique(number(days), return_inverse=True)
            low, high = (pa.array(start(edge).astype(np.int64)) for edge in (periods, periods + 1))
            labels = pa.array(label(periods), pa.string())
            levels.append(Level(groups=groups, labels=labels, shares=column.covered(low, high)))
        return Tree(leaves=column.leaves, levels=levels)


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
