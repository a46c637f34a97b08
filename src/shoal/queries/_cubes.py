"""Cubes: how many records have each combination of some columns' values.

A filter looks at few columns, and columns that filters look at have few values: counting the combinations once makes
every later filter on the same columns a matter of microseconds. A cube holds the same figures as the records do, so
answers are the same numbers with or without it. A condition is computed alike for records and for cells of a cube.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.kernels import Mask
from shoal.schema.conditions import FIRST, LAST, And, Condition, Cut, In, Not, Ranges, Texts

# 2^32 records of 2^31 units each still add up in 64 bits
LARGEST_UNITS = 1 << 31
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers as whole units: the integer nearest to (x - origin) / step, clamped to [low, high].

    Units are clamped after rounding, so whatever an engine's division does, a record adds at most
    ``max(abs(low), abs(high))`` to a sum, and sums of integers do not depend on the order of the records.
    """

    origin: Fraction
    step: Fraction
    low: int
    high: int

    @classmethod
    def between(cls, minimum: Fraction, maximum: Fraction, *, origin: Fraction, step: Fraction) -> Scale:
        """Return the scale of all numbers in [minimum, maximum]."""
        ends = [math.floor((end - origin) / step + Fraction(1, 2)) for end in (minimum, maximum)]
        return cls(origin, step, *ends)

    @property
    def sensitivity(self) -> int:
        """The most that one record can add to a sum, in units."""
        return max(abs(self.low), abs(self.high))

    def units(self, numbers: NDArray[np.float64]) -> Whole:
        """Return numbers in whole units."""
        nearest = np.floor((numbers - float(self.origin)) / float(self.step) + 0.5)
        return np.clip(nearest, self.low, self.high).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers and days; a missing one is no number."""

    values: NDArray[np.float64]

    def having(self, values: NDArray[np.float64]) -> Numbers:
        """Return a column of the same kind with other values."""
        return Numbers(values)


@dataclass(frozen=True, slots=True)
class Codes:
    """Texts by their places in a list; a missing one has the place after all others."""

    values: NDArray[Any]
    places: Mapping[str, int]

    def having(self, values: NDArray[Any]) -> Codes:
        """Return a column of the same kind with other values."""
        return Codes(values, self.places)


Column = Numbers | Codes


def holds(condition: Condition, columns: Mapping[str, Column]) -> Mask:
    """Return where a condition holds; columns of different shapes are broadcast."""
    if isinstance(condition, In):
        column, values = columns[condition.attribute], condition.values
        return _in_ranges(column.values, values) if isinstance(values, Ranges) else _in_texts(column, values)
    if isinstance(condition, Not):
        return ~holds(condition.part, columns)
    join = np.logical_and if isinstance(condition, And) else np.logical_or
    return reduce(join, (holds(part, columns) for part in condition.parts))


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


def _in_texts(column: Column, values: Texts) -> Mask:
    assert isinstance(column, Codes)  # noqa: S101
    places = column.places
    named = [places[value] for value in values.values if value in places]
    if len(named) == 1 and not values.excluded and not values.missing:
        return np.asarray(column.values == named[0])
    held = np.full(len(places) + 1, values.excluded)
    held[named] = not values.excluded
    held[-1] = values.missing
    return np.asarray(held[column.values])


class Tallies(ABC):
    """How many records have which value, for whoever can say which values the records have that are meant."""

    @abstractmethod
    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole]:
        """Return values of a column, with the number of records that are meant of each.

        All values are there whatever the condition selects, so that the same work is done whatever matches.
        """

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        numbers, counts = self._present(where, attribute)
        return _tally(scale.units(numbers) - scale.low, counts, scale.high - scale.low + 1)

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        numbers, counts = self._present(where, attribute)
        places = np.searchsorted(np.asarray(edges, dtype=np.float64), numbers, side="right")
        # place 0 is below the first edge, the last place at or above the last
        return _tally(places, counts, len(edges) + 1)[1:-1]

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        column, counts = self.chosen(where, attribute)
        assert isinstance(column, Codes)  # noqa: S101
        missing = len(column.places)
        found = [*_tally(column.values, counts, missing + 1), 0]
        return [found[missing if value is None else column.places.get(value, missing + 1)] for value in values]

    def _present(self, where: Condition | None, attribute: str) -> tuple[NDArray[np.float64], Whole]:
        """Return what `chosen` does, with 0 of some number for each missing one."""
        column, counts = self.chosen(where, attribute)
        present = ~np.isnan(column.values)
        return np.where(present, column.values, 0.0), counts * present


def _tally(places: NDArray[Any], counts: Whole, length: int) -> list[int]:
    """Return how many records have each place; counts below 2^53 are exact as floats."""
    return [int(n) for n in np.bincount(places, weights=counts, minlength=length)]


@dataclass(frozen=True, slots=True)
class Cube(Tallies):
    """The number of records in each cell; a cell is one value of each column.

    Cells stand in a row, with the values of each column in every cell, or on one axis per column, of which each holds
    the values of its column.

    Notes
    -----
    O(cells) per condition.

    Examples
    --------
    >>> from shoal.schema.conditions import In, Ranges
    >>> cube = Cube({"age": Numbers(np.array([31.0, 45, 78]))}, np.array([2, 5, 1]))
    >>> cube.count(In("age", Ranges((((40, 0), (50, 0)),))))
    5
    """

    columns: Mapping[str, Column]
    counts: Whole

    @classmethod
    def of(cls, axes: Mapping[str, CubeAxis], size: int) -> Cube:
        """Count the records of each cell, with one axis per column. O(records)."""
        shape = [axis.length for axis in axes.values()]
        counts = np.bincount(cells_of(axes, size), minlength=math.prod(shape)).reshape(shape)
        # each axis is shaped so that comparisons with it are broadcast over the others
        columns = {
            name: axis.values.having(axis.values.values.reshape([-1 if i == place else 1 for i in range(len(axes))]))
            for place, (name, axis) in enumerate(axes.items())
        }
        return cls(columns, counts.astype(np.int64))

    def mask(self, where: Condition | None) -> Mask:
        """Return the cells for which a condition holds."""
        if where is None:
            return np.ones(self.counts.shape, np.bool_)
        return np.broadcast_to(holds(where, self.columns), self.counts.shape)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        return int((self.counts * self.mask(where)).sum())

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        numbers, counts = self._present(where, attribute)
        return int((scale.units(numbers) * counts).sum()), int(counts.sum())

    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole]:
        column, counts = self.columns[attribute], self.counts * self.mask(where)
        if column.values.shape != self.counts.shape:
            counts = counts.sum(axis=tuple(i for i, length in enumerate(column.values.shape) if length == 1))
        return column.having(column.values.reshape(-1)), counts.reshape(-1)

    def sums(self, cells: NDArray[np.intp], units: Whole) -> tuple[Whole, Whole]:
        """Return for each cell the sum of whole numbers that records in these cells have, and how many there are."""
        sums = np.zeros(self.counts.size, dtype=np.int64)
        # not `bincount` with weights, which adds up floats
        np.add.at(sums, cells, units)
        counts = np.bincount(cells, minlength=self.counts.size)
        return sums.reshape(self.counts.shape), counts.reshape(self.counts.shape)


@dataclass(frozen=True, slots=True)
class CubeAxis:
    """The distinct values of a column, and the place of each record's value among them."""

    values: Column
    places: NDArray[Any]

    @property
    def length(self) -> int:
        """The number of distinct values."""
        return len(self.values.values)


def axis_of(column: Column, *, most: int) -> CubeAxis | None:
    """Return the distinct values of a column, unless they are more than ``most``."""
    if isinstance(column, Codes):
        length = len(column.places) + 1
        return CubeAxis(column.having(np.arange(length)), column.values) if length <= most else None
    encoded = pa.array(column.values).dictionary_encode()
    length = len(encoded.dictionary)
    if length > most:
        return None
    places = encoded.indices.to_numpy().astype(np.min_scalar_type(length))
    return CubeAxis(Numbers(encoded.dictionary.to_numpy()), places)


def cells_of(axes: Mapping[str, CubeAxis], size: int) -> NDArray[np.intp]:
    """Return the number of each record's cell, the last axis running fastest."""
    cells = np.zeros(size, dtype=np.intp)
    for axis in axes.values():
        cells *= axis.length
        cells += axis.places
    return cells


Key = TypeVar("Key")
Value = TypeVar("Value")


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
