"""Columns as leaves, records as boxes of leaves, and which boxes hold which points.

A released record covers a range of leaves of every column: a value covers itself, ``[20, 25)`` the ages from 20 to 24,
``*`` everything. It is a box; an original record is a box of one leaf per column, a point. Whom a released record
may be, how many people a predicate fits, how many of a population share a class: all are questions of which boxes
hold which points.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.hierarchies import TOP, Hierarchy
from shoal.kernels import Codes, Counts, Floats
from shoal.schema import HALF, INTERVAL, Attribute, Kind, Role
from shoal.tables import group, tally

Labels = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ColumnAxis:
    """One column of a table and of its release."""

    #: What the schema says of the column.
    attribute: Attribute
    #: The leaves of the column (see :class:`~shoal.hierarchies.Hierarchy`), then the values that only the release
    #: holds: noise, means, new words. None is the missing value.
    labels: Labels
    #: The number of leaves.
    leaves: int
    #: Where each label stands: its number, its day since 1970, its rank; not a number where it is missing. None for
    #: categorical columns.
    places: Floats | None = None
    #: How the leaves generalise, where the schema says so.
    hierarchy: Hierarchy | None = None
    #: The ranges that were released as ``[a, b]``, a and b values of the column: their ends are people's values.
    tight: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, attribute: Attribute, leaves: Labels, hierarchy: Hierarchy | None = None) -> ColumnAxis:
        """Return the axis of an original column: its values in the order of its leaves, the missing one last."""
        positions = _places(attribute, leaves)
        return cls(attribute=attribute, labels=leaves, leaves=len(leaves), places=positions, hierarchy=hierarchy)

    def __repr__(self) -> str:
        # labels are values of the data
        return f"<ColumnAxis `{self.name}`: {self.leaves:,} leaves, {len(self.labels) - self.leaves:,} other values>"

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @property
    def role(self) -> Role:
        """What the column tells about a person."""
        return self.attribute.role

    @property
    def is_perturbed(self) -> bool:
        """Whether the release holds values that are neither leaves nor generalisations of them."""
        return len(self.labels) > self.leaves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cover:
    """The leaves that released values cover, from ``low`` to ``high``; ``axis`` knows the values that are no leaves."""

    axis: ColumnAxis
    low: Codes
    high: Codes


def cover(axis: ColumnAxis, released: Labels) -> Cover:
    """Say which leaves every released value covers.

    A value of the column covers itself; a value of a level of its hierarchy covers the leaves below it. ``*`` and,
    where no value is missing in the original, the missing value cover everything. ``[a, b]``, ``[a, b)``, ``< a`` and
    ``>= a`` of ordered columns cover the leaves in between. Anything else is a value of its own that covers nobody.
    """
    size, leaves, hierarchy = axis.leaves, axis.labels[: axis.leaves], axis.hierarchy
    texts, known = pa.array(released, pa.string()), pa.array(leaves, pa.string())
    low = _index(texts, known)
    high = low.copy()
    for level in range(1, hierarchy.levels if hierarchy is not None else 0):
        _read_level(hierarchy, level, texts, low, high)
    everything = _index(texts, pa.array([TOP], pa.string())) == 0
    missing = pc.is_null(texts).to_numpy(zero_copy_only=False)
    if size and leaves[-1] is None:
        low[missing], high[missing] = size - 1, size - 1
    else:
        everything |= missing
    low[everything], high[everything] = 0, max(size - 1, 0)
    unread = np.flatnonzero(low < 0).tolist()
    if not unread:
        return Cover(
            axis=replace(axis, labels=leaves, places=_first(axis.places, size), tight=frozenset()), low=low, high=high
        )
    reader = _LabelReader(leaves, _first(axis.places, size), date=axis.attribute.kind is Kind.DATE)
    for row in unread:
        label = released[row]
        low[row], high[row] = reader.read("" if label is None else label)
    return Cover(axis=reader.axis(axis), low=low, high=high)


def _first(places: Floats | None, size: int) -> Floats | None:
    return None if places is None else places[:size]


def _index(texts: pa.Array, known: pa.Array) -> Codes:
    codes = pc.index_in(texts, value_set=known, skip_nulls=True).fill_null(-1)
    return np.array(codes.to_numpy(zero_copy_only=False), dtype=np.int32)


def _read_level(hierarchy: Hierarchy | None, level: int, texts: pa.Array, low: Codes, high: Codes) -> None:
    assert hierarchy is not None  # noqa: S101 - there is no level without it
    labels, codes = hierarchy.labels[level], hierarchy.codes[level]
    position = _index(texts, pa.array(labels, pa.string()))
    present = position >= 0
    # the leaves of a value are neighbours: codes never descend
    low[present] = np.searchsorted(codes, position[present])
    high[present] = np.searchsorted(codes, position[present], side="right") - 1


class _LabelReader:
    """Reads values that are in no hierarchy: intervals, and values that only the release has."""

    def __init__(self, leaves: Labels, places: Floats | None, *, date: bool) -> None:
        self.leaves, self.places, self.date = leaves, places, date
        self.others: list[tuple[str, float]] = []
        self.tight: set[tuple[int, int]] = set()
        self._leaf_of = {leaf: code for code, leaf in enumerate(leaves)}
        self._leaf_at = {} if places is None else {position: code for code, position in enumerate(places.tolist())}

    def read(self, label: str) -> tuple[int, int]:
        """Return the first and the last leaf that a value covers; its own position, twice, where it covers none."""
        place = math.nan
        if self.places is not None:
            interval = self._interval(label)
            if interval is not None:
                return interval
            place = self._place(label)
            if place in self._leaf_at:
                return self._leaf_at[place], self._leaf_at[place]
        self.others.append((label, place))
        position = len(self.leaves) + len(self.others) - 1
        return position, position

    def axis(self, axis: ColumnAxis) -> ColumnAxis:
        """Return the axis with what was read."""
        return replace(
            axis,
            labels=(*self.leaves, *(label for label, _ in self.others)),
            places=None if self.places is None else np.append(self.places, [position for _, position in self.others]),
            tight=frozenset(self.tight),
        )

    def _interval(self, label: str) -> tuple[int, int] | None:
        assert self.places is not None  # noqa: S101 - asked for ordered columns only
        between, half = INTERVAL.match(label), HALF.match(label)
        if between is not None:
            first, last = self._leaf_of.get(between[2]), self._leaf_of.get(between[3])
            if between[1] == "[" and between[4] == "]" and first is not None and last is not None:
                self.tight.add((first, last))
                return first, last
            lower, upper = self._place(between[2]), self._place(between[3])
            above = self.places >= lower if between[1] == "[" else self.places > lower
            below = self.places <= upper if between[4] == "]" else self.places < upper
        elif half is not None:
            end = self._place(half[2])
            compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[half[1]]
            above = below = compare(self.places, end)
        else:
            return None
        inside = np.flatnonzero(above & below)
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def _place(self, label: str) -> float:
        return _day(label) if self.date else _number(label)


def _places(attribute: Attribute, leaves: Labels) -> Floats | None:
    if attribute.kind is Kind.CATEGORICAL:
        return None
    if attribute.kind is Kind.ORDINAL:
        values = attribute.domain.values if attribute.domain is not None else None
        ranks = {value: float(rank) for rank, value in enumerate(values or ())}
        return np.array([ranks.get(leaf, math.nan) if leaf is not None else math.nan for leaf in leaves])
    date = attribute.kind is Kind.DATE
    try:
        texts = pa.array(leaves, pa.string())
        read = texts.cast(pa.date32()).cast(pa.int32()).cast(pa.float64()) if date else texts.cast(pa.float64())
        return np.asarray(read.fill_null(math.nan).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # some are written in a way that Arrow does not read, or are no numbers or days at all
        one = _day if date else _number
        return np.array([math.nan if leaf is None else one(leaf) for leaf in leaves], dtype=np.float64)


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan


def _day(label: str) -> float:
    try:
        return float((dt.date.fromisoformat(label[:10]) - dt.date(1970, 1, 1)).days)
    except ValueError:
        return math.nan


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
        return self.group_by_columns(columns)[0]

    def group_by_columns(self, columns: Sequence[int]) -> tuple[Boxes, Rows]:
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
