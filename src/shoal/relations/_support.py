"""The evidence for a relation: how many records follow it, beside what chance explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.relations._view import Array, ColumnView

#: records on which candidates are looked for
SAMPLE = 20_000
#: records on which a candidate is looked at first
GLANCE = 2_000
#: columns of two sides beyond which not all of them are explained by others
MANY = 64
#: with columns permuted, a relation must be broken by at least so many records, and by ten times more than without:
#: the chance that independent columns do so is below 1e-10 for each formula that is tried
_BROKEN = 40
_RATIO = 0.1


def rank_values(values: Array) -> Array:
    """Return the ranks of values, with mean 0 and deviation 1."""
    ranks = np.argsort(np.argsort(np.nan_to_num(values), kind="stable"), kind="stable").astype(np.float64)
    return np.asarray((ranks - ranks.mean()) / max(float(ranks.std()), 1.0))


@dataclass(frozen=True, slots=True)
class Sides:
    """The columns that only relations with others are looked for of; by default any relation is."""

    names: frozenset[str] | None = None

    def join(self, *views: ColumnView) -> bool:
        """Return whether a relation of these columns is looked for."""
        if self.names is None:
            return True
        here = sum(view.name in self.names for view in views)
        return 0 < here < len(views)

    def targets(self, views: Sequence[ColumnView]) -> list[int]:
        """Return the columns that are explained by others: of many on two sides, those of the smaller one are enough.

        What joins both sides can be solved for a column of either. The others are those whose ranks agree most with one
        of the other side.
        """
        marked = self.mark(views)
        if marked is None or len(views) <= MANY:
            return list(range(len(views)))
        fewer = marked if 2 * marked.sum() <= len(views) else ~marked
        ranks = np.stack([rank_values(view.values[:GLANCE]) for view in views])
        nearest = np.abs(ranks @ ranks[fewer].T).max(axis=1, initial=0)
        nearest[fewer] = -1
        others = np.argsort(-nearest, kind="stable")[: max(MANY - int(fewer.sum()), 0)]
        return sorted({*np.flatnonzero(fewer).tolist(), *others[~fewer[others]].tolist()})

    def mark(self, views: Sequence[ColumnView]) -> Array | None:
        """Return which columns are on the one side; None if there are no sides."""
        return None if self.names is None else np.array([view.name in self.names for view in views], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Support:
    """How many of the compared records break a relation, and how many do when its columns are permuted."""

    records: int
    broken: float
    broken_by_chance: float

    @property
    def share(self) -> float:
        """The share of records that follow the relation."""
        return 1 - self.broken / self.records if self.records else 0.0

    def holds(self, exceptions: float) -> bool:
        """Return whether the relation holds, but for a share of exceptions."""
        return (
            self.broken <= exceptions * self.records
            and self.broken_by_chance >= _BROKEN
            and self.broken <= _RATIO * self.broken_by_chance
        )


def is_candidate(evidence: Support, exceptions: float) -> bool:
    """Return whether a sample leaves it possible that a relation holds in the whole table."""
    return (
        evidence.records >= _BROKEN
        and evidence.broken <= _most_broken(exceptions, evidence.records)
        and evidence.broken <= 0.5 * evidence.broken_by_chance
    )


def _most_broken(exceptions: float, records: int) -> float:
    return exceptions * records + 4 * float(np.sqrt(max(exceptions * records, 1.0)))


def weigh(
    broken: Callable[..., Array], target: Array, *inputs: Array, draws: np.random.Generator, exceptions: float = 1.0
) -> Support:
    """Return the evidence for a relation that ``broken(target, *inputs)`` decides record by record.

    Where more records break it than a share of ``exceptions`` explains, chance is not measured: nothing holds.

    Chance is measured by permuting one input after the other: the least of the counts is that of the input that
    matters least, so that a column that is nearly always zero is no part of a sum.
    """
    records = len(target)
    if not records:
        return Support(0, 0, 0)
    broken_records = int(np.sum(broken(target, *inputs)))
    if broken_records > _most_broken(exceptions, records):
        return Support(records, broken_records, 0)
    chance = []
    for place in range(len(inputs)):
        order = draws.permutation(records)
        chance.append(int(np.sum(broken(target, *(x[order] if at == place else x for at, x in enumerate(inputs))))))
    return Support(records, broken_records, min(chance))


def broken_function(source: Array, target: Array) -> int:
    """Return how many records must change for one column of codes to be a function of another.

    Examples
    --------
    >>> broken_function(np.array([0, 0, 0, 1]), np.array([5, 5, 6, 5]))
    1
    """
    if not len(source):
        return 0
    width = int(target.max()) + 1
    keys = source.astype(np.int64) * width + target
    if (int(source.max()) + 1) * width <= 8 * len(source) + 100_000:
        counts = np.bincount(keys, minlength=(int(source.max()) + 1) * width)
        return len(source) - int(counts.reshape(-1, width).max(axis=1).sum())
    pairs, counts = np.unique(keys, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    return len(source) - int(np.maximum.reduceat(counts, starts).sum())


def weigh_function(source: Array, target: Array, draws: np.random.Generator) -> Support:
    """Return the evidence that one column of codes is a function of another.

    Values that occur once are no evidence: they break no function, permuted or not.
    """
    present = (source >= 0) & (target >= 0)
    source, target = source[present], target[present]
    broken = broken_function(source, target)
    if broken > 0.2 * len(source):
        return Support(len(source), broken, 0)
    return Support(len(source), broken, broken_function(source, draws.permutation(target)))
