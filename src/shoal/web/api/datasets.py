"""Data sets of several tables joined by keys: uploaded, drafted, confirmed and released together."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError, ParameterError
from shoal.tables import readable, uploadable
from shoal.web._context import Context, Here, receive
from shoal.web._jobs import RELEASE
from shoal.web._store import NotFound, now
from shoal.web.api.answers import DatasetAnswer, RequestBody
from shoal.web.api.releases import verified, zipped
from shoal.web.api.tables import UPLOAD

if TYPE_CHECKING:
    from shoal.datasets import DatasetSchema

router = APIRouter()

_SOURCE, _SCHEMA = "source", "dataset.toml"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
_MOST = 30


class Roles(RequestBody):
    """The roles of columns, by table and column; what a person confirms is no guess any more."""

    roles: dict[str, dict[str, str]] = Field(default={}, max_length=_MOST)


class DatasetPromise(RequestBody):
    """How many people share whatever others know, and how many rows of a person they may know."""

    k: int = Field(ge=1, le=10**9)
    known_items: int = Field(ge=0, le=6)


@router.post("/datasets", status_code=201, response_model=DatasetAnswer)
def new(here: Here, name: Annotated[str, Query(max_length=120)] = "") -> dict[str, Any]:
    """Begin a data set; its tables follow, one file each."""
    identity = here.store.datasets.new()
    (here.store.datasets.path(identity) / _SOURCE).mkdir(mode=0o700)
    here.store.datasets.note(identity, {"name": name.strip() or "data set", "created": now()})
    return describe(here, identity)


@router.put("/datasets/{dataset}/tables", status_code=204, openapi_extra=UPLOAD)
async def add(
    request: Request,
    here: Here,
    dataset: str,
    name: Annotated[str, Query(max_length=130, description="the file's name: the table is called as it is")],
) -> None:
    """Take the file of one table."""
    folder = here.store.datasets.path(dataset) / _SOURCE
    ending = next((each for each in sorted(uploadable(), key=len, reverse=True) if name.lower().endswith(each)), None)
    if ending is None:
        raise DataError("files of this format are not supported.", hint=f"Shoal reads {readable(uploaded=True)} files")
    title = name[: -len(ending)]
    if _NAME.fullmatch(title) is None:
        raise DataError("a table is called as its file: a letter, then letters, digits, `_` and `-`")
    if len(list(folder.iterdir())) >= _MOST:
        raise DataError(f"a data set has at most {_MOST} tables here")
    path = folder / f"{title}{ending}"
    path.unlink(missing_ok=True)
    await receive(request, path)
    (here.store.datasets.path(dataset) / _SCHEMA).unlink(missing_ok=True)


@router.post("/datasets/{dataset}/draft", response_model=DatasetAnswer)
def draft(here: Here, dataset: str) -> dict[str, Any]:
    """Propose keys, parents and roles from the tables."""
    from shoal import draft_dataset

    folder = here.store.datasets.path(dataset)
    drafted = draft_dataset(folder / _SOURCE)
    reasons: dict[str, dict[str, str]] = {}
    for (table, column), why in drafted.reasons.items():
        reasons.setdefault(table, {})[column] = why
    (folder / _SCHEMA).write_text(drafted.dumps(), encoding="utf-8")
    here.store.datasets.note(dataset, here.store.datasets.about(dataset) | {"reasons": reasons})
    return describe(here, dataset)


@router.put("/datasets/{dataset}/roles", response_model=DatasetAnswer)
def confirm(here: Here, dataset: str, given: Roles) -> dict[str, Any]:
    """Set roles and confirm all of them."""
    from shoal import Role, Schema, datasets

    described = _schema(here, dataset)
    known = [role.value for role in Role]
    tables = []
    for table in described:
        roles = given.roles.get(table.name, {})
        for column, role in roles.items():
            if column not in table.columns.names or role not in known:
                raise ParameterError("a column or a role is not there", hint="load the page again")
        columns = [replace(each, role=Role(roles[each.name])) if each.name in roles else each for each in table.columns]
        tables.append(replace(table, columns=Schema(attributes=tuple(columns))))
    confirmed = replace(described, tables=tuple(tables), guessed=False)
    (here.store.datasets.path(dataset) / _SCHEMA).write_text(datasets.dumps(confirmed), encoding="utf-8")
    return describe(here, dataset)


@router.post("/datasets/{dataset}/release", status_code=201, response_model=DatasetAnswer)
async def release(here: Here, dataset: str, wanted: DatasetPromise) -> dict[str, Any]:
    """Release all tables together; the answer comes when the release is written and verified."""
    return await run_in_threadpool(_release, here, dataset, wanted)


def _release(here: Context, dataset: str, wanted: DatasetPromise) -> dict[str, Any]:
    from shoal import anonymize_dataset

    folder = here.store.datasets.path(dataset)
    described = _schema(here, dataset)
    with here.measured_once(folder / RELEASE):
        made = anonymize_dataset(folder / _SOURCE, k=wanted.k, known_items=wanted.known_items, schema=described)
        shutil.rmtree(folder / RELEASE, ignore_errors=True)
        made.write(folder / RELEASE, csv=True)
        told = {
            "k": wanted.k,
            "known_items": wanted.known_items,
            "promises": [promise.statement for promise in made.guarantee.promises],
            "steps": [step.describe() for step in made.guarantee.events],
            "loss": float(made.loss),
            "rows": {name: len(rows) for name, rows in made.tables.items()},
        }
        here.store.datasets.note(dataset, here.store.datasets.about(dataset) | {"release": told})
    return describe(here, dataset)


@router.get("/datasets/{dataset}", response_model=DatasetAnswer)
def describe(here: Here, dataset: str) -> dict[str, Any]:
    """Return the tables with their keys, columns and roles, and what came of the last release."""
    about, folder = here.store.datasets.about(dataset), here.store.datasets.path(dataset)
    files = sorted(path.name for path in (folder / _SOURCE).iterdir())
    told: dict[str, Any] = {"files": files, "guessed": True, "tables": [], "release": None}
    if (folder / RELEASE).is_dir():
        told["release"] = about.get("release")
    if (folder / _SCHEMA).is_file():
        described = _schema(here, dataset)
        reasons = about.get("reasons", {})
        told["guessed"] = described.guessed
        told["tables"] = [
            {
                "name": table.name,
                "key": table.key,
                "parent": table.parent,
                "parent_key": table.parent_key,
                "reason": reasons.get(table.name, {}).get("", ""),
                "columns": [
                    {
                        "name": each.name,
                        "role": each.role.value,
                        "reason": reasons.get(table.name, {}).get(each.name, ""),
                    }
                    for each in table.columns
                ],
            }
            for table in described
        ]
    return {key: value for key, value in about.items() if key not in ("reasons", "release")} | told


@router.get("/datasets/{dataset}/release.zip", response_class=StreamingResponse)
def archive(here: Here, dataset: str) -> StreamingResponse:
    """Download the whole release."""
    folder = here.store.datasets.path(dataset) / RELEASE
    if not folder.is_dir():
        raise NotFound("this data set has no release")
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    headers = {"content-disposition": 'attachment; filename="release.zip"'}
    return StreamingResponse(zipped(files, here.store.scratch), media_type="application/zip", headers=headers)


@router.get("/datasets/{dataset}/verification")
def verification(here: Here, dataset: str) -> dict[str, Any]:
    """Recompute every promise of the release."""
    folder = here.store.datasets.path(dataset) / RELEASE
    if not folder.is_dir():
        raise NotFound("this data set has no release")
    return verified(folder)


@router.delete("/datasets/{dataset}", status_code=204)
def remove(here: Here, dataset: str) -> None:
    """Delete a data set with its tables and its release."""
    here.store.datasets.remove(dataset)


def _schema(here: Context, dataset: str) -> DatasetSchema:
    from shoal import datasets

    path: Path = here.store.datasets.path(dataset) / _SCHEMA
    if not path.is_file():
        raise ParameterError("the tables have no roles yet", hint="propose them first")
    return datasets.load(path)
