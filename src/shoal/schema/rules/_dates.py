"""Days truncated to months, quarters, years and decades: ``2024-05``, ``2024-Q2``, ``2024``, ``2020s``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.kernels import Integers
from shoal.schema._domain import Kind
from shoal.schema._entry import many, text
from shoal.schema._rule import Level, LevelsRule, RuledColumn, Tree, at

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
            # the epoch, 1970, starts a month, a quarter, a year and a decade
            unit, size = _UNITS[name]
            periods, groups = np.unique(days.astype(unit).astype(np.int64) // size, return_inverse=True)
            low, high = ((edge * size).astype(unit).astype("datetime64[D]") for edge in (periods, periods + 1))
            shares = column.measure_coverage(pa.array(low.astype(np.int64)), pa.array(high.astype(np.int64)))
            levels.append(Level(groups=groups, labels=pa.array(_labels(name, periods), pa.string()), shares=shares))
        return Tree(leaves=column.leaves, levels=levels)


#: the periods of a level are so many units long
_UNITS = {
    "day": ("datetime64[D]", 1),
    "month": ("datetime64[M]", 1),
    "quarter": ("datetime64[M]", 3),
    "year": ("datetime64[Y]", 1),
    "decade": ("datetime64[Y]", 10),
}


def _labels(level: str, periods: Integers) -> list[str]:
    if level == "quarter":
        return [f"{1970 + period // 4:04d}-Q{period % 4 + 1}" for period in periods.tolist()]
    if level == "decade":
        return [f"{1970 + period * 10:04d}s" for period in periods.tolist()]
    return list(np.datetime_as_string(periods.astype(_UNITS[level][0])).tolist())
