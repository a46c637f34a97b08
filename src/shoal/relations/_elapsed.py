"""Numbers that say how long it was from one date to another, in years, months or weeks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from shoal.relations._relation import Relation
from shoal.relations._support import GLANCE, Sides, Support, is_candidate, weigh
from shoal.relations._view import Array, ColumnView

#: dates that are paired; of more, the first ones
_MOST_DATES = 12
#: records on which all pairs of dates are tried, and the share of them that must match
_TRIED, _MATCHING = 256, 0.9
#: days of each unit, as programs count them
_LENGTHS = (("years", 365.25), ("years", 365.0), ("months", 365.25 / 12), ("months", 30.0), ("weeks", 7.0))
_DAYS_OF_A_YEAR, _DAYS_OF_A_MONTH = 365.25, 365.25 / 12


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A way to count from one date to another; ``broken(target, first, last)`` says which records do not follow it."""

    unit: str
    days: float
    broken: Callable[[Array, Array, Array], Array]


def _months(first: Array, last: Array, *, completed: bool) -> Array:
    """Return the months of the calendar from one date to another; only completed ones, or where the month changes."""
    starts, ends = (np.floor(days).astype("datetime64[D]") for days in (first, last))
    months = ends.astype("datetime64[M]").astype(np.int64) - starts.astype("datetime64[M]").astype(np.int64)
    if completed:
        day_of_start, day_of_end = (each - each.astype("datetime64[M]") for each in (starts, ends))
        months = months - (day_of_end < day_of_start)
    return np.asarray(months)


def _years_of_calendar(first: Array, last: Array) -> Array:
    starts, ends = (np.floor(days).astype("datetime64[D]").astype("datetime64[Y]") for days in (first, last))
    return np.asarray((ends - starts).astype(np.int64))


def _measures(step: float) -> list[TimeUnit]:
    """Return the ways to count that numbers of a step can follow."""

    def rounded(length: float) -> Callable[[Array, Array, Array], Array]:
        return lambda v, a, b: np.abs((b - a) / length - v) > step / 2 + 1e-6

    def cut(length: float) -> Callable[[Array, Array, Array], Array]:
        return lambda v, a, b: ~(((b - a) / length - v >= -1e-6) & ((b - a) / length - v < step))

    found = [TimeUnit(unit, length, way(length)) for unit, length in _LENGTHS for way in (cut, rounded)]
    if step < 1:
        return found
    exact: tuple[tuple[str, float, Callable[[Array, Array], Array]], ...] = (
        ("years", _DAYS_OF_A_YEAR, lambda a, b: _months(a, b, completed=True) // 12),
        ("months", _DAYS_OF_A_MONTH, lambda a, b: _months(a, b, completed=True)),
        ("months", _DAYS_OF_A_MONTH, lambda a, b: _months(a, b, completed=False)),
        ("years", _DAYS_OF_A_YEAR, _years_of_calendar),
    )
    return [TimeUnit(unit, days, lambda v, a, b, of=of: of(a, b) != v) for unit, days, of in exact] + found  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The search for times from one date to another; whole days are found among the sums."""

    views: list[ColumnView]
    exceptions: float
    draws: np.random.Generator
    rows: Array
    sides: Sides

    def find(self) -> Iterator[Relation]:
        """Return the relations."""
        dates = [view for view in self.views if view.is_date][:_MOST_DATES]
        targets = [view for view in self.views if view.has_numbers and view.size >= 3 and view.unit > 0]
        for first, last in permutations(dates, 2):
            for target in targets:
                if self.sides.join(first, last, target):
                    relation = self._between(first, last, target)
                    if relation is not None:
                        yield relation

    def _between(self, first: ColumnView, last: ColumnView, target: ColumnView) -> Relation | None:
        columns = [view.values for view in (target, first, last)]
        tried = self._present(columns, self.rows[: 2 * _TRIED])
        if len(tried[0]) < _TRIED // 8 or not _is_near(*tried):
            return None
        for measure in _measures(target.unit):
            if np.mean(measure.broken(*tried)) > 1 - _MATCHING:
                continue
            found = self._decide(measure, columns)
            if found is not None:
                return Relation(
                    kind="date-difference",
                    target=target.name,
                    inputs=(last.name, first.name),
                    formula=f"`{target.name}` = {measure.unit} from `{first.name}` to `{last.name}`",
                    share=found.share,
                    records=found.records,
                    gives=(target.name,),
                    weights=(1, -1 / measure.days, 1 / measure.days),
                )
        return None

    def _decide(self, measure: TimeUnit, columns: list[Array]) -> Support | None:
        glance = self._present(columns, self.rows[:GLANCE])
        found = weigh(measure.broken, *glance, draws=self.draws, exceptions=self.exceptions)
        if not is_candidate(found, self.exceptions):
            return None
        if len(self.rows[:GLANCE]) < len(columns[0]):
            found = weigh(measure.broken, *self._present(columns, None), draws=self.draws, exceptions=self.exceptions)
        return found if found.holds(self.exceptions) else None

    def _present(self, columns: list[Array], rows: Array | None) -> list[Array]:
        """Return the values of some records that have one in every column."""
        chosen = columns if rows is None else [column[rows] for column in columns]
        present = np.all([np.isfinite(column) for column in chosen], axis=0)
        return [column[present] for column in chosen]


def _is_near(target: Array, first: Array, last: Array) -> bool:
    """Return whether numbers rise with the days between two dates, as weeks, months or years would."""
    days = last - first
    varied = np.std(days) > 0 and np.std(target) > 0
    return bool(varied and np.corrcoef(days, target)[0, 1] > _MATCHING)
