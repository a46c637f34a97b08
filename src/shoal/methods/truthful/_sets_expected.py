"""Expected counts in the cells of a table, computed from the tables released so far alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.fitting import Margins, RakedPool, raked
from shoal.hierarchies import Hierarchy, leaves_declared
from shoal.kernels import Floats, Integers
from shoal.methods.truthful._scheme import Tuples
from shoal.methods.truthful._sets_counted import CountedTable
from shoal.methods.truthful._sets_listed import LeveledColumns, ListedClasses
from shoal.methods.truthful._sets_margins import ReleasedTable, margins_of
from shoal.methods.truthful._sets_split import Noise
from shoal.schema import Schema

#: Possible records of the pool that later rounds of choices are explained by, and how often its weights are mended.
_POOL, _FIT_ROUNDS = 50_000, 30


class Expected(Protocol):
    """Numbers of records that are expected in the cells of a table."""

    def of_listed(self, candidate: LeveledColumns) -> Floats:
        """Return those of all classes that the schema lists, in their order."""

    def of_cells(self, candidate: LeveledColumns, table: Tuples) -> Floats:
        """Return those of the cells of a table of the data."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAlone:
    """What tables of single columns let expect if columns have nothing to do with each other.

    ``records`` is the number of all, ``of_column`` how many of them have each value of a column at its lowest level.
    Values of columns that the schema lists are those of the list, others are those of the data.
    """

    listed: ListedClasses
    lows: Sequence[int]
    records: float
    of_column: Sequence[Floats]

    def of_listed(self, candidate: LeveledColumns) -> Floats:
        shares: Floats = np.ones(1)
        for j, level in zip(candidate.columns, candidate.levels, strict=True):
            hierarchy = self.listed.hierarchies[self.listed.frequencies.attributes[j]]
            own = _lifted(hierarchy, self.lows[j], level, self.of_column[j])
            shares = np.outer(shares, own / max(self.records, 1.0)).ravel()
        return shares * self.records

    def of_cells(self, candidate: LeveledColumns, table: Tuples) -> Floats:
        shares: Floats = np.ones(len(table))
        for place, (j, level) in enumerate(zip(candidate.columns, candidate.levels, strict=True)):
            own = self._of_column(j, level)
            shares = shares * own[table.codes[:, place]] / max(self.records, 1.0)
        return shares * self.records

    def _of_column(self, column: int, level: int) -> Floats:
        """Return what is expected of the values of a column in the data at a level.

        A group of listed values is expected to have the records of all of them, whether they are in the data or not.
        """
        hierarchy = self.listed.frequencies.hierarchies[column]
        low, own = self.lows[column], self.of_column[column]
        if hierarchy.attribute not in self.listed.hierarchies:
            return _lifted(hierarchy, low, level, own)
        codes = self.listed.codes(column, level)
        known = _lifted(self.listed.hierarchies[hierarchy.attribute], low, level, own)
        return np.where(codes < 0, 0.0, known[codes])


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedTogether:
    """What a pool that is fitted to all released tables lets expect."""

    listed: ListedClasses
    margins: Margins
    pool: RakedPool

    @classmethod
    def of(cls, listed: ListedClasses, margins: Margins) -> ExpectedTogether:
        return cls(listed, margins, raked(margins, size=_POOL, seed=0, rounds=_FIT_ROUNDS))

    def of_listed(self, candidate: LeveledColumns) -> Floats:
        names = self.listed.frequencies.attributes
        hierarchies = [self.listed.hierarchies[names[j]] for j in candidate.columns]
        first, second = (
            self._codes(j, level, each)
            for j, level, each in zip(candidate.columns, candidate.levels, hierarchies, strict=True)
        )
        pairs = np.stack([np.repeat(first, len(second)), np.tile(second, len(first))])
        return self._sums(candidate, pairs)

    def of_cells(self, candidate: LeveledColumns, table: Tuples) -> Floats:
        described = zip(candidate.columns, candidate.levels, table.hierarchies, strict=True)
        codes = [self._codes(*each)[table.codes[:, place]] for place, each in enumerate(described)]
        return self._sums(candidate, np.stack(codes))

    def _codes(self, column: int, level: int, hierarchy: Hierarchy) -> Integers:
        """Return the codes in the pool of the labels of a column at a level; -1 for those that were never released."""
        place = self.margins.names.index(hierarchy.attribute)
        known = {label: code for code, label in enumerate(self.margins.hierarchies[place].labels[level])}
        return np.array([known.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)

    def _sums(self, candidate: LeveledColumns, cells: Integers) -> Floats:
        """Return the weights of the pool in cells, each given by a code of either column."""
        names = self.listed.frequencies.attributes
        places = [self.margins.names.index(names[j]) for j in candidate.columns]
        first, second = (
            self.margins.lift(place, level)[self.pool.codes[:, place]]
            for place, level in zip(places, candidate.levels, strict=True)
        )
        size = self.margins.size(places[1], candidate.levels[1])
        keys, owners = np.unique(first * size + second, return_inverse=True)
        sums = np.bincount(owners, self.pool.weights, minlength=len(keys))
        asked = np.where((cells < 0).any(axis=0), -1, cells[0] * size + cells[1])
        positions = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[positions] == asked, sums[positions], 0.0)


def expected_of(
    schema: Schema,
    listed: ListedClasses,
    lows: Sequence[int],
    tables: Sequence[tuple[LeveledColumns, Noise, CountedTable]],
    *,
    together: bool,
) -> Expected:
    """Return what released tables let expect of others, by all of them together or by those of single columns."""
    if together:
        margins = margins_of(schema, [_released(listed, *each) for each in tables])
        if all(margins.size(j) for j in range(len(margins.names))):
            return ExpectedTogether.of(listed, margins)
    alone = [each for each in tables if len(each[0].columns) == 1]
    closed = [leaves_declared(schema[name]) for name in listed.frequencies.attributes]
    return _expected_alone(listed, lows, [each for *_, each in alone], [noise for _, noise, _ in alone], closed)


def _released(listed: ListedClasses, own: LeveledColumns, noise: Noise, table: CountedTable) -> ReleasedTable:
    """Return what a release shows and hides of a table."""
    levels = listed.levels(own)
    labels = [
        [hierarchy.labels[level][code] for code in table.shown.codes[:, place].tolist()]
        for place, (hierarchy, level) in enumerate(zip(table.shown.hierarchies, levels.values(), strict=True))
    ]
    return ReleasedTable(
        columns=tuple(levels),
        levels=tuple(levels.values()),
        m=noise.m,
        variance=float(noise.variance),
        shown=dict(sorted(zip(zip(*labels, strict=True), table.shown.counts.tolist(), strict=True), key=repr)),
        hidden=table.hidden,
    )


def _expected_alone(
    listed: ListedClasses,
    lows: Sequence[int],
    found: Sequence[CountedTable],
    noise: Sequence[Noise],
    closed: Sequence[bool],
) -> ExpectedAlone:
    """Estimate records, and how many of them have each value, from what was released of single columns alone.

    Values that are not counted and that no record shows count 0: how many there are would depend on the data.
    ``closed`` are the columns that have no values but those that the schema lists; their tables count all records.
    """
    counts, totals, whole = [], [], []
    for j, (each, low, own) in enumerate(zip(found, lows, noise, strict=True)):
        hierarchy = each.shown.hierarchies[0]
        known = hierarchy.attribute in listed.hierarchies
        codes = each.shown.codes[:, 0].astype(np.int64)
        codes = listed.codes(j, low)[codes] if known else codes
        labels = (listed.hierarchies[hierarchy.attribute] if known else hierarchy).labels[low]
        sizes = np.zeros(len(labels)) if each.estimates is None else each.estimates.astype(np.float64)
        sizes[codes[codes >= 0]] = each.shown.counts[codes >= 0] + own.m
        counts.append(np.maximum(sizes, 0))
        totals.append(float(sizes.sum()) + float((each.shown.counts[codes < 0] + own.m).sum()))
        if closed[j] and each.estimates is not None:
            whole.append((totals[-1], 1 / (len(sizes) * float(own.variance))))
    records = np.average([total for total, _ in whole], weights=[own for _, own in whole]) if whole else max(totals)
    return ExpectedAlone(listed, lows, float(records), counts)


def _lifted(hierarchy: Hierarchy, low: int, level: int, counts: Floats) -> Floats:
    """Return expected counts at a higher level."""
    leaves = np.arange(hierarchy.size, dtype=np.int32)
    up = np.zeros(len(hierarchy.labels[low]), dtype=np.int64)
    up[hierarchy.generalize(leaves, low)] = hierarchy.generalize(leaves, level)
    return np.bincount(up, weights=counts, minlength=len(hierarchy.labels[level])).astype(np.float64)
