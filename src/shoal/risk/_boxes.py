"""Records as boxes of leaves, and which boxes hold which points.

A released record covers a range of leaves of every column: a value covers itself, ``[20, 25)`` the ages from 20 to 24,
``*`` everything. It is a box; an original record is a box of one leaf per column, a point. Whom a released record
may be, how many people a predicate fits, how many of a population share a class: all are questions of which boxes
hold which points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels import Codes, Counts
from shoal.tables import group, tally

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Boxes:
    """Distinct boxes with the number of records of each."""

    #: The first and the last leaf of every column, shape ``(boxes, columns)``.
    low: Codes
    high: Codes
    #: Records per box.
    counts: Counts

    @classmethod
    def empty(cls, columns: int) -> Boxes:
        """Return no boxes."""
        nothing = np.zeros((0, columns), dtype=np.int32)
        return cls(low=nothing, high=nothing, counts=np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def only(self, columns: Sequence[int]) -> Boxes:
        """Return the distinct boxes of some columns."""
        return self.grouped(columns)[0]

    def grouped(self, columns: Sequence[int]) -> tuple[Boxes, Rows]:
        """Return the distinct boxes of some columns, and which of them each box lies in."""
        chosen = list(columns)
        low, high = self.low[:, chosen], self.high[:, chosen]
        same = np.array_equal(low, high)
        labels, firsts = group(low if same else np.concatenate([low, high], axis=1))
        boxes = Boxes(
            low=np.asfortranarray(low[firsts]),
            high=np.asfortranarray(high[firsts]),
            counts=tally(labels, self.counts, len(firsts)),
        )
        return boxes, labels

    def take(self, rows: Rows) -> Boxes:
        """Return some of the boxes."""
        return Boxes(low=self.low[rows], high=self.high[rows], counts=self.counts[rows])


def totals_at(boxes: Boxes, points: Codes) -> Counts:
    """Return for every point the number of records whose box holds it.

    Examples
    --------
    >>> boxes = Boxes(low=np.array([[0], [2]]), high=np.array([[3], [2]]), counts=np.array([5, 1]))
    >>> totals_at(boxes, np.array([[1], [2], [9]])).tolist()
    [5, 6, 0]
    """
    result = np.zeros(len(points), dtype=np.int64)
    for rows, held, left, right in _meetings(boxes, points):
        change = np.zeros(len(held) + 1, dtype=np.int64)
        np.add.at(change, left, boxes.counts[rows])
        np.subtract.at(change, right, boxes.counts[rows])
        result[held] += np.cumsum(change[:-1])
    return result


def totals_in(boxes: Boxes, points: Codes, counts: Counts) -> Counts:
    """Return for every box the number of records among the points (each ``counts`` times) that it holds."""
    result = np.zeros(len(boxes), dtype=np.int64)
    for rows, held, left, right in _meetings(boxes, points):
        running = np.concatenate([[0], np.cumsum(counts[held])])
        result[rows] += running[right] - running[left]
    return result


class Index:
    """Points that many boxes are asked about, one at a time: sorted by each column."""

    def __init__(self, points: Codes, counts: Counts) -> None:
        self._points, self._counts = points, counts
        self._orders = [np.argsort(column, kind="stable") for column in points.T]
        self._sorted = [column[order] for column, order in zip(points.T, self._orders, strict=True)]

    def records(self, columns: Sequence[int], low: Codes, high: Codes) -> int:
        """Return the number of records in the ranges of some columns.

        The points of the rarest range are looked at one by one: O(columns log points + points in that range).
        """
        ends = [
            np.searchsorted(self._sorted[column], [first, last + 1])
            for column, first, last in zip(columns, low.tolist(), high.tolist(), strict=True)
        ]
        rarest = min(range(len(ends)), key=lambda position: int(ends[position][1] - ends[position][0]))
        rows = self._orders[columns[rarest]][ends[rarest][0] : ends[rarest][1]]
        for position, column in enumerate(columns):
            if position != rarest and len(rows):
                values = self._points[rows, column]
                rows = rows[(values >= low[position]) & (values <= high[position])]
        return int(self._counts[rows].sum())


def pairs(boxes: Boxes, points: Codes) -> tuple[Rows, Rows]:
    """Return all pairs of a point and a box that holds it: the rows of the points, and those of the boxes."""
    found_points, found_boxes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for rows, held, left, right in _meetings(boxes, points):
        lengths = right - left
        starts = np.repeat(left - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        found_points.append(held[starts + np.arange(lengths.sum())])
        found_boxes.append(np.repeat(rows, lengths))
    return np.concatenate(found_points), np.concatenate(found_boxes)


def _meetings(boxes: Boxes, points: Codes) -> Iterator[tuple[Rows, Rows, Rows, Rows]]:
    """Go down the columns as through a trie; yield where boxes and points meet, but for the last column.

    Each time: rows of boxes that are equal on all columns but the last; the rows of the points that lie in them there,
    sorted by the last column; and which of these, from ``left`` up to ``right``, each of the boxes holds.

    Columns with few distinct ranges come first, so that there are few branches; a branch without points is not
    entered. Cost: O(boxes log boxes) and one step per branch.
    """
    if not len(boxes) or not len(points):
        return
    columns = points.shape[1]
    ranges = [_ranges(boxes.low[:, j], boxes.high[:, j]) for j in range(columns)]
    order = sorted(range(columns), key=lambda j: int(ranges[j].max(initial=0)))
    sorted_boxes = np.lexsort([ranges[j] for j in reversed(order[:-1])]) if columns > 1 else np.arange(len(boxes))
    low, high = boxes.low[sorted_boxes], boxes.high[sorted_boxes]
    keys = [ranges[j][sorted_boxes] for j in order]
    waiting = [(0, 0, len(boxes), np.arange(len(points)))]
    while waiting:
        depth, first, end, held = waiting.pop()
        axis = order[depth]
        held = held[np.argsort(points[held, axis], kind="stable")]
        values = points[held, axis]
        if depth == columns - 1:
            left = np.searchsorted(values, low[first:end, axis])
            right = np.searchsorted(values, high[first:end, axis], side="right")
            met = right > left
            if met.any():
                yield sorted_boxes[first:end][met], held, left[met], right[met]
            continue
        starts = first + np.flatnonzero(np.diff(keys[depth][first:end], prepend=-1))
        ends = np.append(starts[1:], end)
        left = np.searchsorted(values, low[starts, axis])
        right = np.searchsorted(values, high[starts, axis], side="right")
        for child in np.flatnonzero(right > left).tolist():
            waiting.append((depth + 1, int(starts[child]), int(ends[child]), held[left[child] : right[child]]))


def _ranges(low: Codes, high: Codes) -> Counts:
    """Number the distinct ranges of one column."""
    keys = low.astype(np.int64) * (int(high.max(initial=0)) + 1) + high
    return np.asarray(np.unique(keys, return_inverse=True)[1])
