"""Top-down partition of tuples into regions of at least k records, guided by what the released values will cost.

A region releases, for every attribute, one value that covers its tuples: their lowest common ancestor in the hierarchy
or, for an ordered attribute, an interval. It is split by an attribute into the children of that ancestor; children that
are too small stay behind together at the value of the region, and where they are still too few they borrow the tuples
that fit them best from children that can spare some. Of the attributes the one is taken that saves most cost per square
root of the information ``-sum w ln(w / W)`` of the split: plain cost favours splits into many parts, which leave
nothing to split for others. In small regions every attribute is followed to the end, greedily, and the best end wins.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels import Codes, Floats, Integers, is_compiled, run

#: In records: below it a split gains nothing but rounding errors.
LEAST_GAIN = 1e-9
#: Records that are too many to borrow tuple by tuple.
MANY = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeCover:
    """How the values of an attribute are covered by one released value, and what that costs a record."""

    #: ``codes[level, leaf]``, non-decreasing in the leaf; one value at the last level.
    codes: Codes
    #: ``costs[level, leaf]`` of the leaf's ancestor at the level; of an ordered attribute one row of positions, whose
    #: difference is the cost of an interval.
    costs: Floats
    #: Whether regions release intervals.
    ordered: bool = False

    def level(self, low: Codes | int, high: Codes | int) -> Any:
        """Return the lowest level at which two leaves, and so all between them, have one value."""
        return np.argmax(self.codes[:, low] == self.codes[:, high], axis=0)

    def cost(self, low: Codes | int, high: Codes | int) -> Any:
        """Return the cost of the value that covers the leaves from ``low`` to ``high``."""
        if self.ordered:
            return self.costs[0, high] - self.costs[0, low]
        return self.costs[self.level(low, high), low]


class Splitting(NamedTuple):
    """How regions are split."""

    #: The least weight of a region.
    smallest: int
    #: Regions of at most this weight are split with foresight.
    window: int = 0
    #: Whether children that are too small may stay behind; otherwise the attribute cannot be split.
    stay: bool = True
    #: Whether what stays behind may be filled up.
    borrow: bool = True
    #: Cells looked at after which regions are split without foresight, and after which none is split any more. One look
    #: at a tuple is a look at one cell for each attribute.
    foresight: float = math.inf
    work: float = math.inf
    #: Seconds, likewise. With them the result depends on how busy the machine is.
    foresight_seconds: float = math.inf
    seconds: float = math.inf


class RegionTree(NamedTuple):
    """A tree of regions: the region of every row, which is a leaf of the tree, and the parent of every region."""

    labels: Codes
    parents: Codes
    #: The cells that were looked at.
    work: float


def partition(columns: Codes, counts: Integers, covers: Sequence[AttributeCover], how: Splitting) -> RegionTree:
    """Split the rows, as long as it pays, into regions of enough records.

    ``columns`` are the leaf codes of distinct tuples, shape ``(attributes, rows)``, of which each stands for at least
    one record of ``counts``. Cost O(rows * attributes^2 * depth); foresight multiplies the cost of small regions by
    attributes * depth.
    """
    if not is_compiled("shoal_regions_of_tuples"):
        return partition_numpy(columns, counts, covers, how)
    attributes, rows = columns.shape
    # an ordered attribute needs no codes, but as many places as costs
    codes = [np.zeros(cover.costs.shape, np.int32) if cover.ordered else cover.codes for cover in covers]
    labels, parents = np.zeros(rows, dtype=np.int32), np.empty(2 * rows + 1, dtype=np.int32)
    work = np.zeros(1)
    number = run(
        "shoal_regions_of_tuples",
        *(rows, attributes, how.smallest, how.window, how.stay, how.borrow),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.ascontiguousarray(counts, dtype=np.int64),
        np.array([(cover.ordered, *cover.costs.shape) for cover in covers], dtype=np.int64),
        np.concatenate([np.zeros(0, np.int32), *(np.asarray(code, dtype=np.int32).ravel() for code in codes)]),
        np.concatenate([np.zeros(0), *(np.asarray(cover.costs, dtype=np.float64).ravel() for cover in covers)]),
        np.array([how.foresight, how.work, how.foresight_seconds, how.seconds], dtype=np.float64),
        *(labels, parents, work),
    )
    return RegionTree(labels, parents[:number].copy(), float(work[0]))


def partition_numpy(columns: Codes, counts: Integers, covers: Sequence[AttributeCover], how: Splitting) -> RegionTree:
    """As `partition`, in plain NumPy."""
    return _Division(columns, counts, covers, how).run()


class _Region:
    """Rows with their weight, the ranges of their codes and the cost of one record."""

    __slots__ = ("cost", "high", "low", "members", "weight")

    def __init__(self, partition: _Division, members: Integers) -> None:
        self.members = members
        self.weight = int(partition.counts[members].sum())
        codes = partition.columns[:, members]
        self.low = codes.min(axis=1, initial=np.iinfo(np.int32).max).tolist()
        self.high = codes.max(axis=1, initial=-1).tolist()
        ends = zip(partition.covers, self.low, self.high, strict=True)
        self.cost = sum(cover.cost(low, high) for cover, low, high in ends) if len(members) else 0.0

    @property
    def total(self) -> float:
        return self.weight * self.cost


class _Division:
    def __init__(self, columns: Codes, counts: Integers, covers: Sequence[AttributeCover], how: Splitting) -> None:
        self.columns, self.counts, self.covers = columns, counts, covers
        self.how, self.smallest = how, how.smallest
        self.started, self.looks = time.monotonic(), 0

    def run(self) -> RegionTree:
        rows = len(self.counts)
        labels = np.zeros(rows, dtype=np.int32)
        parents = [-1]
        # what is split with foresight comes last: should time run out, no large region is left
        large: list[tuple[_Region, int]] = [(_Region(self, np.arange(rows)), 0)]
        small: list[tuple[_Region, int]] = []
        while large or small:
            region, own = (large or small).pop()
            parts = self._parts(region)
            if not parts:
                labels[region.members] = own
            for part in parts:
                (small if part.weight <= self.how.window else large).append((part, len(parents)))
                parents.append(own)
        return RegionTree(labels, np.array(parents, dtype=np.int32), self.work)

    @property
    def work(self) -> float:
        return float(self.looks * len(self.covers))

    def _parts(self, region: _Region) -> list[_Region]:
        if self.work >= self.how.work or self._elapsed_seconds() >= self.how.seconds:
            return []
        foresighted = region.weight <= self.how.window and self._foresees()
        return self._split_with_foresight(region) if foresighted else self._greedy(region)

    def _foresees(self) -> bool:
        return self.work < self.how.foresight and self._elapsed_seconds() < self.how.foresight_seconds

    def _elapsed_seconds(self) -> float:
        return time.monotonic() - self.started

    def _greedy(self, region: _Region) -> list[_Region]:
        """Return the split that gains most per square root of its information; nothing if none gains."""
        best: list[_Region] = []
        highest = 0.0
        for j in self._attributes(region):
            parts = self._split(region, j)
            if not parts:
                continue
            gain, information = region.total, 0.0
            for part in parts:
                gain -= part.total
                information -= part.weight * math.log(part.weight / region.weight)
            score = gain / math.sqrt(information)
            if gain > LEAST_GAIN and score > highest:
                highest, best = score, parts
        return best

    def _split_with_foresight(self, region: _Region) -> list[_Region]:
        """Return the split after which going on greedily ends best; nothing if that gains nothing."""
        best: list[_Region] = []
        lowest = region.total - LEAST_GAIN
        for j in self._attributes(region):
            if not self._foresees():  # with hundreds of attributes one region may take minutes
                return self._greedy(region)
            parts = self._split(region, j)
            if not parts:
                continue
            outcome = sum(map(self._outcome, parts))
            if outcome < lowest:
                lowest, best = outcome, parts
        return best

    def _outcome(self, region: _Region) -> float:
        """Return what the region costs after it was split greedily to the end."""
        parts = self._greedy(region)
        return sum(map(self._outcome, parts)) if parts else region.total

    def _attributes(self, region: _Region) -> Iterable[int]:
        return range(len(self.covers)) if region.weight >= 2 * self.smallest else ()

    def _split(self, region: _Region, j: int) -> list[_Region]:
        if region.low[j] == region.high[j]:
            return []
        self.looks += len(region.members)
        return self._halves(region, j) if self.covers[j].ordered else self._children(region, j)

    def _halves(self, region: _Region, j: int) -> list[_Region]:
        """Cut between two values so that the halves are as equal as can be, both large enough."""
        codes = self.columns[j, region.members]
        weights = np.bincount(codes - region.low[j], weights=self.counts[region.members])
        left = np.cumsum(weights)[:-1].astype(np.int64)
        right = region.weight - left
        allowed = np.flatnonzero((left >= self.smallest) & (right >= self.smallest))
        if not len(allowed):
            return []
        cut = region.low[j] + int(allowed[np.argmin(np.abs(left - right)[allowed])])
        return [_Region(self, region.members[side]) for side in (codes <= cut, codes > cut)]

    def _children(self, region: _Region, j: int) -> list[_Region]:
        """Make one part per child that is large enough; what is left stays at the value of the region."""
        cover = self.covers[j]
        children = cover.codes[cover.level(region.low[j], region.high[j]) - 1][self.columns[j, region.members]]
        weights = np.bincount(children, weights=self.counts[region.members])
        large = weights >= self.smallest
        parts = [_Region(self, region.members[children == child]) for child in np.flatnonzero(large)]
        # in the order of the children, as they are lined up
        order = np.argsort(children, kind="stable")
        behind = region.members[order][~large[children[order]]]
        if not parts or (len(behind) and not self.how.stay):
            return []
        if not len(behind):
            return parts
        rest = _Region(self, behind)
        if self.how.borrow:
            rest = self._fill_up(parts, rest)
        if rest.weight < self.smallest:
            least = min(parts, key=lambda part: part.weight)
            parts.remove(least)
            rest = _Region(self, np.concatenate([rest.members, least.members]))
        if not parts:
            return []
        rest.members = np.sort(rest.members)
        return [*parts, rest]

    def _fill_up(self, parts: list[_Region], rest: _Region) -> _Region:
        """Add the tuples that fit the rest best, of parts that can spare them."""
        while rest.weight < self.smallest:
            least, chosen, place = math.inf, -1, -1
            for number, part in enumerate(parts):
                self.looks += len(part.members)
                for position, row in enumerate(part.members.tolist()):
                    count = int(self.counts[row])
                    if part.weight - count < self.smallest:
                        continue
                    cost = (rest.weight + count) * self._cost_with(rest, row)
                    if cost < least:
                        least, chosen, place = cost, number, position
            if chosen < 0:
                break
            members = parts[chosen].members
            rest = _Region(self, np.append(rest.members, members[place]))
            parts[chosen] = _Region(self, np.delete(members, place))
            if self.smallest > MANY:
                for number, part in enumerate(parts):
                    parts[number], rest = self._move_fitting(part, rest)
        return rest

    def _move_fitting(self, part: _Region, rest: _Region) -> tuple[_Region, _Region]:
        """Move the tuples that the rest covers anyway, until it is large enough."""
        codes = self.columns[:, part.members]
        inside = (codes >= np.array(rest.low)[:, None]) & (codes <= np.array(rest.high)[:, None])
        weight, spare, moved = rest.weight, part.weight - self.smallest, []
        for position in np.flatnonzero(inside.all(axis=0)).tolist():
            count = int(self.counts[part.members[position]])
            if weight < self.smallest and count <= spare:
                moved.append(position)
                weight, spare = weight + count, spare - count
        if not moved:
            return part, rest
        joined = np.concatenate([rest.members, part.members[moved]])
        return _Region(self, np.delete(part.members, moved)), _Region(self, joined)

    def _cost_with(self, region: _Region, row: int) -> float:
        codes = self.columns[:, row].tolist()
        ends = zip(self.covers, region.low, region.high, codes, strict=True)
        return float(sum(cover.cost(min(low, code), max(high, code)) for cover, low, high, code in ends))
