"""Counting with suppressed cells, and sdcMicro's greedy rule, from the definitions; None is a suppressed cell."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

Row = tuple[object, ...]


def alike(rows: Sequence[Row]) -> list[int]:
    """Return how many rows look like each, a suppressed cell being a value of its own."""
    counts = Counter(rows)
    return [counts[row] for row in rows]


def agreeing(rows: Sequence[Row], m: int | None = None) -> list[int]:
    """Return how many rows have the same value in every cell that a row shows; the fewest over any m columns."""
    width = len(rows[0])
    chosen = list(itertools.combinations(range(width), width if m is None else min(m, width)))
    return [
        min(sum(all(row[j] is None or other[j] == row[j] for j in part) for other in rows) for part in chosen)
        for row in rows
    ]


def masks(rows: Sequence[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Yield every way of suppressing cells, and how many it suppresses."""
    width = len(rows[0])
    for hidden in itertools.product((False, True), repeat=width * len(rows)):
        shown = [
            tuple(None if hidden[i * width + j] else value for j, value in enumerate(row)) for i, row in enumerate(rows)
        ]
        yield sum(hidden), shown


def compatible(codes: np.ndarray) -> np.ndarray:
    """Return sdcMicro's count of every row: rows that agree wherever neither is suppressed (-1)."""
    patterns, place, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    found = np.empty(len(patterns), dtype=int)
    for i, row in enumerate(patterns):
        found[i] = counts[((patterns == row) | (patterns == -1) | (row == -1)).all(axis=1)].sum()
    return found[place.ravel()]


def greedy(codes: np.ndarray, k: int) -> np.ndarray:
    """Return the table after sdcMicro's rule: rare rows lose a cell in which they differ from a nearest row.

    Columns with many categories go first; one cell per row and pass.
    """
    table = codes.copy()
    order = np.argsort([len(np.unique(column)) for column in codes.T], kind="stable")[::-1]
    while True:
        counts = compatible(table)
        wanting = sorted(np.flatnonzero(counts < k), key=lambda row: (counts[row], row))
        if not wanting:
            return table
        for row in wanting:
            known = (table == -1) | (table[row] == -1) | (table == table[row])
            distance = (~known).sum(axis=1)
            near = distance == distance[distance > 0].min(initial=codes.shape[1])
            table[row, next(j for j in order if (~known[near, j]).any())] = -1
