"""Cubes: how many records have each combination of some columns' values.

A filter looks at few columns, and columns that filters look at have few values: counting the combinations once makes
every later filter on the same columns a matter of microseconds. A cube holds the same figures as the records do, so
answers are the same numbers with or without it. A condition is computed alike for records and for cells of a cube.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.kernels import Mask
from shoal.queries._conditions import FIRST, LAST, And, Condition, Cut, In, Not, Ranges, Texts


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers and days; a missing one is no number."""

    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Codes:
    """Texts by their places in a list; a missing one has the place after all others."""

    values: NDArray[Any]
    places: Mapping[str, int]


Column = Numbers | Codes


def holds(condition: Condition, columns: Mapping[str, Column]) -> Mask:
    """Return where a condition holds; columns of different shapes are broadcast."""
    if isinstance(condition, In):
        return _in(columns[condition.attribute], condition)
    if isinstance(condition, Not):
        return ~holds(condition.part, columns)
    joined = holds(condition.parts[0], columns)
    for part in condition.parts[1:]:
        joined = joined & holds(part, columns) if isinstance(condition, And) else joined | holds(part, columns)
    return joined


def _in(column: Column, condition: In) -> Mask:
    if isinstance(condition.values, Ranges):
        return _in_ranges(column.values, condition.values)
    assert isinstance(column, Codes)  # noqa: S101
    return _in_texts(column, condition.values)


def _in_ranges(numbers: NDArray[np.float64], values: Ranges) -> Mask:
    parts = [_between(numbers, low, high) for low, high in values.parts]
    if values.missing:
        parts.append(np.isnan(numbers))
    return np.logical_or.reduce(parts) if len(parts) > 1 else parts[0] if parts else np.zeros(numbers.shape, np.bool_)


def _between(numbers: NDArray[np.float64], low: Cut, high: Cut) -> Mask:
    """Compare with the finite ends only; a missing number is no number, and every comparison with it is false."""
    above = None if low == FIRST else (numbers > low[0] if low[1] else numbers >= low[0])
    below = None if high == LAST else (numbers <= high[0] if high[1] else numbers < high[0])
    if above is None or below is None:
        one = below if above is None else above
        return ~np.isnan(numbers) if one is None else np.asarray(one)
    return np.asarray(above & below)


def _in_texts(column: Codes, values: Texts) -> Mask:
    places = column.places
    named = [places[value] for value in values.values if value in places]
    if len(named) == 1 and not values.excluded and not values.missing:
        return np.asarray(column.values == named[0])
    held = np.full(len(places) + 1, values.excluded)
    held[named] = not values.excluded
    held[-1] = values.missing
    return np.asarray(held[column.values])


Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CubeAxis:
    """The distinct values of a column, and the place of each record's value among them."""

    values: Column
    places: NDArray[Any]

    @property
    def length(self) -> int:
        """The number of distinct values."""
        return len(self.values.values)


@dataclass(frozen=True, slots=True)
class Cube:
    """The number of records in each cell; a cell is one value of each column.

    Notes
    -----
    O(cells) per condition, O(records) to make one.

    Examples
    --------
    >>> from shoal.queries._conditions import In
    >>> from shoal.queries._conditions import Ranges
    >>> cube = Cube.of({"age": axis_of(Numbers(np.array([31.0, 45, 45, 78])), most=100)}, 4)
    >>> cube.count(In("age", Ranges((((40, 0), (50, 0)),))))
    2
    """

    axes: Mapping[str, CubeAxis]
    columns: Mapping[str, Column]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, axes: Mapping[str, CubeAxis], size: int) -> Cube:
        """Count the records of each cell."""
        shape = [axis.length for axis in axes.values()]
        counts = np.bincount(_cells(axes, size), minlength=math.prod(shape)).reshape(shape)
        columns = {name: _along(axis.values, i, len(axes)) for i, (name, axis) in enumerate(axes.items())}
        return cls(axes, columns, counts.astype(np.int64))

    def mask(self, where: Condition | None) -> Mask:
        """Return the cells for which a condition holds."""
        if where is None:
            return np.ones(self.counts.shape, np.bool_)
        return np.broadcast_to(holds(where, self.columns), self.counts.shape)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        return int(self.counts[self.mask(where)].sum())

    def along(self, attribute: str, where: Condition | None) -> NDArray[np.int64]:
        """Return the number of records at each value of one of the columns."""
        others = tuple(i for i, name in enumerate(self.axes) if name != attribute)
        found: NDArray[np.int64] = np.where(self.mask(where), self.counts, 0).sum(axis=others)
        return found

    def sums(self, units: NDArray[np.int64], present: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each cell the sum of whole numbers that records have, and how many have one."""
        cells = _cells(self.axes, units.size)[present]
        sums = np.zeros(self.counts.size, dtype=np.int64)
        # not `bincount` with weights, which adds up floats
        np.add.at(sums, cells, units[present])
        counts = np.bincount(cells, minlength=self.counts.size)
        return sums.reshape(self.counts.shape), counts.reshape(self.counts.shape)


def axis_of(column: Column, *, most: int) -> CubeAxis | None:
    """Return the distinct values of a column, unless they are more than ``most``."""
    if isinstance(column, Codes):
        length = len(column.places) + 1
        return CubeAxis(Codes(np.arange(length), column.places), column.values) if length <= most else None
    encoded = pa.array(column.values).dictionary_encode()
    length = len(encoded.dictionary)
    if length > most:
        return None
    places = encoded.indices.to_numpy().astype(np.min_scalar_type(length))
    return CubeAxis(Numbers(encoded.dictionary.to_numpy()), places)


def _cells(axes: Mapping[str, CubeAxis], size: int) -> NDArray[np.intp]:
    """Return the number of each record's cell, the last axis running fastest."""
    cells = np.zeros(size, dtype=np.intp)
    for axis in axes.values():
        cells *= axis.length
        cells += axis.places
    return cells


def _along(column: Column, place: int, dimensions: int) -> Column:
    """Return an axis shaped so that comparisons with it are broadcast over the others."""
    shape = [1] * dimensions
    shape[place] = -1
    values = column.values.reshape(shape)
    return Codes(values, column.places) if isinstance(column, Codes) else Numbers(values)


class Kept(Generic[Key, Value]):
    """The results that were asked for last, for threads to share."""

    def __init__(self, most: int) -> None:
        self._most, self._found, self._lock = most, dict[Key, Value](), threading.Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return a result, made now if it is not kept."""
        with self._lock:
            value = self._found.pop(key) if key in self._found else make()
            self._found[key] = value
            if len(self._found) > self._most:
                self._found.pop(next(iter(self._found)))
            return value
