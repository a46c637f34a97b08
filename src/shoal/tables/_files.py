"""Read a table from wherever it lives, and write one so that it is there completely, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.schema import Schema
from shoal.tables._engine import quiet
from shoal.tables._table import Table, load_schema
from shoal.tables.formats import FORMATS, Format, Options, elsewhere, existing, fetch, files, open_csv, unreadable


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
        The path of a CSV file (``.csv``, ``.tsv``, ``.tab``, ``.txt``, also with ``.gz``), a Parquet file or folder,
        an Excel, Stata, SPSS or SAS file (value labels become values), lines of JSON, a Feather file, or a DuckDB
        file; ``-`` for standard input, or the ``http``, ``https`` or ``s3`` address of a file (``s3`` also of a
        folder of Parquet files), which is copied into a private folder first; the address ``postgresql://...`` of a
        database; an Arrow table, a pandas or polars frame; a Spark frame, or a Spark session together with ``table``.
    schema
        What the columns mean, or the path of a schema file: the records are checked against it.
    table
        The table of a database, ``name`` or ``schema.name``; the sheet of an Excel file.
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
    options = Options(table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)
    found = _fetched(source, options) if elsewhere(source) else _read(source, options)
    with quiet(found.source.name):
        if not len(found.engine.fetch(found.expression.limit(1))):
            raise DataError(f"{found.source.name} has no records.")
    return found if schema is None else found.with_schema(load_schema(schema))


def reread(path: Path) -> Table:
    """Read a file of a release, of which no record need have been released: as `read`, but it may be empty."""
    return _read(path, Options())


def reread_csv(path: Path) -> pa.Table:
    """Read the CSV copy of a file of a release, as Shoal writes it, as text."""
    text = open_csv(path, delimiter=",", encoding="utf-8")
    records = text.records.read_all()
    text.check()
    return records


def _fetched(source: str, options: Options) -> Table:
    copy = fetch(source)
    try:
        found = _read(copy.path, options)
    except BaseException:
        copy.scratch.remove()
        raise
    copy.removed_with(found.engine)
    return replace(found, notes=(*copy.notes, *found.notes))


def _read(source: Any, options: Options) -> Table:
    reader = _reader(source)
    for option in options.given:
        if option not in reader.options:
            raise ParameterError(f"`{option}` of `read` applies only to {_users(option)}.")
    return reader.read(source, options)


def _reader(source: object) -> Format:
    try:
        reader = next((each for each in FORMATS.values() if each.takes(source)), None)
        if reader is not None:
            return reader
        if not isinstance(source, str | Path):
            raise unreadable(source)
        path = existing(Path(source))
    except OSError as error:
        raise DataError(f"{source}: {(error.strerror or 'not readable').lower()}.") from None
    kind = f"the format `{path.suffix.lower()}` is" if path.suffix else "files without an extension are"
    raise DataError(f"{path.name}: {kind} not supported.", hint=f"Shoal reads {readable()} files")


def readable(*, uploaded: bool = False) -> str:
    """Return the endings of all files that are read, for messages.

    Examples
    --------
    >>> readable(uploaded=True).split(", ")[:3]
    ['.csv', '.tsv', '.tab']
    """
    listed = ", ".join(each.listed for each in files() if each.endings and (each.uploaded or not uploaded))
    first, _, last = listed.rpartition(", ")
    return f"{first} and {last}"


def uploadable() -> tuple[str, ...]:
    """Return the endings of files that may come from anyone."""
    return tuple(found for each in files() if each.uploaded for found in each.every_ending)


def _users(option: str) -> str:
    *others, last = (each.title for each in FORMATS.values() if option in each.options)
    return f"{', '.join(others)} and {last}" if others else last


def write(
    table: Table,
    destination: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users look for
    name: str | None = None,
    overwrite: bool = False,
    like: str | Path | None = None,
) -> None:
    """Write a table.

    Parameters
    ----------
    destination
        The path of a file; the address ``postgresql://...`` of a database; or the name of a Spark table.
    format
        ``csv``, ``excel``, ``stata``, ``spss``, ``sas``, ``json-lines``, ``feather``, ``parquet`` (one file),
        ``parquet-folder`` (files written side by side by Spark, in a folder that all its machines see),
        ``postgresql`` or ``spark`` (a table of the session). Read off the destination where not given.
    name
        The table to make in a PostgreSQL database, ``name`` or ``schema.name``.
    overwrite
        Replace what is there.
    like
        A Stata or SPSS file: columns whose values are labels of that file are written as its codes, with these
        labels, and columns are described as there. Only for Stata and SPSS files.

    Raises
    ------
    OutputError
        If the destination exists, may not be written, or the disk is full, or if the format cannot hold the table.
        Nothing is left behind then.
    Cancelled
        If the user interrupts. Nothing is left behind.

    Notes
    -----
    Files are written under a temporary name in the same folder, flushed to the disk, and renamed: a reader sees the
    whole file or none. A database table is made in one transaction. Records stream from the
    engine; memory stays bounded.
    """
    writer = _writer(destination, format)
    writer = writer if like is None else writer.like(Path(like))
    writer.write(table, destination, name=name, overwrite=overwrite)


def _writer(destination: str | Path, asked: str | None) -> Format:
    known = {name: each for name, each in FORMATS.items() if each.writable}
    if asked is None:
        found = next((each for each in known.values() if each.suits(destination)), None)
        if found is None:
            ends = Path(destination).suffix.lower()
            kin = next((each for each in files() if ends in each.endings and each.written), None)
            if kin is not None:
                told = f"files with the ending `{ends}` are read, but not written."
                raise ParameterError(told, hint=f"write `{kin.written[0]}`")
            raise ParameterError(
                "the name of the destination does not show which `format` to write.", hint=f"one of {', '.join(known)}"
            )
        return found
    if asked not in known:
        raise ParameterError(f"`format` of `write` must be one of {', '.join(known)}; got {asked!r}.")
    return known[asked]
