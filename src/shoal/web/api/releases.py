"""Releases: explore and download what a run made; check one that was made anywhere against its certificate."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError, InputError
from shoal.web._commands import schema_name
from shoal.web._context import Here, receive
from shoal.web._jobs import COMPARISON, EXPLORATION, KEY, PLAN, RELEASE
from shoal.web._store import NotFound, now, read_json
from shoal.web.api.answers import FileAnswer, VerificationAnswer
from shoal.web.api.tables import UPLOAD, received

if TYPE_CHECKING:
    from shoal import Schema
    from shoal.methods import MethodCapabilities

router = APIRouter()
verifications = APIRouter()

# a report may hold scripts of its own: it is a file to keep, not a page of this app
_DOWNLOAD = {"content-security-policy": "sandbox; default-src 'none'"}
#: bytes of a public key, and what the parts of a verification are called
_KEY, _SIGNER, _ARCHIVE = 10_000, "signer.pub.pem", "release.zip"
#: the names that files of a release can have: at most one folder, no dot in front, known endings
_NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,60}/)?[A-Za-z0-9_-]{1,60}\.(?:parquet|csv|json|toml|txt|html|md|sql)")


@router.get("/runs/{run}/exploration")
def exploration(here: Here, run: str) -> dict[str, Any]:
    """Return what there is to see of a release: promises, search, distributions, records before and after."""
    document = read_json(here.store.runs.path(run) / EXPLORATION)
    if document is None:
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    return document


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
    files = _files(here.store.runs.path(run))
    if not files:
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    headers = {"content-disposition": 'attachment; filename="release.zip"'}
    return StreamingResponse(zipped(files, here.store.scratch), media_type="application/zip", headers=headers)


@router.get("/runs/{run}/schema.zip", response_class=Response)
def schema_file(here: Here, run: str) -> Response:
    """Return the schema that a run was made with, importance of the columns included, and the files that it names."""
    import shoal
    from shoal import schema

    folder, about = here.store.runs.path(run), here.store.runs.about(run)
    home, compared = here.store.tables.path(about["table"]), read_json(folder / COMPARISON)
    if compared is not None:
        made = schema.loads(compared["schema"], folder=home)
    elif (folder / PLAN).is_file():
        made = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=home).schema
    else:
        raise NotFound("this run has no plan")
    return packed("schema.zip", schema_name(about["table_name"]), schema.dumps(made), made)


def packed(title: str, name: str, text: str, schema: Schema) -> Response:
    """Return an archive of a text, to be called ``name``, and the hierarchy files that its schema names."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, text)
        for attribute in schema:
            path = None if attribute.hierarchy is None else attribute.hierarchy.file
            if path is not None:
                file.write(schema.folder / path, path)
    headers = {"content-disposition": f'attachment; filename="{title}"'}
    return Response(archive.getvalue(), media_type="application/zip", headers=headers)


@router.get("/runs/{run}/pseudonym.key", response_class=FileResponse)
def key(here: Here, run: str) -> FileResponse:
    """Download the secret key of the pseudonyms, which is not part of the release."""
    path = here.store.runs.path(run) / KEY
    if not path.is_file():
        raise NotFound("this run made no pseudonyms")
    return FileResponse(path, media_type="application/octet-stream", filename=KEY, headers=_DOWNLOAD)


def records(here: Here, run: str, ending: str) -> Response:
    """Return an archive of records drawn from a release, and of the text that says what they are.

    They are synthetic where the release has many tables; elsewhere, the released records with a value below every
    label. Both are drawn from the release alone.
    """
    import shoal

    folder = here.store.runs.path(run) / RELEASE
    if not folder.is_dir():
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        file = Path(place) / f"records.{ending}"
        if capabilities(here.store.runs.about(run)).shared_columns:
            shoal.estimate(folder).write_records(file)
        else:
            shoal.released(folder).write_concrete(file)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            for path in sorted(Path(place).iterdir()):
                target.write(path, path.name)
    headers = {"content-disposition": f'attachment; filename="records-{ending}.zip"'}
    return Response(archive.getvalue(), media_type="application/zip", headers=headers)


def capabilities(about: Mapping[str, Any]) -> MethodCapabilities:
    """Return what the method of a run can do."""
    from shoal import methods

    return methods.by_name(about["method"]).capabilities


def _files(folder: Path) -> dict[str, Path]:
    release = folder / RELEASE
    paths = sorted(path for path in release.rglob("*") if path.is_file()) if release.is_dir() else []
    return {path.relative_to(release).as_posix(): path for path in paths}


def zipped(known: dict[str, Path], scratch: Path) -> Iterator[bytes]:
    """Give the bytes of a zip of the files of a release."""
    with tempfile.TemporaryFile(dir=scratch) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in known.items():
                archive.write(path, f"release/{name}")
        file.seek(0)
        while chunk := file.read(1 << 20):
            yield chunk


@verifications.post("/verifications", status_code=201)
def new(here: Here) -> dict[str, Any]:
    """Begin a verification; its files follow one by one."""
    for old in list(here.store.verifications.all())[20:]:
        here.store.verifications.remove(old["id"])
    identity = here.store.verifications.new()
    here.store.verifications.note(identity, {"created": now()})
    return here.store.verifications.about(identity)


@verifications.put("/verifications/{verification}/files", status_code=204, openapi_extra=UPLOAD)
async def add(
    request: Request,
    here: Here,
    verification: str,
    name: Annotated[str, Query(max_length=130, description="its path in the release folder")],
) -> None:
    """Take one file of the release."""
    folder = here.store.verifications.path(verification) / RELEASE
    if _NAME.fullmatch(name) is None:
        raise DataError("no file of a release has such a name", hint="choose the folder of one release")
    path = folder / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    await receive(request, path)


@verifications.put("/verifications/{verification}/archive", status_code=204, openapi_extra=UPLOAD)
async def add_archive(request: Request, here: Here, verification: str) -> None:
    """Take the release as one zip file."""
    from shoal.web._archives import unpack_release

    place = here.store.verifications.path(verification)
    folder, archive = place / RELEASE, place / _ARCHIVE
    shutil.rmtree(folder, ignore_errors=True)
    archive.unlink(missing_ok=True)
    folder.mkdir(mode=0o700)
    try:
        await receive(request, archive)
        await run_in_threadpool(unpack_release, archive, folder)
    finally:
        archive.unlink(missing_ok=True)


@verifications.put("/verifications/{verification}/signer", status_code=204, openapi_extra=UPLOAD)
async def add_signer(request: Request, here: Here, verification: str) -> None:
    """Take the public key that must have signed the release."""
    path = here.store.verifications.path(verification) / _SIGNER
    key = await received(request, _KEY, "this is not the file of a public key")
    path.write_bytes(key)


@verifications.post("/verifications/{verification}/check", response_model=VerificationAnswer)
def check(here: Here, verification: str) -> dict[str, Any]:
    """Recompute every promise of the uploaded release; and check who signed it, where a public key was given."""
    place = here.store.verifications.path(verification)
    signer = place / _SIGNER
    try:
        return verified(place / RELEASE, signer if signer.is_file() else None)
    except InputError as error:
        # the file has a name of ours here
        told = [each.replace(f"`{_SIGNER}`", "the chosen public key") for each in error.problems]
        raise InputError(told, hint=error.hint) from None


@verifications.delete("/verifications/{verification}", status_code=204)
def remove(here: Here, verification: str) -> None:
    """Delete the uploaded files."""
    here.store.verifications.remove(verification)


@verifications.get("/runs/{run}/verification", response_model=VerificationAnswer)
def own(here: Here, run: str) -> dict[str, Any]:
    """Recompute every promise of a release that was made here."""
    return verified(here.store.runs.path(run) / RELEASE)


def is_release_name(name: str) -> bool:
    """Return whether a file of a release may have this name."""
    return _NAME.fullmatch(name) is not None


def verified(folder: Path, signer: Path | None = None) -> dict[str, Any]:
    """Recompute every promise of the release in a folder."""
    import shoal

    found = shoal.verify(folder, signer=signer)
    return {
        "passed": found.passed,
        "outcome": found.outcome,
        "verdict": found.verdict,
        "checks": [dataclasses.asdict(check) for check in found.checks],
    }
