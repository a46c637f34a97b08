"""Read a table from wherever it lives, and write one so that it is there completely, or not at all.

Standard input, and what lies at http(s) and s3 addresses, is copied into a private folder first, which is removed with
the table: readers want to look at a file more than once, and a copy that broke off must never pass for the whole. No
message shows more of an address than host and path.
"""

from __future__ import annotations

import base64
import re
import shutil
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.schema import Schema
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import compute
from shoal.tables._table import Table, load_schema
from shoal.tables.formats import (
    FORMATS,
    DuckDBFile,
    Format,
    Options,
    Postgres,
    existing,
    files,
    open_csv,
    unreadable,
)
from shoal.writing import Scratch, is_usable_name

#: of all files of an address
_MOST_GIGABYTES = 10
_MOST = _MOST_GIGABYTES << 30
_CHUNK = 1 << 20
#: seconds without an answer
_PATIENCE = 60
_WEB, _STORES = ("http", "https"), ("s3",)
#: how files begin whose name does not tell what they are
_BEGINNINGS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"PK\x03\x04", ".xlsx"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
    (b"$FL", ".sav"),
    (b"<stata_dta>", ".dta"),
    (b"{", ".jsonl"),
)


def read(
    source: Any,
    *,
    schema: Schema | str | Path | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    skip_bad_rows: bool | None = None,
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
        mark), and for text that is none of these the likeliest of Windows-1252, other Latin, Cyrillic, Chinese,
        Japanese and Korean encodings; a decimal comma where numbers can be read no other way.
    skip_bad_rows
        Leave out the rows of a CSV file that do not have as many fields as its header, and count them in a note.

    Raises
    ------
    DataError
        If the source cannot be read; the message names the file, column and row, never a value.
    SchemaError
        If the records do not fit the schema.
    """
    options = Options(table=table, delimiter=delimiter, encoding=encoding, decimal=decimal, skip_bad_rows=skip_bad_rows)
    found = _read_copy(source, options) if elsewhere(source) else _read(source, options)
    if not len(compute(found, found.expression.limit(1))):
        raise DataError(f"{found.source.name} has no records.")
    return found if schema is None else found.with_schema(load_schema(schema))


def reread(path: Path | pa.Table, *, engine: DuckDBEngine | None = None) -> Table:
    """Read a file or frame of a release, of which no record need be released: as `read`, but it may be empty.

    ``engine`` computes a Parquet file, in place of one of its own.
    """
    return _read(path, Options(engine=engine))


def reread_csv(path: Path) -> pa.Table:
    """Read the CSV copy of a file of a release, as Shoal writes it, as text."""
    text = open_csv(path, delimiter=",", encoding="utf-8", names=True)
    records = text.records.read_all()
    text.check()
    return records


def _read_copy(source: str, options: Options) -> Table:
    """Read a copy of what is elsewhere, which is kept as long as the engine that reads it."""
    scratch = Scratch()
    try:
        path, notes = _copy_of(source, scratch.path)
        table = _read(path, options)
    except BaseException:
        scratch.remove()
        raise
    weakref.finalize(table.engine, scratch.remove)
    return replace(table, notes=(*notes, *table.notes))


def _read(source: Any, options: Options) -> Table:
    if isinstance(source, str | Path) and not is_usable_name(source):
        raise DataError("the name of the file to read is not UTF-8 text.", hint="give the file another name")
    reader = _reader(source)
    for option in options.given_names:
        if option not in reader.options:
            raise ParameterError(f"`{option}` of `read` applies only to {_users(option)}.")
    try:
        return reader.read(source, options)
    except DataError:
        if reader.name == "csv":
            _check_text(Path(source))
        raise


def _reader(source: object) -> Format:
    try:
        reader = next((file_format for file_format in FORMATS.values() if file_format.takes(source)), None)
        if reader is not None:
            return reader
        if not isinstance(source, str | Path):
            raise unreadable(source)
        path = existing(Path(source))
    except OSError as error:
        raise DataError(f"{source}: {(error.strerror or 'not readable').lower()}.") from None
    kind = f"the format `{path.suffix.lower()}` is" if path.suffix else "files without an extension are"
    raise DataError(f"{path.name}: {kind} not supported.", hint=f"Shoal reads {readable()} files")


def _check_text(path: Path) -> None:
    """Raise if a file that is called a text is one of another kind, which was renamed."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:  # said already
        return
    kind = next((end for sign, end in _BEGINNINGS[:-1] if start.startswith(sign)), None)
    if kind is not None:
        told = f"{path.name} is not a CSV file: it begins as `{kind}` files do."
        raise DataError(told, hint=f"give it the ending `{kind}`, or save it as CSV")


def readable(*, uploaded: bool = False) -> str:
    """Return the endings of all files that are read, for messages.

    Examples
    --------
    >>> readable(uploaded=True).split(", ")[:3]
    ['.csv', '.tsv', '.tab']
    """
    listed = ", ".join(each.endings_text for each in files() if each.endings and (each.uploaded or not uploaded))
    first, _, last = listed.rpartition(", ")
    return f"{first} and {last}"


def tables_of_database(source: str | Path) -> list[str]:
    """Return the names of the tables of a DuckDB file or a PostgreSQL database."""
    if FORMATS[Postgres.name].takes(source):
        return Postgres().list_tables(str(source))
    if not FORMATS[DuckDBFile.name].takes(source):
        raise DataError("this is neither a DuckDB file nor the address of a PostgreSQL database.")
    return DuckDBFile().list_tables(Path(source))


def uploadable() -> tuple[str, ...]:
    """Return the endings of files that may come from anyone."""
    return tuple(ending for each in files() if each.uploaded for ending in each.every_ending)


def written_ending(source: str) -> str | None:
    """Return the ending of files that are written in the format of a source; None where there is none.

    Examples
    --------
    >>> written_ending("people.csv.gz"), written_ending("people.xls"), written_ending("postgresql://host/base")
    ('.csv', '.xlsx', None)
    """
    name = Path(base_name(source) if elsewhere(source) else source)
    form = next((each for each in files() if name.name.lower().endswith(each.every_ending)), None)
    if form is None or not form.written:
        return None
    return name.suffix.lower() if name.suffix.lower() in form.written else form.written[0]


def _users(option: str) -> str:
    *others, last = (file_format.title for file_format in FORMATS.values() if option in file_format.options)
    return f"{', '.join(others)} and {last}" if others else last


def write(
    table: Table,
    destination: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users look for
    name: str | None = None,
    overwrite: bool = False,
    like: str | Path | None = None,
    description: str = "",
    labels: Mapping[str, Sequence[str]] | None = None,
    spreadsheet_safe: bool = False,
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
    description
        What the table is, in a line: written into the file where its format has room for it.
    labels
        The declared values of columns: Stata and SPSS files then hold codes 1, 2, ... with these labels.
    spreadsheet_safe
        Write an apostrophe before texts of a CSV file that spreadsheet programs would run as formulas, its header
        included. Without it such texts are written as they are, and a note names their columns.

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
    writer = writer.spreadsheet_safe() if spreadsheet_safe else writer
    writer = writer.with_description(description, labels or {}) if description else writer
    writer.write(table, destination, name=name, overwrite=overwrite)


def _writer(destination: str | Path, asked: str | None) -> Format:
    known = {name: each for name, each in FORMATS.items() if each.writable}
    if asked is None:
        file_format = next((each for each in known.values() if each.suits(destination)), None)
        if file_format is None:
            ends = Path(destination).suffix.lower()
            kin = next((each for each in files() if ends in each.endings and each.written), None)
            if kin is not None:
                told = f"files that end in `{ends}` can be read, but not written."
                raise ParameterError(told, hint=f"write `{kin.written[0]}`")
            endings = ", ".join(end for each in files() for end in each.written)
            raise ParameterError(
                "the name of the destination does not say which `format` to write.",
                hint=f"let it end in one of {endings}, or give one of {', '.join(known)}",
            )
        return file_format
    if asked not in known:
        raise ParameterError(f"`format` of `write` must be one of {', '.join(known)}; got {asked!r}.")
    return known[asked]


# -- what comes from elsewhere


def elsewhere(source: object) -> bool:
    """Return whether a source is to be fetched first.

    Examples
    --------
    >>> elsewhere("-"), elsewhere("s3://bucket/people.parquet"), elsewhere("people.csv")
    (True, True, False)
    """
    if not isinstance(source, str):
        return False
    scheme, colon, _ = source.partition("://")
    return source == "-" or (bool(colon) and scheme.lower() in (*_WEB, *_STORES))


def base_name(address: str) -> str:
    """Return the last part of an address's path, as a file may be called.

    Examples
    --------
    >>> base_name("https://example.org/a%20b/people.csv?token=1")
    'people.csv'
    """
    path = re.split("[?#]", address.partition("://")[2] or address)[0]
    last = unquote(path.rstrip("/").rpartition("/")[2])
    return re.sub(r"[^\w.=-]+", "_", last)[-100:].lstrip(".") or "table"


def _copy_of(source: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Copy what ``source`` names into a folder; also say what a person should know of how it came.

    Raises
    ------
    DataError
        If nothing is there, or it broke off, or is larger than 10 GB.
    """
    if source == "-":
        return _standard_input(folder), ()
    parts = _split(source)
    if parts.scheme in _STORES:
        return _from_store(source, parts, folder), ()
    path = _from_web(parts, folder)
    if parts.scheme == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1"):
        return path, ()
    return path, (f"{path.name} was downloaded over a connection that others can read and change: use https",)


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.hostname and (parts.port is None or parts.port):
            return parts
    except ValueError:
        pass
    raise DataError("the address is incomplete.", hint="for example https://example.org/people.csv")


def _standard_input(folder: Path) -> Path:
    stream = sys.stdin
    if stream is None or stream.isatty():
        raise DataError("nothing is piped in.", hint="for example: zcat people.csv.gz | shoal draft -")
    path = folder / "standard-input"
    with _copying("standard input"), path.open("wb") as file:
        shutil.copyfileobj(getattr(stream, "buffer", stream), file, _CHUNK)
    if not path.stat().st_size:
        raise DataError("standard input is empty.")
    return _with_ending(path)


def _with_ending(path: Path) -> Path:
    """Give a file without an ending the one that its first bytes speak for; text is CSV."""
    with path.open("rb") as file:
        start = file.read(512).lstrip()
    ending = next((end for sign, end in _BEGINNINGS if start.startswith(sign)), ".csv")
    return path.rename(path.with_name(path.name + ending))


# -- the web


def _from_web(parts: SplitResult, folder: Path) -> Path:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, build_opener

    shown = f"{parts.hostname}{parts.path}"
    host = parts.netloc.rpartition("@")[2]
    request = Request(parts._replace(netloc=host, fragment="").geturl(), headers={"User-Agent": "shoal"})  # noqa: S310 - http or https
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(secret).decode()}")
    path = folder / base_name(parts.path)
    try:
        with _copying(shown), build_opener(_no_downgrade()).open(request, timeout=_PATIENCE) as answer:
            if answer.headers.get_content_type() == "text/html":
                raise DataError(f"{shown} is a web page, not a file.", hint="give the address of the file itself")
            length = answer.headers.get("Content-Length")
            size = _copy_stream(answer, path, shown)
            if length is not None and length.isdigit() and size != int(length):
                raise DataError(
                    f"the download of {shown} stopped after {size:,} of {int(length):,} bytes.", hint="try again"
                )
    except HTTPError as error:
        raise DataError(f"{shown} cannot be read: the server answers {error.code} ({error.reason}).") from None
    except URLError as error:
        raise DataError(f"{shown} cannot be read: {_reason(error.reason)}.") from None
    except HTTPException:
        raise DataError(f"{shown} cannot be read: the response breaks off, or is not HTTP.") from None
    return path if path.suffix else _with_ending(path)


def _no_downgrade() -> Any:
    from urllib.error import URLError
    from urllib.request import HTTPRedirectHandler

    class Redirects(HTTPRedirectHandler):
        def redirect_request(self, request: Any, *others: Any) -> Any:
            if request.type == "https" and urlsplit(others[-1]).scheme != "https":
                raise URLError("it redirects to a connection that is not encrypted")
            return super().redirect_request(request, *others)

    return Redirects


# -- stores of objects


def _from_store(address: str, parts: SplitResult, folder: Path) -> Path:
    from pyarrow import fs

    shown = f"{parts.scheme}://{parts.hostname}{parts.path}"
    with _copying(shown, hint="credentials and the region come from the usual settings, such as AWS_PROFILE"):
        store, inside = fs.FileSystem.from_uri(address)
        info = store.get_file_info(inside)
        if info.type is fs.FileType.NotFound:
            raise DataError(f"{shown} does not exist, or you are not allowed to see it.")
        target = folder / base_name(parts.path)
        if info.type is fs.FileType.File:
            with store.open_input_stream(inside) as stream:
                _copy_stream(stream, target, shown)
            return target if target.suffix else _with_ending(target)
        left = _MOST
        for each in store.get_file_info(fs.FileSelector(inside, recursive=True)):
            inner = Path(each.path).relative_to(inside)
            if each.type is fs.FileType.File and each.path.endswith(".parquet") and ".." not in inner.parts:
                (target / inner).parent.mkdir(parents=True, exist_ok=True)
                with store.open_input_stream(each.path) as stream:
                    left -= _copy_stream(stream, target / inner, shown, most=left)
        target.mkdir(exist_ok=True)
        return target


# -- all


def _copy_stream(stream: IO[bytes], path: Path, shown: str, *, most: int = _MOST) -> int:
    """Copy a stream into a file and return its length."""
    size = 0
    read: Callable[[int], bytes] = stream.read
    with path.open("wb") as file:
        while chunk := read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise DataError(f"{shown} is larger than {_MOST_GIGABYTES} GB.", hint="download it and pass the file")
            file.write(chunk)
    return size


@contextmanager
def _copying(shown: str, hint: str | None = None) -> Iterator[None]:
    from urllib.error import URLError

    try:
        yield
    except URLError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{shown} cannot be read: {_reason(error)}.", hint=hint) from None


def _reason(error: object) -> str:
    """Say in a few words what went wrong; what libraries write may hold addresses and secrets."""
    if isinstance(error, TimeoutError):
        return "there was no answer in time"
    if isinstance(error, str):
        return error
    return (getattr(error, "strerror", None) or "it cannot be reached, or access is refused").lower()
