"""Record linkage: how many masked records lead back to their originals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError
from shoal.kernels.nearest import count_within, nearest
from shoal.quality.sse import paired

__all__ = ["record_linkage", "record_linkage_mixed"]

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]

TIE = 1e-9
"""Distances that agree to this relative precision are equal: a centroid of two lies at equal distance of both, which
rounding would hide."""
CELLS = 1 << 22  # distances held at a time


def record_linkage(original: ArrayLike, masked: ArrayLike, *, scale: ArrayLike | None = None) -> float:
    """Return RL, the percentage of original records that an intruder links correctly by distance, in [0, 100].

    For each masked record x'_j let G be the originals at the least distance from it; the link is right with
    probability 1/|G| if the true original x_j is in G, and 0 otherwise. RL is 100 times the mean [SC13, section 6.4.2].

    Parameters
    ----------
    original, masked
        Matrices of numbers; row j of ``masked`` comes from row j of ``original``.
    scale
        What each attribute is divided by: the width of its domain for distance (6.7). The standard deviation in
        ``original`` where not given.

    Notes
    -----
    Equal masked records are looked up once. O(distinct log n) where records cluster well, O(distinct * n) at worst.

    Examples
    --------
    >>> round(record_linkage([[1.0], [2.0], [9.0]], [[1.5], [1.5], [9.0]]), 2)
    66.67
    """
    before, after = paired(original, masked)
    if len(before) == 0:
        return 0.0
    divisor = _scale(before, scale)
    points, queries, which = before / divisor, *_distinct(after / divisor)
    _, least = nearest(points, queries)
    limits = _limits(least[:, 0], float(np.abs(points).max(initial=0.0)))
    ties = count_within(points, queries, limits)
    own = np.zeros(len(points))
    for column, values in zip(points.T, queries[which].T, strict=True):
        own += np.square(column - values)
    return float(100.0 * np.where(own <= limits[which], 1.0 / ties[which], 0.0).mean())


def record_linkage_mixed(
    original: tuple[ArrayLike, ArrayLike],
    masked: tuple[ArrayLike, ArrayLike],
    *,
    scale: ArrayLike,
    distances: Sequence[Matrix],
) -> float:
    """Return RL as `record_linkage` does, for records of numbers and concepts.

    Parameters
    ----------
    original, masked
        A matrix of numbers and a matrix of codes each.
    scale
        What each numeric attribute is divided by.
    distances
        For each categorical attribute the distances of all pairs of concepts, divided by the distance of the
        boundaries of its domain [SC13 (6.7)].

    Notes
    -----
    O(distinct originals * distinct masked records), in blocks.
    """
    before, after = paired(original[0], masked[0])
    codes, masked_codes = np.asarray(original[1], np.int64), np.asarray(masked[1], np.int64)
    if codes.shape != masked_codes.shape or codes.shape != (len(before), len(distances)):
        raise DataError(
            f"Original and masked codes must have one row per record and one column per table of distances; got "
            f"{codes.shape}, {masked_codes.shape} and {len(distances)} tables for {len(before)} records."
        )
    if len(before) == 0:
        return 0.0
    divisor = _scale(before, scale)
    points, point_of = _distinct(np.concatenate([before / divisor, codes], axis=1))
    queries, query_of = _distinct(np.concatenate([after / divisor, masked_codes], axis=1))
    weights = np.bincount(point_of, minlength=len(points))
    pairs, times = _counted_pairs(query_of, point_of)
    tables, numbers = [np.square(table) for table in distances], before.shape[1]
    linked = 0.0
    step = max(1, CELLS // len(points))
    for first in range(0, len(queries), step):
        block = _mixed_distances(points, queries[first : first + step], numbers, tables)
        limits = _limits(block.min(axis=1), float(np.abs(points[:, :numbers]).max(initial=1.0)))
        inside = block <= limits[:, None]
        share = 1.0 / (inside * weights).sum(axis=1)
        mine = (pairs[:, 0] >= first) & (pairs[:, 0] < first + step)
        rows, columns = pairs[mine, 0] - first, pairs[mine, 1]
        linked += float((inside[rows, columns] * share[rows] * times[mine]).sum())
    return 100.0 * linked / len(before)


def _mixed_distances(points: Matrix, queries: Matrix, numbers: int, tables: Sequence[Matrix]) -> Matrix:
    total = np.zeros((len(queries), len(points)))
    for j in range(numbers):
        total += np.square(points[None, :, j] - queries[:, j, None])
    for j, table in enumerate(tables, start=numbers):
        total += table[queries[:, j].astype(np.int64)[:, None], points[:, j].astype(np.int64)[None, :]]
    return total


def _limits(least: Matrix, magnitude: float) -> Matrix:
    """Return up to which squared distance records count as nearest; a distance of 0 is met up to rounding."""
    limits: Matrix = least * (1.0 + TIE) + (TIE * 1e-3 * magnitude) ** 2
    return limits


def _scale(original: Matrix, scale: ArrayLike | None) -> Matrix:
    divisor = original.std(axis=0) if scale is None else np.asarray(scale, np.float64)
    if divisor.shape != original.shape[1:]:
        raise DataError(f"`scale` must hold one number for each of {original.shape[1]} attributes.")
    result: Matrix = np.where(divisor > 0.0, divisor, 1.0)
    return result


def _distinct(rows: Matrix) -> tuple[Matrix, Codes]:
    """Return the distinct rows, and for each row which of them it is."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    which = np.empty(len(rows), np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def _counted_pairs(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    pairs, times = np.unique(np.stack([left, right], axis=1), axis=0, return_counts=True)
    return pairs, times
