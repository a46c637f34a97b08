"""Records kept on an engine: conditions select some of them, and only figures come back."""

from __future__ import annotations

import datetime as dt
import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from shoal.errors import SchemaError
from shoal.schema import Attribute, Kind
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


Selection: TypeAlias = "ir.BooleanValue"
"""Which records of a store are meant; made by its methods."""

_EPOCH = dt.date(1970, 1, 1)


class RecordStore:
    """The records of a table, copied once on its engine.

    Numbers (and days, as their ordinals) are compared as 64-bit floats and texts as texts, so that a selection means
    the same on every engine.

    Parameters
    ----------
    table
        A table with a schema.
    """

    def __init__(self, table: Table) -> None:
        assert table.schema is not None  # noqa: S101
        self._engine = table.engine
        columns = {each.name: _column(table.expression[each.name], each) for each in table.schema}
        # positions for names: a column's own name may hold anything
        self._names = {name: f"c{i}" for i, name in enumerate(columns)}
        self._records = table.engine.keep(
            table.expression.select(**{self._names[name]: column for name, column in columns.items()})
        )
        self._lock = threading.Lock()

    def within(
        self, name: str, ranges: Sequence[tuple[tuple[float, int], tuple[float, int]]], *, missing: bool
    ) -> Selection:
        """Select the records whose number lies in one of some ranges, and those without one if ``missing``.

        The end ``(x, 0)`` of a range lies directly before x, ``(x, 1)`` directly after.
        """
        import ibis

        column: Any = self._records[self._names[name]]
        held: Any = column.isnull() if missing else ibis.literal(False)
        for low, high in ranges:
            held = held | (_above(column, low) & _below(column, high)).fill_null(False)
        return held

    def among(self, name: str, values: Sequence[str], *, excluded: bool, missing: bool) -> Selection:
        """Select the records whose text is listed (or not, if ``excluded``), and those without one if ``missing``."""
        import ibis

        column: Any = self._records[self._names[name]]
        named: Any = column.isin(list(values)) if values else ibis.literal(False)
        held = (~named if excluded else named).fill_null(False) & column.notnull()
        return held | column.isnull() if missing else held

    @staticmethod
    def every(parts: Sequence[Selection]) -> Selection:
        """Select the records that all parts select."""
        return reduce(lambda a, b: a & b, parts)

    @staticmethod
    def some(parts: Sequence[Selection]) -> Selection:
        """Select the records that at least one part selects."""
        return reduce(lambda a, b: a | b, parts)

    def count(self, where: Selection | None) -> int:
        """Return the number of records."""
        records = self._where(where)
        return int(self._row(records.aggregate(n=records.count()))["n"])

    def combinations(
        self, names: Sequence[str], *, most: int
    ) -> tuple[dict[str, pa.ChunkedArray], pa.ChunkedArray] | None:
        """Return the combinations of some columns' values, by column, and the number of records of each.

        None if more than ``most`` occur.
        """
        keys = [self._names[name] for name in names]
        grouped = self._records.group_by(keys).aggregate(n=self._records.count()).limit(most + 1)
        with self._lock:
            rows = self._engine.fetch(grouped)
        if rows.num_rows > most:
            return None
        return {name: rows[key] for name, key in zip(names, keys, strict=True)}, rows["n"]

    def total(
        self, where: Selection | None, name: str, *, origin: Fraction, step: Fraction, bounds: tuple[int, int]
    ) -> tuple[int, int]:
        """Return the sum of a column in units, and the number of records that have a value.

        A number x has the unit nearest to (x - ``origin``) / ``step``, clamped to ``bounds``.
        """
        records = self._units(where, name, origin, step, bounds)
        row = self._row(records.aggregate(s=records.unit.sum(), n=records.count()))
        return int(row["s"] or 0), int(row["n"])

    def tally(
        self, where: Selection | None, name: str, *, origin: Fraction, step: Fraction, bounds: tuple[int, int]
    ) -> list[int]:
        """Return how many records lie at each unit in ``bounds``; see :meth:`total`."""
        found = self._counted(self._units(where, name, origin, step, bounds), "unit")
        return [found.get(unit, 0) for unit in range(bounds[0], bounds[1] + 1)]

    def tally_between(self, where: Selection | None, name: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        records = self._where(where)
        column: Any = records[self._names[name]]
        places = column.bucket([float(edge) for edge in edges], closed="left", close_extreme=False)
        found = self._counted(records.select(place=places), "place")
        return [found.get(place, 0) for place in range(len(edges) - 1)]

    def tally_texts(self, where: Selection | None, name: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        records = self._where(where)
        found = self._counted(records.select(value=records[self._names[name]]), "value")
        return [found.get(value, 0) for value in values]

    def value_of(self, identifier: str, person: str, name: str) -> str | float | None:
        """Return a value of the one record with this identifier; None if there is none, or more than one."""
        records = self._records.filter(self._records[self._names[identifier]] == person)
        column: Any = records[self._names[name]]
        row = self._row(records.aggregate(n=records.count(), value=column.min()))
        return row["value"] if row["n"] == 1 else None

    def _row(self, expression: ir.Table) -> dict[str, Any]:
        with self._lock:
            return dict(self._engine.fetch(expression).to_pylist()[0])

    def _counted(self, records: ir.Table, name: str) -> dict[Any, int]:
        with self._lock:
            rows = self._engine.fetch(records.group_by(name).aggregate(n=records.count()))
        return dict(zip(rows[name].to_pylist(), rows["n"].to_pylist(), strict=True))

    def _units(
        self, where: Selection | None, name: str, origin: Fraction, step: Fraction, bounds: tuple[int, int]
    ) -> ir.Table:
        records = self._where(where)
        column: Any = records[self._names[name]]
        units = ((column - float(origin)) / float(step) + 0.5).floor()
        bounded = units.clip(lower=float(bounds[0]), upper=float(bounds[1])).cast("int64")
        return records.filter(column.notnull()).select(unit=bounded)

    def _where(self, selection: Selection | None) -> ir.Table:
        return self._records if selection is None else self._records.filter(selection)


def _above(column: Any, cut: tuple[float, int]) -> Any:
    if cut == (-math.inf, 0):
        return column.notnull()
    return column > cut[0] if cut[1] else column >= cut[0]


def _below(column: Any, cut: tuple[float, int]) -> Any:
    if cut == (math.inf, 1):
        return column.notnull()
    return column <= cut[0] if cut[1] else column < cut[0]


def _column(column: Any, attribute: Attribute) -> Any:
    """Return a column as numbers or texts."""
    kind = column.type()
    if attribute.kind is Kind.NUMERIC:
        return column.cast("float64")
    if attribute.kind is Kind.DATE:
        # days as their ordinals, which filters speak of
        return (column.delta(_EPOCH, unit="day") + _EPOCH.toordinal()).cast("float64")
    if kind.is_string():
        return column
    if kind.is_integer() or kind.is_boolean():
        return column.cast("string")
    raise SchemaError(
        f"column `{attribute.name}`: values of type {kind} cannot be queried as categories.",
        hint="declare the column as numeric, or store it as text",
    )
