"""Tables: upload, list, look at, assess, delete."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError, InputError, ParameterError
from shoal.schema import date_pattern
from shoal.tables import Table, readable, uploadable
from shoal.web._context import SCHEMA, Context, Here, receive
from shoal.web._convert import CONVERTED, convert, list_tables
from shoal.web._drafts import add_draft, current_draft, draft_columns
from shoal.web._store import now, read_json, write_json
from shoal.web.api.answers import RecordsAnswer, RequestBody, TableAnswer, ValuesAnswer
from shoal.writing import digest

router = APIRouter()

UPLOAD = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
_CELL, _RISK, _PARQUET = 200, "risk.json", "source.parquet"
#: distinct values up to which numbers are put into bins, bars of a small picture, values that are named
_COUNTED, _BARS, _TOP = 300_000, 24, 6
#: what the app takes on; more is for the command line, which shows no pages
MOST_COLUMNS, MOST_RECORDS = 1_000, 250_000_000
_CLI = "the command `shoal anonymize` takes larger tables"
#: what reading a packed file that is damaged, cut short or encrypted may raise
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, ArithmeticError, RuntimeError, OSError, EOFError)
#: records whose minimal uniques are looked for here, and columns of which all sets are
_SCORED, _FEW = 100_000, 8
#: a packed file may unpack to this much, or to this many times its size
_UNPACKED, _TIMES = 256 * 2**20, 100


async def received(request: Request, most: int, too_large: str) -> bytes:
    """Return the body of a request that fits into memory, or raise :class:`DataError` where it is larger."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise DataError(too_large)
    return bytes(body)


@router.get("/tables", response_model=list[TableAnswer])
def every_table(here: Here) -> list[dict[str, Any]]:
    """List the uploaded tables, the newest first."""
    return list(here.store.tables.all())


@router.post("/tables", status_code=201, openapi_extra=UPLOAD, response_model=TableAnswer)
async def upload(
    request: Request,
    here: Here,
    name: Annotated[str, Query(min_length=1, max_length=255, description="the file's name; its ending counts")],
    delimiter: Annotated[str | None, Query(max_length=1, description="of a CSV file; detected automatically")] = None,
    encoding: Annotated[str | None, Query(max_length=40, description="of a CSV file; detected automatically")] = None,
    decimal: Annotated[Literal[".", ","] | None, Query(description="of a CSV file; detected automatically")] = None,
    sheet: Annotated[str | None, Query(max_length=100, description="of a spreadsheet; the first by default")] = None,
    skip_bad_rows: Annotated[
        bool, Query(description="leave out rows of a CSV file with too few or many fields")
    ] = False,
    dates: Annotated[str | None, Query(max_length=20, description="how days are written, as in `dd/mm/yyyy`")] = None,
    missing: Annotated[list[str], Query(max_length=20, description="texts that stand for a missing value")] = [],  # noqa: B006
) -> dict[str, Any]:
    """Take a file with a table, profile its columns and draft a schema."""
    reading = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "table": sheet}
    given: dict[str, str | bool] = {key: value for key, value in reading.items() if value}
    given |= {"skip_bad_rows": True} if skip_bad_rows else {}
    # the ending is kept, so that the file is read as what it is; the rest of a client's name is only shown
    known = sorted((*uploadable(), *CONVERTED), key=len, reverse=True)
    ending = next((each for each in known if name.lower().endswith(each)), None)
    if ending is None:
        raise DataError(
            "files of this format are not supported.",
            hint=f"Shoal reads {readable(uploaded=True)}, {', '.join(CONVERTED)} files",
        )
    if dates and date_pattern(dates) is None:
        raise DataError("how days are written must be made of dd, mm and yyyy, as in `dd.mm.yyyy`")
    identity = here.store.tables.new()
    folder = here.store.tables.path(identity)
    try:
        size = await receive(request, folder / f"source{ending}")
        source = {"file": f"source{ending}", "name": _shown(name), "bytes": size, "reading": given}
        if ending in CONVERTED:
            source = await run_in_threadpool(_converted, folder, source, None)
        return await run_in_threadpool(_draft, here, identity, source, tuple(missing), dates or None)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _converted(folder: Path, source: dict[str, Any], table: str | None) -> dict[str, Any]:
    """Write a file as Parquet in another process; the original stays beside it, for its codes and labels."""
    original = source["file"]
    notes = convert(folder / original, folder / _PARQUET, table=table, name=source["name"])
    return source | {"file": _PARQUET, "original": original, "reading": {}, "notes": notes}


class DatabaseTable(RequestBody):
    """A table of a PostgreSQL database."""

    address: str = Field(
        min_length=1, max_length=2000, description="postgresql://user:password@host/database; not kept"
    )
    table: str = Field(default="", max_length=300, description="empty: list the tables")


@router.post("/databases/tables", response_model=list[str])
def tables_of_database(given: DatabaseTable) -> list[str]:
    """List the tables of a database."""
    return list_tables(_address(given.address), name="the database")


@router.post("/databases", status_code=201, response_model=TableAnswer)
def open_database(here: Here, given: DatabaseTable) -> dict[str, Any]:
    """Copy a table of a database, profile its columns and draft a schema."""
    address = _address(given.address)
    if not given.table:
        raise ParameterError("choose a table")
    return _from_elsewhere(here, address, given.table, given.table)


@router.post("/databases/file/tables", response_model=list[str], openapi_extra=UPLOAD)
async def tables_of_file(request: Request, here: Here) -> list[str]:
    """List the stored tables of a DuckDB file, which is not kept."""
    with _received_database(here) as path:
        await receive(request, path)
        return await run_in_threadpool(list_tables, path, name="the file")


@router.post("/databases/file", status_code=201, response_model=TableAnswer, openapi_extra=UPLOAD)
async def open_database_file(
    request: Request, here: Here, table: Annotated[str, Query(min_length=1, max_length=300)]
) -> dict[str, Any]:
    """Copy a stored table of a DuckDB file, profile its columns and draft a schema; the file is not kept."""
    with _received_database(here) as path:
        await receive(request, path)
        if table not in await run_in_threadpool(list_tables, path, name="the file"):
            raise DataError("the file has no such stored table")
        return await run_in_threadpool(_from_elsewhere, here, path, table, table)


@contextlib.contextmanager
def _received_database(here: Context) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        yield Path(place) / "source.duckdb"


def _from_elsewhere(here: Context, source: Path | str, table: str, name: str) -> dict[str, Any]:
    identity = here.store.tables.new()
    folder = here.store.tables.path(identity)
    try:
        notes = convert(source, folder / _PARQUET, table=table, name="the database")
        size = (folder / _PARQUET).stat().st_size
        about = {"file": _PARQUET, "name": _shown(name), "bytes": size, "reading": {}, "notes": notes}
        return _draft(here, identity, about)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _address(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ParameterError("the address of a database begins with postgresql://")
    return text


@router.post("/tables/example", status_code=201, response_model=TableAnswer)
def example(here: Here) -> dict[str, Any]:
    """Open the bundled table of hospital discharges, whose roles and hierarchies were declared by its makers."""
    identity = here.store.tables.new()
    folder = here.store.tables.path(identity)
    bundled = Path(__file__).parent.parent / "example"
    shutil.copyfile(bundled / "discharges.csv.gz", folder / "source.csv.gz")
    size = (folder / "source.csv.gz").stat().st_size
    about = _draft(here, identity, {"file": "source.csv.gz", "name": "discharges.csv", "bytes": size, "reading": {}})
    (folder / "hierarchies").mkdir(mode=0o700)
    for path in (bundled / "hierarchies").iterdir():
        shutil.copyfile(path, folder / "hierarchies" / path.name)  # without the modes of the installed files
    shutil.copyfile(bundled / "schema.toml", folder / SCHEMA)
    return about


@router.get("/tables/{table}", response_model=TableAnswer)
def one_table(here: Here, table: str) -> dict[str, Any]:
    """Return a table's name, size and the profiles of its columns."""
    about = here.store.tables.about(table)
    reasons = current_draft(here.store.tables.path(table))["reasons"]
    return about | {"columns": [each | {"reason": reasons.get(each["name"], "")} for each in about["columns"]]}


@router.get("/tables/{table}/records", response_model=RecordsAnswer)
def records(
    here: Here,
    table: str,
    start: Annotated[int, Query(ge=0, le=10**12)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    sort: Annotated[int | None, Query(ge=0, description="the number of the column to sort by")] = None,
    descending: bool = False,
    column: Annotated[int | None, Query(ge=0, description="the number of the column to look in")] = None,
    contains: Annotated[str, Query(max_length=200, description="what its value must contain")] = "",
) -> dict[str, Any]:
    """Return some records as text, sorted and filtered, and how many there are in all."""
    from shoal import tables
    from shoal.schema.rules import text

    with here.table(table) as opened:
        chosen, total = opened, int(here.store.tables.about(table)["records"])
        if column is not None and contains:
            chosen = tables.containing(chosen, here.column(table, column), contains)
            total = chosen.count()
        if sort is not None:
            chosen = tables.order_by_column(chosen, here.column(table, sort), descending=descending)
        rows = tables.records_from(chosen, start, limit)
    columns = []
    for cells in rows.columns:
        try:
            texts = text(cells).to_pylist()
        except DataError:
            texts = [None if cell is None else "(not text)" for cell in cells.to_pylist()]
        columns.append([None if cell is None else cell[:_CELL] for cell in texts])
    rows_shown = [list(row) for row in zip(*columns, strict=True)]
    return {"columns": rows.column_names, "rows": rows_shown, "total": total}


@router.get("/tables/{table}/columns/{number}/values", response_model=ValuesAnswer)
def values(
    here: Here, table: str, number: int, limit: Annotated[int | None, Query(ge=1, le=2000)] = None
) -> dict[str, Any]:
    """Return what a column holds, at a glance: bins of numbers, or its commonest values, as many as are asked for."""
    from shoal import Kind, tables

    name = here.column(table, number)
    schema = here.schema(table)
    numeric = schema[name].kind is Kind.NUMERIC
    why = current_draft(here.store.tables.path(table))["reasons"].get(name, "")
    with here.table(table) as opened:
        counted = tables.count_values(opened, name)
        if limit is None and numeric and counted.distinct <= _COUNTED:
            bins = _bins(counted.every())
            if bins is not None:
                return {"distinct": counted.distinct, "bins": bins, "top": [], "why": why}
        absent = {"", *schema.missing_values, *schema[name].reading.missing_values}
        common = counted.commonest((limit or _TOP) + len(absent), length=_CELL).to_pylist()
    top = [each for each in common if each["value"].strip() not in absent][: limit or _TOP]
    return {
        "distinct": counted.distinct,
        "why": why,
        "bins": [],
        "top": [{"value": each["value"], "records": each["records"]} for each in top],
    }


def _bins(counts: Any) -> list[dict[str, float]] | None:
    """Return numbers in bins of round width; None where they are not numbers, or so few that each can be named."""
    import numpy as np
    import pyarrow as pa

    from shoal.utility import round_edges

    try:
        numbers = np.asarray(counts["value"].cast(pa.float64()).to_numpy(), dtype=float)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if len(numbers) <= _TOP or not np.isfinite(numbers).all():
        return None
    edges = round_edges(numbers, counts["records"].to_numpy(), _BARS)
    if edges is None:
        return None
    heights, _ = np.histogram(numbers, bins=edges, weights=counts["records"].to_numpy())
    return [
        {"from": float(edges[i]), "to": float(edges[i + 1]), "records": int(records)}
        for i, records in enumerate(heights)
    ]


@router.get("/tables/{table}/risk")
def risk(here: Here, table: str) -> dict[str, Any]:
    """Return class sizes, unique records, the three risks, and the columns that tell records apart."""
    import shoal

    file = here.store.tables.path(table) / _RISK
    with here.measured_once(file):
        figures = kept_risk(here, table)
        if figures is None:
            version = here.version(table)
            with here.table(table) as opened:
                described = opened.with_schema(here.schema(table))
                figures = dataclasses.asdict(shoal.assess(described))
                figures["special"] = _special(described, figures["reidentification"]["records"])
            write_json(file, {"schema": version, "risk": figures})
    return figures


@router.get("/tables/{table}/risk/records.csv")
def record_risks(here: Here, table: str) -> Response:
    """Return the risk of every record as a file for the steward: row numbers and figures, no value of the table."""
    from pyarrow import csv

    import shoal

    with here.table(table) as opened:
        described = opened.with_schema(here.schema(table))
        if described.count() > _SCORED:
            raise InputError(
                f"the table has more than {_SCORED:,} records, too many to score here",
                hint="shoal assess FILE --records risks.csv does it on the command line",
            )
        risks = shoal.risk.record_risks(described, largest=_largest(described))
    sink = io.BytesIO()
    csv.write_csv(risks, sink)
    headers = {"Content-Disposition": 'attachment; filename="record-risks.csv"', "Cache-Control": "no-store"}
    return Response(sink.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _special(table: Table, records: int) -> dict[str, Any] | None:
    """Return how many sets of values are shown by one record alone, by their number of columns."""
    import shoal

    if not 0 < records <= _SCORED or table.schema is None or not table.schema.quasi_identifiers:
        return None
    largest = _largest(table)
    uniques = dataclasses.asdict(shoal.risk.special_uniques(table, largest=largest))
    return uniques | {"by_size": uniques["by_size"][:largest]}


def _largest(table: Table) -> int | None:
    """Return the most columns of a minimal unique that are looked for: all of a few, three of many."""
    schema = table.schema
    return None if schema is None or len(schema.quasi_identifiers) <= _FEW else 3


def kept_risk(here: Context, table: str) -> dict[str, Any] | None:
    """Return the risk that was measured before, if the columns still mean the same."""
    here.store.tables.about(table)
    kept = read_json(here.store.tables.path(table) / _RISK)
    return dict(kept["risk"]) if kept is not None and kept.get("schema") == here.version(table) else None


@router.delete("/tables/{table}", status_code=204)
def remove(here: Here, table: str) -> None:
    """Delete a table, its runs and all their files."""
    for about in list(here.runs(table)):
        here.jobs.stop(about["id"], wait=True)
        here.store.runs.remove(about["id"])
    here.opened.forget(here.store.tables.path(table))
    here.store.tables.remove(table)


def _draft(
    here: Context, identity: str, source: dict[str, Any], missing: tuple[str, ...] = (), dates: str | None = None
) -> dict[str, Any]:
    from shoal import schema

    folder, file = here.store.tables.path(identity), source["file"]
    declared = {"missing": list(missing), "dates": dates}
    _check_size(folder / file)
    try:
        with here.opened.open(folder / file, source["reading"]) as table:
            if len(table.columns) > MOST_COLUMNS:
                few = f"this table has {len(table.columns):,} columns; the app shows at most {MOST_COLUMNS:,}"
                raise DataError(few, hint=_CLI)
            profiles, drafted = draft_columns(table, declared)
            read_as = {key: value for key, value in table.source.details if key != "decimal" or value != "."}
            notes = [*source.get("notes", ()), *(each.replace(file, source["name"]) for each in table.notes)]
    except DataError as error:
        here.opened.forget(folder)
        # the file has a name of ours here, which would tell the user nothing
        raise DataError([each.replace(file, source["name"]) for each in error.problems], hint=error.hint) from None
    schema.save(drafted.schema, folder / SCHEMA)
    add_draft(folder, drafted)
    about = source | {
        "created": now(),
        "content": digest(folder / file)[0],
        "records": profiles[0].records,
        "read_as": read_as,
        "notes": notes,
        "declared": declared,
        "columns": [_profile(each) for each in profiles],
    }
    here.store.tables.note(identity, about)
    return one_table(here, identity)


def _check_size(path: Path) -> None:
    """Refuse a small file that becomes very much; of a damaged one, reading says better what is wrong."""
    limit, unpacked, hint = max(_UNPACKED, _TIMES * path.stat().st_size), 0, "unpack it first"
    if path.suffix == ".gz":
        with contextlib.suppress(*DAMAGED), gzip.open(path) as file:
            while unpacked <= limit and (size := len(file.read(1 << 20))):
                unpacked += size
    elif zipfile.is_zipfile(path):
        hint = "save it as CSV"
        with contextlib.suppress(*DAMAGED), zipfile.ZipFile(path) as packed:
            unpacked = sum(each.file_size for each in packed.infolist())
    elif path.suffix in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.suppress(pa.ArrowException, OSError):
            records = pq.read_metadata(path).num_rows
            if records > MOST_RECORDS:
                raise DataError(
                    f"this table has {records:,} records; the app takes at most {MOST_RECORDS:,}", hint=_CLI
                )
    if unpacked > limit:
        raise DataError(f"this file unpacks to more than {limit / 2**20:,.0f} MB", hint=hint)


def _profile(profile: Any) -> dict[str, Any]:
    kept = ("name", "type", "records", "missing", "distinct", "separation")
    bounds = {key: getattr(profile, key) for key in ("minimum", "maximum")}
    return {key: getattr(profile, key) for key in kept} | {
        key: None if value is None else str(value).removesuffix(".0") for key, value in bounds.items()
    }


def _shown(name: str) -> str:
    """Return a client's file name without folders and signs that nobody sees, for display and in commands."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign if sign.isprintable() and sign != "`" else "_" for sign in last) or "table"
