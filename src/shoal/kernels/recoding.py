"""Group coded tuples into equivalence classes: the hot loop of every search over the lattice."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels._library import library

__all__ = ["Groups", "Rolled", "group", "group_native", "group_numpy", "roll_up", "roll_up_native", "roll_up_numpy"]

Codes = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: A table of all possible keys is used up to this many keys per row; sorting is faster beyond.
DENSE = 8
#: Keys are below this; when one more attribute would exceed it, the keys so far are replaced by their ranks.
LARGEST = 2**62


class Groups(NamedTuple):
    """Distinct tuples in lexicographic order.

    Attributes
    ----------
    first
        The first row of every distinct tuple.
    labels
        The number of the distinct tuple of every row.
    """

    first: Integers
    labels: Codes


class Rolled(NamedTuple):
    """A table of distinct tuples in lexicographic order, and where its classes start.

    Attributes
    ----------
    columns
        The mapped codes, shape ``(attributes, tuples)``.
    counts
        The sums of the counts, shape ``(kinds, tuples)``.
    starts
        The first tuple of every class: of every combination of the leading attributes.
    costs
        The sum, over the leading attributes, of the cost of the code; one per class. Empty where no costs were given.
    """

    columns: Codes
    counts: Integers
    starts: Integers
    costs: Floats


def group(columns: Codes, sizes: Sequence[int]) -> Groups:
    """Number the distinct tuples of ``columns``, shape ``(attributes, rows)``, whose codes are below ``sizes``.

    Cost O(rows * attributes) while the possible keys are few, else O(rows * (attributes + log(rows))).
    """
    return group_numpy(columns, sizes) if library() is None else group_native(columns, sizes)


def roll_up(
    columns: Codes,
    maps: Sequence[Codes],
    sizes: Sequence[int],
    counts: Integers,
    leading: int,
    costs: Sequence[Floats] = (),
) -> Rolled:
    """Map the codes of every column and gather rows that agree.

    Parameters
    ----------
    columns
        Codes, shape ``(attributes, rows)``: quasi-identifiers first, then sensitive attributes.
    maps
        ``maps[j][code]`` replaces the codes of column ``j``.
    sizes
        Values of ``maps[j]`` are in ``0..sizes[j]-1``.
    counts
        To be added up, shape ``(kinds, rows)``.
    leading
        How many of the attributes, from the first one, tell classes apart.
    costs
        ``costs[j][code]`` is the cost of a mapped code, for the leading attributes; or nothing.

    Notes
    -----
    Cost as that of :func:`group`.
    """
    implementation = roll_up_numpy if library() is None else roll_up_native
    return implementation(columns, maps, sizes, counts, leading, costs)


def group_numpy(columns: Codes, sizes: Sequence[int]) -> Groups:
    """Number with NumPy; see :func:`group`."""
    return Groups(*_number(*_keys(columns, sizes)))


def roll_up_numpy(
    columns: Codes,
    maps: Sequence[Codes],
    sizes: Sequence[int],
    counts: Integers,
    leading: int,
    costs: Sequence[Floats] = (),
) -> Rolled:
    """Gather with NumPy; see :func:`roll_up`."""
    mapped = np.empty(columns.shape, dtype=np.int32)
    for column, mapping, target in zip(columns, maps, mapped, strict=True):
        np.take(mapping, column, out=target)
    first, labels = _number(*_keys(mapped, sizes))
    mapped = mapped[:, first]
    # sums of integers below 2^53 are exact in floating point, in which NumPy counts fastest
    totals = np.array([np.bincount(labels, weights=kind, minlength=len(first)) for kind in counts]).astype(np.int64)
    new = np.zeros(len(first), dtype=np.bool_)
    new[:1] = True
    for column in mapped[:leading]:
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    cells = np.zeros(len(starts) if costs else 0)
    for column, table in zip(mapped, costs, strict=False):
        cells += table[column[starts]]
    return Rolled(mapped, totals.reshape(len(counts), -1), starts, cells)


def _keys(columns: Codes, sizes: Sequence[int]) -> tuple[Integers, int]:
    """Return one number per row that orders rows as their codes do, and a bound on these numbers."""
    keys = np.zeros(columns.shape[1], dtype=np.int64)
    space = 1
    for column, size in zip(columns, sizes, strict=True):
        if size <= 1:
            continue
        if space > LARGEST // size:
            distinct, keys = np.unique(keys, return_inverse=True)
            space = max(len(distinct), 1)
        if space > 1:
            keys *= size
        keys += column
        space *= size
    return keys, space


def _number(keys: Integers, space: int) -> tuple[Integers, Codes]:
    rows = len(keys)
    if space > DENSE * rows:
        return _number_sorted(keys)
    first_of = np.full(space, -1, dtype=np.int64)
    first_of[keys[::-1]] = np.arange(rows - 1, -1, -1)  # the last write wins: the first row
    present = np.flatnonzero(first_of >= 0)
    first = first_of[present]
    first_of[present] = np.arange(len(present))
    return first, first_of[keys].astype(np.int32)


def _number_sorted(keys: Integers) -> tuple[Integers, Codes]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.zeros(len(keys), dtype=np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    labels = np.empty(len(keys), dtype=np.int32)
    labels[order] = np.cumsum(new) - 1
    return order[new], labels


def group_native(columns: Codes, sizes: Sequence[int]) -> Groups:
    """Number with the compiled kernel; see :func:`group`."""
    attributes, rows = columns.shape
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    widths = np.array(sizes, dtype=np.int64)
    first, labels = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int32)
    number = _native().shoal_group(
        ctypes.c_int64(rows), ctypes.c_int32(attributes), *map(_pointer, (columns, widths, first, labels))
    )
    return Groups(first[:number].copy(), labels)


def roll_up_native(
    columns: Codes,
    maps: Sequence[Codes],
    sizes: Sequence[int],
    counts: Integers,
    leading: int,
    costs: Sequence[Floats] = (),
) -> Rolled:
    """Gather with the compiled kernel; see :func:`roll_up`."""
    attributes, rows = columns.shape
    kinds = len(counts)
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    joined = np.concatenate([*maps, _NO_CODES])
    tables = np.concatenate([*costs, _NO_COSTS])
    shape = np.array([*(len(mapping) for mapping in maps), *sizes], dtype=np.int64)
    # As many tuples as rows at most; the kernel packs what it writes.
    new_columns = np.empty(attributes * rows, dtype=np.int32)
    totals, starts, cells = np.empty(kinds * rows, dtype=np.int64), np.empty(rows, dtype=np.int64), np.empty(rows)
    numbers = np.zeros(2, dtype=np.int64)
    _native().shoal_roll_up(
        ctypes.c_int64(rows),
        ctypes.c_int32(attributes),
        ctypes.c_int32(leading),
        ctypes.c_int32(kinds),
        ctypes.c_int32(bool(costs)),
        *map(_pointer, (columns, joined, shape, counts, tables, new_columns, totals, starts, cells, numbers)),
    )
    tuples, classes = numbers.tolist()
    return Rolled(
        new_columns[: attributes * tuples].reshape(attributes, tuples).copy(),
        totals[: kinds * tuples].reshape(kinds, tuples).copy(),
        starts[:classes].copy(),
        cells[: classes if costs else 0].copy(),
    )


_NO_CODES = np.zeros(0, dtype=np.int32)
_NO_COSTS = np.zeros(0)


def _native() -> ctypes.CDLL:
    native = library()
    if native is None:
        raise RuntimeError("the compiled kernels are not available")
    return native


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
