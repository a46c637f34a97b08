"""Clusters along orders, taken in turns."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from shoal.kernels._library import library, pointers

__all__ = ["in_turns"]


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
