"""Read the tables of a data set, and join their rows by keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal import tables
from shoal.datasets._schema import NAME, DatasetSchema, TableSchema
from shoal.datasets._toml import load
from shoal.errors import DataError, Problems, SchemaError, counted, quoted
from shoal.kernels import Integers
from shoal.schema import Attribute, Kind, Missing, Role, Schema
from shoal.schema.rules import text
from shoal.tables import Table, list_foreign_keys, list_tables

#: the schema of the data set that lies in the same folder
DATASET = "dataset.toml"
_BOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_PARQUET = (".parquet", ".pq")
_BASES = (".duckdb", ".ddb", ".db")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """The rows of a data set in memory, each with the row that it belongs to."""

    schema: DatasetSchema
    #: The columns that the schema describes, typed; one row per row of the source.
    rows: Mapping[str, pa.Table]
    #: The row of the parent that every row belongs to; not for the table of the persons.
    parents: Mapping[str, Integers]
    #: What a person should know of how the tables were read.
    notes: tuple[str, ...] = ()

    @property
    def persons(self) -> int:
        """The number of persons."""
        return len(self.rows[self.schema.root.name])

    @property
    def items(self) -> int:
        """The number of rows of all other tables."""
        return sum(len(self.rows[table.name]) for table in self.schema.items)

    def count_below(self, name: str) -> Integers:
        """Return how many rows of a table belong to every row of its parent."""
        above = len(self.rows[self.schema[name].parent or ""])
        return np.bincount(self.parents[name], minlength=above).astype(np.int64)

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {len(rows):,}" for name, rows in self.rows.items())
        return f"<Dataset: {told}>"


def schema_place(source: str | Path) -> Path:
    """Return where the schema of a data set is looked for: in its folder, or beside its file."""
    path = Path(source)
    return path / DATASET if path.is_dir() else path.with_name(f"{path.stem}.{DATASET}")


def is_dataset(source: str | Path) -> bool:
    """Return whether the schema of a data set lies where that of a source would."""
    return "://" not in str(source) and str(source) != "-" and schema_place(source).is_file()


def read_dataset(source: str | Path | Mapping[str, Any], schema: DatasetSchema | str | Path | None = None) -> Dataset:
    """Read a data set of several tables.

    Parameters
    ----------
    source
        A folder with one file per table, called by its name (CSV, Parquet, ...); an Excel file with one sheet per
        table; a DuckDB file; the address of a PostgreSQL database; or frames by name, those of Spark, too.
    schema
        What tables and columns mean; by default ``dataset.toml`` in the folder, or ``NAME.dataset.toml`` beside a file.

    Raises
    ------
    SchemaError, DataError
        If tables or columns are not there, keys are missing or repeat, or rows belong to nobody. Counts are told, and
        no value.
    """
    if schema is None:
        if isinstance(source, Mapping) or _is_server(source):
            kind = "frames" if isinstance(source, Mapping) else "databases"
            raise SchemaError(f"{kind} have no schema beside them; give `schema`")
        schema = schema_place(source)
    described = schema if isinstance(schema, DatasetSchema) else load(schema)
    problems, notes = Problems(), list[str]()
    raw: dict[str, Table] = {}
    for table in described:
        if table.list_column is None:
            try:
                raw[table.name] = open_table(source, table.name)
            except DataError as error:
                for problem in error.problems:
                    problems.add(f"table `{table.name}`: {problem}")
    problems.raise_as(DataError)
    rows, keys = {}, dict[str, dict[str, pa.Array]]()
    for table in described:
        try:
            if table.list_column is not None:
                continue
            lists = [each.list_column for each in described.below(table.name) if each.list_column is not None]
            rows[table.name], keys[table.name], told = _typed(raw[table.name], table, lists)
            notes += told
        except SchemaError as error:
            for problem in error.problems:
                problems.add(f"table `{table.name}`: {problem}")
    problems.raise_as(SchemaError)
    parents: dict[str, Integers] = {}
    for table in described:
        if table.list_column is not None:
            rows[table.name], parents[table.name] = list_entries(raw[table.parent or ""], table)
        elif table.parent is not None and table.parent_key is not None:
            found = _joined(table, keys[table.name][table.parent_key], keys[table.parent], described, problems)
            parents[table.name] = found
        if table.key is not None:
            _check_key(table, keys[table.name][table.key], problems)
    problems.raise_as(DataError)
    return Dataset(
        schema=described, rows={each.name: rows[each.name] for each in described}, parents=parents, notes=tuple(notes)
    )


def open_table(source: str | Path | Mapping[str, Any], name: str) -> Table:
    """Open one table of a data set by its name."""
    if isinstance(source, Mapping):
        if name not in source:
            raise DataError(f"there is no frame `{name}`.", hint=f"the frames are {quoted([*source])}")
        given = source[name]
        return given if isinstance(given, Table) else tables.read(given)
    if _is_server(source):
        return tables.read(str(source), table=name)
    path = Path(source)
    if not path.is_dir():
        return tables.read(path, table=name) if path.suffix.lower() in (*_BOOKS, *_BASES) else tables.read(path)
    files = [file for file in table_files(path) if file[0] == name]
    if len(files) != 1:
        found = "no file" if not files else f"{len(files)} files"
        raise DataError(f"{found} in `{path.name}` for table `{name}`.", hint=f"put one there, such as {name}.csv")
    return tables.read(files[0][1])


def table_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the names of the tables in a folder with their files."""
    endings = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".feather", ".arrow", ".jsonl", ".dta", ".sav")
    found = []
    for path in sorted(folder.iterdir()):
        ending = next((each for each in endings if path.name.lower().endswith(each)), None)
        if ending is not None and not path.name.startswith("."):
            found.append((path.name[: -len(ending)], path))
    return found


def holds_tables(source: str | Path) -> bool:
    """Return whether a source holds several tables: a folder with a file for each, or a Parquet file with lists.

    A folder whose Parquet files have the same columns is one table in parts.
    """
    path = Path(source)
    if "://" in str(source):
        return False
    if path.is_file() and path.suffix.lower() in _PARQUET:
        try:
            return any(pa.types.is_list(kind) or pa.types.is_large_list(kind) for kind in pq.read_schema(path).types)
        except (pa.ArrowException, OSError):
            return False
    if not path.is_dir():
        return False
    files = [file for _, file in table_files(path)]
    if len(files) < 2:
        return False
    if not all(file.suffix in _PARQUET for file in files):
        return True
    try:
        return len({tuple(pq.read_schema(file).names) for file in files}) > 1
    except (pa.ArrowException, OSError):
        return False


def table_names(source: str | Path | Mapping[str, Any]) -> list[str]:
    """Return the names of all tables of a source."""
    if isinstance(source, Mapping):
        return [*source]
    if _is_server(source):
        return list_tables(str(source))
    path = Path(source)
    if path.is_dir():
        return [name for name, _ in table_files(path)]
    if path.suffix.lower() in _BOOKS:
        import python_calamine

        return list(python_calamine.CalamineWorkbook.from_path(str(path)).sheet_names)
    if path.suffix.lower() in _BASES:
        import duckdb

        with duckdb.connect(str(path), read_only=True) as connection:
            found = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        return [name for (name,) in found]
    if path.is_file():
        # one table, whose lists become others
        name = path.name.partition(".")[0]
        return [name if NAME.fullmatch(name) else "records"]
    raise DataError(f"`{path.name}` is no folder, and no file that can be read.")


def declared_parents(source: str | Path | Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the foreign keys that a database declares: table, column, and the table and column that it names."""
    if isinstance(source, Mapping):
        return []
    if _is_server(source):
        return list_foreign_keys(str(source))
    if Path(source).suffix.lower() not in _BASES or Path(source).is_dir():
        return []
    import duckdb

    with duckdb.connect(str(source), read_only=True) as connection:
        found: list[tuple[str, str, str, str]] = connection.execute(
            "SELECT table_name, constraint_column_names[1], referenced_table, referenced_column_names[1] "
            "FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND len(constraint_column_names) = 1 "
            "ORDER BY ALL"
        ).fetchall()
    return found


def _is_server(source: str | Path | Mapping[str, Any]) -> bool:
    return isinstance(source, str) and source.startswith(("postgresql://", "postgres://"))


def _typed(raw: Table, table: TableSchema, lists: list[str]) -> tuple[pa.Table, dict[str, pa.Array], tuple[str, ...]]:
    """Return the described columns of a table with their types, and its keys as text."""
    wanted = {*table.columns.names, *table.keys, *lists}
    problems = Problems()
    for name in sorted(wanted - {*raw.columns}):
        problems.add(f"column `{name}` of the schema is not in {raw.source.name}")
    for name in raw.columns:
        if name not in wanted:
            problems.add(f'column `{name}` is not described; `role = "drop"` leaves it out')
    problems.raise_as(SchemaError)
    keys = tuple(Attribute(name=name, role=Role.IDENTIFIER) for name in table.keys)
    # days are counted from dates, which the source holds
    columns = [
        Attribute(name=each.name, role=each.role, kind=Kind.DATE, missing=each.missing)
        if each.name in table.days_since_first
        else each
        for each in table.columns
    ]
    described = replace(table.columns, attributes=(*columns, *keys))
    records = tables.in_order(raw.select(*described.names).with_schema(described))
    found = {name: text(records[name].combine_chunks()) for name in table.keys}
    return _without_nan(records.select(list(table.columns.names)), table), found, tuple(raw.notes)


def _without_nan(rows: pa.Table, table: TableSchema) -> pa.Table:
    """Return rows with NaN as missing; refuse infinite numbers."""
    problems = Problems()
    for position, name in enumerate(rows.column_names):
        column = rows[name]
        if not pa.types.is_floating(column.type):
            continue
        infinite = pc.sum(pc.is_inf(column)).as_py() or 0
        if infinite:
            problems.add(f"table `{table.name}`: column `{name}` holds infinite numbers in {counted(infinite, 'row')}")
        nan = pc.sum(pc.is_nan(column)).as_py() or 0
        if nan and table.columns[name].missing is Missing.REFUSE:
            problems.add(f"table `{table.name}`: column `{name}` is missing in {counted(nan, 'row')}")
        if nan:
            present = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
            rows = rows.set_column(position, name, present)
    problems.raise_as(DataError, hint="make them missing, or replace them")
    return rows


def _check_key(table: TableSchema, keys: pa.Array, problems: Problems) -> None:
    if keys.null_count:
        problems.add(f"table `{table.name}`: {counted(keys.null_count, 'row')} without a key in column `{table.key}`")
    repeated = len(keys) - keys.null_count - len(pc.unique(keys.drop_null()))
    if repeated:
        problems.add(
            f"table `{table.name}`: column `{table.key}` is no key: {counted(repeated, 'row')} with the key of another"
        )


def _joined(
    table: TableSchema,
    keys: pa.Array,
    above: Mapping[str, pa.Array],
    described: DatasetSchema,
    problems: Problems,
) -> Integers:
    """Return the row of the parent that every row belongs to."""
    parent = described[table.parent or ""]
    known = above[parent.key or ""]
    found = pc.index_in(keys, value_set=known, skip_nulls=True)
    if found.null_count:
        problems.add(
            f"table `{table.name}`: {counted(found.null_count, 'row')} of {len(keys):,} belong to no row of "
            f"`{parent.name}`: column `{table.parent_key}` holds no key of it; leave these rows out, or complete "
            f"`{parent.name}`"
        )
    return np.asarray(found.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def list_entries(raw: Table, table: TableSchema) -> tuple[pa.Table, Integers]:
    """Return the entries of a column of lists as the rows of a table, and the rows that they belong to."""
    assert table.list_column is not None  # noqa: S101
    cells = tables.in_order(raw.select(table.list_column))[table.list_column]
    (attribute,) = table.columns.attributes
    lists = cells.combine_chunks()
    if not pa.types.is_list(lists.type) and not pa.types.is_large_list(lists.type):
        lists = pa.array([*_split(text(lists), table)], pa.list_(pa.string()))
    parents = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    entries = pa.table({attribute.name: pc.list_flatten(lists)})
    if not len(entries):
        raise DataError(f"table `{table.name}`: no cell of column `{table.list_column}` has an entry.")
    schema = Schema(attributes=(attribute,), folder=table.columns.folder)
    return tables.in_order(tables.read(entries).with_schema(schema)), parents


def _split(cells: pa.Array, table: TableSchema) -> Iterator[list[str] | None]:
    """Yield the entries of cells that are texts: arrays of JSON, or texts with a separator."""
    for number, cell in enumerate(cells.to_pylist(), start=1):
        if cell is None or not cell.strip():
            yield None
        elif table.separator is not None:
            yield [entry.strip() for entry in cell.split(table.separator) if entry.strip()]
        else:
            try:
                found = json.loads(cell)
            except ValueError:
                found = None
            if not isinstance(found, list) or any(isinstance(entry, list | dict) for entry in found):
                raise DataError(
                    f"table `{table.name}`: row {number:,} of column `{table.list_column}` is no array of JSON.",
                    hint='where entries have a separator, name it: separator = "|"',
                )
            yield [entry if isinstance(entry, str) else json.dumps(entry) for entry in found if entry is not None]
