"""Filters as Ibis expressions, and the records on an engine that satisfy conditions.

An expression is read, never run. What it may hold is what a filter can say: comparisons of a column with a value,
``between``, ``isin``, ``isnull`` and ``notnull``, joined by ``&``, ``|`` and ``~``. Of the records, only figures come
back.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from shoal.errors import FilterError, SchemaError
from shoal.schema import Attribute, Kind
from shoal.schema.filters import quote_column
from shoal.tables._engine import compute, quiet
from shoal.tables._expressions import Value, literal
from shoal.tables._relations import TableQuery

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.common.deferred import Deferred

    from shoal.tables._table import Table


Filter: TypeAlias = "str | ir.BooleanValue | Deferred | None"
"""A filter as text, as an expression of Ibis, which need not be installed, or none."""

Selection: TypeAlias = "Value"
"""Which records of a store are meant; made by its methods."""

_EPOCH = dt.date(1970, 1, 1)
_TYPES = {Kind.NUMERIC: "float64", Kind.DATE: "date"}
# what holds where a comparison is false: neither holds for a missing value
_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def filter_text(where: Filter, kinds: Callable[[], Mapping[str, Kind]]) -> str | None:
    """Return a filter as text; ``kinds`` tells the columns, where an expression is not about a table yet.

    As in Ibis, a comparison with a missing value is neither true nor false, and ``~`` leaves it so.

    Examples
    --------
    >>> from ibis import _
    >>> filter_text((_.age >= 40) & ~(_.sex == "F"), lambda: {"age": Kind.NUMERIC, "sex": Kind.CATEGORICAL})
    '(`age` >= 40) and (`sex` != "F")'
    """
    if where is None or isinstance(where, str):
        return where
    return _condition_text(_bound(where, kinds).op(), negated=False)


def _bound(where: Any, kinds: Callable[[], Mapping[str, Kind]]) -> ir.Value:
    try:
        import ibis
        import ibis.expr.types as ir
    except ImportError:
        raise FilterError("a filter must be a text, or an expression of Ibis.") from None
    if isinstance(where, ir.Value):
        return where
    try:
        (bound,) = ibis.table({name: _TYPES.get(kind, "string") for name, kind in kinds().items()}).bind(where)
    except Exception:
        # Ibis raises errors of many kinds for columns that do not exist and types that do not compare
        raise FilterError("the filter is not an Ibis expression about columns of this table.") from None
    return bound


def _condition_text(node: Any, *, negated: bool) -> str:
    """Return where an expression is true; negated, where it is false."""
    import ibis.expr.operations as ops

    signs = {
        ops.Equals: "=",
        ops.NotEquals: "!=",
        ops.Less: "<",
        ops.LessEqual: "<=",
        ops.Greater: ">",
        ops.GreaterEqual: ">=",
    }
    if isinstance(node, ops.Not):
        return _condition_text(node.arg, negated=not negated)
    if isinstance(node, ops.And | ops.Or):
        word = "and" if isinstance(node, ops.And) != negated else "or"
        return (
            f"({_condition_text(node.left, negated=negated)}) {word} ({_condition_text(node.right, negated=negated)})"
        )
    if type(node) in signs:
        return _comparison_text(node.left, signs[type(node)], node.right, negated=negated)
    if isinstance(node, ops.IsNull | ops.NotNull):
        missing = isinstance(node, ops.IsNull) != negated
        return f"{_column(node.arg)} is {'' if missing else 'not '}missing"
    if isinstance(node, ops.Between):
        column, low, high = _column(node.arg), _value(node.lower_bound), _value(node.upper_bound)
        return f"{column} < {low} or {column} > {high}" if negated else f"{column} between {low} and {high}"
    if isinstance(node, ops.InValues):
        column, values = _column(node.value), ", ".join(_value(option) for option in node.options)
        return f"{column} not in ({values}) and {column} is not missing" if negated else f"{column} in ({values})"
    raise _unknown(node)


def _comparison_text(left: Any, sign: str, right: Any, *, negated: bool) -> str:
    import ibis.expr.operations as ops

    if isinstance(left, ops.Literal):
        left, right, sign = right, left, _TURNED[sign]
    return f"{_column(left)} {_OPPOSITES[sign] if negated else sign} {_value(right)}"


def _column(node: Any) -> str:
    import ibis.expr.operations as ops

    if not isinstance(node, ops.Field):
        raise _unknown(node)
    return quote_column(node.name)


def _value(node: Any) -> str:
    import ibis.expr.operations as ops

    if not isinstance(node, ops.Literal):
        raise _unknown(node)
    value = node.value
    if isinstance(value, dt.date):
        return f'"{value:%Y-%m-%d}"'
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value):
        return str(value)
    raise FilterError("a filter can compare columns only with numbers, text and dates.")


def _unknown(node: Any) -> FilterError:
    return FilterError(
        f"a filter cannot contain the Ibis operation `{type(node).__name__}`.",
        hint="compare columns with values: ==, !=, <, <=, >, >=, between, isin, isnull, joined by &, | and ~",
    )


class RecordStore:
    """The records of a table with a schema, copied once on its engine.

    Numbers (and days, as their ordinals) are compared as 64-bit floats and texts as texts, so that a selection means
    the same on every engine.
    """

    def __init__(self, table: Table) -> None:
        assert table.schema is not None  # noqa: S101
        self._table = table
        columns = {each.name: _comparable(table.expression[each.name], each) for each in table.schema}
        # positions for names: a column's own name may hold anything
        self._names = {name: f"c{i}" for i, name in enumerate(columns)}
        chosen = table.expression.select(**{self._names[name]: column for name, column in columns.items()})
        with quiet(table.source.name):
            self._records = table.engine.keep(chosen)
        self._lock = threading.Lock()

    def within(
        self, name: str, ranges: Sequence[tuple[tuple[float, int], tuple[float, int]]], *, missing: bool
    ) -> Selection:
        """Select the records whose number lies in one of some ranges, and those without one if ``missing``.

        The end ``(x, 0)`` of a range lies directly before x, ``(x, 1)`` directly after.
        """
        column = self._records[self._names[name]]
        # false and not null for a missing number, so that no function stands between the engine and its statistics
        held = [_above(column, low) & _below(column, high) & column.notnull() for low, high in ranges]
        held += [column.isnull()] if missing else []
        return self.some(held) if held else literal(False)

    def among(self, name: str, values: Sequence[str], *, excluded: bool, missing: bool) -> Selection:
        """Select the records whose text is listed (or not, if ``excluded``), and those without one if ``missing``."""
        column = self._records[self._names[name]]
        named: Value = column.isin(list(values)) if values else literal(False)
        held = (~named if excluded else named) & column.notnull()
        return held | column.isnull() if missing else held

    @staticmethod
    def every(parts: Sequence[Selection]) -> Selection:
        """Select the records that all parts select."""
        held: Value = reduce(Value.__and__, parts)
        return held

    @staticmethod
    def some(parts: Sequence[Selection]) -> Selection:
        """Select the records that at least one part selects."""
        held: Value = reduce(Value.__or__, parts)
        return held

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
        rows = self._compute(grouped)
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

    def totals(
        self, names: Sequence[str], name: str, *, origin: Fraction, step: Fraction, bounds: tuple[int, int]
    ) -> tuple[dict[str, pa.ChunkedArray], pa.ChunkedArray, pa.ChunkedArray]:
        """Return what :meth:`total` does for every combination of some columns' values, and these by column."""
        keys = {self._names[name]: self._records[self._names[name]] for name in names}
        records = self._units(None, name, origin, step, bounds, beside=keys)
        grouped = records.group_by(list(keys)).aggregate(s=records.unit.sum(), n=records.count())
        rows = self._compute(grouped)
        return {name: rows[self._names[name]] for name in names}, rows["s"], rows["n"]

    def tally(
        self, where: Selection | None, name: str, *, origin: Fraction, step: Fraction, bounds: tuple[int, int]
    ) -> list[int]:
        """Return how many records lie at each unit in ``bounds``; see :meth:`total`."""
        tallies = self._count_by(self._units(where, name, origin, step, bounds), "unit")
        return [tallies.get(unit, 0) for unit in range(bounds[0], bounds[1] + 1)]

    def tally_between(self, where: Selection | None, name: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        records = self._where(where)
        column: Any = records[self._names[name]]
        positions = column.bucket([float(edge) for edge in edges])
        tallies = self._count_by(records.select(place=positions), "place")
        return [tallies.get(position, 0) for position in range(len(edges) - 1)]

    def tally_texts(self, where: Selection | None, name: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        records = self._where(where)
        tallies = self._count_by(records.select(value=records[self._names[name]]), "value")
        return [tallies.get(value, 0) for value in values]

    def value_of(self, identifier: str, person: str, name: str) -> str | float | None:
        """Return a value of the one record with this identifier; None if there is none, or more than one."""
        records = self._records.filter(self._records[self._names[identifier]] == person)
        column: Any = records[self._names[name]]
        row = self._row(records.aggregate(n=records.count(), value=column.min()))
        return row["value"] if row["n"] == 1 else None

    def _compute(self, expression: TableQuery) -> pa.Table:
        with self._lock:
            return compute(self._table, expression)

    def _row(self, expression: TableQuery) -> dict[str, Any]:
        return dict(self._compute(expression).to_pylist()[0])

    def _count_by(self, records: TableQuery, name: str) -> dict[Any, int]:
        rows = self._compute(records.group_by(name).aggregate(n=records.count()))
        return dict(zip(rows[name].to_pylist(), rows["n"].to_pylist(), strict=True))

    def _units(
        self,
        where: Selection | None,
        name: str,
        origin: Fraction,
        step: Fraction,
        bounds: tuple[int, int],
        *,
        beside: Mapping[str, Value] | None = None,
    ) -> TableQuery:
        records = self._where(where)
        column: Any = records[self._names[name]]
        units = ((column - float(origin)) / float(step) + 0.5).floor()
        bounded = units.clip(lower=float(bounds[0]), upper=float(bounds[1])).cast("int64")
        return records.filter(column.notnull()).select(unit=bounded, **(beside or {}))

    def _where(self, selection: Selection | None) -> TableQuery:
        return self._records if selection is None else self._records.filter(selection)


def _above(column: Any, cut: tuple[float, int]) -> Any:
    if cut == (-math.inf, 0):
        return column.notnull()
    return column > cut[0] if cut[1] else column >= cut[0]


def _below(column: Any, cut: tuple[float, int]) -> Any:
    if cut == (math.inf, 1):
        return column.notnull()
    return column <= cut[0] if cut[1] else column < cut[0]


def _comparable(column: Any, attribute: Attribute) -> Any:
    """Return a column as numbers or texts."""
    kind = column.type()
    if attribute.kind is Kind.NUMERIC:
        return column.cast("float64")
    if attribute.kind is Kind.DATE:
        # days as their ordinals, which filters speak of
        return (column.delta(_EPOCH) + _EPOCH.toordinal()).cast("float64")
    if kind.is_string():
        return column
    if kind.is_integer() or kind.is_boolean():
        return column.cast("string")
    raise SchemaError(
        f"column `{attribute.name}`: values of type {kind} cannot be queried as categories.",
        hint="declare the column as numeric, or store it as text",
    )
