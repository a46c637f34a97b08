"""Quotas: the records of each bucket that every class takes, so that multiplicative closeness holds exactly.

Legend: N records in b buckets of s_1, ..., s_b; a class of e records takes n_j of bucket j. In the class bucket j has
the probability n_j / e, in the release s_j / N. The factor is at most t for every bucket exactly if

    ceil(e s_j / (N t)) <= n_j <= floor(t e s_j / N).

These are the conditions of [DFSC15 6.2] with the lower end rounded up, as closeness needs.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels import Counts, Floats, Integers
from shoal.methods.classes._blocks import lowest, widest_first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """The number of records of each bucket that every class takes."""

    #: ``counts[c, j]`` records of bucket j go to class c.
    counts: Counts
    #: The bucket that class c emphasises: the one of which it takes more than its share. Ascending.
    emphasis: Counts

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def sizes(self) -> Counts:
        """The number of records of each class."""
        return np.asarray(self.counts.sum(axis=1))


def quotas(sizes: Counts, t: Fraction, k: int) -> Quotas:
    """Return quotas for as many classes as possible, of at least k records each, that are exactly t-close.

    ``sizes`` are the records of each bucket, at least 1; t is in [1, inf), k in [1, N].

    Guarantee
    ---------
    Every class holds at least k records, all records are used, and max(p / q, q / p) <= t for every class and bucket
    [DFSC15 Def. 4], in exact arithmetic. For an integer t >= 2, t + 1 equal buckets and k >= t + 1 the classes hold k
    or k + 1 records, or a few more where N asks for it [DFSC15 6.2].

    Notes
    -----
    Class sizes differ by at most one. For each size a class that emphasises bucket i takes the least of all others
    and fills up from bucket i. The numbers of classes per bucket are chosen so that their sum nearly uses up the
    buckets; what is left over moves between buckets along augmenting paths, which find quotas whenever there are any
    [Ford & Fulkerson]. If there are none, the classes grow. O(classes * b^2).

    Examples
    --------
    The example of [DFSC15 Fig. 2]: three buckets of four values are 1.5-close in three classes of four.

    >>> quotas(np.array([4, 4, 4]), Fraction(3, 2), 4).counts.tolist()
    [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    records = int(sizes.sum())
    if len(sizes) == 0 or sizes.min() < 1:
        raise ParameterError("`sizes` of `quotas` must hold at least one record for every bucket.")
    if t < 1:
        raise ParameterError(f"`t` of `quotas` must be in [1, inf); got {t}.")
    if not 1 <= k <= records:
        raise ParameterError(f"`k` of `quotas` must be in [1, {records}]; got {k}.")
    number = records // max(k, _least_size(sizes, records, t))
    while number > 1:
        found = _with_classes(sizes, records, t, number)
        if found is not None:
            return found
        # the next number of classes whose smallest size is larger
        number = records // (records // number + 1)
    return Quotas(counts=sizes[None, :].copy(), emphasis=np.zeros(1, dtype=np.int64))


def _least_size(sizes: Counts, records: int, t: Fraction) -> int:
    """Return the least e for which t e s_j / N reaches 1 for the rarest bucket: below, it cannot be in a class."""
    return max(1, -(-records * t.denominator // (int(sizes.min()) * t.numerator)))


def _with_classes(sizes: Counts, records: int, t: Fraction, number: int) -> Quotas | None:
    small, larger = divmod(records, number)
    bounds = {size: quota_bounds(size, sizes, records, t) for size in ((small, small + 1) if larger else (small,))}
    if any(limits is None for limits in bounds.values()):
        return None
    emphasised = np.stack([_emphasising(i, small, bounds[small]) for i in range(len(sizes))])  # type: ignore[arg-type]
    emphasis = np.repeat(np.arange(len(sizes)), _mixture(emphasised, sizes, number))
    # spread the larger classes evenly over the emphasised buckets
    large = np.diff(np.arange(number + 1) * larger // number).astype(bool)
    counts, low, high = (np.empty((number, len(sizes)), dtype=np.int64) for _ in range(3))
    for size, limits in bounds.items():
        assert limits is not None  # noqa: S101 - checked above
        chosen = large if size > small else ~large
        low[chosen], high[chosen] = limits
        vectors = np.stack([_emphasising(i, size, limits) for i in range(len(sizes))])
        counts[chosen] = vectors[emphasis[chosen]]
    return Quotas(counts=counts, emphasis=emphasis) if _balance(counts, low, high, sizes) else None


def quota_bounds(size: int, sizes: Counts, records: int, t: Fraction) -> tuple[Counts, Counts] | None:
    """Return the least and the most that a class of ``size`` may take of each bucket, or None if nothing fits."""
    p, q = t.numerator, t.denominator
    # Python integers: products of three counts may exceed 64 bits
    low = np.array([-(-size * int(s) * q // (records * p)) for s in sizes], dtype=np.int64)
    high = np.array([size * int(s) * p // (records * q) for s in sizes], dtype=np.int64)
    fits = bool((low <= high).all()) and int(low.sum()) <= size <= int(high.sum())
    return (low, high) if fits else None


def _emphasising(bucket: int, size: int, bounds: tuple[Counts, Counts]) -> Counts:
    """Return the least of every bucket, filled up to ``size`` from ``bucket`` and then from the others in turn."""
    low, high = bounds
    counts = low.copy()
    counts[bucket] = min(int(high[bucket]), size - int(low.sum()) + int(low[bucket]))
    while (missing := size - int(counts.sum())) > 0:
        room = np.flatnonzero(counts < high)
        least = room[np.argsort(counts[room] - high[room], kind="stable")]
        counts[least[:missing]] += 1
    return counts


def _mixture(vectors: Counts, sizes: Counts, number: int) -> Counts:
    """Return how many classes emphasise each bucket, so that together they take about what there is."""
    shares = np.linalg.lstsq(vectors.T.astype(np.float64), sizes.astype(np.float64), rcond=None)[0]
    shares = np.clip(shares, 0.0, None)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(sizes), 1 / len(sizes))
    ends = np.floor(np.cumsum(shares) * number + 0.5).astype(np.int64)
    ends[-1] = number
    return np.diff(np.concatenate(([0], np.minimum(ends, number))))


def _balance(counts: Counts, low: Counts, high: Counts, sizes: Counts) -> bool:
    """Move records between buckets inside classes until every bucket is used up; say whether that is possible."""
    while True:
        surplus = counts.sum(axis=0) - sizes
        if not surplus.any():
            return True
        path = _path(counts, low, high, surplus)
        if path is None:
            return False
        amount = min(int(surplus[path[0]]), -int(surplus[path[-1]]))
        for source, target in pairwise(path):
            amount = min(amount, int(_room(counts, low, high, source, target).sum()))
        for source, target in pairwise(path):
            _move(counts, low, high, source, target, amount)


def _path(counts: Counts, low: Counts, high: Counts, surplus: Counts) -> list[int] | None:
    """Return buckets that lead from one with too many records to one with too few, by the fewest steps."""
    before: dict[int, int] = {int(bucket): -1 for bucket in np.flatnonzero(surplus > 0)}
    waiting = deque(before)
    while waiting:
        source = waiting.popleft()
        if surplus[source] < 0:
            path = [source]
            while before[path[0]] >= 0:
                path.insert(0, before[path[0]])
            return path
        for target in range(counts.shape[1]):
            if target not in before and _room(counts, low, high, source, target).any():
                before[target] = source
                waiting.append(target)
    return None


def _room(counts: Counts, low: Counts, high: Counts, source: int, target: int) -> Counts:
    """Return how many records each class may take from ``target`` instead of ``source``."""
    return np.asarray(np.minimum(counts[:, source] - low[:, source], high[:, target] - counts[:, target]))


def _move(counts: Counts, low: Counts, high: Counts, source: int, target: int, amount: int) -> None:
    room = _room(counts, low, high, source, target)
    # one each at first, so that few classes lose much of their emphasis
    once = (room > 0).astype(np.int64)
    moved = np.minimum(once, np.maximum(amount - (np.cumsum(once) - once), 0))
    rest, left = room - moved, amount - int(moved.sum())
    moved += np.minimum(rest, np.maximum(left - (np.cumsum(rest) - rest), 0))
    counts[:, source] -= moved
    counts[:, target] += moved


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

    ``quotas`` use up every bucket. ``work`` is records times classes per block: larger blocks make more homogeneous
    classes.

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
    blocks = quota_blocks(points[order], buckets[order], quotas, most)
    labels = np.empty(len(points), dtype=np.int32)
    labels[order] = _InStep(points[order], quotas, blocks).run()
    return labels


def _key(points: Floats) -> Floats:
    """Return a number that equal points share and others hardly ever: what puts rows into an order of their own."""
    key = np.zeros(len(points))
    for number, column in enumerate(points.T):
        key += column * math.sqrt(2 + number)
    return key


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
            self._around(self._farthest(self._squared_distances(self._centroids())))
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

    def _squared_distances(self, centres: Floats) -> NDArray[np.float32]:
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
        self._distances = self._squared_distances(centres)
        waiting = self.next < self.last
        counts = np.where(waiting[..., None], self.quotas.counts[np.minimum(self.next, len(self.quotas) - 1)], 0)
        columns, cost = self._nearest(int(counts.max()))
        costs = np.take_along_axis(cost[:, None], counts[..., None], axis=3)[..., 0].sum(axis=2)
        costs = np.where(waiting, costs / np.maximum(counts.sum(axis=2), 1), np.inf)
        emphasis = costs.argmin(axis=1)
        alive = waiting.any(axis=1)
        numbers = np.flatnonzero(alive)
        quota = counts[numbers, emphasis[alive]]
        columns = columns[numbers]
        chosen = np.arange(columns.shape[2]) < quota[..., None]
        block, bucket, position = np.nonzero(chosen)
        column = columns[block, bucket, position]
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

    def _nearest(self, most: int) -> tuple[Integers, Floats]:
        """Return the nearest free records of each block, bucket by bucket, and the sums of their distances."""
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
        return np.take_along_axis(columns, order, axis=2), cost

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
    waiting, blocks = [QuotaBlock(rows=rows, first=first, last=last)], []
    while waiting:
        block = waiting.pop()
        if block.classes <= max(most, 1):
            blocks.append(block)
        else:
            waiting.extend(_halves(points, totals, block))
    return blocks


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
