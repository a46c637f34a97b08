"""A table of records on an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import notebook
from shoal.errors import DataError, quoted
from shoal.kernels import Floats
from shoal.schema import Schema
from shoal.tables._conform import conform
from shoal.tables._engine import ROW, Engine, compute, figures, quiet
from shoal.tables._expressions import ascending
from shoal.tables._expressions import descending as from_greatest
from shoal.tables._relations import TableQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a table came from, for messages and certificates."""

    #: ``csv``, ``parquet``, ``arrow``, ``pandas``, ``polars``, ``duckdb``, ``postgresql`` or ``spark``.
    kind: str
    #: The name of the file or table, without folders, hosts or passwords.
    name: str
    #: The file or folder, where there is one.
    path: Path | None = None
    #: What was detected or decided while reading: encoding, delimiter, decimal mark.
    details: tuple[tuple[str, str], ...] = ()
    #: Of these details, what a person said; the others were guessed from the records.
    stated: tuple[str, ...] = ()
    #: The number that messages give to the first record, or None where records have no order: 2 for a CSV file, whose
    #: header is row 1.
    first_row: int | None = None

    def __str__(self) -> str:
        details = ", ".join(f"{key} {value}" for key, value in self.details)
        return f"{self.name} ({self.kind}; {details})" if details else f"{self.name} ({self.kind})"

    def detail(self, key: str) -> str | None:
        """Return what was detected for ``key``."""
        return dict(self.details).get(key)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Table:
    """Records on an engine: an expression, computed only when something is asked of it.

    Parameters
    ----------
    expression
        The records, as a query; it may hold the hidden column that numbers them.
    engine
        What computes the expression.
    source
        Where the records came from.
    schema
        What the columns mean, where it is known; see :meth:`with_schema`.
    left_out
        The number of records that the ``drop`` policy for missing values left out.
    notes
        What a person should know of how the records were read; column names and counts, never a value.
    titles
        What the file says of its columns beside their names, as SPSS and Stata do.
    """

    expression: TableQuery
    engine: Engine
    source: Source
    schema: Schema | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name in self.expression.columns if name != ROW)

    @property
    def visible(self) -> TableQuery:
        """The expression without hidden columns."""
        return self.expression.select(*self.columns)

    @property
    def types(self) -> dict[str, str]:
        """The engine-independent type of every column."""
        schema = self.expression.schema()
        return {name: str(schema[name]) for name in self.columns}

    def count(self) -> int:
        """Return the number of records."""
        return int(figures(self, self.expression.aggregate(records=self.expression.count()))["records"])

    def with_schema(self, schema: Schema | str | Path, *, allow_empty: bool = False) -> Table:
        """Return the table typed by a schema, after checking that the records fit it.

        Text becomes numbers and days where the schema says so, and records are left out where the ``drop`` policy
        says so (see :attr:`left_out`). All problems are reported at once.

        Parameters
        ----------
        schema
            What the columns mean, or the file that says so.
        allow_empty
            Whether a column may be without a value in any record, as happens in releases and samples.

        Raises
        ------
        SchemaError
            For columns that are absent or not in the schema, text that is not a number or a date, numbers that are
            not finite, values outside a declared domain, missing values that are refused, columns without any value.
        """
        wanted = load_schema(schema)
        if self.schema == wanted and self.columns == wanted.names:
            return self
        return conform(self, wanted, allow_empty=allow_empty)

    def select(self, *columns: str) -> Table:
        """Return the table with these columns only."""
        absent = [name for name in columns if name not in self.columns]
        if absent:
            raise DataError(f"{self.source.name} has no column {quoted(absent)}.")
        hidden = [ROW] if ROW in self.expression.columns else []
        return replace(self, expression=self.expression.select(*columns, *hidden))

    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table."""
        return compute(self, self.visible)

    def to_pandas(self) -> Any:
        """Return the records as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the records as a polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        schema = "no schema" if self.schema is None else f"{len(self.schema.quasi_identifiers)} quasi-identifiers"
        return f"<Table {self.source}: {len(self.columns)} columns, {schema}, on {self.engine.name}>"

    def _repr_html_(self) -> str:
        """Show the columns, their types and roles, and no value."""
        roles = {} if self.schema is None else {each.name: each.role for each in self.schema}
        rows = [(name, kind, roles.get(name, "")) for name, kind in self.types.items()]
        return notebook.render_table(f"{self.source}", ("column", "type", "role"), rows)


def number_records(table: Table) -> Table:
    """Return the table with numbers on its records that stay the same whenever it is looked at.

    Files, frames and database tables have them already. Records on Spark are stored on its executors first, since
    Spark promises no order.
    """
    with quiet(table.source.name):
        return replace(table, expression=table.engine.number_records(table.expression))


def in_order(table: Table) -> pa.Table:
    """Return all records in the order of the source."""
    table = number_records(table)
    return compute(table, table.expression.order_by(ROW)).select(list(table.columns))


def numbers(table: Table, name: str) -> Floats:
    """Return the values of a numeric column, in the order of the source; a missing one is NaN."""
    table = number_records(table)
    records = table.expression
    values = compute(table, records.order_by(ROW).select(value=records[name].cast("float64")))
    return np.asarray(values["value"].to_numpy(), dtype=np.float64)


def records_from(table: Table, start: int, limit: int) -> pa.Table:
    """Return at most ``limit`` records, leaving out the first ``start``."""
    return compute(table, table.visible.limit(limit, offset=start))


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


def order_by_column(table: Table, name: str, *, descending: bool = False) -> Table:
    """Return the records in the order of a column: texts that are numbers as numbers, before other texts.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.read(pa.table({"age": ["9", "?", "10"]}))
    >>> order_by_column(people, "age", descending=True).to_arrow()["age"].to_pylist()
    ['10', '9', '?']
    """
    value = table.expression[name]
    keys = [value.try_cast("float64"), value] if value.type().is_string() else [value]
    direction = from_greatest if descending else ascending
    order = [part for key in keys for part in (key.isnull(), direction(key))]
    last = [table.expression[ROW]] if ROW in table.expression.columns else []
    return replace(table, expression=table.expression.order_by([*order, *last]))


def load_schema(schema: Schema | str | Path) -> Schema:
    """Return a schema, read from its file where a path is given."""
    if isinstance(schema, Schema):
        return schema
    from shoal.schema import load

    return load(Path(schema))
