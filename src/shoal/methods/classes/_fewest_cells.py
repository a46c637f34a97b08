"""A search for the fewest cells to suppress so that every record looks like k - 1 others, and a bound on it.

A suppressed cell is a value of its own. Records of one class lose the same columns, those in which they differ, so that
a class of c records that lose columns of weight w costs c * w. Only records of rare combinations must lose anything;
records of frequent ones may be lent to a class, as long as k of their combination are left.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
    """The distinct combinations of values, the number of records that must look alike, and the costs of suppression."""

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
    def largest_tried_size(self) -> int:
        """The greatest size of which all sets of columns are tried: `SETS` sets in all, at most."""
        sizes = itertools.accumulate(math.comb(len(self.free), size) for size in range(1, len(self.free) + 1))
        return max(1, sum(seen <= SETS for seen in sizes))

    @property
    def unseen(self) -> int | None:
        """What a set of columns that is not tried costs at least; None where all are tried."""
        return None if self.largest_tried_size >= len(self.free) else self._least(self.largest_tried_size + 1)

    def sets(self) -> Iterator[tuple[list[tuple[int, ...]], int | None]]:
        """Yield all sets of columns of one size after the other, and what a larger set costs at least, if there is one.

        Cheap sets come first, and of those that cost the same, columns with many values. Where columns are too many,
        the last to be yielded are the columns with most values, ever more of them.
        """
        free = self.free
        for size in range(1, min(self.largest_tried_size, len(free)) + 1):
            ordered = sorted(
                itertools.combinations(free, size), key=lambda each: (self.weight(each), -self._values(each))
            )
            yield ordered, self._least(size + 1) if size < len(free) else None
        if self.unseen is not None:
            finest = sorted(free, key=lambda j: -self._values([j]))
            yield [tuple(finest[:size]) for size in range(self.largest_tried_size + 1, len(free) + 1)], None

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


#: rounds of moving records to cheaper crowds
ROUNDS = 10
Columns = tuple[int, ...]
#: a price per record, the number of the set of columns and these, rare combinations, and those that can lend records
_Offer = tuple[float, int, Columns, list[int], list[int]]


@dataclass(slots=True, kw_only=True, eq=False)
class Gathered:
    """Records that will look alike: all of some rare combinations, and some of frequent ones."""

    #: What its records lose, and what that costs each.
    columns: Columns
    weight: int
    #: The records of rare combinations, and those of frequent ones, by combination.
    members: dict[int, int] = field(default_factory=dict)
    lent: dict[int, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of its records."""
        return sum(self.members.values()) + self.lent_records

    @property
    def lent_records(self) -> int:
        """The records of frequent combinations."""
        return sum(self.lent.values())


class Gathering:
    """The crowds that rare combinations are gathered in, made one by one and then improved.

    The next crowd is always the one that costs least per rare record that it gathers.
    """

    def __init__(self, task: Combinations) -> None:
        self.task = task
        self.surplus: Counts = np.where(task.rare, 0, task.counts - task.k)
        self.crowds: list[Gathered] = []
        self.home: dict[int, Gathered] = {}
        self._waiting = {int(row) for row in np.flatnonzero(task.rare)}

    @property
    def waiting(self) -> list[int]:
        """Rare combinations that no crowd gathers."""
        return sorted(self._waiting)

    @property
    def cost(self) -> int:
        """What all crowds cost."""
        return sum(crowd.weight * crowd.size for crowd in self.crowds)

    def gather(self) -> None:
        """Gather the rare combinations."""
        offers: list[_Offer] = []
        number = itertools.count()
        for sets, ahead in self.task.sets():
            for columns in sets:
                rank = next(number)
                for members, lenders in self._groups(columns):
                    self._offer(offers, rank, columns, members, lenders)
            self._accept(offers, ahead)
            if not self._waiting:
                return
        self._accept(offers, None)

    def follow(self, hidden: Mask) -> None:
        """Make crowds of combinations that are to lose the same cells, where there are enough of them."""
        kinds, kind = np.unique(hidden, axis=0, return_inverse=True)
        for number, masked in enumerate(kinds):
            chosen = {int(row) for row in np.flatnonzero(kind.ravel() == number)}
            columns = tuple(np.flatnonzero(masked).tolist())
            for members, lenders in self._groups(columns) if columns else ():
                followed = [row for row in members if row in chosen]
                if followed and int(self.task.counts[followed].sum() + self.surplus[lenders].sum()) >= self.task.k:
                    self._make(columns, followed, lenders)

    def improve(self) -> None:
        """Move combinations to cheaper crowds, and dissolve crowds, as long as that saves something."""
        for _ in range(ROUNDS):
            options = self._options()
            moved = [self._move(row, options[row]) for row in sorted(self.home)]
            gone = [self._dissolve(crowd, options) for crowd in sorted(self.crowds, key=lambda each: -each.weight)]
            self.crowds = [crowd for crowd in self.crowds if crowd.members]
            if not any(moved) and not any(gone):
                return

    def _groups(self, columns: Columns) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the waiting combinations, and those that can lend records, of every group that agrees elsewhere."""
        waiting = np.array(self.waiting, dtype=np.int64)
        rows = np.concatenate([waiting, np.flatnonzero(self.surplus > 0)])
        labels = self.task.groups(columns, rows)
        order = np.argsort(labels, kind="stable")  # waiting ones stay ahead of lenders
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        few = np.bincount(labels[: len(waiting)], minlength=len(starts))
        totals = np.add.reduceat((self.task.counts * self.task.rare + self.surplus)[rows[order]], starts)
        for number in np.flatnonzero((few > 0) & (totals >= self.task.k)):
            first = starts[number]
            last = starts[number + 1] if number + 1 < len(starts) else len(rows)
            group: Integers = rows[order[first:last]]
            yield group[: few[number]].tolist(), group[few[number] :].tolist()

    def _offer(
        self, offers: list[_Offer], rank: int, columns: Columns, members: list[int], lenders: list[int]
    ) -> _Offer | None:
        """Note what a crowd of those who still wait would cost per record; None where there are too few."""
        members = [row for row in members if row in self._waiting]
        gathered = int(self.task.counts[members].sum())
        missing = max(0, self.task.k - gathered)
        if not members or (missing and missing > int(self.surplus[lenders].sum())):
            return None
        price = self.task.weight(columns) * (gathered + missing) / gathered
        offer = (price, rank, columns, members, lenders)
        heapq.heappush(offers, offer)
        return offer

    def _accept(self, offers: list[_Offer], ahead: int | None) -> None:
        """Make the crowds that cost least, while no larger set of columns can cost less."""
        while offers and self._waiting and (ahead is None or offers[0][0] <= ahead):
            _, rank, columns, members, lenders = heapq.heappop(offers)
            now = self._offer(offers, rank, columns, members, lenders)
            if now is not None and offers[0] is now:  # what it costs now is still the least
                heapq.heappop(offers)
                self._make(columns, now[3], lenders)

    def _make(self, columns: Columns, members: Iterable[int], lenders: Iterable[int]) -> None:
        crowd = Gathered(columns=columns, weight=self.task.weight(columns))
        self.crowds.append(crowd)
        for row in members:
            self._join(row, crowd)
        self._borrow(crowd, sorted(lenders, key=lambda row: (-self.surplus[row], row)))

    def _join(self, row: int, crowd: Gathered) -> None:
        crowd.members[row] = int(self.task.counts[row])
        self.home[row] = crowd
        self._waiting.discard(row)

    def _borrow(self, crowd: Gathered, lenders: Iterable[int]) -> None:
        for row in lenders:
            wanted = min(self.task.k - crowd.size, int(self.surplus[row]))
            if wanted > 0:
                crowd.lent[row] = crowd.lent.get(row, 0) + wanted
                self.surplus[row] -= wanted

    def _give_back(self, crowd: Gathered) -> None:
        """Return lent records that the crowd can do without."""
        for row in sorted(crowd.lent, key=lambda each: (crowd.lent[each], each)):
            spare = min(crowd.lent[row], crowd.size - self.task.k)
            if spare > 0:
                crowd.lent[row] -= spare
                self.surplus[row] += spare
        crowd.lent = {row: number for row, number in crowd.lent.items() if number}

    def _options(self) -> dict[int, list[Gathered]]:
        """Return, for every gathered combination, the crowds that it fits, cheapest first."""
        options: dict[int, list[Gathered]] = {row: [] for row in self.home}
        rows = np.array(sorted(self.home), dtype=np.int64)
        for columns in sorted({crowd.columns for crowd in self.crowds}):
            labels = dict(zip(rows.tolist(), self.task.groups(columns, rows).tolist(), strict=True))
            crowds: dict[int, list[Gathered]] = {}
            for crowd in self.crowds:
                if crowd.columns == columns:
                    crowds.setdefault(labels[next(iter(crowd.members))], []).append(crowd)
            for row in options:
                options[row] += crowds.get(labels[row], [])
        return {row: sorted(crowds, key=lambda each: each.weight) for row, crowds in options.items()}

    def _cost_of_joining(self, row: int, crowd: Gathered) -> int:
        """Return what joining a crowd costs, less what the crowd need not borrow any more."""
        number = int(self.task.counts[row])
        return crowd.weight * (number - min(crowd.lent_records, number, crowd.size + number - self.task.k))

    def _move(self, row: int, options: list[Gathered]) -> bool:
        old, number = self.home[row], int(self.task.counts[row])
        if old.size - number < self.task.k and len(old.members) > 1:
            return False  # it would have to borrow as many as leave
        kept = old.weight * (number if len(old.members) > 1 else old.size)
        for crowd in options:
            if crowd is not old and crowd.members and self._cost_of_joining(row, crowd) < kept:
                self._leave(row)
                self._join(row, crowd)
                self._give_back(crowd)
                return True
        return False

    def _leave(self, row: int) -> None:
        old = self.home[row]
        del old.members[row]
        if not old.members:
            for lender, number in old.lent.items():
                self.surplus[lender] += number
            old.lent = {}

    def _dissolve(self, crowd: Gathered, options: dict[int, list[Gathered]]) -> bool:
        """Let all go to other crowds, if that costs less than the crowd."""
        goals = {}
        for row in crowd.members:
            others = [option for option in options[row] if option is not crowd and option.members]
            if not others:
                return False
            goals[row] = min(others, key=lambda each: self._cost_of_joining(row, each))
        joined = sum(goal.weight * crowd.members[row] for row, goal in goals.items())
        if not goals or joined >= crowd.weight * crowd.size:
            return False
        for row, goal in goals.items():
            self._leave(row)
            self._join(row, goal)
            self._give_back(goal)
        return True
