"""Clusters along orders: taken in turns from several, or the best runs of one."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._library import library, pointers

__all__ = ["in_turns", "optimal_runs"]

CHUNK = 1 << 14  # ends of runs whose errors are tabulated at a time: bounds the memory at 8 * CHUNK * 2k bytes


def in_turns(orders: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Label each record with its cluster: cluster i takes the first k free records of order i mod (number of orders).

    The last cluster takes what is left, fewer than 2k. Each order is walked once: O(n) per order.

    Parameters
    ----------
    orders
        One permutation of the n records per row.
    k
        The least cluster size, in [1, n].
    """
    native = library()
    if native is None:
        return in_turns_numpy(orders, k)
    data = np.ascontiguousarray(orders, dtype=np.int32)
    labels = np.full(data.shape[1], -1, np.int32)
    clusters = native.shoal_in_turns(
        *pointers(data),
        ctypes.c_int64(data.shape[1]),
        ctypes.c_int32(data.shape[0]),
        ctypes.c_int32(k),
        *pointers(labels),
    )
    if clusters < 0:
        raise MemoryError
    return labels


def in_turns_numpy(orders: NDArray[np.int32], k: int) -> NDArray[np.int32]:
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


def optimal_runs(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Label each of n ascending values with its run, from left to right; n is at least k.

    Hansen and Mukherjee's dynamic programme: the best partition of the first ``end`` values is the best partition of
    the first ``end - s`` and one run of s, over s in [k, 2k - 1]. O(nk). Of equal errors the shortest last run wins.
    """
    native = library()
    if native is None:
        return optimal_runs_numpy(values, k)
    data = np.ascontiguousarray(values, dtype=np.float64)
    labels = np.empty(len(data), np.int32)
    runs = native.shoal_optimal_runs(
        *pointers(data),
        ctypes.c_int64(len(data)),
        ctypes.c_int32(k),
        *pointers(labels),
    )
    if runs < 0:
        raise MemoryError
    return labels


def optimal_runs_numpy(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """As `optimal_runs`, in plain NumPy."""
    n, longest = len(values), 2 * k - 1
    # `longest` entries in front stand for the partitions of fewer than no values, which do not exist.
    best = np.full(longest + n + 1, np.inf)
    best[longest] = 0.0
    padded = np.concatenate([np.zeros(longest), values])
    size = np.zeros(n + 1, np.int64)
    for first in range(k, n + 1, CHUNK):
        ends = np.arange(first, min(first + CHUNK, n + 1))
        errors = _errors_of_runs(padded, ends + longest, k)
        for end, error in zip(ends, errors, strict=True):
            totals = best[end : end + k][::-1] + error  # of a last run of k, k + 1, ..., 2k - 1
            size[end] = k + totals.argmin()
            best[longest + end] = totals.min()
    return _labels(size)


def _errors_of_runs(padded: NDArray[np.float64], ends: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return, for each end, the squared error of the runs of k to 2k - 1 values that end there.

    A run grows backwards by Welford's update, which does not cancel as a difference of prefix sums does.
    """
    mean, error = np.zeros(len(ends)), np.zeros(len(ends))
    table = np.empty((len(ends), k))
    for s in range(1, 2 * k):
        value = padded[ends - s]
        before = value - mean
        mean += before / s
        error += before * (value - mean)
        if s >= k:
            table[:, s - k] = error
    return table


def _labels(size: NDArray[np.int64]) -> NDArray[np.int32]:
    sizes, end = [], len(size) - 1
    while end > 0:
        sizes.append(int(size[end]))
        end -= sizes[-1]
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes[::-1])
