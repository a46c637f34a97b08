"""The nearest of some points, and how many lie within a distance, for many queries at once."""

from __future__ import annotations

import os

import numpy as np

from shoal.kernels import Codes, Counts, Floats, library, run

CELLS = 1 << 22  # distances held at a time: bounds the memory of the NumPy twins at 32 MiB per array


def nearest(points: Floats, queries: Floats, count: int = 1, limits: Floats | None = None) -> tuple[Codes, Floats]:
    """Return the rows and squared distances of the ``count`` points nearest to each query, nearest first.

    Floats beyond the squared distance ``limits[i]`` of query i are left out. The lower row wins a tie; -1 and
    infinity stand where there are fewer points. Distances are summed attribute by attribute, so that C++ and NumPy
    agree to the last bit.
    """
    if library() is None or len(points) == 0:
        return nearest_numpy(points, queries, count, limits)
    radii = np.full(len(queries), np.inf) if limits is None else np.ascontiguousarray(limits, dtype=np.float64)
    data, asked = np.ascontiguousarray(points), np.ascontiguousarray(queries)
    rows, distances = np.empty((len(asked), count), np.int32), np.empty((len(asked), count))
    shape = (data, *data.shape, asked, len(asked), radii, count, threads())
    failed = run("shoal_nearest", *shape, rows, distances)
    if failed:
        raise MemoryError
    return rows, distances


def nearest_numpy(
    points: Floats, queries: Floats, count: int = 1, limits: Floats | None = None
) -> tuple[Codes, Floats]:
    """As `nearest`, in plain NumPy: O(points * queries)."""
    rows, distances = np.full((len(queries), count), -1, np.int32), np.full((len(queries), count), np.inf)
    number = min(count, len(points))
    for first in range(0, len(queries), step := max(1, CELLS // max(1, len(points)))):
        block = squared_distances(points, queries[first : first + step])
        order = np.argsort(block, axis=1, kind="stable")[:, :number]
        rows[first : first + step, :number] = order
        distances[first : first + step, :number] = np.take_along_axis(block, order, axis=1)
    if limits is not None:
        beyond = distances > limits[:, None]
        rows[beyond], distances[beyond] = -1, np.inf
    return rows, distances


def count_within(points: Floats, queries: Floats, limits: Floats) -> Counts:
    """Return how many points lie within the squared distance ``limits[i]`` of each query i."""
    if library() is None or len(points) == 0:
        return count_within_numpy(points, queries, limits)
    data, asked = np.ascontiguousarray(points), np.ascontiguousarray(queries)
    radii = np.ascontiguousarray(limits, dtype=np.float64)
    counts = np.empty(len(asked), np.int64)
    failed = run("shoal_count_within", data, *data.shape, asked, len(asked), radii, threads(), counts)
    if failed:
        raise MemoryError
    return counts


def count_within_numpy(points: Floats, queries: Floats, limits: Floats) -> Counts:
    """As `count_within`, in plain NumPy: O(points * queries)."""
    counts = np.zeros(len(queries), np.int64)
    for first in range(0, len(queries), step := max(1, CELLS // max(1, len(points)))):
        block = squared_distances(points, queries[first : first + step])
        counts[first : first + step] = (block <= limits[first : first + step, None]).sum(axis=1)
    return counts


def threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def squared_distances(points: Floats, queries: Floats) -> Floats:
    """Return the squared distance of every point from every query, one row per query."""
    total = np.zeros((len(queries), len(points)))
    for column, values in zip(points.T, queries.T, strict=True):
        difference = column[None, :] - values[:, None]
        difference *= difference
        total += difference
    return total
