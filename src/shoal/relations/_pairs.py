"""Relations of two columns: equal, a function, the same order, intervals, parts of dates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shoal.relations._relation import Relation
from shoal.relations._support import SAMPLE, Sides, Support, is_candidate, weigh, weigh_function
from shoal.relations._view import Array, ColumnView

#: parts of dates by name, as whole numbers
PARTS: dict[str, Callable[[Array], Array]] = {
    "year": lambda days: _calendar(days, "Y") + 1970,
    "quarter": lambda days: _calendar(days, "M") % 12 // 3 + 1,
    "month": lambda days: _calendar(days, "M") % 12 + 1,
    "year and month": lambda days: _calendar(days, "M"),
    "day of the month": lambda days: (
        (days.astype("datetime64[D]") - days.astype("datetime64[D]").astype("datetime64[M]")).astype(np.int64) + 1
    ),
    "weekday": lambda days: (days + 3) % 7,
}
_YEAR = 365.2425


def _calendar(days: Array, unit: str) -> Array:
    return days.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The search for relations of two columns."""

    views: list[ColumnView]
    exceptions: float
    draws: np.random.Generator
    rows: Array
    sides: Sides

    def find(self) -> Iterator[Relation]:
        """Return the relations, several of some pairs: the caller keeps the kind that says most."""
        yield from self._functions()
        yield from self._orders()
        yield from self._parts_of_dates()
        yield from self._ages()

    def _functions(self) -> Iterator[Relation]:
        directed = {(a.name, b.name): share for a, b, share in self._directed()}
        for (a, b), (share, records) in directed.items():
            if (b, a) in directed:
                if a < b:
                    least = min(share, directed[b, a][0])
                    formula = f"`{a}` and `{b}` are equal up to their names or codes"
                    yield _relation("equal-codes", b, a, formula, least, records, both=True)
            elif not any((a, x.name) in directed and (x.name, b) in directed for x in self.views) or _implied_back(
                directed, a, b
            ):
                yield _relation("function", b, a, f"`{b}` is a function of `{a}`", share, records)

    def _directed(self) -> Iterator[tuple[ColumnView, ColumnView, tuple[float, int]]]:
        """Return the pairs of which the second is a function of the first, with the share and the records."""
        for source in self.views:
            if source.size < 2:
                continue
            rows = self._rows_with_repeats(source)
            codes = source.codes[rows]
            for target in self.views:
                if target is source or target.size < 2 or target.size > source.size + self.exceptions * len(rows):
                    continue
                if not self.sides.join(source, target):
                    continue
                support = weigh_function(codes, target.codes[rows], self.draws)
                if not is_candidate(support, self.exceptions):
                    continue
                if len(rows) < len(source.codes):
                    support = weigh_function(source.codes, target.codes, self.draws)
                if support.holds(self.exceptions):
                    yield source, target, (support.share, support.records)

    def _rows_with_repeats(self, source: ColumnView) -> Array:
        """Return records for a look at a column: all those of some of its values, so that values still repeat."""
        records = len(source.codes)
        if records <= SAMPLE:
            return np.arange(records)
        if source.size <= SAMPLE // 10:
            return self.rows
        chosen = self.draws.random(source.size) < SAMPLE / records
        return np.flatnonzero(np.append(chosen, False)[source.codes])[: 2 * SAMPLE]

    def _orders(self) -> Iterator[Relation]:
        numeric = [view for view in self.views if view.numbers is not None and view.size >= 5]
        ranks = {view.name: view.take(self.rows) for view in self.views}
        for source in numeric:
            order = self._order(ranks[source.name])
            for target in self.views:
                if target is source or target.size < 2 or target.size > 1.05 * source.size:
                    continue
                if not self.sides.join(source, target):
                    continue
                sampled = self._weigh_order(ranks[source.name], order, ranks[target.name])
                if not is_candidate(sampled, self.exceptions):
                    continue
                relations = (
                    sampled
                    if len(self.rows) == len(source.codes)
                    else self._weigh_order(source, self._order(source), target)
                )
                if relations.holds(self.exceptions):
                    yield self._ordered(source, target, relations)

    def _ordered(self, source: ColumnView, target: ColumnView, found: Support) -> Relation:
        if target.numbers is not None and target.size >= 5:
            back = self._weigh_order(target, self._order(target), source)
            if back.holds(self.exceptions):
                first, second = sorted((source.name, target.name))
                share = min(found.share, back.share)
                formula = f"`{first}` and `{second}` order the records alike: each is a map of the other"
                return _relation("monotone", second, first, formula, share, found.records, both=True)
        formula = f"`{target.name}` groups `{source.name}` into intervals"
        return _relation("bins", target.name, source.name, formula, found.share, found.records)

    def _order(self, source: ColumnView) -> Array:
        """Return the records that have a number, in its order; those of equal numbers in random order."""
        values = source.values
        present = self.draws.permutation(np.flatnonzero((source.codes >= 0) & ~np.isnan(values)))
        return present[np.argsort(values[present], kind="stable")]

    def _weigh_order(self, source: ColumnView, order: Array, target: ColumnView) -> Support:
        """Return the evidence that a target rises, falls or changes rarely where the records are in a source's order.

        Few values of the source leave few places where a target could turn: at one in twenty of them it may. A target
        that differs among equal values of the source breaks the relation, since they stand in random order.
        """
        order = order[target.codes[order] >= 0]
        if len(order) < 2:
            return Support(0, 0, 0)
        if target.numbers is None or target.size < 5:
            changes, allowed = _changes, target.size - 1
            values: Array = target.codes
        else:
            changes, allowed, values = _turns, 0, target.values
        broken = max(changes(values[order]) - allowed, 0)
        steps = _changes(source.codes[order])
        if broken > min(0.1 * len(order), 0.05 * steps):
            return Support(len(order), broken, 0)
        return Support(len(order), broken, changes(values[self.draws.permutation(order)]) - allowed)

    def _parts_of_dates(self) -> Iterator[Relation]:
        for date in (view for view in self.views if view.is_date):
            days = date.values
            for name, part_of in PARTS.items():
                whole = np.isfinite(days)
                part = np.full(len(days), -1, dtype=np.int64)
                part[whole] = part_of(days[whole])
                part[whole] -= part[whole].min() if whole.any() else 0
                if len(np.unique(part[whole])) < 2:
                    continue
                for target in self.views:
                    if target.size < 2 or target.is_date or not self.sides.join(date, target):
                        continue
                    there = weigh_function(part[self.rows], target.codes[self.rows], self.draws)
                    if not is_candidate(there, self.exceptions):
                        continue
                    there = weigh_function(part, target.codes, self.draws)
                    back = weigh_function(target.codes, part, self.draws)
                    if there.holds(self.exceptions) and back.holds(self.exceptions):
                        formula = f"`{target.name}` is the {name} of `{date.name}`"
                        yield _relation("date-part", target.name, date.name, formula, there.share, there.records)

    def _ages(self) -> Iterator[Relation]:
        """Return the whole numbers that are ages, at one day, of people born on a date."""
        for date in (view for view in self.views if view.is_date):
            for age in (view for view in self.views if view.has_numbers and view.unit >= 1):
                present = np.flatnonzero(np.isfinite(date.values) & np.isfinite(age.values))
                if len(present) < 2 or not self.sides.join(date, age):
                    continue
                years, ages = date.values[present] / _YEAR, age.values[present]
                middle = float(np.median(years + ages))
                support = weigh(
                    lambda ages, years, middle=middle: np.abs(years + ages - middle) > 0.505,
                    ages,
                    years,
                    draws=self.draws,
                )
                if support.holds(self.exceptions):
                    formula = f"`{age.name}` is the age in years, on one day, of people born on `{date.name}`"
                    yield _relation("age", age.name, date.name, formula, support.share, support.records)


def _implied_back(directed: dict[tuple[str, str], tuple[float, int]], a: str, b: str) -> bool:
    """Return whether the only columns between two are equal to one of them: the function is then not implied."""
    between = [x for (y, x) in directed if y == a and (x, b) in directed]
    return all((x, a) in directed or (b, x) in directed for x in between)


def _changes(values: Array) -> int:
    """Return how often neighbours differ."""
    return int(np.count_nonzero(values[1:] != values[:-1]))


def _turns(values: Array) -> int:
    """Return how often numbers fall, or rise if that is rarer."""
    steps = np.diff(values)
    return int(min(np.count_nonzero(steps < 0), np.count_nonzero(steps > 0)))


def _relation(
    kind: str, target: str, source: str, formula: str, share: float, records: int, *, both: bool = False
) -> Relation:
    gives = (target, source) if both else (target,)
    return Relation(
        kind=kind, target=target, inputs=(source,), formula=formula, share=share, records=records, gives=gives
    )
