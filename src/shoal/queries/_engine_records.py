"""Records on an engine: conditions become Ibis expressions, and only figures come back."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from shoal.errors import SchemaError
from shoal.queries._conditions import And, Condition, In, Not
from shoal.queries._records import Scale
from shoal.queries._regions import FIRST, LAST, Cut, Ranges, Texts
from shoal.schema import Attribute, Kind
from shoal.tables import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["EngineRecords"]

_EPOCH = dt.date(1970, 1, 1)


class EngineRecords:
    """See :class:`shoal.queries._records.Records`. The records are copied once on the engine and stay there.

    Numbers are compared as 64-bit floats and texts as texts, so that a condition means the same on every engine and
    in memory.
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

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        records = self._where(where)
        return int(self._row(records.aggregate(n=records.count()))["n"])

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        records = self._units(where, attribute, scale)
        row = self._row(records.aggregate(s=records.unit.sum(), n=records.count()))
        return int(row["s"] or 0), int(row["n"])

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        found = self._counted(self._units(where, attribute, scale), "unit")
        return [found.get(unit, 0) for unit in range(scale.low, scale.high + 1)]

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        records = self._where(where)
        column = records[self._names[attribute]]
        places = column.bucket([float(edge) for edge in edges], closed="left", close_extreme=False)
        found = self._counted(records.select(place=places), "place")
        return [found.get(place, 0) for place in range(len(edges) - 1)]

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        records = self._where(where)
        found = self._counted(records.select(value=records[self._names[attribute]]), "value")
        return [found.get(value, 0) for value in values]

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier."""
        records = self._records.filter(self._records[self._names[identifier]] == person)
        column = records[self._names[attribute]]
        row = self._row(records.aggregate(n=records.count(), value=column.min()))
        return row["value"] if row["n"] == 1 else None

    def _row(self, expression: ir.Table) -> dict[str, Any]:
        with self._lock:
            return dict(self._engine.fetch(expression).to_pylist()[0])

    def _counted(self, records: ir.Table, name: str) -> dict[Any, int]:
        with self._lock:
            rows = self._engine.fetch(records.group_by(name).aggregate(n=records.count()))
        return dict(zip(rows[name].to_pylist(), rows["n"].to_pylist(), strict=True))

    def _units(self, where: Condition | None, attribute: str, scale: Scale) -> ir.Table:
        records = self._where(where)
        column = records[self._names[attribute]]
        units = ((column - float(scale.origin)) / float(scale.step) + 0.5).floor()
        bounded = units.clip(lower=float(scale.low), upper=float(scale.high)).cast("int64")
        return records.filter(column.notnull()).select(unit=bounded)

    def _where(self, condition: Condition | None) -> ir.Table:
        return self._records if condition is None else self._records.filter(self._holds(condition))

    def _holds(self, condition: Condition) -> Any:
        if isinstance(condition, In):
            column, values = self._records[self._names[condition.attribute]], condition.values
            return _in_ranges(column, values) if isinstance(values, Ranges) else _in_texts(column, values)
        if isinstance(condition, Not):
            return ~self._holds(condition.part)
        parts = [self._holds(part) for part in condition.parts]
        return reduce(lambda a, b: a & b if isinstance(condition, And) else a | b, parts)


def _in_ranges(column: Any, values: Ranges) -> Any:
    import ibis

    held = column.isnull() if values.missing else ibis.literal(False)
    for low, high in values.parts:
        held = held | (_above(column, low) & _below(column, high)).fill_null(False)
    return held


def _above(column: Any, cut: Cut) -> Any:
    if cut == FIRST:
        return column.notnull()
    return column > cut[0] if cut[1] else column >= cut[0]


def _below(column: Any, cut: Cut) -> Any:
    if cut == LAST:
        return column.notnull()
    return column <= cut[0] if cut[1] else column < cut[0]


def _in_texts(column: Any, values: Texts) -> Any:
    import ibis

    named = column.isin(sorted(values.values)) if values.values else ibis.literal(False)
    held = (~named if values.excluded else named).fill_null(False) & column.notnull()
    return held | column.isnull() if values.missing else held


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
