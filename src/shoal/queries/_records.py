"""The records that answers look at, in memory or on their engine: exact figures, which never leave a session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import SchemaError
from shoal.kernels import Mask
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.queries._cubes import (
    Codes,
    Column,
    Cube,
    CubeAxis,
    Kept,
    Numbers,
    Scale,
    Tallies,
    Whole,
    axis_of,
    cells_of,
    holds,
)
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Kind, Schema
from shoal.schema.conditions import And, Condition, In, Not, Ranges, attributes
from shoal.schema.rules import text
from shoal.tables import RecordStore, Selection, Table

# records times columns; above it the records stay on their engine
LARGEST_IN_MEMORY = 100_000_000
# columns in units, and cubes, that are kept for the next query
KEPT_COLUMNS = 8
KEPT_CUBES = 64
KEPT_CELLS = 32
# a condition on these many cells takes a tenth of a millisecond in memory, and a millisecond where an engine counted
LARGEST_CUBE = 1 << 16
LARGEST_CELLS = 1 << 18
# date.toordinal() of the day that Arrow counts from
_EPOCH = 719163


def records_of(
    table: Table, unit: Unit = RECORD, *, in_memory: bool | None = None, source: RandomSource = SYSTEM
) -> tuple[Schema, ExactFigures]:
    """Return the schema and the records of a table that answers look at, in memory where they are few enough."""
    if table.schema is None:
        raise SchemaError(
            "queries need a table with a schema, because sensitivities come from its declared domains.",
            hint="shoal.read(..., schema=...)",
        )
    if in_memory is None:
        in_memory = table.count() * len(table.columns) <= LARGEST_IN_MEMORY
    kept = unit.bounded(table, source)
    return table.schema, MemoryRecords(kept) if in_memory else EngineRecords(kept)


class ExactFigures(Protocol):
    """Exact figures of the records for which a condition holds. Numbers of days count as numbers."""

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        ...

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        ...

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit from ``scale.low`` to ``scale.high``."""
        ...

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        ...

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value; None is the missing one."""
        ...

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier; None if there is none, or more than one."""
        ...


class MemoryRecords(Tallies):
    """Records in memory, column by column, and counted by the columns that filters look at.

    The same work is done whatever a filter selects: values are multiplied by 0 or 1, never picked. A filter on columns
    with at most ``most_cells`` combinations of values is answered from a cube of counts, made for the first such
    filter; any other filter looks at all records.
    """

    def __init__(self, table: Table, *, most_cells: int = LARGEST_CUBE) -> None:
        assert table.schema is not None  # noqa: S101
        self._most_cells = most_cells
        self._columns: dict[str, Column] = {}
        self._identifiers: dict[str, pa.StringArray] = {}
        self._axes: Kept[str, CubeAxis | None] = Kept(len(table.columns))
        self._cubes: Kept[frozenset[str], Cube | None] = Kept(KEPT_CUBES)
        self._sums: Kept[tuple[frozenset[str], str, Scale], tuple[Whole, Whole]] = Kept(KEPT_CUBES)
        self._units: Kept[tuple[str, Scale], tuple[Whole, Mask]] = Kept(KEPT_COLUMNS)
        rows = table.to_arrow()
        self._size: int = rows.num_rows
        for attribute in table.schema:
            column = rows[attribute.name]
            if attribute.kind in (Kind.NUMERIC, Kind.DATE):
                self._columns[attribute.name] = _numbers(column, dates=attribute.kind is Kind.DATE)
            elif attribute.role.names_someone:
                self._identifiers[attribute.name] = text(column)
            else:
                self._columns[attribute.name] = _codes(column)

    def count(self, where: Condition | None) -> int:
        if where is None:
            return self._size
        cube = self._cube(attributes(where))
        if cube is not None:
            return cube.count(where)
        return int(np.count_nonzero(holds(where, self._columns)))

    def names(self, identifier: str) -> pa.StringArray:
        """Return the identifiers of all records, in the order of `holding`: an engine may hand them out in another."""
        column = self._columns.get(identifier)
        return self._identifiers[identifier] if column is None else text(pa.array(column.values))

    def holding(self, where: Condition | None) -> Mask:
        """Return for which records a condition holds."""
        return np.ones(self._size, np.bool_) if where is None else holds(where, self._columns)

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        names = attributes(where)
        cube = self._cube(names)
        if cube is not None:
            mask, key = cube.mask(where), (names, attribute, scale)
            sums, counts = self._sums.get(key, lambda: self._summed(cube, *key))
            return int((sums * mask).sum()), int((counts * mask).sum())
        units, present = self._in_units(attribute, scale)
        # multiplied, not picked: the time must not tell how many match
        chosen = present if where is None else present & holds(where, self._columns)
        return int((units * chosen).sum()), int(np.count_nonzero(chosen))

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        # every record is compared, so the time does not tell where the person stands
        found = np.flatnonzero(pc.equal(self._identifiers[identifier], person).fill_null(False))
        if len(found) != 1:
            return None
        column = self._columns[attribute]
        own = column.values[int(found[0])]
        if isinstance(column, Numbers):
            return None if np.isnan(own) else float(own)
        return next((value for value, code in column.places.items() if code == own), None)

    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole]:
        cube = self._cube(attributes(where) | {attribute})
        if cube is not None:
            return cube.chosen(where, attribute)
        column = self._columns[attribute]
        selected = np.ones(self._size, np.bool_) if where is None else holds(where, self._columns)
        return column, selected.astype(np.int64)

    def _cube(self, names: frozenset[str]) -> Cube | None:
        """Return the cube of some columns, unless it has too many cells."""

        def make() -> Cube | None:
            axes = self._axes_of(names)
            if axes is None or math.prod(axis.length for axis in axes.values()) > self._most_cells:
                return None
            return Cube.of(axes, self._size)

        return self._cubes.get(names, make)

    def _axes_of(self, names: frozenset[str]) -> dict[str, CubeAxis] | None:
        found: dict[str, CubeAxis] = {}
        for name in sorted(names):
            axis = self._axis(name)
            if axis is None:
                return None
            found[name] = axis
        return found

    def _axis(self, name: str) -> CubeAxis | None:
        return self._axes.get(name, lambda: axis_of(self._columns[name], most=self._most_cells))

    def _summed(self, cube: Cube, names: frozenset[str], attribute: str, scale: Scale) -> tuple[Whole, Whole]:
        """Return the sum of the units in each cell of a cube, and how many records have one."""
        units, present = self._in_units(attribute, scale)
        axes = self._axes_of(names)
        assert axes is not None  # noqa: S101 - the cube has them
        return cube.sums(cells_of(axes, self._size)[present], units[present])

    def _in_units(self, attribute: str, scale: Scale) -> tuple[Whole, Mask]:
        """Return the units of all records, and which records have one."""

        def make() -> tuple[Whole, Mask]:
            numbers = self._columns[attribute].values
            present = ~np.isnan(numbers)
            return scale.units(np.where(present, numbers, 0.0)), present

        return self._units.get((attribute, scale), make)


class EngineRecords:
    """Records that were copied once on their engine and stay there.

    The engine counts the combinations of the columns that a query looks at once, if at most ``most_cells`` occur, and
    further queries on the same columns are answered from that; so are sums of a column with many values by columns with
    few. Any other query looks at all records.
    """

    def __init__(self, table: Table, *, most_cells: int = LARGEST_CELLS) -> None:
        self._store, self._most_cells = RecordStore(table), most_cells
        self._kept: Kept[frozenset[str], Cube | None] = Kept(KEPT_CELLS)
        self._sums: Kept[tuple[frozenset[str], str, Scale], tuple[Cube, Whole]] = Kept(KEPT_CELLS)

    def count(self, where: Condition | None) -> int:
        cells = self._cells(attributes(where))
        return self._store.count(self._selected(where)) if cells is None else cells.count(where)

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.total(where, attribute, scale)
        names = attributes(where)
        if names and self._cells(names) is not None:
            present, sums = self._sums.get((names, attribute, scale), lambda: self._added(names, attribute, scale))
            return int((sums * present.mask(where)).sum()), present.count(where)
        return self._store.total(self._selected(where), attribute, **_units(scale))

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally(where, attribute, scale)
        return self._store.tally(self._selected(where), attribute, **_units(scale))

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally_between(where, attribute, edges)
        return self._store.tally_between(self._selected(where), attribute, edges)

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally_texts(where, attribute, values)
        return self._store.tally_texts(self._selected(where), attribute, values)

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        return self._store.value_of(identifier, person, attribute)

    def _cells(self, names: frozenset[str]) -> Cube | None:
        """Return the counts of some columns, unless they or one of the columns alone have too many combinations."""
        if len(names) > 1 and any(self._cells(frozenset({name})) is None for name in names):
            return None
        return self._kept.get(names, lambda: self._counted(sorted(names)))

    def _counted(self, names: Sequence[str]) -> Cube | None:
        if not names:
            return Cube({}, np.array([self._store.count(None)], dtype=np.int64))
        found = self._store.combinations(names, most=self._most_cells)
        if found is None:
            return None
        columns, counts = found
        return Cube({name: _column(each) for name, each in columns.items()}, counts.to_numpy().astype(np.int64))

    def _added(self, names: frozenset[str], attribute: str, scale: Scale) -> tuple[Cube, Whole]:
        """Return the records with a value, and its sum in units, by combination of some columns with few of them."""
        columns, sums, counts = self._store.totals(sorted(names), attribute, **_units(scale))
        cube = Cube({name: _column(each) for name, each in columns.items()}, counts.to_numpy().astype(np.int64))
        return cube, sums.cast(pa.int64()).to_numpy()

    def _selected(self, condition: Condition | None) -> Selection | None:
        return None if condition is None else self._selection(condition)

    def _selection(self, condition: Condition) -> Selection:
        if isinstance(condition, In):
            name, values = condition.attribute, condition.values
            if isinstance(values, Ranges):
                return self._store.within(name, values.parts, missing=values.missing)
            return self._store.among(name, sorted(values.values), excluded=values.excluded, missing=values.missing)
        if isinstance(condition, Not):
            return ~self._selection(condition.part)
        parts = [self._selection(part) for part in condition.parts]
        return self._store.every(parts) if isinstance(condition, And) else self._store.some(parts)


def _units(scale: Scale) -> dict[str, Any]:
    return {"origin": scale.origin, "step": scale.step, "bounds": (scale.low, scale.high)}


def _column(values: pa.ChunkedArray) -> Column:
    return _numbers(values) if pa.types.is_floating(values.type) else _codes(values)


def _numbers(column: pa.ChunkedArray, *, dates: bool = False) -> Numbers:
    """Return a column of numbers, or of days as their ordinals."""
    if dates:
        column = pc.add(column.cast(pa.date32()).cast(pa.int32()), _EPOCH)
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return Numbers(np.ascontiguousarray(numbers, dtype=np.float64))


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return a number for each record's value, as small as possible, and the numbers of the values."""
    encoded = text(column).dictionary_encode()
    places = {value: code for code, value in enumerate(encoded.dictionary.to_pylist())}
    codes = encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
    return Codes(codes.astype(np.min_scalar_type(len(places))), places)
