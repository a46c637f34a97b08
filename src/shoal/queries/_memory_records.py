"""Records in memory, column by column: figures in under a millisecond per million records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.hierarchies import text
from shoal.queries._conditions import And, Condition, In, Not
from shoal.queries._records import Scale
from shoal.queries._regions import FIRST, LAST, Cut, Ranges, Texts
from shoal.schema import Kind, Role
from shoal.tables import Table

__all__ = ["MemoryRecords"]

# date.toordinal() of the day that Arrow counts from
_EPOCH = 719163
# columns in units that are kept for the next query
KEPT = 8
Mask = NDArray[np.bool_]


class MemoryRecords:
    """See :class:`shoal.queries._records.Records`. Conditions are evaluated with NumPy, on all records."""

    def __init__(self, table: Table) -> None:
        assert table.schema is not None  # noqa: S101
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._codes: dict[str, tuple[NDArray[Any], dict[str, int]]] = {}
        self._identifiers: dict[str, pa.StringArray] = {}
        self._kept: dict[tuple[str, Scale], tuple[NDArray[np.int64], Mask]] = {}
        self._lock = threading.Lock()
        rows = table.to_arrow()
        self._size = rows.num_rows
        for attribute in table.schema:
            column = rows[attribute.name]
            if attribute.kind in (Kind.NUMERIC, Kind.DATE):
                self._numbers[attribute.name] = _numbers(column, dates=attribute.kind is Kind.DATE)
            elif attribute.role is Role.IDENTIFIER:
                self._identifiers[attribute.name] = text(column)
            else:
                self._codes[attribute.name] = _coded(column)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        return self._size if where is None else int(np.count_nonzero(self._holds(where)))

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        units = self._units(where, attribute, scale)
        return int(units.sum()), units.size

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        units = self._units(where, attribute, scale) - scale.low
        return [int(n) for n in np.bincount(units, minlength=scale.high - scale.low + 1)]

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        places = np.searchsorted(np.asarray(edges, dtype=np.float64), self._present(where, attribute), side="right")
        # place 0 is below the first edge, the last place at or above the last
        return [int(n) for n in np.bincount(places, minlength=len(edges) + 1)[1:-1]]

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        codes, places = self._codes[attribute]
        chosen = codes if where is None else codes[self._holds(where)]
        # the missing value has the code after all others
        counts = np.bincount(chosen, minlength=len(places) + 1)
        absent = len(counts)
        counts = np.append(counts, 0)
        return [int(counts[len(places) if value is None else places.get(value, absent)]) for value in values]

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier."""
        # every record is compared, so the time does not tell where the person stands
        found = np.flatnonzero(pc.equal(self._identifiers[identifier], person).fill_null(False))
        if len(found) != 1:
            return None
        row = int(found[0])
        if attribute in self._numbers:
            number = float(self._numbers[attribute][row])
            return None if np.isnan(number) else number
        codes, places = self._codes[attribute]
        return next((value for value, code in places.items() if code == codes[row]), None)

    def _units(self, where: Condition | None, attribute: str, scale: Scale) -> NDArray[np.int64]:
        units, present = self._in_units(attribute, scale)
        return units[present if where is None else present & self._holds(where)]

    def _in_units(self, attribute: str, scale: Scale) -> tuple[NDArray[np.int64], Mask]:
        """Return the units of all records, kept for the next query, and which records have one."""
        with self._lock:
            kept = self._kept.pop((attribute, scale), None)
            if kept is None:
                numbers = self._numbers[attribute]
                present = ~np.isnan(numbers)
                nearest = np.floor((np.where(present, numbers, 0.0) - float(scale.origin)) / float(scale.step) + 0.5)
                kept = np.clip(nearest, scale.low, scale.high).astype(np.int64), present
            self._kept[attribute, scale] = kept
            if len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
            return kept

    def _present(self, where: Condition | None, attribute: str) -> NDArray[np.float64]:
        numbers = self._numbers[attribute]
        held = ~np.isnan(numbers)
        return numbers[held if where is None else held & self._holds(where)]

    def _holds(self, condition: Condition) -> Mask:
        if isinstance(condition, In):
            return self._in(condition)
        if isinstance(condition, Not):
            return ~self._holds(condition.part)
        joined = self._holds(condition.parts[0])
        for part in condition.parts[1:]:
            joined = joined & self._holds(part) if isinstance(condition, And) else joined | self._holds(part)
        return joined

    def _in(self, condition: In) -> Mask:
        if isinstance(condition.values, Ranges):
            return _in_ranges(self._numbers[condition.attribute], condition.values)
        return _in_texts(*self._codes[condition.attribute], condition.values)


def _in_ranges(numbers: NDArray[np.float64], values: Ranges) -> Mask:
    parts = [_between(numbers, low, high) for low, high in values.parts]
    if values.missing:
        parts.append(np.isnan(numbers))
    return np.logical_or.reduce(parts) if len(parts) > 1 else parts[0] if parts else np.zeros(numbers.size, np.bool_)


def _between(numbers: NDArray[np.float64], low: Cut, high: Cut) -> Mask:
    """Compare with the finite ends only; a missing number is no number, and every comparison with it is false."""
    above = None if low == FIRST else (numbers > low[0] if low[1] else numbers >= low[0])
    below = None if high == LAST else (numbers <= high[0] if high[1] else numbers < high[0])
    if above is None or below is None:
        one = below if above is None else above
        return ~np.isnan(numbers) if one is None else np.asarray(one)
    return np.asarray(above & below)


def _in_texts(codes: NDArray[Any], places: dict[str, int], values: Texts) -> Mask:
    named = [places[value] for value in values.values if value in places]
    if len(named) == 1 and not values.excluded and not values.missing:
        return np.asarray(codes == named[0])
    held = np.full(len(places) + 1, values.excluded)
    held[named] = not values.excluded
    held[-1] = values.missing
    return np.asarray(held[codes])


def _numbers(column: pa.ChunkedArray, *, dates: bool) -> NDArray[np.float64]:
    if dates:
        column = pc.add(column.cast(pa.date32()).cast(pa.int32()), _EPOCH)
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[Any], dict[str, int]]:
    """Return a number for each record's value, as small as possible, and the numbers of the values."""
    encoded = text(column).dictionary_encode()
    places = {value: code for code, value in enumerate(encoded.dictionary.to_pylist())}
    codes = encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
    return codes.astype(np.min_scalar_type(len(places))), places
