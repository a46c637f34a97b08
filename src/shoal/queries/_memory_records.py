"""Records in memory, column by column, and counted by the columns that filters look at."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import Mask
from shoal.queries._conditions import Condition, attributes
from shoal.queries._counted_values import Tallies, Whole, codes_of, numbers_of, units_of
from shoal.queries._cubes import Codes, Column, Cube, CubeAxis, Kept, Numbers, axis_of, holds
from shoal.queries._records import Scale
from shoal.schema import Kind
from shoal.schema.rules import text
from shoal.tables import Table

# columns in units, and cubes, that are kept for the next query
KEPT_COLUMNS = 8
KEPT_CUBES = 64
# a condition on these many cells takes a tenth of a millisecond
LARGEST_CUBE = 1 << 16


class MemoryRecords(Tallies):
    """See :class:`shoal.queries._records.ExactFigures`.

    Parameters
    ----------
    most_cells
        A filter on columns with at most so many combinations of values is answered from a cube of counts, made for
        the first such filter; any other filter looks at all records.
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
                self._columns[attribute.name] = numbers_of(column, dates=attribute.kind is Kind.DATE)
            elif attribute.role.names_someone:
                self._identifiers[attribute.name] = text(column)
            else:
                self._columns[attribute.name] = codes_of(column)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        if where is None:
            return self._size
        cube = self._cube(attributes(where))
        if cube is not None:
            return cube.count(where)
        return int(np.count_nonzero(holds(where, self._columns)))

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        names = attributes(where)
        cube = self._cube(names)
        if cube is not None:
            mask = cube.mask(where)
            key = (names, attribute, scale)
            sums, counts = self._sums.get(key, lambda: cube.sums(*self._in_units(attribute, scale)))
            return int(sums[mask].sum()), int(counts[mask].sum())
        units, present = self._in_units(attribute, scale)
        chosen = units[present if where is None else present & holds(where, self._columns)]
        return int(chosen.sum()), chosen.size

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier."""
        # every record is compared, so the time does not tell where the person stands
        found = np.flatnonzero(pc.equal(self._identifiers[identifier], person).fill_null(False))
        if len(found) != 1:
            return None
        column = self._columns[attribute]
        own = column.values[int(found[0])]
        if isinstance(column, Numbers):
            return None if np.isnan(own) else float(own)
        return next((value for value, code in column.places.items() if code == own), None)

    def _cube(self, names: frozenset[str]) -> Cube | None:
        return self._cubes.get(names, lambda: self._counted(sorted(names)))

    def _counted(self, names: Sequence[str]) -> Cube | None:
        """Return the cube of some columns, unless it has too many cells."""
        axes: dict[str, CubeAxis] = {}
        for name in names:
            axis = self._axis(name)
            if axis is None:
                return None
            axes[name] = axis
        few = math.prod(axis.length for axis in axes.values()) <= self._most_cells
        return Cube.of(axes, self._size) if few else None

    def _axis(self, name: str) -> CubeAxis | None:
        return self._axes.get(name, lambda: axis_of(self._columns[name], most=self._most_cells))

    def chosen(self, where: Condition | None, attribute: str) -> tuple[Column, Whole | None]:
        """Return the distinct values of a column with their counts, or its value in each record that is meant."""
        cube = self._cube(attributes(where) | {attribute})
        if cube is not None:
            return cube.axes[attribute].values, cube.along(attribute, where)
        column = self._columns[attribute]
        if where is None:
            return column, None
        values = column.values[holds(where, self._columns)]
        return (Codes(values, column.places) if isinstance(column, Codes) else Numbers(values)), None

    def _in_units(self, attribute: str, scale: Scale) -> tuple[Whole, Mask]:
        """Return the units of all records, and which records have one."""

        def make() -> tuple[Whole, Mask]:
            numbers = self._columns[attribute].values
            present = ~np.isnan(numbers)
            return units_of(np.where(present, numbers, 0.0), scale), present

        return self._units.get((attribute, scale), make)
