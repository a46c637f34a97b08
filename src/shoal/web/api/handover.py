"""Handing a release over: every format that it can be written in, and the signature of whoever made it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse
from pydantic import Field

from shoal.errors import InputError, ParameterError
from shoal.web._context import Context, Here
from shoal.web._jobs import RELEASE
from shoal.web._store import NotFound
from shoal.web.api.answers import KeyAnswer, RequestBody, SignatureAnswer

router = APIRouter()

#: what tables are written as, by the ending of the file, and what people call it
FORMATS = {
    "csv": "CSV",
    "xlsx": "Excel",
    "sav": "SPSS",
    "dta": "Stata",
    "xpt": "SAS",
    "parquet": "Parquet",
    "feather": "Feather",
    "jsonl": "JSON lines",
}
#: formats whose files hold codes with labels, which can be those of the original again
_LABELLED = ("sav", "dta")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}")
_SECRET, _PUBLIC = ".pem", ".pub.pem"


@router.get("/runs/{run}/export/{ending}", response_class=Response)
def export(
    here: Here,
    run: str,
    ending: str,
    part: Annotated[str | None, Query(max_length=130, description="the table, where there are several")] = None,
    bounds: Annotated[bool, Query(description="also write the ends of intervals as columns")] = False,
    spreadsheet_safe: Annotated[bool, Query(description="of CSV: defuse texts that run as formulas")] = False,
) -> Response:
    """Write the records of a release in another format; codes and labels of an SPSS or Stata file come back."""
    import shoal

    if ending not in FORMATS:
        raise ParameterError(f"the format must be one of {', '.join(FORMATS)}")
    folder, about = _release(here, run), here.store.runs.about(run)
    home = here.store.tables.path(about["table"])
    source = home / here.store.tables.about(about["table"]).get("original", about["file"])
    like = source if ending in _LABELLED and source.suffix.lower() in (".sav", ".dta") else None
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        file = Path(place) / f"released.{ending}"
        shoal.released(folder).write(file, bounds=bounds, part=part, like=like, spreadsheet_safe=spreadsheet_safe)
        content = file.read_bytes()
    headers = {"content-disposition": f'attachment; filename="{file.name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def came_as(here: Context, about: dict[str, Any]) -> str | None:
    """Return the ending of the format that a table came in, where releases can be written in it."""
    table = here.store.tables.about(about["table"])
    ending = str(table.get("original", about["file"])).removesuffix(".gz").rpartition(".")[2]
    return ending if ending in FORMATS else None


class NewKey(RequestBody):
    """The name of a pair of keys, and what protects the private one."""

    name: str = Field(max_length=60)
    passphrase: str = Field(default="", max_length=1000)


class Signing(RequestBody):
    """Which key signs: one that the app keeps, by its name, or a private key in PEM, which is not kept."""

    key: str | None = Field(default=None, max_length=60)
    pem: str | None = Field(default=None, max_length=10_000)
    passphrase: str = Field(default="", max_length=1000)


@router.get("/keys", response_model=list[KeyAnswer])
def every_key(here: Here) -> list[dict[str, Any]]:
    """List the pairs of keys that the app keeps."""
    found = sorted(path.name.removesuffix(_PUBLIC) for path in here.store.keys.glob(f"*{_PUBLIC}"))
    return [{"name": name, "folder": str(here.store.keys.absolute())} for name in found]


@router.post("/keys", status_code=201, name="create_key", response_model=KeyAnswer)
def create_key(here: Here, wanted: NewKey) -> dict[str, Any]:
    """Make a pair of keys: the private one stays in the app's folder, the public one is for everybody."""
    from shoal import verification

    name = wanted.name.strip()
    if _NAME.fullmatch(name) is None:
        raise ParameterError("the name of a key must be 1 to 60 letters, digits, spaces, `_` or `-`")
    verification.new_key(here.store.keys / name, passphrase=wanted.passphrase or None)
    return {"name": name, "folder": str(here.store.keys.absolute())}


@router.get("/keys/{name}.pub.pem", response_class=FileResponse)
def public_key(here: Here, name: str) -> FileResponse:
    """Download the public key of a pair, with which others check signatures."""
    path = here.store.keys / f"{_known(here, name)}{_PUBLIC}"
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


@router.post("/runs/{run}/signature", response_model=SignatureAnswer)
def sign(here: Here, run: str, given: Signing) -> dict[str, Any]:
    """Sign a release, once it verifies; a signature that is there is replaced."""
    import shoal

    folder = _release(here, run)
    if (given.key is None) == (given.pem is None):
        raise ParameterError("choose a key of the app, or the file of a private key")
    if given.key is not None:
        secret = here.store.keys / f"{_known(here, given.key)}{_SECRET}"
        return {"fingerprint": shoal.sign(folder, secret, passphrase=given.passphrase or None)}
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        secret = Path(place) / "key.pem"
        secret.touch(mode=0o600)
        secret.write_text(str(given.pem), encoding="utf-8")
        try:
            return {"fingerprint": shoal.sign(folder, secret, passphrase=given.passphrase or None)}
        except InputError as error:
            # the file has a name of ours here, which would tell the user nothing
            told = [each.replace(str(secret), "the chosen file") for each in error.problems]
            raise InputError(told, hint=error.hint) from None


def _release(here: Context, run: str) -> Path:
    folder = here.store.runs.path(run) / RELEASE
    if not folder.is_dir():
        raise NotFound("this run has no release", hint="it is not finished, or it failed")
    return folder


def _known(here: Context, name: str) -> str:
    if _NAME.fullmatch(name) is None or not (here.store.keys / f"{name}{_PUBLIC}").is_file():
        raise NotFound("there is no such key")
    return name
