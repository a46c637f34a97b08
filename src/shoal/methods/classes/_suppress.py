"""Local suppression: single cells become ``*`` until every promise holds, as few of them as a search finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError, RequirementError, ShoalError
from shoal.exact import Arguments, Number, fraction, one_of
from shoal.guarantees import COMMON_STEPS, Event, ExpectedStep, Guarantee, Requirement, once
from shoal.hierarchies import TOP
from shoal.kernels import Codes, Counts, Integers, Mask
from shoal.mechanisms import RandomSource
from shoal.methods.base import MethodCapabilities, Result, Work
from shoal.methods.classes._columns import HeldRecords, QuasiIdentifier
from shoal.methods.classes._fewest_cells import Combinations, Gathering, least_cost
from shoal.methods.classes._forms import one_table
from shoal.methods.classes._method import PartitionMethod, assemble_result, open_records
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._promises import state_promise
from shoal.methods.classes._run import Classified, Form, Formed, classes_of, find_satisfying
from shoal.methods.classes._wildcards import CellsSuppressed, KWildcards, agreeing, alike, shown_cells
from shoal.models import Classes, Model
from shoal.schema import Schema
from shoal.tables import group

if TYPE_CHECKING:
    from shoal.plan import Plan

#: how often the price of a column that is over its cap is raised before no cell of it may be suppressed
RAISES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress(PartitionMethod):
    """Suppress single cells, and leave everything else as it is.

    Records that are rare lose the columns in which they differ from near ones; records of frequent combinations lose
    some as well, where others need their company. A search looks for few cells and says how many there must be at
    least.

    Parameters
    ----------
    importance
        What a suppressed cell of a column costs, a whole number from 1 on; 1 where not given. Cells of important
        columns are suppressed last.
    most
        The greatest share of the cells of a column that may be suppressed, in [0, 1]; 1 where not given.
    strata
        Quasi-identifiers that are never suppressed, so that every promise holds inside each of their combinations.

    Guarantee
    ---------
    Syntactic: the classes of the release, in which a suppressed cell is a value of its own, satisfy the models. With
    :class:`KWildcards` in place of models: what every record still shows is true of k records, which is much less.
    Every cell is released as it was or as ``*``.

    Assumptions
    -----------
    Those of the promises. Which cells were suppressed depends on all records, and who knows the search may learn
    something from that about a suppressed value.

    Notes
    -----
    The bound is proved for every way of suppressing cells; that the search reaches it is not, and no fast search
    always does (the problem is NP-hard: Meyerson and Williams 2004). Cost O(2^a n log n) for a quasi-identifiers up to
    12; of more, only small sets are tried together.

    Examples
    --------
    >>> Suppress(importance={"age": 3}, strata=["region"]).parameters()["strata"]
    ('region',)
    """

    form: Form = field(default="suppressed", metadata=one_of("suppressed"))
    importance: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, Number] = field(default_factory=dict)
    strata: tuple[str, ...] = ()
    name: ClassVar[str] = "suppress"
    about: ClassVar[str] = "Single values become *, as few as possible."
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(other=(KWildcards.name,), persons=True)
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*COMMON_STEPS, CellsSuppressed)

    def fit(self, arguments: Arguments) -> None:
        """Report what is wrong with the columns that are named."""
        if self.strata:
            object.__setattr__(self, "strata", arguments.columns("strata", self.strata))
        else:
            object.__setattr__(self, "strata", ())
        for name in ("importance", "most"):
            if not isinstance(getattr(self, name), Mapping):
                arguments.problems.add(f"`{name}` of `{self.title}` must be a table of columns, as in {{ age = 1 }}")
                return
        for column, weight in self.importance.items():
            arguments.whole(f"importance of {column}", weight)
        for column, share in self.most.items():
            arguments.rational(f"most of {column}", share, "[0, 1]")

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        wildcards = sum(model.k for model in plan.models if isinstance(model, KWildcards))
        return [once(CellsSuppressed, columns=tuple(names), k=wildcards, allows=self._within_limits)]

    def _within_limits(self, step: CellsSuppressed) -> bool:
        """Return whether no column lost more cells than the parameters let it."""
        limits = {**self.most, **dict.fromkeys(self.strata, 0)}
        lost = dict(zip(step.columns, step.cells, strict=True))
        return all(lost[name] <= fraction(share) * step.records for name, share in limits.items())

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = [
            f"method `{self.name}` cannot keep `{model.title}`, which compares with a population"
            for model in models
            if model.capabilities.about_population
        ]
        for parameter in ("importance", "most", "strata"):
            problems += [
                f"`{parameter}` of `{self.title}` names `{column}`, which is not a quasi-identifier of the schema"
                for column in getattr(self, parameter)
                if column not in schema.quasi_identifiers
            ]
        if {*self.strata} >= {*schema.quasi_identifiers}:
            problems.append(f"`strata` of `{self.title}` names every quasi-identifier, so nothing can be suppressed")
        return problems

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Put every record into a class of records that look alike once cells are suppressed."""
        codes = codes_of(people.quasi_identifiers)
        hidden = self._within_caps(people, partial(self._choose_cells, people, codes, models))
        return Classified(partition=Partition.from_names(_labels(codes, hidden)))

    def make(self, work: Work) -> Result:
        """Choose the cells, decide every promise on what is left, and release it."""
        wildcards = tuple(model for model in work.plan.models if isinstance(model, KWildcards))
        if wildcards and len(work.plan.models) > 1:
            raise ParameterError(f"`{KWildcards.title}` counts no classes and cannot be combined with other promises.")
        opened = open_records(work)
        people, models = opened.people, opened.plan.class_models
        if wildcards and people.persons is not None:
            raise ParameterError(
                f"`{KWildcards.title}` counts records, and `{work.schema.person}` says that some belong to the "
                "same person; what it promises would not hold for persons.",
                hint="ask for k-anonymity, which counts persons",
            )
        codes = codes_of(people.quasi_identifiers)
        find = (
            partial(_choose_wildcards, codes, wildcards[0])
            if wildcards
            else partial(self._choose_cells, people, codes, models)
        )
        hidden = self._within_caps(people, find)
        work.watch.step(2, 3, "checking the promises")
        partition = Partition.from_names(_labels(codes, hidden))
        seen = _classes_as_seen(people, codes, partition.labels.astype(np.int64), hidden)
        if not find_satisfying(models, seen).all():
            raise ShoalError(
                f"method `{self.name}` suppressed too few cells; nothing was released",
                hint="this is a bug in Shoal: please report it",
            )
        made = Formed(
            columns=_star_cells(people.quasi_identifiers, hidden),
            partition=partition,
            measures=self._measures(people, codes, hidden, opened.plan.models),
        )
        run = opened.run(Classified(partition=partition), made, seen)
        guarantee = Guarantee(
            promises=(
                *(state_promise(model, run.readings, run.words()) for model in models),
                *(wildcard.promise(run.words()) for wildcard in wildcards),
            ),
            events=(_step(people, codes, hidden, wildcards),),
        )
        return assemble_result(run, one_table(run, guarantee), opened.work)

    def _weights(self, people: HeldRecords, factors: Mapping[str, int | None]) -> tuple[int | None, ...]:
        """Return what a cell of each column costs; a column over its cap costs more, or cannot be suppressed."""
        weights: list[int | None] = []
        for column in people.quasi_identifiers:
            name = column.attribute.name
            factor = factors.get(name, 1)
            fixed = name in self.strata or fraction(self.most.get(name, 1)) == 0
            weights.append(None if fixed or factor is None else self.importance.get(name, 1) * factor)
        return tuple(weights)

    def _within_caps(self, people: HeldRecords, find: _Find) -> Mask:
        """Raise the price of columns that lose too many cells until none does."""
        names = [column.attribute.name for column in people.quasi_identifiers]
        caps = {name: math.floor(fraction(share) * len(people)) for name, share in self.most.items()}
        factors: dict[str, int | None] = {}
        for tried in range(RAISES + 2):
            hidden = find(self._weights(people, factors))
            if hidden is None:
                break
            lost = dict(zip(names, hidden.sum(axis=0).tolist(), strict=True))
            over = [name for name, cap in caps.items() if lost[name] > cap]
            if not over:
                return hidden
            for name in over:
                factors[name] = None if tried >= RAISES else 2 * (factors.get(name) or 1)
        limits = [f"`{name}`" for name in dict.fromkeys((*self.strata, *caps))]
        raise RequirementError(
            "suppressing cells does not keep the promises"
            + (f" within the limits set for {', '.join(limits)}" if limits else ""),
            hint="allow more cells of these columns (`most`), take fewer `strata`, or generalise values first"
            if limits
            else "ask for less, or use a method that may leave records out",
        )

    def _choose_cells(
        self, people: HeldRecords, codes: Codes, models: Sequence[Model], weights: tuple[int | None, ...]
    ) -> Mask | None:
        """Return the cells to suppress so that models hold, a suppressed cell being a value of its own."""

        def broken(labels: Counts, hidden: Mask | None = None) -> Mask:
            shown = hidden_in(codes, labels) if hidden is None else hidden
            # classes that look the same are one, in which somebody who was in both has one vote
            alike = labels if people.persons is None else _labels(codes, shown)
            kept = find_satisfying(models, _classes_as_seen(people, codes, alike, shown))
            return ~kept[alike[rows_of(labels)]]

        labels = classes_of_records(codes, _size(models), weights, broken, people.persons)
        if labels is None:
            return None
        hidden = hidden_in(codes, labels)
        if all(model.capabilities.minimal_class_size <= 1 for model in models):  # classes need not be as large
            return restore_cells(codes, labels, hidden, weights, broken)
        return hidden

    def _measures(
        self, people: HeldRecords, codes: Codes, hidden: Mask, asked: Sequence[Requirement]
    ) -> dict[str, float]:
        """Return what was lost, and what must be lost at least."""
        weights = self._weights(people, {})
        wildcards = [model for model in asked if isinstance(model, KWildcards)]
        models = [model for model in asked if isinstance(model, Model)]
        if wildcards:
            least = shown_cells(_task(codes, wildcards[0].k, weights), wildcards[0].m)[1]
        else:
            least = least_cost(_task(codes, _smallest_crowd(models), weights))
        cost = int((hidden * np.array([weight or 0 for weight in weights])).sum())
        given = np.array([column.attribute.weight for column in people.quasi_identifiers])
        loss = float(np.average(hidden.mean(axis=0), weights=given if given.any() else None))
        measures = {"loss": loss, "suppressed cells": float(hidden.sum())}
        if not self.importance:
            return {**measures, "suppressed cells at least": float(least)}
        return {**measures, "their cost": float(cost), "their cost at least": float(least)}


_Find = Callable[[tuple[int | None, ...]], Mask | None]


def codes_of(columns: Sequence[QuasiIdentifier]) -> Codes:
    """Return the values of all records as numbers."""
    taken = [
        f"column `{column.attribute.name}` has the value `{TOP}`, which would stand for suppressed cells"
        for column in columns
        if pa.types.is_string(column.values.type) and TOP in column.values.to_pylist()
    ]
    if taken:
        raise DataError(taken, hint="write it differently before suppressing cells")
    return np.stack([column.places for column in columns], axis=1).astype(np.int32)


def _labels(codes: Codes, hidden: Mask) -> Counts:
    """Number the records that look alike."""
    return group(np.where(hidden, 0, codes + 1).astype(np.int32))[0]


def _classes_as_seen(people: HeldRecords, codes: Codes, labels: Counts, hidden: Mask) -> Classes:
    """Return classes as models see them, with what each shows."""
    firsts = rows_of(labels)
    classes = classes_of(Partition(labels.astype(np.int32)), people.sensitive, people.codes, people.persons)
    return replace(classes, codes=np.where(hidden, 0, codes + 1)[firsts].astype(np.int32))


def _size(models: Sequence[Model]) -> int:
    """Return how many people must look alike, or show the same in some columns."""
    asked = [model.parameters().get("k") for model in models]
    return max([_smallest_crowd(models), *(number for number in asked if isinstance(number, int))])


def _smallest_crowd(models: Sequence[Model]) -> int:
    """Return how many people must look alike at least, whatever else holds; their records are at least as many."""
    return max(model.capabilities.minimal_class_size for model in models)


def _task(codes: Codes, k: int, weights: tuple[int | None, ...]) -> Combinations:
    labels, firsts = group(codes)
    return Combinations(codes=codes[firsts], counts=np.bincount(labels).astype(np.int64), k=k, weights=weights)


def _choose_wildcards(codes: Codes, wanted: KWildcards, weights: tuple[int | None, ...]) -> Mask | None:
    """Return the cells to suppress so that what every record shows is true of k records; None where none do."""
    task = _task(codes, wanted.k, weights)
    hidden, _ = shown_cells(task, wanted.m)
    enough = agreeing(task.codes, hidden, task.counts, wanted.m) >= task.k
    return np.asarray(hidden[group(codes)[0]]) if enough.all() else None


def _star_cells(columns: Sequence[QuasiIdentifier], hidden: Mask) -> dict[str, pa.Array]:
    """Return the columns of which cells are suppressed, as text."""
    found = {}
    for column, lost in zip(columns, hidden.T, strict=True):
        if lost.any():
            # the lowest level of a hierarchy has the values as they are written in releases
            labels = pa.array([*column.hierarchy.labels[0], TOP], pa.string())
            positions = np.where(lost, column.hierarchy.size, column.leaves[column.places])
            found[column.attribute.name] = labels.take(pa.array(positions))
    return found


def _step(people: HeldRecords, codes: Codes, hidden: Mask, wildcards: Sequence[KWildcards]) -> CellsSuppressed:
    k = wildcards[0].k if wildcards else 0
    return CellsSuppressed(
        columns=tuple(column.attribute.name for column in people.quasi_identifiers),
        cells=tuple(hidden.sum(axis=0).tolist()),
        records=len(codes),
        touched=int(hidden.any(axis=1).sum()),
        k=k,
        fewer=int((alike(codes, hidden, np.ones(len(codes), dtype=np.int64)) < k).sum()),
    )


#: the classes of all records, what each record loses, and which classes break a promise
Verdict = Callable[[Counts, Mask], Mask]


def classes_of_records(
    codes: Codes,
    k: int,
    weights: tuple[int | None, ...],
    broken: Callable[[Counts], Mask],
    persons: Counts | None = None,
) -> Counts | None:
    """Put records into classes of about k people that lose few cells, merged until no class is broken.

    Returns None where classes are broken that no permitted suppression can merge with others.
    """
    labels, firsts = group(codes)
    apart = np.arange(len(codes)) if persons is None else _once_each(labels, persons)
    counts = np.bincount(labels[apart]).astype(np.int64)
    crowds = Gathering(Combinations(codes=codes[firsts], counts=counts, k=k, weights=weights))
    crowds.gather()
    crowds.improve()
    return _merge_broken(codes, _spread(labels, apart, len(firsts), crowds), weights, broken)


def _once_each(labels: Counts, persons: Counts) -> Integers:
    """Return one record of every person of every combination, in order."""
    return np.sort(np.unique(labels * (int(persons.max()) + 1) + persons, return_index=True)[1])


def _spread(labels: Counts, apart: Integers, number: int, crowds: Gathering) -> Counts:
    """Return the class of every record; records that are lent are taken evenly from all of their combination.

    Those that may be lent are ``apart``: one of every person, so that the combination keeps the persons it needs.
    """
    order = apart[np.argsort(labels[apart], kind="stable")]
    starts = np.searchsorted(labels[order], np.arange(number + 1))
    moved = np.arange(number)
    lent: dict[int, list[tuple[int, int]]] = {}
    for position, crowd in enumerate(crowds.crowds):
        for row in crowd.members:
            moved[row] = number + position
        for row, wanted in crowd.lent.items():
            lent.setdefault(row, []).append((number + position, wanted))
    result = moved[labels]
    for row, wishes in lent.items():
        rows = order[starts[row] : starts[row + 1]]
        wanted = sum(each for _, each in wishes)
        taken = rows[np.arange(wanted) * len(rows) // wanted]
        result[taken] = np.repeat([name for name, _ in wishes], [each for _, each in wishes])
    return np.unique(result, return_inverse=True)[1]


@dataclass(slots=True, eq=False)
class _Summary:
    """Summary of every class: a record, the columns that differ, and its size; size 0 where it was merged away."""

    first: Codes
    differs: Mask
    sizes: Counts

    @classmethod
    def of(cls, codes: Codes, labels: Counts) -> _Summary:
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        low, high = (function.reduceat(codes[order], starts, axis=0) for function in (np.minimum, np.maximum))
        return cls(codes[order[starts]], low != high, np.bincount(labels))

    def nearest(self, one: int, prices: Counts, forbidden: Mask) -> int | None:
        """Return the class that a class is merged with at the least cost; None where none may be."""
        differs = self.differs | self.differs[one] | (self.first != self.first[one])
        after = (self.sizes + self.sizes[one]) * (differs @ prices)
        cost = after - self.sizes * (self.differs @ prices)
        able = (self.sizes > 0) & ~(differs & forbidden).any(axis=1)
        able[one] = False
        if not able.any():
            return None
        return int(np.flatnonzero(able)[np.argmin(cost[able])])

    def merge(self, one: int, other: int) -> None:
        """Put a class into another one."""
        self.differs[other] |= self.differs[one] | (self.first[other] != self.first[one])
        self.sizes[other] += self.sizes[one]
        self.sizes[one] = 0


def _merge_broken(
    codes: Codes, labels: Counts, weights: tuple[int | None, ...], broken: Callable[[Counts], Mask]
) -> Counts | None:
    """Merge every broken class with the one that costs least, until none is broken."""
    prices = np.array([weight or 0 for weight in weights], dtype=np.int64)
    forbidden = np.array([weight is None for weight in weights])
    while True:
        wrong = np.flatnonzero(broken(labels))
        if not len(wrong):
            return labels
        summary = _Summary.of(codes, labels)
        goal = np.arange(len(summary.sizes))
        moved = False
        for one in wrong[np.argsort(summary.sizes[wrong], kind="stable")].tolist():
            if goal[one] != one or (goal == one).sum() > 1:
                continue  # it is part of another class by now, or others have become part of it
            other = summary.nearest(one, prices, forbidden)
            if other is not None:
                summary.merge(one, other)
                goal[goal == one] = other
                moved = True
        if not moved:
            return None
        labels = np.unique(goal[labels], return_inverse=True)[1]


def hidden_in(codes: Codes, labels: Counts) -> Mask:
    """Return the cells to suppress: in every class, the columns in which its records differ."""
    return np.asarray(_Summary.of(codes, labels).differs[labels])


def restore_cells(codes: Codes, labels: Counts, hidden: Mask, weights: tuple[int | None, ...], broken: Verdict) -> Mask:
    """Show cells again, column by column and class by class, as long as no promise is broken."""
    result = hidden.copy()
    columns = sorted(range(codes.shape[1]), key=lambda j: -int(result[:, j].sum()) * (weights[j] or 0))
    for j in columns:
        names, sizes = np.unique(labels[result[:, j]], return_counts=True)
        waiting = [names[np.argsort(-sizes, kind="stable")]]
        while waiting:
            some = waiting.pop()
            tried = result.copy()
            tried[np.isin(labels, some), j] = False
            if len(some) and not broken(_labels(codes, tried), tried).any():
                result = tried
            elif len(some) > 1:
                waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
    return result


def rows_of(labels: Counts) -> Integers:
    """Return one record of every class."""
    return np.unique(labels, return_index=True)[1]
