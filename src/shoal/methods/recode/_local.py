"""The frame of local recodings: drafts of what each tuple releases, prices that guide them, and the choice."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from shoal.errors import RequirementError
from shoal.exact import Arguments, fraction
from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes, Counts, Mask
from shoal.kernels.recoding import group
from shoal.methods.base import Watch, Work
from shoal.methods.recode._any_time import BranchAndBound
from shoal.methods.recode._effort import Effort
from shoal.methods.recode._judge import Limits, no_solution
from shoal.methods.recode._lattice import Lattice, smallest_class
from shoal.methods.recode._linked import best_linked, best_local, link_problems
from shoal.methods.recode._method import Recode, floors_of
from shoal.methods.recode._result import SearchResult, at_or_above
from shoal.models import Classes, KAnonymity, Model, keep, rule_of_removal
from shoal.quality import CellObjective, InformationLoss, Measure
from shoal.schema import Schema
from shoal.tables import Encoded, Frequencies, Recoding, Table

#: Nodes that the comparison with full-domain recoding may check: at most, at least, and tuples times attributes of all.
_STEPS, _FEWEST, _WORK = 5_000, 100, 2**28
MAY_LOSE_LESS = "With a higher limit the release may lose less; by how much is not known."
#: The share of the effort that the method itself may take; the rest is for the comparison.
_FIRST = 0.75
#: How often the comparison starts again at random without finding anything better.
_PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMethod(Recode):
    """Release equal values differently in different records, where that loses less.

    What a method makes is compared with full-domain recoding: a search looks for a node that loses less, which takes
    little as it only has to look at nodes that may (at most 5,000 of them, fewer in large tables), and the better of
    the two is released. The result says whether all other nodes were ruled out.
    """

    #: ``"kept"``: the pseudonym of the person is released, which links all records of a person. k persons then share
    #: all their records, as a multiset of released quasi-identifiers, and whoever does not is suppressed with all
    #: records; the method is run for larger and larger crowds, each with its own ``time_limit``, and compared with
    #: full-domain recoding. By default links are ``"cut"``: such a pseudonym is not released.
    links: Literal["cut", "kept"] | None = None

    def fit(self, arguments: Arguments) -> None:
        if self.links not in (None, "cut", "kept"):
            arguments.problems.add(f'`links` of `{self.title}` must be "cut" or "kept"')

    @property
    def linked(self) -> bool:
        return self.links == "kept"

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        return Recode.problems(self, schema, models) + (link_problems(schema, models) if self.linked else [])

    def recoded(
        self, encoded: Encoded, models: Sequence[Model], table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Return the tuples, what becomes of each, and the released table; kept links leave some persons out."""
        frequencies = encoded.frequencies
        if not self.linked or frequencies.holders is None:
            return Recode.recoded(self, encoded, models, table, work)
        k, watch = smallest_class(models), work.watch
        limits = Limits(math.floor(fraction(self.suppression_limit) * frequencies.records))

        def recode(crowd: int) -> SearchResult:
            return self.search(frequencies, [KAnonymity(crowd)], watch)

        best = best_local(recode, frequencies, self.measure, k, limits.suppressed)
        if best is None or math.prod(height + 1 for height in frequencies.heights) <= _STEPS:
            objective = InformationLoss(weights=self.measure.weights).objective(frequencies)
            try:
                whole, found = best_linked(frequencies, objective, self.measure, k, limits, watch)
                value = self.measure.value(whole.recoding, whole.frequencies)
                if best is None or value < best[1].value:
                    said = f"{self.title} does not improve on the best full-domain recoding that keeps links."
                    nothing_proved = replace(found, bound=None, solutions=(), checked=0, pruned=0, nodes=0)
                    best = whole, replace(nothing_proved, value=value, notes=(said,))
            except RequirementError:
                if best is None:
                    raise
        released, result = best
        return released.frequencies, result, released.applied(table, encoded, work.key)

    def search(self, frequencies: Frequencies, models: Sequence[Model], watch: Watch) -> SearchResult:
        allowed = math.floor(fraction(self.suppression_limit) * frequencies.records)
        effort = self.allowance(watch)
        task = LocalTask(frequencies, tuple(models), self.measure, allowed, watch, effort.part(_FIRST))
        watch.step(0, 2, f"{self.name} recoding")
        best = min(
            filter(task.fits, map(task.result, self.drafts(task))), key=lambda result: result.value, default=None
        )
        if task.effort.over:
            task.cut_short.append(f"The limit ended {self.name} recoding before it was done. {MAY_LOSE_LESS}")
        watch.step(1, 2, "comparison with full-domain recoding")
        whole, one_level, proved = None, None, False
        task.effort = effort
        if best is None or not effort.over:
            whole, one_level, proved = task.full_domain(to_beat=math.inf if best is None else best.value)
        above = at_or_above(frequencies.attributes, floors_of(frequencies))
        if whole is not None:
            note = f"{self.title} does not improve on the best full-domain recoding{above}."
        elif proved:
            rule = rule_of_removal(models)
            under = f" under one rule of removing classes: {rule}." if rule else "."
            note = f"No full-domain recoding{above} loses less{under}"
        else:
            note = f"No full-domain recoding{above} that was looked at loses less; it is not proved that none does."
        chosen = whole or best
        if chosen is None:
            raise no_solution(Lattice(frequencies), models, allowed, task.least_suppressed, proved=proved)
        return replace(chosen, one_level=one_level, notes=(note,), cut_short=tuple(task.cut_short))

    @abstractmethod
    def drafts(self, task: LocalTask) -> Iterable[LocalDraft]:
        """Make drafts."""


class LocalTask:
    """One table, the models that must hold, and the costs that guide a local recoding."""

    def __init__(
        self,
        frequencies: Frequencies,
        models: tuple[Model, ...],
        measure: Measure,
        allowed: int,
        watch: Watch,
        effort: Effort,
    ) -> None:
        self.frequencies, self.models, self.measure = frequencies, models, measure
        self.allowed, self.watch, self.effort = allowed, watch, effort
        self.objective = cell_objective(measure, frequencies)
        #: the fewest records that any node had to suppress
        self.least_suppressed = frequencies.records
        #: what the limit of effort or time cut short, one sentence each
        self.cut_short: list[str] = []

    def result(self, draft: LocalDraft) -> SearchResult:
        """Suppress what violates a model, and measure what is left."""
        draft = draft.settle(self.models)
        recoding = draft.recoding()
        return SearchResult(
            recoding=recoding,
            measure=self.measure,
            value=self.measure.value(recoding, self.frequencies),
            records=self.frequencies.records,
            suppressed=draft.suppressed,
        )

    def fits(self, result: SearchResult) -> bool:
        """Return whether a result releases something and does not suppress too much."""
        return result.suppressed <= self.allowed and result.suppressed < max(self.frequencies.records, 1)

    def full_domain(self, *, to_beat: float = math.inf) -> tuple[SearchResult | None, float | None, bool]:
        """Search for a node better than ``to_beat``.

        Return it, the value of the best node found, better or not, and whether no other is better for sure.
        """
        objective = self.measure.objective(self.frequencies)
        costs = objective.tables if isinstance(objective, CellObjective) else ()
        lattice = Lattice(self.frequencies, costs, enough=smallest_class(self.models), effort=self.effort)
        cells = max(lattice.leaves * len(lattice.heights), 1)
        steps = min(_STEPS, max(_FEWEST, _WORK // cells))
        limits = Limits(self.allowed, effort=self.effort, steps=steps, value=to_beat, patience=_PATIENCE)
        found = BranchAndBound(lattice, objective, self.models, limits, Watch(None, self.watch.cancelled)).run()
        self.least_suppressed = found.least_suppressed
        if found.recoding is None:
            return None, math.inf if found.proved and math.isinf(to_beat) else None, found.proved
        best = found.solutions[0]
        if not best.value < to_beat:
            return None, best.value, found.proved
        result = SearchResult(
            recoding=found.recoding,
            measure=self.measure,
            value=best.value,
            records=self.frequencies.records,
            suppressed=best.suppressed,
        )
        return result, best.value, found.proved


def cell_objective(measure: Measure, frequencies: Frequencies) -> CellObjective:
    """Return the cost of single cells that guides a local recoding: the measure's, or else loss."""
    objective = measure.objective(frequencies)
    if isinstance(objective, CellObjective) and objective.monotone:
        return objective
    return InformationLoss(weights=measure.weights).objective(frequencies)


class Vocabulary:
    """The values that one attribute can release: those of its hierarchy and, where it is ordered, intervals.

    A value has a number. Values with the same text have the same number: they mean the same leaves, and releases that
    read the same are the same.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.labels: list[str | None] = [label for level in hierarchy.labels for label in level]
        self.shares: list[float] = np.concatenate(hierarchy.shares).tolist()
        self.depths: list[float] = [
            hierarchy.depth(level) for level, labels in enumerate(hierarchy.labels) for _ in labels
        ]
        chosen: dict[str | None, int] = {}
        for i, (label, leaves) in enumerate(zip(self.labels, np.concatenate(hierarchy.leaves).tolist(), strict=True)):
            if leaves > 1 or label not in chosen:  # a value that reads as a group does, such as `*`, is that group
                chosen[label] = i
        self._numbers = np.array([chosen[label] for label in self.labels], dtype=np.int32)
        self._starts = np.cumsum([0, *(len(labels) for labels in hierarchy.labels)])
        self._intervals: dict[tuple[int, int], int] = {}

    def at(self, leaves: Codes, level: int) -> Codes:
        """Return the values of leaves at one level."""
        return np.asarray(self._numbers[self._starts[level] + self.hierarchy.codes[level][leaves]])

    def covering(self, low: Codes, high: Codes) -> Codes:
        """Return the lowest values of the hierarchy that cover the leaves from ``low`` to ``high``."""
        result = np.zeros(len(low), dtype=np.int32)
        for level in reversed(range(self.hierarchy.levels)):
            codes = self.hierarchy.codes[level]
            same = codes[low] == codes[high]
            result[same] = self.at(low[same], level)
        return result

    def interval(self, low: Codes, high: Codes) -> Codes:
        """Return the intervals from ``low`` to ``high``; a single value is itself."""
        ends, labels = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
        numbers = [self._interval(int(a), int(b)) for a, b in ends.T]
        return np.array(numbers, dtype=np.int32)[labels.ravel()] if numbers else np.zeros(0, dtype=np.int32)

    def _interval(self, low: int, high: int) -> int:
        if low == high:
            return int(self._numbers[low])
        positions = self.hierarchy.positions
        assert positions is not None  # noqa: S101 - intervals are made of ordered attributes only
        if (low, high) not in self._intervals:
            share = float(positions[high] - positions[low])
            self._intervals[low, high] = len(self.labels)
            self.labels.append(f"[{self.labels[low]}, {self.labels[high]}]")
            self.shares.append(share)
            self.depths.append(share)
        return self._intervals[low, high]


class LocalDraft:
    """What every row of the frequencies releases, before equal releases become classes."""

    def __init__(self, frequencies: Frequencies) -> None:
        self.frequencies = frequencies
        self.vocabularies = [Vocabulary(hierarchy) for hierarchy in frequencies.hierarchies]
        self.values = np.zeros(frequencies.codes.shape, dtype=np.int32, order="F")
        self.released = np.zeros(len(frequencies.counts), dtype=np.bool_)

    def generalize(self, rows: Mask | Counts, levels: Sequence[int]) -> None:
        """Release rows at the levels of a node."""
        for j, (vocabulary, level) in enumerate(zip(self.vocabularies, levels, strict=True)):
            self.values[rows, j] = vocabulary.at(self.frequencies.codes[rows, j], level)
        self.released[rows] = True

    def cover(self, labels: Codes, *, ordered: Sequence[bool]) -> None:
        """Release every row with the narrowest values that cover its region; -1 is no region.

        ``ordered`` says which attributes release intervals.
        """
        rows = np.flatnonzero(labels >= 0)
        if not len(rows):
            return
        order = rows[np.argsort(labels[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        owners = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        for j, (vocabulary, interval) in enumerate(zip(self.vocabularies, ordered, strict=True)):
            codes = self.frequencies.codes[order, j]
            low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
            made = vocabulary.interval(low, high) if interval else vocabulary.covering(low, high)
            self.values[order, j] = made[owners]
        self.released[rows] = True

    def classes(self) -> tuple[Codes, Classes]:
        """Return the class of every row (-1 where it is not released) and the classes: releases that are equal."""
        rows = np.flatnonzero(self.released & (self.frequencies.counts > 0))
        sizes = [len(vocabulary.labels) for vocabulary in self.vocabularies]
        groups = group(np.ascontiguousarray(self.values[rows].T), sizes)
        labels = np.full(len(self.released), -1, dtype=np.int32)
        labels[rows] = groups.labels
        classes = Classes.of(self.frequencies, labels, number=len(groups.first))
        codes = self.values[rows[groups.first]]
        return labels, replace(classes, codes=codes)

    def settle(self, models: Sequence[Model]) -> LocalDraft:
        """Return the draft in which the classes that violate a model are suppressed."""
        labels, classes = self.classes()
        kept = classes.crowds >= smallest_class(models)
        kept[kept] = keep(models, classes.only(kept))
        result = copy.copy(self)  # no values change from here on
        result.released = self.released & np.append(kept, False)[labels]
        return result

    def recoding(self) -> Recoding:
        """Return the recoding: equal releases are one class."""
        labels, classes = self.classes()
        codes = classes.codes
        assert codes is not None  # noqa: S101 - always given
        used = [np.unique(column) for column in codes.T]
        positions = [np.searchsorted(values, column) for values, column in zip(used, codes.T, strict=True)]
        known = list(zip(self.vocabularies, used, strict=True))
        return Recoding(
            attributes=self.frequencies.attributes,
            classes=labels,
            codes=np.array(positions, dtype=np.int32).T.reshape(codes.shape),
            labels=tuple(tuple(vocabulary.labels[i] for i in values) for vocabulary, values in known),
            shares=tuple(np.array([vocabulary.shares[i] for i in values]) for vocabulary, values in known),
            depths=tuple(np.array([vocabulary.depths[i] for i in values]) for vocabulary, values in known),
            unchanged=tuple(
                not vocabulary.hierarchy.floor and bool(np.all(values < vocabulary.hierarchy.size))
                for vocabulary, values in known
            ),
        )

    @property
    def suppressed(self) -> int:
        """The number of records that are not released."""
        return int(self.frequencies.counts[~self.released].sum())
