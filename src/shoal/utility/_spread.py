"""Generalised values spread over their leaves: how every figure of this package reads a release.

A released value that covers several leaves of its column (see :class:`shoal.risk.Pair`) is read as any of them with the
same chance: ``[20, 25)`` is one fifth each of the ages 20 to 24, ``*`` is every value of the domain alike. Columns of
one record are read independently of each other. The leaves are the values of the column's hierarchy: the declared ones
where the schema declares them, else those that the original table holds. This is what an analyst does who has nothing
but the release: the maximum of entropy given the released value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.risk import Axis, Boxes

__all__ = ["BoxMoments", "draw_leaves", "leaf_shares", "moments", "overlaps"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


def leaf_shares(boxes: Boxes, column: int, axis: Axis) -> Floats:
    """Return the share of the records at every label of a column, after spreading; the sum is 1, or 0 without records.

    Cost: O(boxes + labels).
    """
    low, high = boxes.low[:, column], boxes.high[:, column]
    each = boxes.counts / (high - low + 1)
    change = np.bincount(low, weights=each, minlength=len(axis.labels) + 1)
    change -= np.bincount(high + 1, weights=each, minlength=len(axis.labels) + 1)
    total = boxes.records
    shares = np.maximum(np.cumsum(change[:-1]), 0.0)
    return np.asarray(shares / total) if total else shares


def overlaps(boxes: Boxes, column: int, first: int, last: int) -> Floats:
    """Return the chance that each box lies between two leaves of a column, both included."""
    low, high = boxes.low[:, column], boxes.high[:, column]
    inside = np.minimum(high, last) - np.maximum(low, first) + 1
    return np.asarray(np.maximum(inside, 0) / (high - low + 1))


class BoxMoments:
    """The mean place of every box in a column, and the mean of its square; not a number where it is missing."""

    __slots__ = ("first", "second")

    def __init__(self, first: Floats, second: Floats) -> None:
        self.first, self.second = first, second


def moments(boxes: Boxes, column: int, axis: Axis) -> BoxMoments | None:
    """Return the moments of an ordered column over the leaves that each box covers; None for other columns."""
    if axis.places is None:
        return None
    known = np.isfinite(axis.places)
    places = np.where(known, axis.places, 0.0)
    running = [np.concatenate([[0.0], np.cumsum(each)]) for each in (known.astype(np.float64), places, places**2)]
    low, end = boxes.low[:, column], boxes.high[:, column] + 1
    number, first, second = (total[end] - total[low] for total in running)
    # differences of running sums are inexact; single leaves, the common case, are not
    single = end - low == 1
    first[single], second[single] = places[low[single]], places[low[single]] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return BoxMoments(np.where(number > 0, first / number, np.nan), np.where(number > 0, second / number, np.nan))


def draw_leaves(boxes: Boxes, rows: npt.NDArray[np.int64], generator: np.random.Generator) -> Codes:
    """Return one leaf per column for each of the rows, drawn evenly from those that its box covers."""
    low, high = boxes.low[rows], boxes.high[rows]
    return np.asarray(low + (generator.random(low.shape) * (high - low + 1)).astype(np.int32), dtype=np.int32)
