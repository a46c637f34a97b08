"""Releases: explore and download what a run made."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import FileResponse, PlainTextResponse, StreamingResponse

from shoal.web._commands import schema_name
from shoal.web._context import Context, Here
from shoal.web._jobs import EXPLORATION, KEY, PLAN, RELEASE
from shoal.web._store import NotFound, read_json
from shoal.web.api.answers import FileAnswer

__all__ = ["router"]

router = APIRouter()

# a report may hold scripts of its own: it is a file to keep, not a page of this app
_DOWNLOAD = {"content-security-policy": "sandbox; default-src 'none'"}


@router.get("/runs/{run}/exploration")
def exploration(here: Here, run: str) -> dict[str, Any]:
    """Return what there is to see of a release: promises, search, distributions, records before and after."""
    found = read_json(here.store.runs.path(run) / EXPLORATION)
    if found is None:
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    return found


@router.get("/runs/{run}/files", response_model=list[FileAnswer])
def files(here: Here, run: str) -> list[dict[str, Any]]:
    """List the files of a release."""
    folder = here.store.runs.path(run)
    return [{"name": name, "bytes": path.stat().st_size} for name, path in _files(folder).items()]


@router.get("/runs/{run}/files/{name:path}", response_class=FileResponse)
def file(here: Here, run: str, name: str) -> FileResponse:
    """Download one file of a release."""
    known = _files(here.store.runs.path(run))
    if name not in known:
        raise NotFound("the release has no such file")
    return FileResponse(
        known[name], media_type="application/octet-stream", filename=known[name].name, headers=_DOWNLOAD
    )


@router.get("/runs/{run}/release.zip", response_class=StreamingResponse)
def archive(here: Here, run: str) -> StreamingResponse:
    """Download the whole release."""
    found = _release(here, run)
    headers = {"content-disposition": 'attachment; filename="release.zip"'}
    return StreamingResponse(_zipped(found, here.store.scratch), media_type="application/zip", headers=headers)


@router.get("/runs/{run}/schema.toml", response_class=PlainTextResponse)
def schema_file(here: Here, run: str) -> PlainTextResponse:
    """Return the schema that a run was made with, importance of the columns included."""
    import shoal
    from shoal import schema

    folder, about = here.store.runs.path(run), here.store.runs.about(run)
    if not (folder / PLAN).is_file():
        raise NotFound("this run has no plan")
    plan = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=here.store.tables.path(about["table"]))
    name = schema_name(about["table_name"])
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return PlainTextResponse(schema.dumps(plan.schema), headers=headers)


@router.get("/runs/{run}/pseudonym.key", response_class=FileResponse)
def key(here: Here, run: str) -> FileResponse:
    """Download the secret key of the pseudonyms, which is not part of the release."""
    path = here.store.runs.path(run) / KEY
    if not path.is_file():
        raise NotFound("this run made no pseudonyms")
    return FileResponse(path, media_type="application/octet-stream", filename=KEY, headers=_DOWNLOAD)


def _release(here: Context, run: str) -> dict[str, Path]:
    found = _files(here.store.runs.path(run))
    if not found:
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    return found


def _files(folder: Path) -> dict[str, Path]:
    release = folder / RELEASE
    paths = sorted(path for path in release.rglob("*") if path.is_file()) if release.is_dir() else []
    return {path.relative_to(release).as_posix(): path for path in paths}


def _zipped(known: dict[str, Path], scratch: Path) -> Iterator[bytes]:
    with tempfile.TemporaryFile(dir=scratch) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in known.items():
                archive.write(path, f"release/{name}")
        file.seek(0)
        while chunk := file.read(1 << 20):
            yield chunk
