"""The exchange of records between neighbouring clusters."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._library import library, pointers

__all__ = ["exchange"]

Points = NDArray[np.float64]
Labels = NDArray[np.int32]


def exchange(
    points: Points, labels: Labels, centroids: Points, neighbours: NDArray[np.int32], reach: float = 1.25
) -> Labels:
    """Return labels after one pass of exchanges; cluster sizes stay, the sum of squared errors does not grow.

    For each record x in turn, in its cluster A of a records, and the members y of neighbouring clusters B of b records:
    exchanging x for y changes the sum by

        2 (c_A - c_B)(x - y) - |x - y|² (1/a + 1/b),

    c the centroids. The exchange that lowers the sum most is made, if any does.

    Parameters
    ----------
    points
        A matrix of finite numbers, one row per record.
    labels
        The cluster of each record.
    centroids
        The mean of each cluster.
    neighbours
        For each cluster some clusters around it; -1 stands for none.
    reach
        A neighbour is looked at if the squared distance of the record from its centroid is at most so many times that
        from its own: farther ones have next to nothing to gain.
    """
    native = library()
    if native is None:
        return exchange_numpy(points, labels, centroids, neighbours, reach)
    data, near = np.ascontiguousarray(points), np.ascontiguousarray(neighbours, dtype=np.int32)
    result, means = labels.astype(np.int32, copy=True), np.array(centroids, dtype=np.float64, order="C")
    members, starts = _members(labels, len(centroids))
    native.shoal_exchange.restype = ctypes.c_int64
    native.shoal_exchange(
        *pointers(data),
        ctypes.c_int64(len(data)),
        ctypes.c_int32(data.shape[1]),
        *pointers(near),
        ctypes.c_int32(near.shape[1]),
        ctypes.c_double(reach),
        *pointers(starts, members, result, means),
    )
    return result


def exchange_numpy(
    points: Points, labels: Labels, centroids: Points, neighbours: NDArray[np.int32], reach: float = 1.25
) -> Labels:
    """As `exchange`, in plain NumPy."""
    result, means = labels.astype(np.int32, copy=True), centroids.copy()
    members, starts = _members(labels, len(centroids))
    sizes = np.diff(starts)
    for x in range(len(points)):
        a = result[x]
        others = neighbours[a][(neighbours[a] >= 0) & (neighbours[a] != a)]
        own = _squared_distances(means[a : a + 1], points[x])[0]
        others = others[_squared_distances(means[others], points[x]) <= reach * own]
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
        partner, place = int(members[at[chosen]]), int(at[chosen])
        mine = starts[a] + int(np.flatnonzero(members[starts[a] : starts[a + 1]] == x)[0])
        members[mine], members[place] = partner, x
        result[x], result[partner] = b[chosen], a
        difference = points[partner] - points[x]
        means[a] += difference / sizes[a]
        means[b[chosen]] -= difference / sizes[b[chosen]]
    return result


def _squared_distances(points: Points, query: Points) -> Points:
    total = np.zeros(len(points))
    for column, value in zip(points.T, query, strict=True):
        total += np.square(value - column)
    return total


def _members(labels: Labels, clusters: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the rows cluster by cluster, and where each cluster begins and the last one ends."""
    members = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=clusters))]).astype(np.int64)
    return members, starts
