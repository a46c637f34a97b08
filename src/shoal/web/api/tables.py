"""Tables: upload, list, look at, assess, delete."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import gzip
import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError
from shoal.tables import readable, uploadable
from shoal.web._context import SCHEMA, Context, Here, receive
from shoal.web._store import now, read_json, write_json

__all__ = ["risk", "router"]

router = APIRouter()

UPLOAD = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}
_CELL = 200
#: what the app takes on; more is for the command line, which shows no pages
MOST_COLUMNS, MOST_RECORDS = 1_000, 250_000_000
#: a packed file may unpack to this much, or to this many times its size
_UNPACKED, _TIMES = 256 * 2**20, 100


@router.get("/tables")
def every_table(here: Here) -> list[dict[str, Any]]:
    """List the uploaded tables, the newest first."""
    return list(here.store.tables.all())


@router.post("/tables", status_code=201, openapi_extra=UPLOAD)
async def upload(
    request: Request,
    here: Here,
    name: Annotated[str, Query(min_length=1, max_length=200, description="the file's name; its ending counts")],
) -> dict[str, Any]:
    """Take a CSV or Parquet file, profile its columns and draft a schema."""
    # the ending is kept, so that the file is read as what it is; the rest of a client's name is only shown
    ending = next((each for each in sorted(uploadable(), key=len, reverse=True) if name.lower().endswith(each)), None)
    if ending is None:
        raise DataError("files of this format are not supported.", hint=f"Shoal reads {readable(uploaded=True)} files")
    identity = here.store.tables.new()
    folder = here.store.tables.path(identity)
    try:
        size = await receive(request, folder / f"source{ending}")
        return await run_in_threadpool(_draft, here, identity, f"source{ending}", _shown(name), size)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@router.post("/tables/example", status_code=201)
def example(here: Here) -> dict[str, Any]:
    """Open the bundled table of hospital discharges, whose roles and hierarchies were declared by its makers."""
    identity = here.store.tables.new()
    folder = here.store.tables.path(identity)
    bundled = Path(__file__).parent.parent / "example"
    shutil.copyfile(bundled / "discharges.csv.gz", folder / "source.csv.gz")
    about = _draft(here, identity, "source.csv.gz", "discharges.csv", (folder / "source.csv.gz").stat().st_size)
    (folder / "hierarchies").mkdir(mode=0o700)
    for path in (bundled / "hierarchies").iterdir():
        shutil.copyfile(path, folder / "hierarchies" / path.name)  # without the modes of the installed files
    shutil.copyfile(bundled / "schema.toml", folder / SCHEMA)
    return about


@router.get("/tables/{table}")
def one_table(here: Here, table: str) -> dict[str, Any]:
    """Return a table's name, size and the profiles of its columns."""
    return here.store.tables.about(table)


@router.get("/tables/{table}/records")
def records(
    here: Here,
    table: str,
    start: Annotated[int, Query(ge=0, le=10**12)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """Return some records as text."""
    from shoal import tables
    from shoal.schema.rules import text

    with here.table(table) as opened:
        rows = tables.records_from(opened, start, limit)
    columns = []
    for column in rows.columns:
        try:
            texts = text(column).to_pylist()
        except DataError:
            texts = [None if cell is None else "(not text)" for cell in column.to_pylist()]
        columns.append([None if cell is None else cell[:_CELL] for cell in texts])
    return {"columns": rows.column_names, "rows": [list(row) for row in zip(*columns, strict=True)]}


@router.get("/tables/{table}/risk")
def risk(here: Here, table: str) -> dict[str, Any]:
    """Return class sizes, unique records, the three risks, and the columns that tell records apart."""
    import shoal

    folder = here.store.tables.path(table)
    here.store.tables.about(table)
    version = here.version(table)
    kept = read_json(folder / "risk.json")
    if kept is not None and kept.get("schema") == version:
        return dict(kept["risk"])
    with here.table(table) as opened:
        found = dataclasses.asdict(shoal.assess(opened.with_schema(here.schema(table))))
    write_json(folder / "risk.json", {"schema": version, "risk": found})
    return found


@router.delete("/tables/{table}", status_code=204)
def remove(here: Here, table: str) -> None:
    """Delete a table, its runs and all their files."""
    for about in list(here.store.runs.all()):
        if about.get("table") == table:
            here.jobs.stop(about["id"], wait=True)
            here.store.runs.remove(about["id"])
    here.opened.forget(here.store.tables.path(table))
    here.store.tables.remove(table)


def _draft(here: Context, identity: str, file: str, name: str, size: int) -> dict[str, Any]:
    from shoal import schema, tables

    folder = here.store.tables.path(identity)
    _check_size(folder / file)
    try:
        with here.opened.open(folder / file) as table:
            _check_columns(table.columns)
            profiles = tables.profile(table)
            notes = {key: value for key, value in table.source.details if key != "decimal" or value != "."}
    except DataError as error:
        here.opened.forget(folder)
        # the file has a name of ours here, which would tell the user nothing
        raise DataError([problem.replace(file, name) for problem in error.problems], hint=error.hint) from None
    drafted = schema.draft(profiles)
    schema.save(drafted.schema, folder / SCHEMA)
    about = {
        "name": name,
        "file": file,
        "bytes": size,
        "created": now(),
        "records": profiles[0].records,
        "read_as": notes,
        "columns": [_profile(each) | {"reason": drafted.reasons[each.name]} for each in profiles],
    }
    here.store.tables.note(identity, about)
    return {"id": identity, **about}


def _check_size(path: Path) -> None:
    """Refuse a small file that becomes very much."""
    if path.suffix == ".gz":
        limit, unpacked = max(_UNPACKED, _TIMES * path.stat().st_size), 0
        try:
            with gzip.open(path) as file:
                while (size := len(file.read(1 << 20))) and unpacked <= limit:
                    unpacked += size
        except (OSError, EOFError, zlib.error):
            return  # reading says better what is wrong
        if unpacked > limit:
            raise DataError(f"this file unpacks to more than {limit / 2**20:,.0f} MB", hint="unpack it first")
    elif path.suffix in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.suppress(pa.ArrowException, OSError):
            records = pq.read_metadata(path).num_rows
            if records > MOST_RECORDS:
                raise DataError(
                    f"this table has {records:,} records; the app takes at most {MOST_RECORDS:,}", hint=_CLI
                )


def _check_columns(names: Sequence[str]) -> None:
    if len(names) > MOST_COLUMNS:
        raise DataError(f"this table has {len(names):,} columns; the app shows at most {MOST_COLUMNS:,}", hint=_CLI)


_CLI = "the command `shoal anonymize` takes larger tables"


def _profile(profile: Any) -> dict[str, Any]:
    found = dataclasses.asdict(profile)
    return {key: found[key] for key in ("name", "type", "records", "missing", "distinct", "separation")} | {
        "minimum": _bound(profile.minimum),
        "maximum": _bound(profile.maximum),
    }


def _bound(value: float | dt.date | None) -> str | None:
    return None if value is None else str(value).removesuffix(".0")


def _shown(name: str) -> str:
    """Return a client's file name without folders and control characters, for display alone."""
    return re.sub(r"[^\w .,()+-]", "_", name.replace("\\", "/").rpartition("/")[2])[:120] or "table"
