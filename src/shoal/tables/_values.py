"""How often the values of some columns occur: few records are counted here, many on their engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import Counts
from shoal.tables._counting import class_sizes
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import Engine, key, quiet
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir


#: Distinct values of a column that are fetched at once.
_FEW = 1000
#: Cells of a table that is fetched whole: every query takes milliseconds, whatever it counts.
_CELLS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ValueCounts:
    """How often the values of a column occur; missing values are not among them."""

    table: Table
    name: str
    #: the number of distinct values
    distinct: int
    #: the number of records that have a value
    present: int
    #: the number of records that share their value with no other record
    alone: int
    #: every ``value`` and the number of ``records`` that have it, where they are few
    fetched: pa.Table | None

    @property
    def counts(self) -> ir.Table:
        """Every ``value`` and the number of ``records`` that have it, on the engine."""
        return _counts(self.table, self.name)

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return bool(self.table.expression.schema()[self.name].is_numeric())

    def every(self) -> pa.Table:
        """Return every ``value`` and the number of ``records`` that have it."""
        if self.fetched is not None:
            return self.fetched
        with quiet(self.table.source.name):
            return self.table.engine.fetch(self.counts)

    def commonest(self, number: int, *, length: int) -> pa.Table:
        """Return the commonest values as text of at most ``length`` characters, the commonest first."""
        with quiet(self.table.source.name):
            if self.fetched is not None:
                first = self.fetched.sort_by([("records", "descending"), ("value", "ascending")]).slice(0, number)
            else:
                counts = self.counts
                first = self.table.engine.fetch(counts.order_by([counts["records"].desc(), "value"]).limit(number))
            texts = _spelt(first["value"], self.table.engine)
        return first.set_column(0, "value", pc.utf8_slice_codeunits(texts, 0, length))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Values:
    """The values of some columns of a table, counted by column and by class."""

    table: Table
    names: tuple[str, ...]
    #: all records, where they are few; the columns are numbered
    rows: pa.Table | None
    counted: dict[str, ValueCounts] = field(default_factory=dict)

    def of(self, name: str) -> ValueCounts:
        """Count the values of a column, once."""
        if name not in self.counted:
            self.counted[name] = count_values(self.table, name) if self.rows is None else self._few(name, self.rows)
        return self.counted[name]

    def erased(self, names: Sequence[str], label: str) -> list[str]:
        """Return those of some columns in which every value is ``label``; missing ones do not count."""
        if self.rows is None:
            return _erased(self.table, names, label)
        return [name for name in names if self.of(name).every()["value"].to_pylist() == [label]]

    def class_sizes(self, by: Sequence[str]) -> tuple[Counts, Counts]:
        """Return the different sizes of the classes that some columns make, and how many classes have each."""
        if self.rows is None:
            return class_sizes(self.table, by)
        sizes = _grouped(self.rows, self._numbers(by))["records"].to_numpy()
        different, times = np.unique(sizes, return_counts=True)
        return different.astype(np.int64), times.astype(np.int64)

    def alike(self, by: Sequence[str], name: str) -> int:
        """Return the number of records whose class, by some columns, has one value of another column."""
        if self.rows is None:
            return _alike(self.table, by, name)
        classes = self._numbers(by)
        held = _grouped(self.rows, [*classes, *self._numbers([name])])
        found = held.group_by(classes, use_threads=False).aggregate([("records", "sum"), ([], "count_all")])
        return int(pc.sum(found.filter(pc.equal(found["count_all"], 1))["records_sum"]).as_py() or 0)

    def _few(self, name: str, rows: pa.Table) -> ValueCounts:
        found = rows.select(self._numbers([name])).rename_columns(["value"])
        return _few(self.table, name, _grouped(found.filter(pc.is_valid(found["value"])), ["value"]))

    def _numbers(self, names: Sequence[str]) -> list[str]:
        return [str(self.names.index(name)) for name in names]


def values_of(table: Table, names: Sequence[str]) -> Values:
    """Return the values of some columns; few records of this machine are fetched, whatever is counted of them then."""
    return Values(table=table, names=tuple(names), rows=_fetched(table, names))


def _fetched(table: Table, names: Sequence[str]) -> pa.Table | None:
    most = _CELLS // max(len(names), 1)
    if not (isinstance(table.engine, DuckDBEngine) and names and most):
        return None
    records = table.expression
    numbered = records.select(**{str(number): key(records[name]) for number, name in enumerate(names)})
    with quiet(table.source.name):
        rows = table.engine.fetch(numbered.limit(most + 1))
    return rows if len(rows) <= most and all(_plain(each.type) for each in rows.schema) else None


def count_values(table: Table, name: str) -> ValueCounts:
    """Count the values of a column on the engine. Cost: O(records); one pass where the values are few."""
    known = _counts(table, name)
    with quiet(table.source.name):
        rows = table.engine.fetch(known.limit(_FEW + 1))
        if len(rows) <= _FEW:
            return _few(table, name, rows)
        times = known["records"]
        asked = known.aggregate(distinct=known.count(), present=times.sum(), alone=(times == 1).ifelse(1, 0).sum())
        (size,) = table.engine.fetch(asked).to_pylist()
    return ValueCounts(table=table, name=name, **{each: int(number) for each, number in size.items()}, fetched=None)


def _counts(table: Table, name: str) -> ir.Table:
    values = table.expression.select(value=key(table.expression[name]))
    counts = values.group_by("value").aggregate(records=values.count())
    return counts.filter(counts["value"].notnull())


def _few(table: Table, name: str, rows: pa.Table) -> ValueCounts:
    present, alone = (int(pc.sum(each).as_py() or 0) for each in (rows["records"], pc.equal(rows["records"], 1)))
    return ValueCounts(table=table, name=name, distinct=len(rows), present=present, alone=alone, fetched=rows)


def _grouped(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return every combination of values of some columns and the number of ``records`` that have it."""
    found = rows.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return found.select([*names, "count_all"]).rename_columns([*names, "records"])


def _plain(kind: pa.DataType) -> bool:
    """Return whether values of a type can be counted and put in order here."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_decimal(kind))


def _spelt(values: pa.ChunkedArray, engine: Engine) -> pa.ChunkedArray:
    """Return values as the texts that DuckDB makes of them: engines spell numbers and days differently."""
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    here = engine if isinstance(engine, DuckDBEngine) else DuckDBEngine()
    try:
        rows = here.stage(pa.table({"value": values}).append_column("place", pa.array(range(len(values)), pa.int64())))
        return here.fetch(rows.order_by("place").select(value=rows["value"].cast("string")))["value"]
    finally:
        if here is not engine:
            here.close()


def _alike(table: Table, by: Sequence[str], column: str) -> int:
    records = table.expression
    names = [f"q{i}" for i in range(len(by))]
    keys = {each: key(records[name]) for each, name in zip(names, by, strict=True)}
    chosen = records.select(**keys, secret=records[column])
    secret = chosen.secret
    # the least and the greatest: engines are slow at counting the different ones of every class
    classes = chosen.group_by(names).aggregate(
        times=chosen.count(), present=secret.count(), least=secret.min(), greatest=secret.max()
    )
    one = (classes.present == classes.times) & (classes.least == classes.greatest)
    same = classes.filter((classes.present == 0) | one)
    with quiet(table.source.name):
        found = table.engine.fetch(same.aggregate(records=same.times.sum()))["records"][0].as_py()
    return int(found or 0)


def _erased(table: Table, names: Sequence[str], label: str) -> list[str]:
    texts = [name for name in names if table.expression[name].type().is_string()]
    if not texts:
        return []
    ends = {
        f"{end}{i}": getattr(table.expression[name], end)() for i, name in enumerate(texts) for end in ("min", "max")
    }
    with quiet(table.source.name):
        (found,) = table.engine.fetch(table.expression.aggregate(**ends)).to_pylist()
    return [name for i, name in enumerate(texts) if found[f"min{i}"] == found[f"max{i}"] == label]
