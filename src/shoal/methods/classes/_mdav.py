"""MDAV and V-MDAV: clusters around the records that are farthest out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.kernels.clusters import mdav as mdav_kernel
from shoal.kernels.clusters import vmdav as vmdav_kernel
from shoal.methods.classes._columns import Space
from shoal.methods.classes._partition import Partition, as_points, require_size


def mdav(values: Space | ArrayLike, k: int) -> Partition:
    """Partition records into clusters of k, one of up to 2k - 1, by maximum distance to the average record.

    While at least 3k records remain: take the record r farthest from their centroid and the record s farthest from
    r; make a cluster of r and the k - 1 nearest to r, then one of s and the k - 1 nearest to s. Of 2k to 3k - 1 that
    remain, make one more around the record farthest from their centroid; the rest is the last cluster
    [SC13 Alg. 2.1]. The lower row wins a tie.

    ``values`` are points, one row per record, or a `Space` where there are categories.

    Guarantee
    ---------
    Every cluster holds k to 2k - 1 records. Replacing records by their centroids then gives k-anonymity on
    these attributes [SC13, section 2.8]; MDAV is *not* insensitive to a change of one record [SC13 Fig. 6.1], so no
    differential privacy of the original records follows from it.

    Notes
    -----
    O(n² m / k) in the worst case. Numbers alone run in a C++ kernel over a tree that skips most of this; the result
    is that of the plain scan, bit for bit. Records with categories use the marginality centroid and run in NumPy.

    Examples
    --------
    >>> mdav([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 5.0], 3).labels.tolist()
    [0, 1, 0, 1, 0, 1, 1]
    """
    if isinstance(values, Space) and values.concepts:
        size = require_size(k, len(values), "mdav")
        return Partition(_mdav_mixed(values, size)).require(size, 2 * size - 1)
    points = values.numeric if isinstance(values, Space) else as_points(values)
    size = require_size(k, len(points), "mdav")
    return Partition(mdav_kernel(points, size)).require(size, 2 * size - 1)


def vmdav(values: ArrayLike, k: int, *, gamma: float = 0.2) -> Partition:
    """Partition numeric records into clusters of variable size, at least k.

    While at least k records are free: take the free record farthest from the centroid of all records and its k - 1
    nearest free records. Then, up to 2k - 1 members, let the free record nearest to any member join while its
    distance to the cluster is below ``gamma`` times its distance to the nearest other free record. The fewer than k
    that are left join the cluster with the nearest centroid [Solanas & Martínez-Ballesté 2006, cited as SC13 [86]].
    The lower row wins a tie.

    ``gamma`` is the readiness to grow, in [0, ∞): about 0.2 for scattered records, 1.1 for records in natural groups.

    Guarantee
    ---------
    Every cluster holds at least k records; see `mdav` for what follows.

    Notes
    -----
    O(n² m) in the worst case; the C++ kernel skips most of it.

    Examples
    --------
    >>> vmdav([1.0, 2.0, 3.0, 3.1, 8.0, 9.0, 9.5], 3, gamma=1.1).labels.tolist()
    [1, 1, 1, 1, 0, 0, 0]
    """
    points = as_points(values)
    if not (math.isfinite(gamma) and gamma >= 0.0):
        raise ParameterError(f"`gamma` of `vmdav` must be in [0, ∞); got {gamma}.")
    size = require_size(k, len(points), "vmdav")
    return Partition(vmdav_kernel(points, size, gamma)).require(size)


def _mdav_mixed(space: Space, k: int) -> NDArray[np.int32]:
    free = _Free(space)
    while free.count >= 3 * k:
        r = free.farthest(*free.average())
        free.cluster(r, k)
        free.cluster(free.farthest(space.numeric[r], space.codes[r]), k)
    if free.count >= 2 * k:
        free.cluster(free.farthest(*free.average()), k)
    return np.where(free.labels < 0, free.clusters, free.labels).astype(np.int32)


class _Free:
    """The records in no cluster yet. Equal records are looked at once: categories make many of them.

    Kind t stands for the free records equal to row ``first[t]``: the rows ``queue[head[t]:end[t]]``, ascending.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self.labels = np.full(len(space), -1, np.int32)
        self.clusters, self.count = 0, len(space)
        table = np.concatenate([space.numeric, space.codes], axis=1)
        _, kinds = np.unique(table, axis=0, return_inverse=True)
        self._queue = np.argsort(kinds, kind="stable")
        self._end = np.cumsum(np.bincount(kinds))
        self._head = np.concatenate([[0], self._end[:-1]])

    def average(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the mean of the numbers and the least marginal concepts."""
        times, first = self._end - self._head, self._queue[self._head]
        codes = [
            each.centroid(np.bincount(self._space.codes[first, j], times, each.count).astype(np.int64))
            for j, each in enumerate(self._space.concepts)
        ]
        total = (times[:, None] * self._space.numeric[first]).sum(axis=0)
        return total / self.count, np.array(codes, np.int32)

    def farthest(self, numeric: NDArray[np.float64], codes: NDArray[np.int32]) -> int:
        first = self._queue[self._head]
        distances = self._space.distances(numeric, codes, first)
        return int(first[distances == distances.max()].min())

    def cluster(self, row: int, k: int) -> None:
        """Make a cluster of a record, which is the first of its kind, and the k - 1 nearest to it."""
        first = self._queue[self._head]
        distances = self._space.distances(self._space.numeric[row], self._space.codes[row], first)
        distances[first == row] = -1.0  # its own kind comes first, whatever ties say
        most = min(k, len(first)) - 1
        near = np.flatnonzero(distances <= np.partition(distances, most)[most])
        near = near[np.argsort(distances[near], kind="stable")]
        times = self._end[near] - self._head[near]
        border = distances[near[np.searchsorted(np.cumsum(times), k)]]
        inside, on_border = near[distances[near] < border], near[distances[near] == border]
        wanted = k - int((self._end[inside] - self._head[inside]).sum())
        self._take(inside, self._end[inside] - self._head[inside])
        # Kinds at the border give their lowest rows, whichever kind they are of.
        rows = np.concatenate(
            [self._queue[self._head[t] : min(self._end[t], self._head[t] + wanted)] for t in on_border]
        )
        kinds = np.repeat(on_border, np.minimum(self._end[on_border] - self._head[on_border], wanted))
        taken = np.bincount(kinds[np.argsort(rows)[:wanted]], minlength=len(first))
        self._take(on_border, taken[on_border])
        self.clusters += 1
        self.count -= k
        left = self._head < self._end
        self._head, self._end = self._head[left], self._end[left]

    def _take(self, kinds: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        for kind, count in zip(kinds, times, strict=True):
            self.labels[self._queue[self._head[kind] : self._head[kind] + count]] = self.clusters
        self._head[kinds] += times
