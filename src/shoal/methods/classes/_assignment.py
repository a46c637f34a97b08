"""Which records go to which class: near ones together, within the quotas of the buckets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels import Floats, Integers
from shoal.methods.classes._blocks import lowest, widest_first
from shoal.methods.classes._quotas import Quotas

WORK = 100_000_000
"""Records times classes per block: what one run of `assign` may cost, about 10 seconds."""
LEAST, MOST = 64, 4096
"""Bounds on the number of classes per block: fewer lose homogeneity, more do not gain any."""


def assign(points: Floats, buckets: NDArray[np.integer], quotas: Quotas, *, work: int = WORK) -> NDArray[np.int32]:
    """Return the class of every record; class c holds exactly ``quotas.counts[c, j]`` records of bucket j.

    MDAV [SC13 Alg. 2.1] with quotas: of the records that are left, take the one farthest from their centroid, and the
    one farthest from that; around each, fill a class with the nearest records of every bucket. Which of the quotas
    that are left the class gets is decided by the least mean distance, so a class emphasises the bucket that is common
    around it.

    Parameters
    ----------
    points
        The quasi-identifiers as points, one row per record.
    buckets
        The bucket of each record.
    quotas
        What the classes take; their sum over the classes is the size of each bucket.
    work
        Records times classes per block. Larger blocks make more homogeneous classes.

    Guarantee
    ---------
    The classes have exactly the quotas asked for, so whatever the quotas promise holds. How near the records of a class
    are is not promised.

    Notes
    -----
    Large tables are first divided along a k-d tree into blocks that have whole quotas (`quota_blocks`); all blocks then
    advance together, one class each per step: O(N m classes per block). The result does not depend on the order of
    the rows (records that are equal in points and bucket may change places).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from shoal.methods.classes._quotas import quotas
    >>> points, buckets = np.array([[1.0], [2.0], [9.0], [8.0]]), np.array([0, 1, 0, 1])
    >>> assign(points, buckets, quotas(np.array([2, 2]), Fraction(2), 2)).tolist()
    [0, 0, 1, 1]
    """
    sizes = np.bincount(buckets, minlength=quotas.counts.shape[1])
    if not np.array_equal(sizes, quotas.counts.sum(axis=0)):
        raise ParameterError("`quotas` of `assign` must use up every bucket exactly.")
    order = np.lexsort((_key(points), buckets))
    most = int(np.clip(work // max(len(points), 1), LEAST, MOST))
    found = quota_blocks(points[order], buckets[order], quotas, most)
    labels = np.empty(len(points), dtype=np.int32)
    labels[order] = _InStep(points[order], quotas, found).run()
    return labels


def _key(points: Floats) -> Floats:
    """Return a number that equal points share and others hardly ever: what puts rows into an order of their own."""
    key = np.zeros(len(points))
    for number, column in enumerate(points.T):
        key += column * math.sqrt(2 + number)
    return key


@dataclass(slots=True)
class _Chosen:
    """The nearest free records around one point of each block, bucket by bucket, nearest first."""

    columns: Integers
    cost: Floats


class _InStep:
    """All blocks at once: arrays of shape (blocks, buckets, width), padded to the widest bucket."""

    def __init__(self, points: Floats, quotas: Quotas, found: list[QuotaBlock]) -> None:
        self.quotas, self.points = quotas, points
        self.labels = np.full(len(points), -1, dtype=np.int32)
        shape = (len(found), quotas.counts.shape[1])
        width = max(len(rows) for block in found for rows in block.rows)
        self.rows = np.full((*shape, width), -1, dtype=np.int64)
        for number, block in enumerate(found):
            for bucket, rows in enumerate(block.rows):
                self.rows[number, bucket, : len(rows)] = rows
        #: the quotas not yet given out, per block and emphasised bucket, as ranges of class numbers
        self.next = np.stack([block.first for block in found])
        self.last = np.stack([block.last for block in found])
        self._load()

    def run(self) -> NDArray[np.int32]:
        """Return the class of every record."""
        while bool((self.next < self.last).any()):
            self._around(self._farthest(self._squared(self._centroids())))
            if bool((self.next < self.last).any()):
                self._around(self._farthest(self._distances))
        return self.labels

    def _load(self) -> None:
        self.free = self.rows >= 0
        taken = np.where(self.free, self.rows, 0)
        # single precision: nothing but the choice of near records depends on it
        self.coordinates = [np.where(self.free, column[taken], 0.0).astype(np.float32) for column in self.points.T]
        self.sums = np.stack([column.sum(axis=(1, 2), dtype=np.float64) for column in self.coordinates])
        self.numbers = self.free.sum(axis=(1, 2))
        self._distances = np.zeros(self.rows.shape, dtype=np.float32)

    def _centroids(self) -> Floats:
        return np.asarray(self.sums / np.maximum(self.numbers, 1))

    def _squared(self, centres: Floats) -> NDArray[np.float32]:
        total = np.zeros(self.rows.shape, dtype=np.float32)
        for column, centre in zip(self.coordinates, centres.astype(np.float32), strict=True):
            difference = column - centre[:, None, None]
            difference *= difference
            total += difference
        return total

    def _farthest(self, distances: NDArray[np.float32]) -> Floats:
        """Return the coordinates of the free record of each block that is farthest."""
        flat = np.where(self.free, distances, -1.0).reshape(len(self.rows), -1).argmax(axis=1)
        numbers = np.arange(len(self.rows))
        return np.stack([column.reshape(len(self.rows), -1)[numbers, flat] for column in self.coordinates])

    def _around(self, centres: Floats) -> None:
        """Give out one class in each block: the quotas that fit best around the centre."""
        self._distances = self._squared(centres)
        waiting = self.next < self.last
        counts = np.where(waiting[..., None], self.quotas.counts[np.minimum(self.next, len(self.quotas) - 1)], 0)
        near = self._nearest(int(counts.max()))
        costs = np.take_along_axis(near.cost[:, None], counts[..., None], axis=3)[..., 0].sum(axis=2)
        costs = np.where(waiting, costs / np.maximum(counts.sum(axis=2), 1), np.inf)
        emphasis = costs.argmin(axis=1)
        alive = waiting.any(axis=1)
        numbers = np.flatnonzero(alive)
        quota = counts[numbers, emphasis[alive]]
        columns = near.columns[numbers]
        chosen = np.arange(columns.shape[2]) < quota[..., None]
        block, bucket, place = np.nonzero(chosen)
        column = columns[block, bucket, place]
        labels = self.next[numbers, emphasis[alive]]
        self.labels[self.rows[numbers[block], bucket, column]] = labels[block]
        self._take(numbers[block], bucket, column)
        self.next[numbers, emphasis[alive]] += 1
        self._shrink()

    def _take(self, block: Integers, bucket: Integers, column: Integers) -> None:
        """Note that records have a class."""
        self.free[block, bucket, column] = False
        self.numbers -= np.bincount(block, minlength=len(self.rows))
        for total, coordinates in zip(self.sums, self.coordinates, strict=True):
            total -= np.bincount(block, weights=coordinates[block, bucket, column], minlength=len(self.rows))

    def _nearest(self, most: int) -> _Chosen:
        distances = np.where(self.free, self._distances, np.inf)
        most = min(most, distances.shape[2])
        if most < distances.shape[2]:
            columns = np.argpartition(distances, most - 1, axis=2)[..., :most]
        else:
            columns = np.broadcast_to(np.arange(most), distances.shape).copy()
        near = np.take_along_axis(distances, columns, axis=2)
        order = np.argsort(near, axis=2, kind="stable")
        near = np.take_along_axis(near, order, axis=2)
        cost = np.zeros((*near.shape[:2], most + 1))
        np.cumsum(near, axis=2, out=cost[..., 1:])
        return _Chosen(columns=np.take_along_axis(columns, order, axis=2), cost=cost)

    def _shrink(self) -> None:
        """Leave out records that have a class, once they are half of the arrays."""
        width = int(self.free.sum(axis=2).max(initial=0))
        if 2 * width > self.rows.shape[2] or width == 0:
            return
        order = np.argsort(~self.free, axis=2, kind="stable")[..., :width]
        distances = np.take_along_axis(self._distances, order, axis=2)
        free = np.take_along_axis(self.free, order, axis=2)
        self.rows = np.where(free, np.take_along_axis(self.rows, order, axis=2), -1)
        self._load()
        self._distances = distances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaBlock:
    """Records and the classes that they fill exactly."""

    #: The records of each bucket.
    rows: tuple[Integers, ...]
    #: For every bucket that classes emphasise, the range of classes: ``first[i] <= class < last[i]``.
    first: Integers
    last: Integers

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int((self.last - self.first).sum())


def quota_blocks(points: Floats, buckets: NDArray[np.integer], quotas: Quotas, most: int) -> list[QuotaBlock]:
    """Divide records and quotas into blocks of at most ``most`` classes.

    A block is cut across the attribute with the greatest variance. The classes that emphasise a bucket go to the side
    where that bucket is more common, as far as the quotas allow; then each bucket gives its lowest records to the lower
    side, as many as the classes there take. O(N (m + log N) log(classes / most)).
    """
    kinds = np.unique(quotas.emphasis)
    first = np.searchsorted(quotas.emphasis, kinds, side="left")
    last = np.searchsorted(quotas.emphasis, kinds, side="right")
    rows = tuple(np.flatnonzero(buckets == bucket) for bucket in range(quotas.counts.shape[1]))
    totals = np.concatenate((np.zeros((1, len(rows)), dtype=np.int64), np.cumsum(quotas.counts, axis=0)))
    waiting, found = [QuotaBlock(rows=rows, first=first, last=last)], []
    while waiting:
        block = waiting.pop()
        if block.classes <= max(most, 1):
            found.append(block)
        else:
            waiting.extend(_halves(points, totals, block))
    return found


def _halves(points: Floats, totals: Integers, block: QuotaBlock) -> tuple[QuotaBlock, QuotaBlock]:
    rows = np.concatenate(block.rows)
    values = points[:, widest_first(points[rows])[0]]
    cut = block.first + _lower_classes(values, rows, totals, block)
    taken = (totals[cut] - totals[block.first]).sum(axis=0)
    below = [lowest(values[mine], number) for mine, number in zip(block.rows, taken.tolist(), strict=True)]
    pairs = list(zip(block.rows, below, strict=True))
    return (
        QuotaBlock(rows=tuple(mine[~low] for mine, low in pairs), first=cut, last=block.last),
        QuotaBlock(rows=tuple(mine[low] for mine, low in pairs), first=block.first, last=cut),
    )


def _lower_classes(values: Floats, rows: Integers, totals: Integers, block: QuotaBlock) -> Integers:
    """Return how many classes of each kind go below: half of all, chosen to take what lies below the median."""
    numbers = block.last - block.first
    half = block.classes // 2
    share = half / block.classes
    border = np.quantile(values[rows], share)
    below = np.array([np.count_nonzero(values[mine] <= border) for mine in block.rows])
    taken = (totals[block.last] - totals[block.first]) / np.maximum(numbers, 1)[:, None]  # by a class, on average
    # lstsq of the difference to even shares: with a single kind of classes that is the answer
    even = numbers * share
    wanted = even + np.linalg.lstsq(taken.T, below - even @ taken, rcond=None)[0]
    wanted = np.clip(wanted, 0, numbers)
    lower: Integers = np.floor(wanted).astype(np.int64)
    difference = half - int(lower.sum())
    while difference:  # the sides must have their numbers of classes: the least wronged kinds give way
        step = 1 if difference > 0 else -1
        able = np.flatnonzero(lower < numbers) if step > 0 else np.flatnonzero(lower > 0)
        order = able[np.argsort(step * (lower[able] - wanted[able]), kind="stable")]
        lower[order[: abs(difference)]] += step
        difference = half - int(lower.sum())
    return lower
