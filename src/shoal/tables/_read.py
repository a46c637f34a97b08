"""Read a table from wherever it lives."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError, Problems
from shoal.schema import Schema
from shoal.tables._csv import open_csv
from shoal.tables._duckdb import DuckDBEngine, literal, quoted, without_collations
from shoal.tables._engine import ROW, check_names, quiet
from shoal.tables._table import Source, Table, load_schema
from shoal.tables._utf8 import WrongEncoding

__all__ = ["read", "read_frame"]

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_DUCKDB = (".duckdb", ".ddb", ".db")
_POSTGRES = ("postgresql://", "postgres://")
_FILE_STRIDE = 1 << 40  # rows; no Parquet file has more


def read(
    source: Any,
    *,
    schema: Schema | str | Path | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Read a table of records.

    Parameters
    ----------
    source
        The path of a CSV file (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``), a Parquet file or folder, or a
        DuckDB file; the address ``postgresql://...`` of a database; an Arrow table, a pandas or polars frame; a
        Spark frame, or a Spark session together with ``table``.
    schema
        What the columns mean, or the path of a schema file: the records are checked against it.
    table
        The table of a database, ``name`` or ``schema.name``.
    delimiter, encoding, decimal
        How a CSV file is written. Detected automatically where not given, and kept in the table's ``source``: the
        delimiter among comma, semicolon, tab and vertical bar; UTF-8, UTF-16 and UTF-32 (with and without byte order
        mark), and Windows-1252 for text that is none of these; a decimal comma where numbers can be read no other
        way.

    Raises
    ------
    DataError
        If the source cannot be read; the message names the file, column and row, never a value.
    SchemaError
        If the records do not fit the schema.
    """
    found = _found(source, table, {"delimiter": delimiter, "encoding": encoding, "decimal": decimal})
    return found if schema is None else found.with_schema(load_schema(schema))


def _found(source: Any, table: str | None, written: dict[str, str | None]) -> Table:
    if isinstance(source, str) and source.startswith(_POSTGRES):
        _refuse(written)
        from shoal.tables._postgres import read_postgres

        return read_postgres(source, table)
    if isinstance(source, str | Path):
        return _file(Path(source), table, written)
    _refuse(written)
    kind = type(source).__module__.partition(".")[0]
    if kind == "pyspark":
        from shoal.tables._spark import read_spark

        return read_spark(source, table)
    if table is not None:
        raise ParameterError("`table` of `read` applies only to databases.")
    return _not_empty(read_frame(source, kind))


def _file(path: Path, table: str | None, written: dict[str, str | None]) -> Table:
    try:
        if not path.exists():
            raise DataError(f"{path} does not exist.")
        folder = path.is_dir()
    except OSError as error:
        raise DataError(f"{path}: {(error.strerror or 'not readable').lower()}.") from None
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    if kind in _CSV and not folder:
        if table is not None:
            raise ParameterError("`table` of `read` applies only to databases.")
        return _csv(path, written)
    _refuse(written)
    if kind in _PARQUET or folder:
        return _parquet(path, folder=folder)
    if kind in _DUCKDB:
        return _duckdb(path, table)
    raise DataError(
        f"{path.name}: {f'the format `{kind}` is' if kind else 'files without an extension are'} not supported.",
        hint="Shoal reads .csv, .tsv, .txt (also .gz), .parquet and .duckdb files",
    )


def _csv(path: Path, written: dict[str, str | None]) -> Table:
    if written["delimiter"] is not None and (len(written["delimiter"]) != 1 or written["delimiter"] in '"\r\n\0'):
        raise ParameterError("`delimiter` of `read` must be one character, not a quote or a line break.")
    if written["decimal"] not in (None, ".", ","):
        raise ParameterError("`decimal` of `read` must be `.` or `,`.")
    try:
        return _csv_with(path, written, fall_back=False)
    except WrongEncoding:
        return _csv_with(path, written, fall_back=True)


def _csv_with(path: Path, written: dict[str, str | None], *, fall_back: bool) -> Table:
    text = open_csv(path, **written, fall_back=fall_back)
    engine = DuckDBEngine()
    with quiet(path.name):
        expression = engine.ingest(text.records)
    text.check()
    details = (("encoding", text.encoding), ("delimiter", repr(text.delimiter)), ("decimal", text.decimal))
    source = Source(kind="csv", name=path.name, path=path, details=details, first_row=2)
    return Table(expression=expression, engine=engine, source=source)


def _parquet(path: Path, *, folder: bool) -> Table:
    files = sorted(str(file) for file in path.rglob("*.parquet")) if folder else [str(path)]
    if not files:
        raise DataError(
            f"{path.name} is a folder without Parquet files.", hint="pass one file or a folder of Parquet files"
        )
    engine = DuckDBEngine()
    # `*` takes the column's own name where a file has one called file_row_number: then rows have no number
    scan = f"read_parquet([{', '.join(literal(glob.escape(file)) for file in files)}], hive_types_autocast = false)"
    number = f"(file_index::BIGINT * {_FILE_STRIDE} + file_row_number)"
    with quiet(path.name):
        names = _parquet_names(path, files[0])
        check_names(names, path.name)
        taken = {name.lower() for name in names} & {"file_row_number", "file_index"}
        row = "" if taken else f", {number} AS {quoted(ROW)}"
        expression = engine.view(f"SELECT *{row} FROM {scan}")  # noqa: S608
    source = Source(kind="parquet", name=path.name, path=path, first_row=1 if len(files) == 1 and not taken else None)
    return _not_empty(Table(expression=expression, engine=engine, source=source))


def _parquet_names(path: Path, first: str) -> list[str]:
    """Read the names off the file itself: DuckDB renames those that are there twice."""
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(first).names)
    except PermissionError:
        raise DataError(f"{path.name} cannot be read: permission denied.") from None
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} is not a Parquet file, or it is damaged.") from None


def _duckdb(path: Path, table: str | None) -> Table:
    import duckdb

    engine = DuckDBEngine()
    connection = engine.connection
    try:
        connection.execute(f"ATTACH {literal(str(path))} AS source (READ_ONLY)")
    except duckdb.Error:
        raise DataError(
            f"{path.name} cannot be opened as a DuckDB file.",
            hint="check that it is one, that you may read it, and that no other program has it open for writing",
        ) from None
    with quiet(path.name):
        known = connection.execute(
            "SELECT schema_name, table_name, true FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
            "SELECT schema_name, view_name, false FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
        ).fetchall()
    schema, name, stored = _choose_table(known, table, path.name)
    with quiet(name):
        expression = engine.table(name, database=("source", schema))
        check_names(expression.columns, name)
        plain = without_collations(expression)
        if stored:
            plain[ROW] = expression.rowid()
        expression = expression.mutate(**plain)
    source = Source(kind="duckdb", name=name, path=path, first_row=1 if stored else None)
    return _not_empty(Table(expression=expression, engine=engine, source=source))


def _refuse(written: dict[str, str | None]) -> None:
    given = [name for name, value in written.items() if value is not None]
    if given:
        raise ParameterError(f"`{given[0]}` of `read` applies only to CSV files.")


def read_frame(source: Any, kind: str) -> Table:
    """Read an Arrow, pandas or polars frame; ``kind`` is the library it comes from."""
    rows = _arrow(source, kind)
    check_names(rows.column_names, f"the {kind} frame")
    rows = _supported(rows)
    numbers = pa.array(np.arange(rows.num_rows, dtype=np.int64))
    engine = DuckDBEngine()
    name = {"pyarrow": "arrow"}.get(kind, kind)
    with quiet(f"the {name} frame"):
        expression = engine.stage(rows.append_column(ROW, numbers))
    source = Source(kind=name, name=f"{name} frame", first_row=1)
    return Table(expression=expression, engine=engine, source=source)


def _arrow(source: Any, kind: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if kind == "pandas":
        _check_pandas(source)
        try:
            return pa.Table.from_pandas(source, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError):
            raise DataError(
                "the pandas frame cannot be read: a column mixes values of several types.",
                hint="convert the column with astype",
            ) from None
    if kind == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow()
    raise DataError(
        f"Shoal cannot read a {type(source).__name__}.",
        hint="pass a path, a postgresql:// address, or an Arrow, pandas, polars or Spark frame",
    )


def _check_pandas(frame: Any) -> None:
    if not hasattr(frame, "columns"):
        raise DataError(f"Shoal cannot read a pandas {type(frame).__name__}.", hint="pass a DataFrame")
    check_names(list(frame.columns), "the pandas frame")


def _supported(rows: pa.Table) -> pa.Table:
    """Cast the types that the engine does not know but can hold, and say which it cannot."""
    problems = Problems()
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        elif pa.types.is_decimal256(column.type):
            problems.add(f"column `{name}`: the type {column.type} is not supported")
        columns.append(column)
    problems.raise_as(DataError, hint="cast it to a number with fewer digits, or to text")
    return pa.table(columns, names=rows.column_names)


def _choose_table(known: list[tuple[str, str, bool]], asked: str | None, source: str) -> tuple[str, str, bool]:
    """Return the schema, name and kind of the table that was asked for, or of the only one there is."""
    if asked is None:
        if len(known) == 1:
            return known[0]
        raise ParameterError(
            f"{source} holds {len(known)} tables; specify `table`.",
            hint=("one of " + ", ".join(sorted(name for _, name, _ in known)[:10])) if known else None,
        )
    for schema, name, stored in sorted(known, key=lambda entry: entry[0] not in ("main", "public")):
        if asked in (name, f"{schema}.{name}"):
            return schema, name, stored
    raise DataError(f"{source} has no table `{asked}`.")


def _not_empty(table: Table) -> Table:
    with quiet(table.source.name):
        if not len(table.engine.fetch(table.expression.limit(1))):
            raise DataError(f"{table.source.name} has no records.")
    return table
