"""Clusters of at least k records: MDAV and V-MDAV on a matrix of points, exchanges between them, orders in turns.

Squared distances are summed attribute by attribute, records at equal distance are taken in the order of their rows,
and the centroid comes from integer sums of fixed-point values. Under these rules the labels are the same from NumPy
and from C++, whatever the memory layout, the number of threads or the machine.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import Codes, Floats, Integers, library, run
from shoal.kernels.nearest import squared_distances

#: A neighbouring cluster is looked at if the squared distance of the record from its centroid is at most so many times
#: that from its own: farther ones have next to nothing to gain.
_REACH = 1.25


def mdav(points: Floats, k: int) -> Codes:
    """Label each point with its MDAV cluster, numbered in the order of their making.

    ``points`` are finite numbers, one row per record, and k is in [1, number of points]. O(n² m / k) in the worst case;
    the C++ kernel skips most of it (`native/tree.h`).
    """
    if library() is None:
        return mdav_numpy(points, k)
    data, scale = _fixed_point(points)
    return _label_points("shoal_mdav", data, k, scale)


def mdav_numpy(points: Floats, k: int) -> Codes:
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


def vmdav(points: Floats, k: int, gamma: float) -> Codes:
    """Label each point with its V-MDAV cluster of at least k points; see `mdav`.

    A point joins a cluster of fewer than 2k - 1 if its distance to the cluster is below ``gamma`` times its distance to
    the nearest other free point; ``gamma`` is in [0, ∞).
    """
    if library() is None:
        return vmdav_numpy(points, k, gamma)
    data, scale = _fixed_point(points)
    return _adopt_free(data, _label_points("shoal_vmdav", data, k, float(gamma * gamma), scale))


def vmdav_numpy(points: Floats, k: int, gamma: float) -> Codes:
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

    def __init__(self, data: Floats, scale: float) -> None:
        self.labels = np.full(len(data), -1, np.int32)
        self.count = len(data)
        self._data, self._scale = data, scale
        self._total = np.rint(data * scale).astype(np.int64).sum(axis=0)
        self._clusters = 0
        self._compact()

    def free(self) -> Integers:
        return self._rows[~self._gone]

    def centroid(self) -> Floats:
        centroid: Floats = self._total.astype(np.float64) / self._scale / self.count
        return centroid

    def farthest(self, query: Floats) -> int:
        distances = _squared_distances(self._columns, query)
        distances[self._gone] = -1.0
        return int(self._rows[distances.argmax()])

    def nearest(self, row: int, k: int) -> Integers:
        distances = _squared_distances(self._columns, self._data[row])
        distances[self._gone] = np.inf
        distances[np.searchsorted(self._rows, row)] = -1.0  # the record itself comes first, whatever ties say
        border = np.partition(distances, k - 1)[k - 1]
        inside, on_border = np.flatnonzero(distances < border), np.flatnonzero(distances == border)
        members: Integers = self._rows[np.concatenate([inside, on_border[: k - len(inside)]])]
        return members

    def cluster(self, members: Integers) -> None:
        self._clusters += 1
        self.join(members)

    def join(self, members: Integers) -> None:
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


def _squared_distances(columns: Floats, query: Floats) -> Floats:
    return np.asarray(squared_distances(columns.T, query[None])[0])


def _fixed_point(points: Floats) -> tuple[Floats, float]:
    """Return the points divided by a power of two, so that none exceeds 1, and the scale of their fixed-point sums.

    Neither changes a comparison of distances: both are powers of two. The sum of n values of at most 1, times the
    scale, stays below 2^62.
    """
    data = np.ascontiguousarray(points, dtype=np.float64)
    largest = float(np.abs(data).max(initial=0.0))
    if largest > 0.0:
        data = np.ldexp(data, -int(np.frexp(largest)[1]))
    return data, float(2.0 ** (62 - len(data).bit_length()))


def _adopt_free(data: Floats, labels: Codes) -> Codes:
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


def _label_points(kernel: str, data: Floats, k: int, *numbers: float) -> Codes:
    """Return the labels that a compiled kernel gives to points in fixed-point values."""
    labels = np.full(len(data), -1, np.int32)
    if run(kernel, data, *data.shape, k, *numbers, labels) < 0:
        raise MemoryError
    return labels


def exchange(points: Floats, labels: Codes, centroids: Floats, neighbours: Codes) -> Codes:
    """Return labels after one pass of exchanges; cluster sizes stay, the sum of squared errors does not grow.

    For each record x in turn, in its cluster A of a records, and the members y of neighbouring clusters B of b records:
    exchanging x for y changes the sum by

        2 (c_A - c_B)(x - y) - |x - y|² (1/a + 1/b),

    c the centroids. The exchange that lowers the sum most is made, if any does. ``neighbours`` are, for each cluster,
    some clusters around it; -1 stands for none.
    """
    if library() is None:
        return exchange_numpy(points, labels, centroids, neighbours)
    data, near = np.ascontiguousarray(points), np.ascontiguousarray(neighbours, dtype=np.int32)
    result, means = labels.astype(np.int32, copy=True), np.array(centroids, dtype=np.float64, order="C")
    members, starts = _members(labels, len(centroids))
    run("shoal_exchange", data, *data.shape, near, near.shape[1], _REACH, starts, members, result, means)
    return result


def exchange_numpy(points: Floats, labels: Codes, centroids: Floats, neighbours: Codes) -> Codes:
    """As `exchange`, in plain NumPy."""
    result, means = labels.astype(np.int32, copy=True), centroids.copy()
    members, starts = _members(labels, len(centroids))
    sizes = np.diff(starts)
    for x in range(len(points)):
        a = result[x]
        others = neighbours[a][(neighbours[a] >= 0) & (neighbours[a] != a)]
        own = squared_distances(means[a : a + 1], points[x : x + 1])[0]
        others = others[squared_distances(means[others], points[x : x + 1])[0] <= _REACH * own]
        if len(others) == 0:
            continue
        at = np.concatenate([np.arange(starts[b], starts[b + 1]) for b in others])
        b = np.repeat(others, sizes[others])
        product, square = np.zeros(len(at)), np.zeros(len(at))
        for j in range(points.shape[1]):
            difference = points[x, j] - points[members[at], j]
            product += difference * (means[a, j] - means[b, j])
            square += difference * difference
        change = 2.0 * product - square * (1.0 / sizes[a] + 1.0 / sizes[b])
        chosen = int(change.argmin())
        if not change[chosen] < 0.0:
            continue
        partner, position = int(members[at[chosen]]), int(at[chosen])
        mine = starts[a] + int(np.flatnonzero(members[starts[a] : starts[a + 1]] == x)[0])
        members[mine], members[position] = partner, x
        result[x], result[partner] = b[chosen], a
        difference = points[partner] - points[x]
        means[a] += difference / sizes[a]
        means[b[chosen]] -= difference / sizes[b[chosen]]
    return result


def _members(labels: Codes, clusters: int) -> tuple[Codes, Integers]:
    """Return the rows cluster by cluster, and where each cluster begins and the last one ends."""
    members = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=clusters))]).astype(np.int64)
    return members, starts


def in_turns(orders: Codes, k: int) -> Codes:
    """Label each record with its cluster: cluster i takes the first k free records of order i mod (number of orders).

    The last cluster takes what is left, fewer than 2k. ``orders`` are permutations of the n records, one per row, and k
    is in [1, n]. Each order is walked once: O(n) per order.
    """
    if library() is None:
        return in_turns_numpy(orders, k)
    data = np.ascontiguousarray(orders, dtype=np.int32)
    labels = np.full(data.shape[1], -1, np.int32)
    if run("shoal_in_turns", data, data.shape[1], data.shape[0], k, labels) < 0:
        raise MemoryError
    return labels


def in_turns_numpy(orders: Codes, k: int) -> Codes:
    """As `in_turns`, in plain NumPy."""
    count, n = orders.shape
    labels = np.full(n, -1, np.int32)
    positions = [0] * count
    clusters = max(1, n // k)
    for label in range(clusters - 1):
        turn, wanted = label % count, k
        while wanted:
            window = orders[turn, positions[turn] : positions[turn] + 2 * wanted]
            free = np.flatnonzero(labels[window] < 0)[:wanted]
            labels[window[free]] = label
            wanted -= len(free)
            positions[turn] += len(window) if wanted else int(free[-1]) + 1
    labels[labels < 0] = clusters - 1
    return labels
