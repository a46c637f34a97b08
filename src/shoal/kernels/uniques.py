"""Minimal sets of columns on which a record is unique: the search of SUDA2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels import Codes, Integers, Keys, library, run


class UniqueSets(NamedTuple):
    """Pairs of a record and a set of columns, by set and then by record."""

    #: The records.
    rows: Integers
    #: The sets: bit j stands for column j.
    sets: Keys


def unique_sets(codes: Codes, largest: int | None = None) -> UniqueSets:
    """Find, for every record, all minimal sets of columns on which no other record resembles it.

    ``codes`` have one row per record and one column per key, at most 64; a negative code is a missing value, which is
    no part of any set and resembles no value. ``largest`` is the most columns of a set; all by default.

    A record that is unique on a set is unique on all sets that hold it, and counts for nobody there. So the walk over
    the sets, each after all its subsets, splits groups of records that somebody resembles, column by column, and
    leaves out those that became unique. Cost: O(records that are left) per set; columns with many values come first, so
    that few are left soon.
    """
    number = codes.shape[1]
    if number > 64:
        raise ValueError("at most 64 columns")
    sizes = codes.max(axis=0, initial=-1) + 1
    order = np.argsort(sizes, kind="stable")
    most = number if largest is None else min(largest, number)
    data = np.asfortranarray(codes[:, order], dtype=np.int32)
    rows, found = (unique_sets_numpy if library() is None else unique_sets_native)(data, most)
    sets = np.zeros_like(found)
    for position, column in enumerate(order.tolist()):
        sets |= (found >> np.uint64(position) & np.uint64(1)) << np.uint64(column)
    by = np.lexsort((rows, sets))
    return UniqueSets(rows[by], sets[by])


def unique_sets_native(codes: Codes, largest: int) -> UniqueSets:
    """Find them with the compiled kernel; see :func:`unique_sets`."""
    number = np.zeros(1, dtype=np.int64)
    sizes = np.ascontiguousarray(codes.max(axis=0, initial=-1) + 1, dtype=np.int32)
    found = run("shoal_unique_sets", *codes.shape, largest, codes, sizes, number)
    if not found:
        raise MemoryError
    sets = UniqueSets(np.empty(number[0], dtype=np.int64), np.empty(number[0], dtype=np.uint64))
    run("shoal_take_unique_sets", found, *sets)
    return sets


def unique_sets_numpy(codes: Codes, largest: int) -> UniqueSets:
    """Find them with NumPy; see :func:`unique_sets`."""
    columns = codes.shape[1]
    rows, sets = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
    seen: dict[int, Integers] = {}
    for chosen in range(1, 1 << columns):
        held = [column for column in range(columns) if chosen >> column & 1]
        if len(held) > largest:
            continue
        candidate = np.all(codes[:, held] >= 0, axis=1)
        for smaller, earlier in seen.items():
            if not smaller & ~chosen:
                candidate[earlier] = False
        left = np.flatnonzero(candidate)
        _, positions, counts = np.unique(codes[left][:, held], axis=0, return_inverse=True, return_counts=True)
        alone = left[counts[positions.ravel()] == 1] if len(left) else left
        if len(alone):
            seen[chosen] = alone
            rows.append(alone)
            sets.append(np.full(len(alone), chosen, dtype=np.uint64))
    return UniqueSets(np.concatenate(rows), np.concatenate(sets))
