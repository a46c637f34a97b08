"""MDAV and V-MDAV on a matrix of points.

Squared distances are summed attribute by attribute, records at equal distance are taken in the order of their rows,
and the centroid comes from integer sums of fixed-point values. Under these rules the labels are the same from NumPy
and from C++, whatever the memory layout, the number of threads or the machine.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._library import library, pointers

__all__ = ["mdav", "vmdav"]

Points = NDArray[np.float64]
Labels = NDArray[np.int32]


def mdav(points: Points, k: int) -> Labels:
    """Label each point with its MDAV cluster, numbered in the order of their making.

    Parameters
    ----------
    points
        A matrix of finite numbers, one row per record.
    k
        The least cluster size, in [1, number of points].

    Notes
    -----
    O(n² m / k) in the worst case; the C++ kernel skips most of it (`native/tree.h`).
    """
    native = library()
    if native is None:
        return mdav_numpy(points, k)
    data, scale = _fixed_point(points)
    return _labelled(native.shoal_mdav, data, k, scale)


def mdav_numpy(points: Points, k: int) -> Labels:
    """As `mdav`, in plain NumPy."""
    data, scale = _fixed_point(points)
    remaining = _Remaining(data, scale)
    while remaining.count >= 3 * k:
        r = remaining.farthest(remaining.centroid())
        remaining.cluster(remaining.nearest(r, k))
        # s is sought outside r's cluster, which matters only where distances tie.
        s = remaining.farthest(data[r])
        remaining.cluster(remaining.nearest(s, k))
    if remaining.count >= 2 * k:
        r = remaining.farthest(remaining.centroid())
        remaining.cluster(remaining.nearest(r, k))
    remaining.cluster(remaining.free())
    return remaining.labels


def vmdav(points: Points, k: int, gamma: float) -> Labels:
    """Label each point with its V-MDAV cluster of at least k points; see `mdav`.

    A point joins a cluster of fewer than 2k - 1 if its distance to the cluster is below ``gamma`` times its distance to
    the nearest other free point; ``gamma`` is in [0, ∞).
    """
    native = library()
    if native is None:
        return vmdav_numpy(points, k, gamma)
    data, scale = _fixed_point(points)
    return _adopt_free(data, _labelled(native.shoal_vmdav, data, k, gamma * gamma, scale))


def vmdav_numpy(points: Points, k: int, gamma: float) -> Labels:
    """As `vmdav`, in plain NumPy."""
    data, scale = _fixed_point(points)
    remaining = _Remaining(data, scale)
    centre = remaining.centroid()
    while remaining.count >= k:
        members = remaining.nearest(remaining.farthest(centre), k)
        remaining.cluster(members)
        free = remaining.free()
        reach = np.full(len(free), np.inf)  # squared distance of each free record to the cluster
        for member in members:
            np.minimum(reach, _squared_distances(data[free].T, data[member]), out=reach)
        for _ in range(min(k - 1, len(free))):
            joining = int(reach.argmin())
            others = np.delete(free, joining)
            to_others = _squared_distances(data[others].T, data[free[joining]])
            if not reach[joining] < gamma * gamma * float(to_others.min(initial=np.inf)):
                break
            remaining.join(free[joining : joining + 1])
            reach, free = np.minimum(np.delete(reach, joining), to_others), others
    return _adopt_free(data, remaining.labels)


class _Remaining:
    """The records that are in no cluster yet, and the exact sum of their fixed-point values."""

    def __init__(self, data: Points, scale: float) -> None:
        self.labels = np.full(len(data), -1, np.int32)
        self.count = len(data)
        self._data, self._scale = data, scale
        self._total = np.rint(data * scale).astype(np.int64).sum(axis=0)
        self._clusters = 0
        self._compact()

    def free(self) -> NDArray[np.int64]:
        return self._rows[~self._gone]

    def centroid(self) -> Points:
        centroid: Points = self._total.astype(np.float64) / self._scale / self.count
        return centroid

    def farthest(self, query: Points) -> int:
        distances = _squared_distances(self._columns, query)
        distances[self._gone] = -1.0
        return int(self._rows[distances.argmax()])

    def nearest(self, row: int, k: int) -> NDArray[np.int64]:
        distances = _squared_distances(self._columns, self._data[row])
        distances[self._gone] = np.inf
        distances[np.searchsorted(self._rows, row)] = -1.0  # the record itself comes first, whatever ties say
        border = np.partition(distances, k - 1)[k - 1]
        inside, on_border = np.flatnonzero(distances < border), np.flatnonzero(distances == border)
        members: NDArray[np.int64] = self._rows[np.concatenate([inside, on_border[: k - len(inside)]])]
        return members

    def cluster(self, members: NDArray[np.int64]) -> None:
        self._clusters += 1
        self.join(members)

    def join(self, members: NDArray[np.int64]) -> None:
        """Add free records to the last cluster."""
        self.labels[members] = self._clusters - 1
        self._total -= np.rint(self._data[members] * self._scale).astype(np.int64).sum(axis=0)
        self.count -= len(members)
        self._gone[np.searchsorted(self._rows, members)] = True
        if self.count < 0.9 * len(self._rows):
            self._compact()

    def _compact(self) -> None:
        self._rows = np.flatnonzero(self.labels < 0)
        self._columns = np.ascontiguousarray(self._data[self._rows].T)
        self._gone = np.zeros(len(self._rows), bool)


def _squared_distances(columns: Points, query: Points) -> Points:
    total = np.zeros(columns.shape[1])
    for column, value in zip(columns, query, strict=True):
        difference = column - value
        difference *= difference
        total += difference
    return total


def _fixed_point(points: Points) -> tuple[Points, float]:
    """Return the points divided by a power of two, so that none exceeds 1, and the scale of their fixed-point sums.

    Neither changes a comparison of distances: both are powers of two. The sum of n values of at most 1, times the
    scale, stays below 2^62.
    """
    data = np.ascontiguousarray(points, dtype=np.float64)
    largest = float(np.abs(data).max(initial=0.0))
    if largest > 0.0:
        data = np.ldexp(data, -int(np.frexp(largest)[1]))
    return data, float(2.0 ** (62 - len(data).bit_length()))


def _adopt_free(data: Points, labels: Labels) -> Labels:
    """Give the records with label -1 to the cluster with the nearest centroid; the lowest label wins a tie."""
    free, taken = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    if len(free) == 0:
        return labels
    order = taken[np.argsort(labels[taken], kind="stable")]
    sizes = np.bincount(labels[taken])
    centroids = np.add.reduceat(data[order], np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    for row in free:
        labels[row] = _squared_distances(centroids.T, data[row]).argmin()
    return labels


def _labelled(kernel: Callable[..., int], data: Points, k: int, *numbers: float) -> Labels:
    """Return the labels that a compiled kernel gives to points in fixed-point values."""
    labels = np.full(len(data), -1, np.int32)
    rows, attributes = ctypes.c_int64(data.shape[0]), ctypes.c_int32(data.shape[1])
    given = (ctypes.c_double(number) for number in numbers)
    if kernel(*pointers(data), rows, attributes, ctypes.c_int32(k), *given, *pointers(labels)) < 0:
        raise MemoryError
    return labels
