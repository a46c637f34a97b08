"""Numbers that are computed from one or two other columns: roundings, sums, products, ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from shoal.relations._relation import Relation
from shoal.relations._support import GLANCE, Sides, Support, is_candidate, rank_values, weigh
from shoal.relations._view import Array, ColumnView

#: records on which all formulas are tried
_TRIED = 192
#: columns that are combined with a target; beyond, those whose ranks agree most with it
_PARTNERS = 63
#: candidates of a target that are decided on the data, and of all targets for one operation: those that match best
_DECIDED, _MOST = 60, 400
#: constants before products and ratios, besides powers of ten: pounds and inches in an index of body mass
_SCALES = (703.0,)


@dataclass(frozen=True, slots=True)
class Operation:
    """A formula of two columns."""

    kind: str
    combine: Callable[[Array, Array], Array]
    #: the formula with the names of the columns
    words: str
    #: whether a constant may stand before it
    scaled: bool
    #: its derivatives by the first and the second column
    slopes: Callable[[Array, Array], tuple[Array, Array]]
    #: the exponents of the target and the columns whose product is constant (of a sum: their coefficients), if any
    exponents: tuple[float, ...]


OPERATIONS = (
    Operation(
        "sum", lambda a, b: a + b, "`{t}` = {s}`{a}` + `{b}`", False, lambda a, b: (a * 0 + 1, b * 0 + 1), (1, -1, -1)
    ),
    Operation("product", lambda a, b: a * b, "`{t}` = {s}`{a}` * `{b}`", True, lambda a, b: (b, a), (1, -1, -1)),
    Operation(
        "ratio", lambda a, b: a / b, "`{t}` = {s}`{a}` / `{b}`", True, lambda a, b: (1 / b, -a / b**2), (1, -1, 1)
    ),
    Operation(
        "ratio-squared",
        lambda a, b: a / b**2,
        "`{t}` = {s}`{a}` / `{b}`^2",
        True,
        lambda a, b: (1 / b**2, -2 * a / b**3),
        (1, -1, 2),
    ),
    Operation(
        "share",
        lambda a, b: a / (a + b),
        "`{t}` = {s}`{a}` / (`{a}` + `{b}`)",
        True,
        lambda a, b: (b / (a + b) ** 2, -a / (a + b) ** 2),
        (),
    ),
    Operation(
        "change",
        lambda a, b: (a - b) / b,
        "`{t}` = {s}(`{a}` - `{b}`) / `{b}`",
        True,
        lambda a, b: (1 / b, -a / b**2),
        (),
    ),
)


#: The share of tried records that match, the target, and the columns that it is computed from.
_Candidate = tuple[float, ColumnView, tuple[ColumnView, ColumnView]]


@dataclass(frozen=True, slots=True)
class Formulas:
    """The search for formulas of one and two columns."""

    views: list[ColumnView]
    exceptions: float
    draws: np.random.Generator
    rows: Array
    sides: Sides

    def find(self) -> Iterator[Relation]:
        """Return the relations; the caller keeps one for each set of columns."""
        yield from self._roundings()
        with np.errstate(all="ignore"):
            yield from self._two_inputs()

    def _roundings(self) -> Iterator[Relation]:
        for source, target in permutations(self.views, 2):
            if target.unit <= source.unit or source.is_date != target.is_date or not self.sides.join(source, target):
                continue
            relation = self._decide(lambda a: a, target, (source,), target.unit)
            if relation is not None:
                formula = f"`{target.name}` is `{source.name}` rounded to {target.unit:g}"
                yield _relation("rounding", target, (source,), formula, relation, (target.name,), (1, -1))

    def _two_inputs(self) -> Iterator[Relation]:
        ranks = self._ranked() if len(self.views) > _PARTNERS + 1 else None
        candidates: dict[Operation, list[_Candidate]] = {operation: [] for operation in OPERATIONS}
        for place in self.sides.targets(self.views):
            target = self.views[place]
            partners = self.views[:place] + self.views[place + 1 :] if ranks is None else self._partners(ranks, place)
            rows = self._telling_rows(target)
            if len(rows) < 24:
                continue
            for operation in OPERATIONS:
                candidates[operation] += self._of_operation(operation, target, partners, rows)
        for operation, found in candidates.items():
            chosen = sorted(range(len(found)), key=lambda at: -found[at][0])[:_MOST]
            for _, target, inputs in (found[at] for at in sorted(chosen)):
                relation = self._relation_of(operation, target, inputs)
                if relation is not None:
                    yield relation

    def _of_operation(
        self, operation: Operation, target: ColumnView, partners: list[ColumnView], rows: Array
    ) -> Iterator[_Candidate]:
        """Return the pairs of columns that give a target on a few records, with the share of these."""
        fitting = [view for view in partners if not operation.scaled or not (view.is_date or target.is_date)]
        pairs = list((combinations if operation.kind in ("sum", "product") else permutations)(range(len(fitting)), 2))
        if operation.kind == "sum":
            pairs = [(i, j) for i, j in pairs if _dates_fit(target, fitting[i], fitting[j])]
        pairs = [(i, j) for i, j in pairs if self.sides.join(target, fitting[i], fitting[j])]
        if not pairs:
            return
        values = np.stack([view.values[rows] for view in fitting])
        wanted = target.values[rows]
        first, second = np.array(pairs).T
        results = operation.combine(values[first], values[second])
        matches, compared = self._screen(operation, target, fitting, (first, second), values, results, wanted)
        promising = np.flatnonzero((compared >= 24) & (matches >= 0.8 * compared))
        for at in promising[np.argsort(-matches[promising], kind="stable")][:_DECIDED]:
            yield float(matches[at] / compared[at]), target, (fitting[first[at]], fitting[second[at]])

    def _screen(
        self,
        operation: Operation,
        target: ColumnView,
        fitting: list[ColumnView],
        places: tuple[Array, Array],
        values: Array,
        results: Array,
        wanted: Array,
    ) -> tuple[Array, Array]:
        """Return for each pair of columns how many of the tried records match, and how many were compared."""
        first, second = places
        units = np.array([view.unit for view in fitting])
        tolerance = np.full(results.shape, target.unit) + 1e-9 * np.abs(wanted)
        if operation.scaled:
            quotient = wanted / results
            quotient[~np.isfinite(quotient) | (quotient == 0)] = np.nan
            scale = _middle(quotient)
            results = results * scale[:, None]
            tolerance = 2.5 * tolerance
        else:
            scale = np.ones(len(results))
            tolerance = np.maximum(tolerance, np.maximum(units[first], units[second])[:, None] * 1.01)
        slopes = operation.slopes(values[first], values[second])
        for slope, places_of in zip(slopes, (first, second), strict=True):
            if operation.scaled:
                tolerance = tolerance + 0.5 * np.abs(slope * scale[:, None]) * units[places_of][:, None]
        both = np.isfinite(results) & np.isfinite(wanted)
        return np.sum(both & (np.abs(results - wanted) <= tolerance), axis=1), both.sum(axis=1)

    def _relation_of(
        self, operation: Operation, target: ColumnView, inputs: tuple[ColumnView, ColumnView]
    ) -> Relation | None:
        scale = self._scale(operation, target, inputs) if operation.scaled else 1.0
        if scale is None:
            return None
        unit = max(target.unit, *(view.unit for view in inputs)) if operation.kind == "sum" else target.unit

        def compute(a: Array, b: Array) -> Array:
            return np.asarray(scale * operation.combine(a, b))

        relation = self._decide(compute, target, inputs, unit)
        approximate = relation is None
        if relation is None and operation.scaled and _measured((target, *inputs)):

            def spread(a: Array, b: Array) -> Array:
                slopes = operation.slopes(a, b)
                pairs = zip(slopes, inputs, strict=True)
                return sum((np.abs(scale * slope) * view.unit / 2 for slope, view in pairs), np.zeros(len(a)))

            relation = self._decide(compute, target, inputs, unit, spread)
        if relation is None:
            return None
        a, b = inputs
        if operation.kind == "sum":
            return _sum(target, a, b, relation)
        before = "" if scale == 1 else f"{scale:.6g} * "
        formula = operation.words.format(t=target.name, a=a.name, b=b.name, s=before)
        return Relation(
            kind=operation.kind,
            target=target.name,
            inputs=(a.name, b.name),
            formula=formula,
            share=relation.share,
            records=relation.records,
            gives=(target.name, a.name, b.name),
            weights=operation.exponents,
            approximate=approximate,
        )

    def _scale(self, operation: Operation, target: ColumnView, inputs: tuple[ColumnView, ColumnView]) -> float | None:
        """Return the constant before a formula, a power of ten where the data allow one."""
        rows = self.rows[:GLANCE]
        results = operation.combine(inputs[0].values[rows], inputs[1].values[rows])
        wanted = target.values[rows]
        usable = np.isfinite(results) & np.isfinite(wanted) & (results != 0) & (wanted != 0)
        if usable.sum() < 24:
            return None
        results, wanted = results[usable], wanted[usable]
        scale = float(np.median(wanted / results))
        if scale == 0:
            return None
        near = np.abs(scale * results - wanted) <= 2 * target.unit + 1e-6 * np.abs(wanted)
        if near.sum() >= 24:
            scale = float(np.sum(wanted[near] * results[near]) / np.sum(results[near] ** 2))
        power = math.copysign(10.0 ** round(math.log10(abs(scale))), scale)
        return next((nice for nice in (power, *_SCALES) if abs(scale / nice - 1) < 0.005), scale)

    def _decide(
        self,
        compute: Callable[..., Array],
        target: ColumnView,
        inputs: tuple[ColumnView, ...],
        unit: float,
        spread: Callable[..., Array] | None = None,
    ) -> Support | None:
        """Return the evidence of all records for a formula, rounded or cut to a unit, or None if it does not hold."""

        def rounded(v: Array, *x: Array) -> Array:
            wide = 0 if spread is None else spread(*x)
            return np.asarray(np.abs(compute(*x) - v) > unit / 2 + wide + 1e-9 * np.abs(v) + 1e-6 * unit)

        def cut(v: Array, *x: Array) -> Array:
            rest = (compute(*x) - v) * np.where(v < 0, -1, 1)
            return ~((rest >= -1e-9 * np.abs(v) - 1e-6 * unit) & (rest < unit))

        columns = [view.values for view in (target, *inputs)]
        for broken in (rounded,) if spread is not None else (rounded, cut):
            for rows in (self.rows[:GLANCE], self.rows, None):
                chosen = columns if rows is None else [column[rows] for column in columns]
                present = np.all([np.isfinite(column) for column in (*chosen, compute(*chosen[1:]))], axis=0)
                support = weigh(
                    broken, *(column[present] for column in chosen), draws=self.draws, exceptions=self.exceptions
                )
                if rows is not None and len(rows) < len(columns[0]):
                    if not is_candidate(support, self.exceptions):
                        break
                    continue
                if support.holds(self.exceptions):
                    return support
                break
        return None

    def _ranked(self) -> Array:
        """Return the ranks of some records in every column, one column per row."""
        rows = self.rows[:GLANCE]
        return np.stack([rank_values(view.values[rows]) for view in self.views])

    def _partners(self, ranks: Array, place: int) -> list[ColumnView]:
        """Return the columns whose ranks agree most with those of a target; of two sides, half as many of each too."""
        nearness = np.abs(ranks @ ranks[place])
        nearness[place] = -1.0
        order = np.argsort(-nearness, kind="stable")[:-1]
        chosen = {*order[:_PARTNERS].tolist()}
        marked = self.sides.mark(self.views)
        if marked is not None:
            for side in (marked[order], ~marked[order]):
                chosen |= {*order[side][: _PARTNERS // 2].tolist()}
        return [self.views[at] for at in order.tolist() if at in chosen]

    def _telling_rows(self, target: ColumnView) -> Array:
        """Return records to try formulas on: half of them with another value than the most frequent one."""
        present = self.rows[np.isfinite(target.values[self.rows])]
        if not len(present):
            return present
        codes = target.codes[present]
        rare = present[codes != np.bincount(codes).argmax()]
        return np.concatenate([rare[: _TRIED // 2], present[: _TRIED // 2]])


def _sum(target: ColumnView, a: ColumnView, b: ColumnView, found: Support) -> Relation:
    """Return a sum, told as the difference that is rounded most, or of which two columns are dates."""
    names = (target.name, a.name, b.name)
    part, whole = (a, b) if a.unit >= b.unit else (b, a)
    if target.is_date:
        part, whole = (b, a) if a.is_date else (a, b)
        formula = f"`{part.name}` = days from `{whole.name}` to `{target.name}`"
        return _relation("date-difference", part, (target, whole), formula, found, names, (1, -1, 1))
    if part.unit > target.unit:
        formula = f"`{part.name}` = `{target.name}` - `{whole.name}`"
        return _relation("difference", part, (target, whole), formula, found, names, (1, -1, 1))
    return _relation("sum", target, (a, b), f"`{target.name}` = `{a.name}` + `{b.name}`", found, names, (1, -1, -1))


def _relation(
    kind: str,
    target: ColumnView,
    inputs: tuple[ColumnView, ...],
    formula: str,
    found: Support,
    gives: tuple[str, ...],
    weights: tuple[float, ...] = (),
) -> Relation:
    names = tuple(view.name for view in inputs)
    return Relation(
        kind=kind,
        target=target.name,
        inputs=names,
        formula=formula,
        share=found.share,
        records=found.records,
        gives=gives,
        weights=weights,
    )


def _dates_fit(target: ColumnView, a: ColumnView, b: ColumnView) -> bool:
    """Return whether a sum makes sense: numbers alone, or a date that is a date and a number of days."""
    return (a.is_date != b.is_date) if target.is_date else not (a.is_date or b.is_date)


def _measured(views: tuple[ColumnView, ...]) -> bool:
    """Return whether columns are measurements: their middle nine tenths have at least 20 steps."""
    spans = [np.nanquantile(view.values[:GLANCE], [0.05, 0.95]) for view in views]
    return all(high - low >= 20 * view.unit for (low, high), view in zip(spans, views, strict=True))


def _middle(quotients: Array) -> Array:
    """Return the median of the first numbers of each row that are there."""
    ordered = np.sort(quotients[:, :64], axis=1)
    counts = np.sum(~np.isnan(ordered), axis=1)
    middle = ordered[np.arange(len(ordered)), np.maximum(counts - 1, 0) // 2]
    return np.where(np.isfinite(middle), middle, 1.0)
