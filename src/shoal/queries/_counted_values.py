"""Figures of values that were counted before: a column's values, and how many records have each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.kernels import Mask
from shoal.queries._conditions import Condition
from shoal.queries._cubes import Codes, Column, Numbers, holds
from shoal.queries._records import Scale
from shoal.schema.rules import text

# date.toordinal() of the day that Arrow counts from
_EPOCH = 719163
Whole = NDArray[np.int64]


class Tallies(ABC):
    """How many records have which value, for whoever can say which values the records have that are meant."""

    @abstractmethod
    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole | None]:
        """Return values of a column with the number of records of each; None: each is one record's."""

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        numbers, counts = self._present(where, attribute)
        return _tally(units_of(numbers, scale) - scale.low, counts, scale.high - scale.low + 1)

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

    def _present(self, where: Condition | None, attribute: str) -> tuple[NDArray[np.float64], Whole | None]:
        """Return what `chosen` does, without missing numbers."""
        column, counts = self.chosen(where, attribute)
        present = ~np.isnan(column.values)
        return column.values[present], None if counts is None else counts[present]


class CountedValues(Tallies):
    """The combinations of some columns' values that occur, and how many records have each.

    Examples
    --------
    >>> from shoal.queries._conditions import In, Ranges
    >>> cells = CountedValues({"age": Numbers(np.array([31.0, 45, 78]))}, np.array([2, 5, 1]))
    >>> cells.count(In("age", Ranges((((40, 0), (50, 0)),))))
    5
    """

    def __init__(self, columns: Mapping[str, Column], counts: Whole) -> None:
        self._columns, self._counts = columns, counts

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        return int(self._counts[self._mask(where)].sum())

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        numbers, counts = self._present(where, attribute)
        assert counts is not None  # noqa: S101
        return int((units_of(numbers, scale) * counts).sum()), int(counts.sum())

    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole | None]:
        """Return the values of a column with the number of records of each."""
        column, mask = self._columns[attribute], self._mask(where)
        values = column.values[mask]
        return (Codes(values, column.places) if isinstance(column, Codes) else Numbers(values)), self._counts[mask]

    def _mask(self, where: Condition | None) -> Mask:
        return np.ones(len(self._counts), np.bool_) if where is None else holds(where, self._columns)


def units_of(numbers: NDArray[np.float64], scale: Scale) -> Whole:
    """Return numbers in whole units."""
    nearest = np.floor((numbers - float(scale.origin)) / float(scale.step) + 0.5)
    return np.clip(nearest, scale.low, scale.high).astype(np.int64)


def _tally(places: NDArray[Any], counts: Whole | None, length: int) -> list[int]:
    """Return how many records have each place; counts below 2^53 are exact as floats."""
    return [int(n) for n in np.bincount(places, weights=counts, minlength=length)]


def numbers_of(column: pa.ChunkedArray, *, dates: bool = False) -> Numbers:
    """Return a column of numbers, or of days as their ordinals."""
    if dates:
        column = pc.add(column.cast(pa.date32()).cast(pa.int32()), _EPOCH)
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return Numbers(np.ascontiguousarray(numbers, dtype=np.float64))


def codes_of(column: pa.ChunkedArray) -> Codes:
    """Return a number for each record's value, as small as possible, and the numbers of the values."""
    encoded = text(column).dictionary_encode()
    places = {value: code for code, value in enumerate(encoded.dictionary.to_pylist())}
    codes = encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
    return Codes(codes.astype(np.min_scalar_type(len(places))), places)
