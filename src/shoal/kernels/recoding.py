"""Group coded tuples into equivalence classes: the hot loop of every search over the lattice."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels._library import library

__all__ = ["Groups", "group", "group_native", "group_numpy"]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

#: A table of all possible keys is used up to this many keys per row; sorting is faster beyond.
DENSE = 16
#: Keys are below this; when one more attribute would exceed it, the keys so far are replaced by their ranks.
LARGEST = 2**62


class Groups(NamedTuple):
    """Distinct tuples in lexicographic order.

    Attributes
    ----------
    first
        The first row of every distinct tuple.
    totals
        The sum of the counts of its rows.
    labels
        The number of the distinct tuple of every row; None where not asked for.
    """

    first: Integers
    totals: Integers
    labels: Codes | None


def group(
    columns: Codes, maps: Sequence[Codes], sizes: Sequence[int], counts: Integers, *, labels: bool = False
) -> Groups:
    """Map the codes of every column and gather rows that agree.

    Parameters
    ----------
    columns
        Codes, shape ``(attributes, rows)``, C-contiguous.
    maps
        ``maps[j][code]`` replaces the codes of column ``j``.
    sizes
        Values of ``maps[j]`` are in ``0..sizes[j]-1``.
    counts
        One per row, to be added up.
    labels
        Whether to number the rows as well.

    Notes
    -----
    Cost O(rows * attributes) while the keys are few, else O(rows * (attributes + log(rows))).
    """
    if library() is None:
        return group_numpy(columns, maps, sizes, counts, labels=labels)
    return group_native(columns, maps, sizes, counts, labels=labels)


def group_numpy(
    columns: Codes, maps: Sequence[Codes], sizes: Sequence[int], counts: Integers, *, labels: bool = False
) -> Groups:
    """Group with NumPy; see :func:`group`."""
    rows = len(counts)
    keys = np.zeros(rows, dtype=np.int64)
    space = 1
    for column, mapping, size in zip(columns, maps, sizes, strict=True):
        if size <= 1:
            continue
        if space > LARGEST // size:
            distinct, keys = np.unique(keys, return_inverse=True)
            space = len(distinct)
        if space > 1:
            keys *= size
        keys += mapping[column]
        space *= size
    return _dense(keys, space, counts, labels) if space <= DENSE * rows else _sorted(keys, counts, labels)


def _dense(keys: Integers, space: int, counts: Integers, labels: bool) -> Groups:
    rows = len(keys)
    first_of = np.full(space, -1, dtype=np.int64)
    first_of[keys[::-1]] = np.arange(rows - 1, -1, -1)  # the last write wins: the first row
    present = np.flatnonzero(first_of >= 0)
    # sums of integers below 2^53 are exact in floating point, in which NumPy counts fastest
    totals = np.bincount(keys, weights=counts, minlength=space)[present].astype(np.int64)
    first = first_of[present]
    if not labels:
        return Groups(first, totals, None)
    first_of[present] = np.arange(len(present))
    return Groups(first, totals, first_of[keys].astype(np.int32))


def _sorted(keys: Integers, counts: Integers, labels: bool) -> Groups:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.empty(len(keys), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    totals = np.add.reduceat(counts[order], starts) if len(starts) else counts[:0].copy()
    if not labels:
        return Groups(order[starts], totals, None)
    numbers = np.empty(len(keys), dtype=np.int32)
    numbers[order] = np.cumsum(new) - 1
    return Groups(order[starts], totals, numbers)


def group_native(
    columns: Codes, maps: Sequence[Codes], sizes: Sequence[int], counts: Integers, *, labels: bool = False
) -> Groups:
    """Group with the compiled kernel; see :func:`group`."""
    native = library()
    if native is None:
        raise RuntimeError("the compiled kernels are not available")
    rows = len(counts)
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    joined = np.concatenate([np.asarray(mapping, dtype=np.int32) for mapping in maps]) if maps else columns.ravel()
    lengths = np.array([len(mapping) for mapping in maps], dtype=np.int64)
    widths = np.array(sizes, dtype=np.int64)
    first, totals = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    numbers = np.empty(rows, dtype=np.int32) if labels else None
    number = native.shoal_group(
        ctypes.c_int64(rows),
        ctypes.c_int32(len(maps)),
        *(_pointer(array) for array in (columns, joined, lengths, widths, counts, first, totals)),
        None if numbers is None else _pointer(numbers),
    )
    return Groups(first[:number], totals[:number], numbers)


def _pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
