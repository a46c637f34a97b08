"""Counts of values and moments of numbers: of few records in memory, of many on their engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels import Counts, Floats
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import Engine, compute, figures, key, quiet
from shoal.tables._expressions import descending, least
from shoal.tables._relations import TableQuery
from shoal.tables._table import Table

#: Distinct values of a column that are fetched at once.
_FEW = 1000
#: Cells that are fetched at once: every query takes milliseconds, whatever it counts.
_CELLS = 200_000
#: Columns that are fetched at once at the least, where a table is fetched in blocks of columns.
_COLUMNS = 16
#: Distinct numbers that come from the engine at most.
FETCHED = 100_000
_BINS = 1024
_WHOLE = 2.0**53  # all numbers of floating point from here on are whole


def distinct_values(table: Table, name: str) -> pa.ChunkedArray:
    """Return the distinct values of a column, null included where there is one."""
    return compute(table, table.expression.select(value=table.expression[name]).distinct())["value"]


def class_sizes(table: Table, names: Sequence[str]) -> tuple[Counts, Counts]:
    """Return the different sizes of the classes that some columns make, and how many classes have each."""
    records = table.expression
    keys = {f"c{i}": key(records[name]) for i, name in enumerate(names)}
    return sizes_of(table, records.group_by(**keys).aggregate(records=records.count()))


#: so many different records never have a number of copies in common by chance
_SEVERAL = 12


def common_copies(sizes: Counts, times: Counts) -> int:
    """Return the greatest number of which all numbers of copies of different records are multiples.

    1 where there are too few different records to say: it may be chance then.

    Examples
    --------
    >>> common_copies(np.array([3, 6]), np.array([20, 1])), common_copies(np.array([3, 4]), np.array([20, 1]))
    (3, 1)
    """
    return math.gcd(*sizes.tolist()) if times.sum() >= _SEVERAL else 1


def sizes_of(table: Table, classes: TableQuery) -> tuple[Counts, Counts]:
    """Return the different numbers of ``records`` that classes have, and how many classes have each."""
    rows = compute(table, classes.group_by("records").aggregate(classes=classes.count()).order_by("records"))
    return rows["records"].to_numpy().astype(np.int64), rows["classes"].to_numpy().astype(np.int64)


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
    def counts(self) -> TableQuery:
        """Every ``value`` and the number of ``records`` that have it, on the engine."""
        return _counts(self.table, self.name)

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return bool(self.table.expression.schema()[self.name].is_numeric())

    def every(self) -> pa.Table:
        """Return every ``value`` and the number of ``records`` that have it."""
        return compute(self.table, self.counts) if self.fetched is None else self.fetched

    def commonest(self, number: int, *, length: int) -> pa.Table:
        """Return the commonest values as text of at most ``length`` characters, the commonest first."""
        with quiet(self.table.source.name):
            if self.fetched is not None:
                first = self.fetched.sort_by([("records", "descending"), ("value", "ascending")]).slice(0, number)
            else:
                counts = self.counts
                first = self.table.engine.fetch(counts.order_by([descending(counts["records"]), "value"]).limit(number))
            texts = _spelt(first["value"], self.table.engine)
        return first.set_column(0, "value", pc.utf8_slice_codeunits(texts, 0, length))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Values:
    """The values of some columns of a table, counted by column and by class."""

    table: Table
    names: tuple[str, ...]
    #: all records, where their cells are few; the columns are numbered
    rows: pa.Table | None
    #: the columns that are fetched at once, where records are few and columns many
    blocks: tuple[tuple[str, ...], ...] = ()
    counted: dict[str, ValueCounts] = field(default_factory=dict)

    def of(self, name: str) -> ValueCounts:
        """Count the values of a column, once."""
        if name not in self.counted:
            if self.rows is not None:
                self.counted[name] = _counted_here(self.table, name, self.rows[str(self.names.index(name))])
            elif block := next((block for block in self.blocks if name in block), None):
                self._count_block(block)
            else:
                self.counted[name] = count_values(self.table, name)
        return self.counted[name]

    def find_erased(self, names: Sequence[str], label: str) -> list[str]:
        """Return those of some columns in which every value is ``label``; missing ones do not count."""
        if self.rows is None:
            return _find_erased(self.table, names, label)
        return [name for name in names if self.of(name).every()["value"].to_pylist() == [label]]

    def class_sizes(self, by: Sequence[str]) -> tuple[Counts, Counts]:
        """Return the different sizes of the classes that some columns make, and how many classes have each."""
        if self.rows is None:
            return class_sizes(self.table, by)
        sizes = _group_rows(self.rows, self._numbers(by))["records"].to_numpy()
        different, times = np.unique(sizes, return_counts=True)
        return different.astype(np.int64), times.astype(np.int64)

    def alike(self, by: Sequence[str], name: str) -> int:
        """Return the number of records whose class, by some columns, has one value of another column."""
        if self.rows is None:
            return _alike(self.table, by, name)
        classes = self._numbers(by)
        held = _group_rows(self.rows, [*classes, *self._numbers([name])])
        sums = held.group_by(classes, use_threads=False).aggregate([("records", "sum"), ([], "count_all")])
        return int(pc.sum(sums.filter(pc.equal(sums["count_all"], 1))["records_sum"]).as_py() or 0)

    def commonest_share(self, by: Sequence[str], name: str) -> float:
        """Return the greatest share of a class, by some columns, that has the same value of another column."""
        if self.rows is None:
            return _commonest_share(self.table, by, name)
        classes = self._numbers(by)
        held = _group_rows(self.rows, [*classes, *self._numbers([name])])
        sums = held.group_by(classes, use_threads=False).aggregate([("records", "sum"), ("records", "max")])
        return float(pc.max(pc.divide(sums["records_max"].cast(pa.float64()), sums["records_sum"])).as_py() or 0)

    def _count_block(self, block: Sequence[str]) -> None:
        rows = compute(self.table, _number_columns(self.table, block))
        for name, column in zip(block, rows.columns, strict=True):
            plain = _plain(column.type)
            counts = _counted_here(self.table, name, column) if plain else count_values(self.table, name)
            self.counted[name] = counts

    def _numbers(self, names: Sequence[str]) -> list[str]:
        return [str(self.names.index(name)) for name in names]


def values_of(table: Table, names: Sequence[str]) -> Values:
    """Return the values of some columns; few records of this machine are fetched, whatever is counted of them then."""
    names = tuple(names)
    if not (isinstance(table.engine, DuckDBEngine) and names):
        return Values(table=table, names=names, rows=None)
    first = names[:_COLUMNS]
    most = _CELLS // len(first)
    rows = compute(table, _number_columns(table, first).limit(most + 1))
    if len(rows) > most:
        return Values(table=table, names=names, rows=None)
    if len(rows) * len(names) > _CELLS:
        width = _CELLS // len(rows)
        blocks = tuple(names[start : start + width] for start in range(0, len(names), width))
        return Values(table=table, names=names, rows=None, blocks=blocks)
    if len(first) < len(names):
        rows = compute(table, _number_columns(table, names))
    return Values(table=table, names=names, rows=rows if all(_plain(column.type) for column in rows.schema) else None)


def _number_columns(table: Table, names: Sequence[str]) -> TableQuery:
    """Return the records with columns called by their numbers, whose values can be counted and compared."""
    records = table.expression
    return records.select(**{str(number): key(records[name]) for number, name in enumerate(names)})


def _counted_here(table: Table, name: str, column: pa.ChunkedArray) -> ValueCounts:
    values = pa.table({"value": column})
    return _few(table, name, _group_rows(values.filter(pc.is_valid(values["value"])), ["value"]))


def count_values(table: Table, name: str) -> ValueCounts:
    """Count the values of a column on the engine. Cost: O(records); one pass where the values are few."""
    known = _counts(table, name)
    rows = compute(table, known.limit(_FEW + 1))
    if len(rows) <= _FEW:
        return _few(table, name, rows)
    times = known["records"]
    asked = known.aggregate(distinct=known.count(), present=times.sum(), alone=(times == 1).ifelse(1, 0).sum())
    size = figures(table, asked)
    return ValueCounts(table=table, name=name, **{each: int(number) for each, number in size.items()}, fetched=None)


def _counts(table: Table, name: str) -> TableQuery:
    values = table.expression.select(value=key(table.expression[name]))
    counts = values.group_by("value").aggregate(records=values.count())
    return counts.filter(counts["value"].notnull())


def _few(table: Table, name: str, rows: pa.Table) -> ValueCounts:
    present, alone = (int(pc.sum(each).as_py() or 0) for each in (rows["records"], pc.equal(rows["records"], 1)))
    return ValueCounts(table=table, name=name, distinct=len(rows), present=present, alone=alone, fetched=rows)


def different(rows: pa.Table) -> tuple[pa.Table, Counts]:
    """Return the different rows of a table and how often each is there; columns may have any name."""
    names = [str(number) for number in range(rows.num_columns)]
    groups = _group_rows(rows.rename_columns(names), names)
    return groups.select(names).rename_columns(rows.column_names), groups["records"].to_numpy().astype(np.int64)


def _group_rows(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return every combination of values of some columns and the number of ``records`` that have it."""
    groups = rows.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return groups.select([*names, "count_all"]).rename_columns([*names, "records"])


def _plain(kind: pa.DataType) -> bool:
    """Return whether values of a type can be counted and put in order here."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_decimal(kind))


def _spelt(values: pa.ChunkedArray, engine: Engine) -> pa.ChunkedArray:
    """Return values as the texts that DuckDB makes of them: engines spell numbers and days differently."""
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    if pa.types.is_float64(values.type) and not pc.any(pc.is_nan(values)).as_py():
        # DuckDB and Python spell a number in the same way, with the fewest digits that tell it from all others
        return pa.chunked_array([pa.array(map(repr, values.to_pylist()), pa.string())])
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
    return int(figures(table, same.aggregate(records=same.times.sum()))["records"] or 0)


def _commonest_share(table: Table, by: Sequence[str], column: str) -> float:
    records = table.expression
    keys = {f"q{position}": key(records[name]) for position, name in enumerate(by)}
    held = records.group_by(**keys, secret=key(records[column])).aggregate(records=records.count())
    classes = held.group_by([*keys]).aggregate(most=held.records.max(), size=held.records.sum())
    rows = compute(table, classes.group_by(["most", "size"]).aggregate(times=classes.count()))
    return max(
        (most / size for most, size in zip(rows["most"].to_pylist(), rows["size"].to_pylist(), strict=True)), default=0
    )


def _find_erased(table: Table, names: Sequence[str], label: str) -> list[str]:
    texts = [name for name in names if table.expression[name].type().is_string()]
    if not texts:
        return []
    ends = {
        f"{end}{i}": getattr(table.expression[name], end)() for i, name in enumerate(texts) for end in ("min", "max")
    }
    counts = figures(table, table.expression.aggregate(**ends))
    return [name for i, name in enumerate(texts) if counts[f"min{i}"] == counts[f"max{i}"] == label]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The finite numbers of a column: the least and the greatest, whether all are whole, and how many records have one.

    ``aside`` are the records whose number is not finite.
    """

    least: float
    greatest: float
    whole: bool
    records: int
    aside: int


class NumberSpread(Protocol):
    """The numbers of a column."""

    def extent(self) -> Extent:
        """Return where they lie."""

    def reaching(self, share: float, extent: Extent) -> float:
        """Return the least of them such that at least ``share`` of the records have it or a lesser one."""

    def count_bins(self, step: float, most: float) -> dict[int, int]:
        """Return how many records lie in ``[i * step, (i + 1) * step)``, by i; numbers above ``most`` count as it."""


def numbers_of(counted: ValueCounts) -> NumberSpread:
    """Return the numbers of a column: fetched where the distinct ones are few, else counted on the engine."""
    if counted.distinct <= FETCHED:
        return _spread_of(counted.every())
    values = counted.counts["value"].cast("float64")
    counts = counted.counts.select(value=values, records=counted.counts["records"])
    return _SpreadOnEngine(
        counted=counted, counts=counts, finite=counts.filter(~(counts.value.isnan() | counts.value.isinf()))
    )


def _spread_of(rows: pa.Table) -> _SpreadHere:
    values = np.asarray(rows["value"].cast(pa.float64(), safe=False).to_pylist(), dtype=np.float64)
    counts = np.asarray(rows["records"].to_pylist(), dtype=np.int64)
    finite = np.isfinite(values)
    order = np.argsort(values[finite], kind="stable")
    return _SpreadHere(values=values[finite][order], counts=counts[finite][order], aside=int(counts[~finite].sum()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SpreadHere:
    """Numbers, ascending, and how many records have each."""

    values: Floats
    counts: Counts
    aside: int

    def extent(self) -> Extent:
        return Extent(
            least=float(self.values[0]),
            greatest=float(self.values[-1]),
            whole=bool((self.values == np.round(self.values)).all()),
            records=int(self.counts.sum()),
            aside=self.aside,
        )

    def reaching(self, share: float, extent: Extent) -> float:
        return self.passing(share * extent.records)

    def passing(self, records: float) -> float:
        """Return the least number such that it and lesser ones have so many records."""
        return float(self.values[np.searchsorted(np.cumsum(self.counts), records)])

    def count_bins(self, step: float, most: float) -> dict[int, int]:
        positions, inverse = np.unique(np.floor(np.minimum(self.values, most) / step), return_inverse=True)
        held = np.bincount(inverse, weights=self.counts)
        return {int(position): int(count) for position, count in zip(positions, held, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SpreadOnEngine:
    """Numbers that stay on the engine."""

    counted: ValueCounts
    counts: TableQuery
    finite: TableQuery

    def extent(self) -> Extent:
        value = self.finite["value"]
        asked = {"least": value.min(), "greatest": value.max(), "records": self.finite["records"].sum()}
        (row,) = self._ask(self.finite.aggregate(**asked, broken=_broken(value).ifelse(1, 0).max()))
        records = int(row["records"])
        return Extent(
            least=float(row["least"]),
            greatest=float(row["greatest"]),
            whole=not row["broken"],
            records=records,
            aside=self.counted.present - records,
        )

    def reaching(self, share: float, extent: Extent) -> float:
        left, low, high, inside = share * extent.records, extent.least, extent.greatest, self.finite
        while True:
            bins = self._bins(inside, low, high)
            before = 0
            for row in bins:
                if before + int(row["records"]) >= left:
                    break
                before += int(row["records"])
            left, low, high = left - before, float(row["low"]), float(row["high"])
            inside = self.finite.filter((self.finite["value"] >= low) & (self.finite["value"] <= high))
            if row["distinct"] <= FETCHED:
                return _spread_of(compute(self.counted.table, inside)).passing(left)

    def _bins(self, inside: TableQuery, low: float, high: float) -> list[Mapping[str, Any]]:
        """Count numbers by where they lie between two, in the order of the bins; with the ends that each really has."""
        width = high / _BINS - low / _BINS
        value = inside["value"]
        placed = inside.mutate(place=(value / width - low / width).floor().cast("int64"))
        grouped = placed.group_by("place").aggregate(
            records=placed["records"].sum(),
            distinct=placed.count(),
            low=placed["value"].min(),
            high=placed["value"].max(),
        )
        return self._ask(grouped.order_by("place"))

    def count_bins(self, step: float, most: float) -> dict[int, int]:
        value = self.finite["value"]
        position = (least(value, float(most)) / step).floor().cast("int64")
        placed = self.finite.mutate(place=position)
        rows = self._ask(placed.group_by("place").aggregate(records=placed["records"].sum()))
        return {int(row["place"]): int(row["records"]) for row in rows}

    def _ask(self, expression: TableQuery) -> list[Mapping[str, Any]]:
        return list(compute(self.counted.table, expression).to_pylist())


def _broken(value: Any) -> Any:
    """Return whether a number is not whole; those too large for a fraction are, and for the engine's whole numbers."""
    small = value.abs() < _WHOLE
    return small & (small.ifelse(value, 0.0).floor().cast("float64") != value)
