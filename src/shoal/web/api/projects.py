"""Projects: what was decided about a table, without its data, saved and opened again."""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError
from shoal.web._context import SCHEMA, Context, Here
from shoal.web._jobs import PLAN
from shoal.web.api.answers import SchemaAnswer
from shoal.web.api.plans import choice_of
from shoal.web.api.schema import take_file
from shoal.web.api.tables import DAMAGED, UPLOAD, received

router = APIRouter()

#: bytes of a project, packed and unpacked
_PACKED, _UNPACKED = 64 * 2**20, 256 * 2**20
#: how this app packs; other ways may ask for gigabytes of memory to unpack a few bytes
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NAMES = re.compile(r"schema\.toml|hierarchies/[A-Za-z0-9_-]{1,60}\.csv|runs/\d{1,4}/(?:plan\.toml|about\.json)")
_HIERARCHIES = "hierarchies/"
#: runs of a project that are opened, the newest
_RUNS = 200


@router.get("/tables/{table}/project.zip", response_class=Response)
def save(here: Here, table: str) -> Response:
    """Download the schema, the hierarchies and the plans of all runs of a table; none of its records."""
    folder = here.store.tables.path(table)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(folder / SCHEMA, SCHEMA)
        for path in sorted((folder / "hierarchies").glob("*.csv")):
            file.write(path, f"hierarchies/{path.name}")
        for number, about in enumerate(here.runs(table), start=1):
            plan = here.store.runs.path(about["id"]) / PLAN
            if plan.is_file():
                file.write(plan, f"runs/{number}/{PLAN}")
                told = {key: about.get(key) for key in ("name", "title", "method", "created")}
                file.writestr(f"runs/{number}/about.json", json.dumps(told, indent=1))
    headers = {"content-disposition": 'attachment; filename="project.zip"'}
    return Response(archive.getvalue(), media_type="application/zip", headers=headers)


@router.put("/tables/{table}/project", openapi_extra=UPLOAD, response_model=SchemaAnswer)
async def open_again(request: Request, here: Here, table: str) -> dict[str, Any]:
    """Take the schema, the hierarchies and the runs of a saved project, without their data, for the same columns."""
    here.store.tables.path(table)
    body = await received(request, _PACKED, f"a project may have at most {_PACKED / 2**20:,.0f} MB")
    return await run_in_threadpool(_open, here, table, body)


@router.put("/tables/{table}/arx", openapi_extra=UPLOAD, response_model=SchemaAnswer)
async def open_arx(request: Request, here: Here, table: str) -> dict[str, Any]:
    """Take roles, hierarchies and the promise of an ARX project, whose data is not read, for the same columns."""
    here.store.tables.path(table)
    body = await received(request, _PACKED, f"a project may have at most {_PACKED / 2**20:,.0f} MB")
    return await run_in_threadpool(_open_arx, here, table, body)


def _open_arx(here: Context, table: str, body: bytes) -> dict[str, Any]:
    from shoal import schema
    from shoal.arx import read_arx_project

    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        (Path(place) / "project.deid").write_bytes(body)
        # the promise that is missing would be a weaker release: what cannot be carried over is an error
        found = read_arx_project(Path(place) / "project.deid")
        found.write(Path(place) / "plan")
        written = (path for path in (Path(place) / "plan").rglob("*.csv"))
        files = {path.relative_to(Path(place) / "plan").as_posix(): path.read_bytes() for path in written}
    files[SCHEMA] = schema.dumps(found.plan.schema).encode()
    files[f"runs/1/{PLAN}"] = found.plan.dumps().encode()
    files["runs/1/about.json"] = json.dumps({"title": "the promise of the ARX project"}).encode()
    return _take(here, table, files)


def _open(here: Context, table: str, body: bytes) -> dict[str, Any]:
    return _take(here, table, unpacked(body))


def _take(here: Context, table: str, files: dict[str, bytes]) -> dict[str, Any]:
    folder = here.store.tables.path(table)
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        # all of it is checked before any file of the table is replaced
        staged = Path(place)
        (staged / "hierarchies").mkdir()
        for name, content in files.items():
            if name == SCHEMA or name.startswith(_HIERARCHIES):
                (staged / name).write_bytes(content)
        _check(here, table, staged)
        restored = _restored(files, staged)
        (folder / "hierarchies").mkdir(mode=0o700, exist_ok=True)
        for name in files:
            if name.startswith(_HIERARCHIES):
                shutil.copyfile(staged / name, folder / name)
    taken = take_file(here, table, files[SCHEMA])
    for about, plan in restored:
        here.restore(table, about, {PLAN: plan})
    return taken


def _restored(files: dict[str, bytes], folder: Path) -> list[tuple[dict[str, Any], str]]:
    """Return what is known of the runs of a project, the oldest first, and their plans, each of which is read."""
    import shoal

    numbers = sorted((int(name.split("/")[1]) for name in files if name.endswith(PLAN)), reverse=True)
    restored = []
    for number in numbers[-_RUNS:]:
        try:
            text = files[f"runs/{number}/{PLAN}"].decode("utf-8")
            told = json.loads(files.get(f"runs/{number}/about.json", b"{}"))
        except ValueError:
            raise DataError(f"run {number} of the project cannot be read") from None
        plan = shoal.Plan.loads(text, folder=folder)
        known = told if isinstance(told, dict) else {}
        words = {key: str(known.get(key) or "")[:200] for key in ("name", "title")}
        statements = [model.statement() for model in plan.models]
        about = {"kind": "release", "choice": choice_of(plan), "method": plan.method.name, "statements": statements}
        restored.append((about | words | {"title": words["title"] or plan.method.name}, text))
    return restored


def unpacked(body: bytes) -> dict[str, bytes]:
    """Return the files of a project by their names, those that it may have and no others."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            wanted = [each for each in archive.infolist() if _NAMES.fullmatch(each.filename)]
            if any(each.compress_type not in _PACKINGS for each in wanted):
                raise zipfile.BadZipFile
            large = sum(each.file_size for each in wanted) > _UNPACKED
            files = {} if large else {each.filename: archive.read(each) for each in wanted}
    except DAMAGED:
        raise DataError("this is not a saved project", hint="choose the file project.zip") from None
    if large:
        raise DataError(f"a project may unpack to at most {_UNPACKED / 2**20:,.0f} MB")
    if SCHEMA not in files:
        raise DataError("this is not a saved project: it has no schema", hint="choose the file project.zip")
    return files


def _check(here: Context, table: str, staged: Path) -> None:
    from shoal import hierarchies, schema

    for path in (staged / "hierarchies").iterdir():
        hierarchies.read_arx(path, attribute="column")
    try:
        text = (staged / SCHEMA).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError("the schema of the project is not UTF-8 text") from None
    with here.table(table) as opened:
        opened.with_schema(schema.loads(text, staged))
