"""What is asked of the values of a table, counted on its engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.kernels import Counts, Floats
from shoal.tables._engine import OURS, ROW, key, quiet
from shoal.tables._repeated import COPIES, repeated
from shoal.tables._table import Table, numbered

_ORDER = f"{OURS}order__"


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
    numbered = rows.append_column(_ORDER, pa.array(np.arange(len(rows), dtype=np.int64)))
    with quiet(table.source.name):
        staged = table.engine.stage(numbered.append_column(COPIES, pa.array(counts, pa.int64())))
        expression = repeated(table.engine.apart(staged.order_by(_ORDER)).select(*rows.column_names, COPIES))
    return replace(table, expression=expression, schema=None, left_out=0)
