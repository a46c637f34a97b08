"""What is asked of the values of a table, counted on its engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import Counts, Floats
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import ROW, key, quiet
from shoal.tables._table import Table, numbered

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = [
    "ValueCounts",
    "alike",
    "alone",
    "class_sizes",
    "containing",
    "count_values",
    "distinct_values",
    "erased",
    "in_order",
    "numbers",
    "ordered",
    "records_from",
    "repeat",
]

#: Distinct values of a column that are fetched at once.
_FEW = 1000
_ORDER, _COPIES, _COPY = "__shoal_order__", "__shoal_copies__", "__shoal_copy__"


def distinct_values(table: Table, name: str) -> pa.ChunkedArray:
    """Return the distinct values of a column, null included where there is one."""
    with quiet(table.source.name):
        return table.engine.fetch(table.expression.select(value=table.expression[name]).distinct())["value"]


def numbers(table: Table, name: str) -> Floats:
    """Return the values of a numeric column, in the order of the source; a missing one is NaN."""
    table = numbered(table)
    records = table.expression
    with quiet(table.source.name):
        found = table.engine.fetch(records.order_by(records[ROW]).select(value=records[name].cast("float64")))
    return np.asarray(found["value"].to_numpy(), dtype=np.float64)


def in_order(table: Table) -> pa.Table:
    """Return all records in the order of the source."""
    table = numbered(table)
    records = table.expression
    with quiet(table.source.name):
        return table.engine.fetch(records.order_by(records[ROW])).select(list(table.columns))


def records_from(table: Table, start: int, limit: int) -> pa.Table:
    """Return at most ``limit`` records, leaving out the first ``start``."""
    with quiet(table.source.name):
        return table.engine.fetch(table.visible.limit(limit, offset=start))


def containing(table: Table, name: str, words: str) -> Table:
    """Return the records whose value of a column, as text, contains ``words``, upper and lower case alike.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.read(pa.table({"town": ["Ulm", "Rome", None]}))
    >>> containing(people, "town", "RO").count()
    1
    """
    value = table.expression[name].cast("string")
    return replace(table, expression=table.expression.filter(value.lower().contains(words.lower())))


def ordered(table: Table, name: str, *, descending: bool = False) -> Table:
    """Return the records in the order of a column: texts that are numbers as numbers, before other texts.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.read(pa.table({"age": ["9", "?", "10"]}))
    >>> ordered(people, "age", descending=True).to_arrow()["age"].to_pylist()
    ['10', '9', '?']
    """
    import ibis

    value = table.expression[name]
    keys = [value.try_cast("float64"), value] if value.type().is_string() else [value]
    direction = ibis.desc if descending else ibis.asc
    known = [key.isnull() for key in keys]
    order = [part for key, absent in zip(keys, known, strict=True) for part in (absent, direction(key))]
    last = [table.expression[ROW]] if ROW in table.expression.columns else []
    return replace(table, expression=table.expression.order_by([*order, *last]))


def class_sizes(table: Table, names: Sequence[str]) -> tuple[Counts, Counts]:
    """Return the different sizes of the classes that some columns make, and how many classes have each."""
    records = table.expression
    classes = records.group_by(**{f"c{i}": key(records[name]) for i, name in enumerate(names)}).aggregate(
        records=records.count()
    )
    with quiet(table.source.name):
        rows = table.engine.fetch(classes.group_by("records").aggregate(classes=classes.count()).order_by("records"))
    return rows["records"].to_numpy().astype(np.int64), rows["classes"].to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ValueCounts:
    """How often the values of a column occur; missing values are not among them."""

    table: Table
    counts: ir.Table
    #: The number of distinct values.
    distinct: int
    #: The number of records that have a value.
    present: int
    #: Whether the values are numbers.
    numeric: bool
    fetched: pa.Table | None

    def every(self) -> pa.Table:
        """Return every ``value`` and the number of ``records`` that have it."""
        if self.fetched is not None:
            return self.fetched
        with quiet(self.table.source.name):
            return self.table.engine.fetch(self.counts)

    def commonest(self, number: int, *, length: int) -> pa.Table:
        """Return the commonest values as text of at most ``length`` characters, the commonest first."""
        if self.fetched is not None and pa.types.is_string(self.fetched["value"].type):
            first = self.fetched.sort_by([("records", "descending"), ("value", "ascending")]).slice(0, number)
            return first.set_column(0, "value", pc.utf8_slice_codeunits(first["value"], 0, length))
        value, records = self.counts["value"], self.counts["records"]
        texts = value.type().is_string() or isinstance(self.table.engine, DuckDBEngine)
        text = value.cast("string").substr(0, length) if texts else value
        shown = self.counts.select(value=text, records=records, whole=value)
        ordered = shown.order_by([shown["records"].desc(), "whole"]).select("value", "records")
        with quiet(self.table.source.name):
            found = self.table.engine.fetch(ordered.limit(number))
        return found if texts else _spelt(found, length)


def _spelt(found: pa.Table, length: int) -> pa.Table:
    """Return values as the texts that DuckDB makes of them: engines spell numbers and days differently."""
    engine = DuckDBEngine()
    try:
        rows = engine.stage(found)
        return engine.fetch(rows.select(value=rows["value"].cast("string").substr(0, length), records=rows["records"]))
    finally:
        engine.close()


def count_values(table: Table, name: str) -> ValueCounts:
    """Count the values of a column. Cost: O(records), on the engine; one pass where the values are few."""
    values = table.expression.select(value=key(table.expression[name]))
    counts = values.group_by("value").aggregate(records=values.count())
    known = counts.filter(counts["value"].notnull())
    with quiet(table.source.name):
        rows = table.engine.fetch(known.limit(_FEW + 1))
        if len(rows) <= _FEW:
            size = {"distinct": len(rows), "present": pc.sum(rows["records"]).as_py()}
        else:
            (size,) = table.engine.fetch(
                known.aggregate(distinct=known.count(), present=known["records"].sum())
            ).to_pylist()
    return ValueCounts(
        table=table,
        counts=known,
        distinct=int(size["distinct"]),
        present=int(size["present"] or 0),
        numeric=bool(known.schema()["value"].is_numeric()),
        fetched=rows if len(rows) <= _FEW else None,
    )


def repeat(table: Table, rows: pa.Table, counts: npt.NDArray[np.int64]) -> Table:
    """Return a table, on the engine of ``table``, that holds every one of ``rows`` so many times, in their order.

    Lazy: records are made while they are written, so memory does not grow with the counts.

    Examples
    --------
    >>> import shoal
    >>> on = shoal.read(pa.table({"any": [1]}))
    >>> repeat(on, pa.table({"town": ["Ulm", None]}), np.array([2, 1])).to_arrow()["town"].to_pylist()
    ['Ulm', 'Ulm', None]
    """
    import ibis

    numbered = rows.append_column(_ORDER, pa.array(np.arange(len(rows), dtype=np.int64)))
    with quiet(table.source.name):
        staged = table.engine.stage(numbered.append_column(_COPIES, pa.array(counts, pa.int64())))
        copies = staged.mutate(**{_COPY: ibis.range(0, staged[_COPIES]).unnest()})
        expression = copies.order_by(_ORDER).select(*rows.column_names)
    return replace(table, expression=expression, schema=None, left_out=0)


def alone(table: Table, column: str) -> int:
    """Return the number of records that share their value of a column with no other record."""
    records = table.expression
    counted = records.group_by(value=key(records[column])).aggregate(times=records.count())
    single = counted.filter(counted.value.notnull() & (counted.times == 1))
    with quiet(table.source.name):
        return int(table.engine.fetch(single.aggregate(records=single.count()))["records"][0].as_py())


def alike(table: Table, by: Sequence[str], column: str) -> int:
    """Return the number of records whose class, by some columns, has one value of another column."""
    records = table.expression
    names = [f"q{i}" for i in range(len(by))]
    keys = {each: key(records[name]) for each, name in zip(names, by, strict=True)}
    chosen = records.select(**keys, secret=records[column])
    # counted with the secret first: engines are slow at counting the different ones of every class
    held = chosen.group_by([*names, "secret"]).aggregate(times=chosen.count())
    classes = held.group_by(names).aggregate(times=held.times.sum(), different=held.count())
    same = classes.filter(classes.different == 1)
    with quiet(table.source.name):
        found = table.engine.fetch(same.aggregate(records=same.times.sum()))["records"][0].as_py()
    return int(found or 0)


def erased(table: Table, names: Sequence[str], label: str) -> list[str]:
    """Return those of some columns in which every value is ``label``; missing ones do not count. One pass."""
    texts = [name for name in names if table.expression[name].type().is_string()]
    if not texts:
        return []
    ends = {
        f"{end}{i}": getattr(table.expression[name], end)() for i, name in enumerate(texts) for end in ("min", "max")
    }
    with quiet(table.source.name):
        (found,) = table.engine.fetch(table.expression.aggregate(**ends)).to_pylist()
    return [name for i, name in enumerate(texts) if found[f"min{i}"] == found[f"max{i}"] == label]
