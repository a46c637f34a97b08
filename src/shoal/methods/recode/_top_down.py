"""Top-down recoding: split all records into regions, as long as every part satisfies the models.

`Mondrian` splits by the widest attribute; `Specialize` by the one that saves most, and loses least of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from shoal.exact import FLAG, Arguments
from shoal.kernels import Codes, Counts, Floats, Mask
from shoal.kernels.partition import LEAST_GAIN, AttributeCover, Splitting, partition
from shoal.kernels.recoding import group
from shoal.methods.recode._lattice import by_size, smallest_class
from shoal.methods.recode._local import MAY_LOSE_LESS, LocalDraft, LocalMethod, LocalTask
from shoal.models import Classes
from shoal.tables import Frequencies, tally

_ENDS = "The ends of released intervals are exact values of records, so an extreme or rare value is visible."

#: The share of the effort that may go into foresight.
_FORESIGHT = 2 / 3
#: What a look at a cell takes in a round of `TopDown`.
_ROUND = 8.0
#: How many children may join those that stay behind, one after the other, before an attribute is given up.
_JOINING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian(LocalMethod):
    """Split the records by their widest attribute, again and again, while all parts satisfy the models.

    Numbers and dates are split at the median and released as intervals; other attributes are split into the children of
    the value that covers them, and release the lowest value that does (LeFevre, DeWitt and Ramakrishnan 2006).

    Parameters
    ----------
    relaxed
        Strict partitions do not overlap. Relaxed ones may: children that would violate a model stay behind together at
        the value of their parent, and the records of the median value go to both halves. A departure from the paper:
        records that agree on *all* quasi-identifiers stay together, so that the recoding is a function of them.
    intervals
        Whether numbers and dates are split at the median, rather than by their hierarchy.

    Guarantee
    ---------
    Syntactic: the classes of the release, records with equal released values, satisfy the models. Every released value
    is an ancestor of the original or an interval that holds it. No release is worse than any full-domain
    one that the comparison looked at.

    Assumptions
    -----------
    The models are decided on the parts of every split, the rest of the table as it is. The ends of an interval are
    values of its records, so that an extreme value shows [LQS10, section 3]; without ``intervals`` it does not. Cost
    O(tuples * attributes) per round, of as many rounds as the deepest region has splits.

    Examples
    --------
    >>> Mondrian(relaxed=True).parameters()["relaxed"]
    True
    """

    name: ClassVar[str] = "mondrian"
    about: ClassVar[str] = "Splits at medians: fine where there are many people."
    top_down: ClassVar[bool] = True
    relaxed: bool = field(default=False, metadata=FLAG)
    intervals: bool = field(default=False, metadata=FLAG)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What intervals show: their ends are values of records."""
        return (_ENDS,) if self.intervals else ()

    def drafts(self, task: LocalTask) -> Iterator[LocalDraft]:
        def split(tuples: OccupiedTuples, covers: Sequence[AttributeCover]) -> Codes:
            return TopDown(task, tuples, covers, relaxed=self.relaxed, prefer="widest").run()

        yield _draft(task, split, intervals=self.intervals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialize(LocalMethod):
    """Start with all records together and split, attribute by attribute, as long as it saves cost.

    A group of records is split into the children of the value it releases (numbers and dates: into two intervals).
    Children that are too small stay behind together at the value of their parent, and borrow from children that can
    spare records where they are still too few; of the attributes the one is taken that saves most for the information
    it uses up; in small groups every attribute is tried to the end. :mod:`shoal.kernels.partition` has the details.

    Where models ask for more than a number of records, or persons have several of them, an attribute is only split if
    they hold in all parts, as in :class:`Mondrian`, without borrowing and foresight.

    Parameters
    ----------
    foresight
        Groups of up to this many times the smallest size are split with foresight; 0 is fastest.
    intervals
        Whether numbers and dates are released as intervals of the domain, rather than as values of their hierarchy.

    Guarantee
    ---------
    That of :class:`Mondrian`.

    Assumptions
    -----------
    Groups may overlap, so that a record could have been released in another way: only equal released values make a
    class, as models define it. The ends of an interval are values of its records, so that an extreme value shows
    [LQS10, section 3]; without ``intervals`` it does not. Cost O(tuples * attributes^2 * depth).

    Examples
    --------
    >>> Specialize(foresight=0).parameters()["foresight"]
    0
    """

    name: ClassVar[str] = "specialize"
    about: ClassVar[str] = "Refines step by step, and loses least."
    top_down: ClassVar[bool] = True
    foresight: int = 100
    intervals: bool = field(default=False, metadata=FLAG)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What intervals show: their ends are values of records."""
        return (_ENDS,) if self.intervals else ()

    def fit(self, arguments: Arguments) -> None:
        LocalMethod.fit(self, arguments)
        if isinstance(self.foresight, bool) or not isinstance(self.foresight, int) or self.foresight < 0:
            said = f"`foresight` of `{self.title}` must be an integer in [0, inf); got {self.foresight}"
            arguments.problems.add(said)

    def drafts(self, task: LocalTask) -> Iterator[LocalDraft]:
        def split(tuples: OccupiedTuples, covers: Sequence[AttributeCover]) -> Codes:
            if not by_size(task.models) or task.frequencies.holders is not None:
                return TopDown(task, tuples, covers, relaxed=True, prefer="gain").run()
            return _split_by_size(task, tuples, covers, self.foresight)

        yield _draft(task, split, intervals=self.intervals)


@dataclass(frozen=True, slots=True, eq=False)
class OccupiedTuples:
    """The distinct quasi-identifiers that hold records, whatever their sensitive values."""

    #: Leaf codes, shape ``(attributes, tuples)``, in lexicographic order.
    columns: Codes
    #: Records per tuple.
    counts: Counts
    #: The tuple of every row of the frequencies; -1 where it holds no records.
    labels: Codes

    @classmethod
    def of(cls, frequencies: Frequencies) -> OccupiedTuples:
        """Gather all tuples."""
        rows = np.flatnonzero(frequencies.counts > 0)
        columns = np.ascontiguousarray(frequencies.codes[rows].T)
        groups = group(columns, [hierarchy.size for hierarchy in frequencies.hierarchies])
        labels = np.full(len(frequencies.counts), -1, dtype=np.int32)
        labels[rows] = groups.labels
        counts = tally(groups.labels, frequencies.counts[rows], len(groups.first))
        return cls(columns[:, groups.first], counts, labels)


def _split_by_size(task: LocalTask, tuples: OccupiedTuples, covers: Sequence[AttributeCover], foresight: int) -> Codes:
    size, effort = smallest_class(task.models), task.effort
    first = effort.part(_FORESIGHT)
    how = Splitting(
        smallest=size,
        window=foresight * size,
        foresight=first.cells,
        work=effort.cells,
        foresight_seconds=first.seconds,
        seconds=effort.seconds,
    )
    tree = partition(tuples.columns, tuples.counts, covers, how)
    effort.spend(tree.work)
    if first.over and not effort.over:
        said = "The limit ended foresight: some groups were divided without trying what comes after."
        task.cut_short.append(f"{said} {MAY_LOSE_LESS}")
    return tree.labels


def _draft(
    task: LocalTask, split: Callable[[OccupiedTuples, Sequence[AttributeCover]], Codes], *, intervals: bool
) -> LocalDraft:
    """Release the regions into which tuples are split; ordered attributes as ``intervals``, where that is wanted."""
    ordered = [intervals and hierarchy.positions is not None for hierarchy in task.frequencies.hierarchies]
    tuples = OccupiedTuples.of(task.frequencies)
    labels = split(tuples, _covers(task, ordered))
    draft = LocalDraft(task.frequencies)
    draft.cover(np.append(labels, np.int32(-1))[tuples.labels], ordered=ordered)
    return draft


def _covers(task: LocalTask, intervals: Sequence[bool]) -> list[AttributeCover]:
    """Return what covering values costs; of an ordered attribute in proportion to what ``*`` costs."""
    covers = []
    for hierarchy, table, interval in zip(task.frequencies.hierarchies, task.objective.tables, intervals, strict=True):
        codes = np.array(hierarchy.codes, dtype=np.int32)
        if interval and hierarchy.positions is not None:
            covers.append(
                AttributeCover(codes=codes, costs=hierarchy.positions[None] * float(table[-1][0]), ordered=True)
            )
        else:
            costs = np.array([level[leaves] for level, leaves in zip(table, hierarchy.codes, strict=True)])
            covers.append(AttributeCover(codes=codes, costs=costs))
    return covers


class TopDown:
    """Split regions as long as every part satisfies every model, all regions of a round at once.

    ``relaxed`` parts may overlap: children that violate a model stay behind together at the value of their parent, and
    the tuples of a median value go to both halves. Equal tuples stay together all the same. The attribute that a region
    tries first is the ``"widest"`` one, or the one whose split saves most cost per square root of its information
    (``"gain"``). It tries the others if parts violate a model.
    """

    def __init__(
        self,
        task: LocalTask,
        tuples: OccupiedTuples,
        covers: Sequence[AttributeCover],
        *,
        relaxed: bool,
        prefer: Literal["widest", "gain"],
    ) -> None:
        self._task, self._tuples, self._covers = task, tuples, covers
        self._relaxed, self._prefer = relaxed, prefer
        self._smallest = smallest_class(task.models)
        self._by_size = by_size(task.models)
        self.labels = np.zeros(len(tuples.counts), dtype=np.int32)
        self._regions = 1
        self._closed = np.array([not len(tuples.counts)])

    def run(self) -> Codes:
        """Return the region of every tuple."""
        while not self._closed.all() and not self._task.effort.over:
            self._task.watch.step(1, 2, f"{self._regions:,} groups")
            self._round()
        return self.labels

    def _round(self) -> None:
        """Let every open region try its attributes in order until one splits it; close those that none splits."""
        rows = np.flatnonzero(~self._closed[self.labels])
        rows = rows[np.argsort(self.labels[rows], kind="stable")]
        open_regions, regions = np.unique(self.labels[rows], return_inverse=True)
        attributes = len(self._covers)
        self._task.effort.spend(len(rows) * attributes * (attributes if self._prefer == "gain" else 1) * _ROUND)
        splits = _RegionSplits(self._tuples, self._covers, rows, regions, relaxed=self._relaxed)
        scores = splits.widths if self._prefer == "widest" else splits.gains()
        order = np.argsort(-scores, axis=1, kind="stable")
        waiting = np.ones(len(open_regions), dtype=np.bool_)
        for rank in range(scores.shape[1]):
            chosen = order[:, rank]
            trying = waiting & (np.take_along_axis(scores, chosen[:, None], axis=1)[:, 0] > 0)
            if not trying.any():
                break
            waiting &= ~self._try(rows, regions, splits.children[chosen[regions], np.arange(len(rows))], trying)
        self._closed[open_regions[waiting]] = True

    def _try(self, rows: Counts, regions: Counts, children: Codes, trying: Mask) -> Mask:
        """Split the regions that are trying; return which were split."""
        concerned = trying[regions]
        rows, regions = rows[concerned], regions[concerned]
        parts = group(np.stack([regions.astype(np.int32), children[concerned]]), (len(trying), _most(children)))
        owner = regions[parts.first]
        weights = tally(parts.labels, self._tuples.counts[rows], len(owner))
        behind = ~self._verdict(rows, parts.labels, len(owner), weights)
        failed = np.bincount(owner[behind], minlength=len(trying)) > 0
        if self._relaxed:
            behind, failed = self._stay_behind(rows, parts.labels, owner, weights, behind, len(trying))
        leaving, staying = (np.bincount(owner[part], minlength=len(trying)) for part in (~behind, behind))
        split = trying & ~failed & (leaving + (staying > 0) > 1)
        self._accept(rows, parts.labels, split[regions] & ~behind[parts.labels])
        return split

    def _stay_behind(
        self, rows: Counts, labels: Codes, owner: Counts, weights: Counts, behind: Mask, number: int
    ) -> tuple[Mask, Mask]:
        """Gather the parts that violate a model, with as many others as they need; return them and what failed."""
        for joined in range(_JOINING + 1):
            merged = np.where(behind, len(owner) + owner, np.arange(len(owner)))
            present, positions = np.unique(merged, return_inverse=True)
            totals = tally(positions, weights, len(present))
            verdict = self._verdict(rows, positions[labels].astype(np.int32), len(present), totals)
            failed = np.zeros(number, dtype=np.bool_)
            rests = present >= len(owner)
            failed[present[rests & ~verdict] - len(owner)] = True
            if not failed.any() or joined == _JOINING:
                break
            behind = behind | _lightest(owner, weights, ~behind & failed[owner])
        return behind, failed

    def _accept(self, rows: Counts, labels: Codes, moving: Mask) -> None:
        """Give new numbers to the parts that leave the regions that were split; what stays behind keeps its own."""
        if not moving.any():
            return
        _, positions = np.unique(labels[moving], return_inverse=True)
        self.labels[rows[moving]] = self._regions + positions
        self._regions += int(positions.max()) + 1
        self._closed = np.append(self._closed, np.zeros(self._regions - len(self._closed), dtype=np.bool_))
        # A region of which nothing stays behind has no tuples any more.
        self._closed[np.bincount(self.labels, minlength=self._regions) == 0] = True

    def _verdict(self, rows: Counts, labels: Codes, number: int, weights: Counts) -> Mask:
        """Return which parts satisfy the models in a release of all parts and all other regions."""
        good = weights >= self._smallest
        holders = self._task.frequencies.holders
        if not good.any() or (self._by_size and holders is None):
            return good
        if self._by_size and holders is not None:
            parts_of = np.full(len(self.labels) + 1, -1, dtype=np.int64)
            parts_of[rows] = np.where(good[labels], labels, -1)
            return np.asarray(holders.crowds(parts_of[self._tuples.labels], number) >= self._smallest)
        self._task.effort.spend(len(self._task.frequencies.counts) * _ROUND)
        everything = number + self.labels
        everything[rows] = labels
        present, positions = np.unique(everything, return_inverse=True)
        owners = np.append(positions, -1)[self._tuples.labels]
        classes = Classes.of(self._task.frequencies, owners, number=len(present))
        kept = np.ones(len(present), dtype=np.bool_)
        for model in self._task.models:
            kept &= model.keep(classes, np.ones(len(present), dtype=np.bool_))
        result = np.zeros(number, dtype=np.bool_)
        parts = present < number
        result[present[parts]] = kept[parts]
        return result


class _RegionSplits:
    """How every open region would be split by every attribute."""

    def __init__(
        self, tuples: OccupiedTuples, covers: Sequence[AttributeCover], rows: Counts, regions: Counts, *, relaxed: bool
    ) -> None:
        self._covers, self._regions = covers, regions
        self._columns, self._counts = tuples.columns[:, rows], tuples.counts[rows]
        self._starts = np.flatnonzero(np.diff(regions, prepend=-1))
        self.weights = np.add.reduceat(self._counts, self._starts)
        self._low = np.minimum.reduceat(self._columns, self._starts, axis=1)
        self._high = np.maximum.reduceat(self._columns, self._starts, axis=1)
        costs = [cover.cost(low, high) for cover, low, high in zip(covers, self._low, self._high, strict=True)]
        #: what each attribute costs a record of each region; 0 where all its tuples agree
        self.widths = np.array(costs).T.reshape(len(self._starts), len(covers))
        self.children = np.array(
            [self._halves(j, relaxed) if cover.ordered else self._below(j) for j, cover in enumerate(covers)],
            dtype=np.int32,
        ).reshape(len(covers), len(rows))

    def gains(self) -> Floats:
        """Return what each split saves per square root of its information; 0 where it saves nothing."""
        return np.array([self._gain(children) for children in self.children]).T

    def _gain(self, children: Codes) -> Floats:
        parts = group(np.stack([self._regions.astype(np.int32), children]), (len(self._starts), _most(children)))
        order = np.argsort(parts.labels, kind="stable")
        starts = np.flatnonzero(np.diff(parts.labels[order], prepend=-1))
        owner = self._regions[parts.first]
        weights = np.add.reduceat(self._counts[order], starts)
        cost = np.zeros(len(starts))
        for cover, column in zip(self._covers, self._columns, strict=True):
            codes = column[order]
            cost += cover.cost(np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts))
        saved = self.weights * self.widths.sum(axis=1) - np.bincount(owner, weights=weights * cost)
        information = -np.bincount(owner, weights=weights * np.log(weights / self.weights[owner]))
        return np.where(saved > LEAST_GAIN, saved / np.sqrt(np.maximum(information, LEAST_GAIN)), 0.0)

    def _below(self, j: int) -> Codes:
        """Return the value of every tuple one level below the value of its region."""
        cover = self._covers[j]
        level = np.maximum(cover.level(self._low[j], self._high[j]) - 1, 0)
        return np.asarray(cover.codes[level[self._regions], self._columns[j]])

    def _halves(self, j: int, relaxed: bool) -> Codes:
        """Return the half of every tuple, cut as near to half of the records as can be."""
        codes = self._columns[j]
        order = np.lexsort([codes, self._regions])
        before = np.cumsum(self._counts[order]) - self._counts[order]
        before -= np.repeat(before[self._starts], np.diff(self._starts, append=len(codes)))
        middle = 2 * before + self._counts[order] > self.weights[self._regions]
        upper = np.zeros(len(codes), dtype=np.bool_)
        upper[order] = middle
        if relaxed:
            return upper.astype(np.int32)
        # The tuples of the median value all go to the half that then is nearer to half of the records.
        cut = np.minimum.reduceat(np.where(upper, codes, self._high[j][self._regions]), self._starts)
        below, upto = (
            np.add.reduceat(np.where(side, self._counts, 0), self._starts)
            for side in (codes < cut[self._regions], codes <= cut[self._regions])
        )
        nearer = np.abs(2 * upto - self.weights) < np.abs(2 * below - self.weights)
        cut = np.where((nearer | (cut == self._low[j])) & (cut < self._high[j]), cut + 1, cut)
        return np.asarray(codes >= cut[self._regions], dtype=np.int32)


def _lightest(owner: Counts, weights: Counts, candidates: Mask) -> Mask:
    """Return the lightest candidate of every owner."""
    positions = np.flatnonzero(candidates)
    order = positions[np.lexsort([weights[positions], owner[positions]])]
    first = np.diff(owner[order], prepend=-1) != 0
    chosen = np.zeros(len(owner), dtype=np.bool_)
    chosen[order[first]] = True
    return chosen


def _most(codes: Codes) -> int:
    return int(codes.max(initial=0)) + 1
