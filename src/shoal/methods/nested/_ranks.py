"""The order of rows by what they hold and what lies below them: the same for everybody who sees the content."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import Integers


def rank_rows(rows: pa.Table) -> Integers:
    """Return for every row how many rows come before it in the order of its columns, missing values last.

    Examples
    --------
    >>> rank_rows(pa.table({"ward": ["b", "a", None, "a"]})).tolist()
    [2, 0, 3, 0]
    """
    ranks = np.zeros(len(rows), dtype=np.int64)
    for column in rows.columns:
        ranks = refined(ranks, _codes(column))
    return ranks


def _codes(column: pa.ChunkedArray) -> Integers:
    """Return numbers in the order of the values of a column."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order) + 1, dtype=np.int64)
    places[order], places[-1] = np.arange(len(order)), len(order)
    return np.asarray(places[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)])


def refined(ranks: Integers, codes: Integers) -> Integers:
    """Return ranks in the order of both, where the first are the more important ones."""
    order = np.lexsort((codes, ranks))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (ranks[order][1:] != ranks[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return found


def rank_with_rows_below(ranks: Integers, parents: Integers, below: Integers) -> Integers:
    """Return ranks in the order of rows and, where these are equal, of the sorted list of the ranks of the rows below.

    ``parents`` are the rows that the rows below belong to, ``below`` the ranks of these. A list comes before longer
    ones that begin with it. Only rows that have a j-th row below them are looked at for it.

    Examples
    --------
    >>> rank_with_rows_below(np.zeros(3, np.int64), np.array([0, 0, 1]), np.array([4, 2, 2])).tolist()
    [2, 1, 0]
    """
    ranks = ranks.copy()
    sizes = np.bincount(ranks, minlength=len(ranks)) if len(ranks) else np.zeros(0, dtype=np.int64)
    order = np.lexsort((below, parents))
    owners, below = parents[order], below[order]
    numbers = np.bincount(owners, minlength=len(ranks))
    first = np.concatenate([[0], np.cumsum(numbers)[:-1]]) if len(ranks) else np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(numbers)
    place = 0
    while len(rows := rows[numbers[rows] > place]):
        codes = below[first[rows] + place]
        by = np.lexsort((codes, ranks[rows]))
        rows_by, old, codes = rows[by], ranks[rows][by], codes[by]
        new_group = np.ones(len(by), dtype=np.bool_)
        new_group[1:] = old[1:] != old[:-1]
        group_start = np.maximum.accumulate(np.where(new_group, np.arange(len(by)), 0))
        members = np.diff(np.append(np.flatnonzero(new_group), len(by)))
        without = sizes[old[new_group]] - members
        new = new_group.copy()
        new[1:] |= codes[1:] != codes[:-1]
        start = np.maximum.accumulate(np.where(new, np.arange(len(by)), 0))
        group = np.cumsum(new_group) - 1
        ranks[rows_by] = old + without[group] + (start - group_start)
        sizes[old[new_group]] = without
        sizes[ranks[rows_by][new]] = np.diff(np.append(np.flatnonzero(new), len(by)))
        place += 1
    return ranks
