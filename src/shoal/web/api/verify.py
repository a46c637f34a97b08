"""Verification: check a release that was made anywhere against its certificate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from shoal.errors import DataError
from shoal.web._context import Here, receive
from shoal.web._jobs import RELEASE
from shoal.web._store import now
from shoal.web.api.answers import VerificationAnswer
from shoal.web.api.tables import UPLOAD

__all__ = ["router"]

router = APIRouter()

#: the names that files of a release can have: at most one folder, no dot in front, known endings
_NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,60}/)?[A-Za-z0-9_-]{1,60}\.(?:parquet|csv|json|toml|txt|html|md|sql)")


@router.post("/verifications", status_code=201)
def new(here: Here) -> dict[str, Any]:
    """Begin a verification; its files follow one by one."""
    for old in list(here.store.verifications.all())[20:]:
        here.store.verifications.remove(old["id"])
    identity = here.store.verifications.new()
    here.store.verifications.note(identity, {"created": now()})
    return here.store.verifications.about(identity)


@router.put("/verifications/{verification}/files", status_code=204, openapi_extra=UPLOAD)
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


@router.post("/verifications/{verification}/check", response_model=VerificationAnswer)
def check(here: Here, verification: str) -> dict[str, Any]:
    """Recompute every promise of the uploaded release."""
    return _verified(here.store.verifications.path(verification) / RELEASE)


@router.delete("/verifications/{verification}", status_code=204)
def remove(here: Here, verification: str) -> None:
    """Delete the uploaded files."""
    here.store.verifications.remove(verification)


@router.get("/runs/{run}/verification", response_model=VerificationAnswer)
def own(here: Here, run: str) -> dict[str, Any]:
    """Recompute every promise of a release that was made here."""
    return _verified(here.store.runs.path(run) / RELEASE)


def _verified(folder: Path) -> dict[str, Any]:
    import shoal

    found = shoal.verify(folder)
    return {
        "passed": found.passed,
        "checks": [{"subject": c.subject, "passed": c.passed, "detail": c.detail} for c in found.checks],
    }
