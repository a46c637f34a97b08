"""Combinations of values that are too rare, the columns that may be suppressed, and what that costs at least."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels import Codes, Counts, Integers, Mask
from shoal.tables import group, tally

#: sets of columns that are looked at, at most
SETS = 4_096
#: costs per record are added up in whole parts of this size, each rounded down
PARTS = 1_000_000
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combinations:
    """The distinct combinations of values, how many records must look alike, and what suppressing costs."""

    #: One row per combination, and its records.
    codes: Codes
    counts: Counts
    #: The least number of records that look alike.
    k: int
    #: What a suppressed cell of each column costs, a whole number from 1 on; None where none may be suppressed.
    weights: tuple[int | None, ...]

    @property
    def rare(self) -> Mask:
        """The combinations of fewer than k records."""
        return np.asarray(self.counts < self.k)

    @property
    def free(self) -> tuple[int, ...]:
        """The columns that may be suppressed."""
        return tuple(j for j, weight in enumerate(self.weights) if weight is not None)

    def weight(self, columns: Sequence[int]) -> int:
        """Return what suppressing some columns of one record costs."""
        return sum(self.weights[j] or 0 for j in columns)

    @property
    def tried(self) -> int:
        """The greatest size of which all sets of columns are tried: `SETS` sets in all, at most."""
        sizes = itertools.accumulate(math.comb(len(self.free), size) for size in range(1, len(self.free) + 1))
        return max(1, sum(seen <= SETS for seen in sizes))

    @property
    def unseen(self) -> int | None:
        """What a set of columns that is not tried costs at least; None where all are tried."""
        return None if self.tried >= len(self.free) else self._least(self.tried + 1)

    def sets(self) -> Iterator[tuple[list[tuple[int, ...]], int | None]]:
        """Yield all sets of columns of one size after the other, and what a larger set costs at least, if there is one.

        Cheap sets come first, and of those that cost the same, columns with many values. Where columns are too many,
        the last to be yielded are the columns with most values, ever more of them.
        """
        free = self.free
        for size in range(1, min(self.tried, len(free)) + 1):
            found = sorted(
                itertools.combinations(free, size), key=lambda each: (self.weight(each), -self._values(each))
            )
            yield found, self._least(size + 1) if size < len(free) else None
        if self.unseen is not None:
            finest = sorted(free, key=lambda j: -self._values([j]))
            yield [tuple(finest[:size]) for size in range(self.tried + 1, len(free) + 1)], None

    def _least(self, size: int) -> int:
        return sum(sorted(self.weights[j] or 0 for j in self.free)[:size])

    def _values(self, columns: Sequence[int]) -> int:
        return sum(int(self.codes[:, j].max(initial=0)) for j in columns)

    def groups(self, suppressed: Sequence[int], rows: Integers) -> Counts:
        """Number the groups of combinations that agree where nothing is suppressed."""
        shown = [j for j in range(self.codes.shape[1]) if j not in suppressed]
        if not shown:
            return np.zeros(len(rows), dtype=np.int64)
        return group(self.codes[rows][:, shown])[0]


def least_cost(task: Combinations) -> int:
    """Return what no suppression under which k records look alike costs less than.

    A class that loses columns of weight w and holds c >= k records, v of them of rare combinations, costs w * c: for
    each of the v at least w * max(k, v) / v. No more than the rare records that agree outside of these columns are
    among the v. So every rare record costs the least of w * max(k, v) / v over all sets of columns outside of which
    k records agree; sets that were not looked at cost what they cost at least. The sum is rounded down, then up to the
    next whole number, as costs are whole.
    """
    rare, every = np.flatnonzero(task.rare), np.arange(len(task.codes))
    best = np.full(len(rare), _NEVER)
    for sets, ahead in task.sets():
        for columns in sets:
            labels = task.groups(columns, every)
            inside = tally(labels, task.counts, len(every))[labels[rare]]
            few = tally(labels[rare], task.counts[rare], len(every))[labels[rare]]
            price = PARTS * task.weight(columns) * np.maximum(task.k, few) // few
            best = np.where(inside >= task.k, np.minimum(best, price), best)
        if ahead is None or (best <= PARTS * ahead).all():
            break
    if task.unseen is not None:
        best = np.minimum(best, PARTS * task.unseen)
    if _NEVER in best:  # nothing that is permitted helps
        return 0
    return -(-sum(map(int, best * task.counts[rare])) // PARTS)
