"""Group coded tuples into equivalence classes: the hot loop of every search over the lattice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.kernels import Codes, Floats, Integers, Mask, library, run

#: A table of all possible keys is used up to this many keys per row; sorting is faster beyond.
DENSE = 8
#: Keys are below this; when one more attribute would exceed it, the keys so far are replaced by their ranks.
LARGEST = 2**62
_NO_CODES = np.zeros(0, dtype=np.int32)
_NO_COSTS = np.zeros(0)


class TupleGroups(NamedTuple):
    """Distinct tuples in lexicographic order."""

    #: The first row of every distinct tuple.
    first: Integers
    #: The number of the distinct tuple of every row.
    labels: Codes


class MappedTuples(NamedTuple):
    """Rows of codes, and what becomes of every code."""

    #: Codes, shape ``(attributes, rows)``: quasi-identifiers first, then sensitive attributes. It is fastest if rows
    #: are in lexicographic order.
    columns: Codes
    #: ``maps[j][code]`` replaces the codes of column ``j``. It is fastest if mapped codes never decrease.
    maps: Sequence[Codes]
    #: Values of ``maps[j]`` are in ``0..sizes[j]-1``.
    sizes: Sequence[int]
    #: To be added up, shape ``(kinds, rows)``.
    counts: Integers
    #: How many of the attributes, from the first one, tell classes apart.
    leading: int
    #: ``costs[j][code]`` is the cost of a mapped code, for the leading attributes; or nothing.
    costs: Sequence[Floats] = ()


class Rolled(NamedTuple):
    """A table of distinct tuples in lexicographic order, and where its classes start."""

    #: The mapped codes, shape ``(attributes, tuples)``.
    columns: Codes
    #: The sums of the counts, shape ``(kinds, tuples)``.
    counts: Integers
    #: The first tuple of every class: of every combination of the leading attributes.
    starts: Integers
    #: The sums of the counts, shape ``(kinds, classes)``.
    sizes: Integers
    #: The sum, over the leading attributes, of the cost of the code; one per class. Empty where no costs were given.
    costs: Floats


class ChosenTuples(NamedTuple):
    """The tuples of some classes: class ``i`` holds ``codes[offsets[i]:offsets[i + 1]]``, each ``counts`` times."""

    offsets: Integers
    codes: Codes
    counts: Integers


def group(columns: Codes, sizes: Sequence[int]) -> TupleGroups:
    """Number the distinct tuples of ``columns``, shape ``(attributes, rows)``, whose codes are below ``sizes``.

    Cost O(rows * attributes) while the possible keys are few, else O(rows * (attributes + log(rows))).
    """
    if library() is None:
        return group_numpy(columns, sizes)
    attributes, rows = columns.shape
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    first, labels = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int32)
    number = run("shoal_group", rows, attributes, columns, np.array(sizes, dtype=np.int64), first, labels)
    return TupleGroups(first[:number].copy(), labels)


def roll_up(mapped: MappedTuples) -> Rolled:
    """Map the codes of every column and gather rows that agree.

    Cost as that of :func:`group`; rows that are in order up to an attribute stay so if it and those before it are not
    changed, and what is left to sort are short spans.
    """
    if library() is None:
        return roll_up_numpy(mapped)
    columns, maps, sizes, counts, leading, costs = mapped
    attributes, rows = columns.shape
    kinds = len(counts)
    # As many tuples as rows at most; the kernel packs what it writes.
    new_columns, totals = np.empty(attributes * rows, dtype=np.int32), np.empty(kinds * rows, dtype=np.int64)
    starts, groups = np.empty(rows, dtype=np.int64), np.empty(kinds * rows, dtype=np.int64)
    cells = np.empty(rows if costs else 0)
    numbers = np.zeros(2, dtype=np.int64)
    run(
        "shoal_roll_up",
        *(rows, attributes, leading, kinds, bool(costs)),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.concatenate([*maps, _NO_CODES]),
        np.array([*(len(mapping) for mapping in maps), *sizes], dtype=np.int64),
        np.ascontiguousarray(counts, dtype=np.int64),
        np.concatenate([*costs, _NO_COSTS]),
        *(new_columns, totals, starts, groups, cells, numbers),
    )
    tuples, classes = numbers.tolist()
    return Rolled(
        new_columns[: attributes * tuples].reshape(attributes, tuples).copy(),
        totals[: kinds * tuples].reshape(kinds, tuples).copy(),
        starts[:classes].copy(),
        groups[: kinds * classes].reshape(kinds, classes).copy(),
        cells[:classes].copy(),
    )


def choose(starts: Integers, chosen: Mask, codes: Codes, counts: Integers) -> ChosenTuples:
    """Copy the tuples of the chosen classes, leaving out those without records."""
    if library() is None:
        return choose_numpy(starts, chosen, codes, counts)
    starts, counts = np.ascontiguousarray(starts, dtype=np.int64), np.ascontiguousarray(counts, dtype=np.int64)
    chosen, codes = np.ascontiguousarray(chosen), np.ascontiguousarray(codes, dtype=np.int32)
    offsets = np.empty(int(np.count_nonzero(chosen)) + 1, dtype=np.int64)
    new_codes, new_counts = np.empty(len(codes), dtype=np.int32), np.empty(len(codes), dtype=np.int64)
    arrays = (starts, chosen, codes, counts, offsets, new_codes, new_counts)
    number = run("shoal_choose", len(starts), len(codes), *arrays)
    return ChosenTuples(offsets, new_codes[:number].copy(), new_counts[:number].copy())


def group_numpy(columns: Codes, sizes: Sequence[int]) -> TupleGroups:
    """As `group`, in plain NumPy."""
    return TupleGroups(*_number(*_keys(columns, sizes)))


def roll_up_numpy(mapped: MappedTuples) -> Rolled:
    """As `roll_up`, in plain NumPy."""
    columns, maps, sizes, counts, leading, costs = mapped
    codes = np.empty(columns.shape, dtype=np.int32)
    for column, mapping, target in zip(columns, maps, codes, strict=True):
        np.take(mapping, column, out=target)
    first, labels = _number(*_keys(codes, sizes))
    codes = codes[:, first]
    # sums of integers below 2^53 are exact in floating point, in which NumPy counts fastest
    totals = np.array([np.bincount(labels, weights=kind, minlength=len(first)) for kind in counts]).astype(np.int64)
    new = np.zeros(len(first), dtype=np.bool_)
    new[:1] = True
    for column in codes[:leading]:
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    cells = np.zeros(len(starts) if costs else 0)
    for column, table in zip(codes, costs, strict=False):
        cells += table[column[starts]]
    totals = totals.reshape(len(counts), -1)
    classes = np.add.reduceat(totals, starts, axis=1) if len(starts) else totals
    return Rolled(codes, totals, starts, np.asarray(classes), cells)


def choose_numpy(starts: Integers, chosen: Mask, codes: Codes, counts: Integers) -> ChosenTuples:
    """As `choose`, in plain NumPy."""
    kept = np.repeat(chosen, np.diff(starts, append=len(counts))) & (counts > 0)
    offsets = np.zeros(int(np.count_nonzero(chosen)) + 1, dtype=np.int64)
    if len(starts):
        np.cumsum(np.add.reduceat(kept, starts, dtype=np.int64)[chosen], out=offsets[1:])
    return ChosenTuples(offsets, codes[kept], counts[kept])


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
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        new = np.append(True, ordered[1:] != ordered[:-1])[:rows]
        labels = np.empty(rows, dtype=np.int32)
        labels[order] = np.cumsum(new) - 1
        return order[new], labels
    first_of = np.full(space, -1, dtype=np.int64)
    first_of[keys[::-1]] = np.arange(rows - 1, -1, -1)  # the last write wins: the first row
    present = np.flatnonzero(first_of >= 0)
    first = first_of[present]
    first_of[present] = np.arange(len(present))
    return first, first_of[keys].astype(np.int32)
