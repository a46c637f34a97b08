"""Errors in the words of the command line: ``{"problems": [...], "hint": ...}`` for scripts, pages for people."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from shoal.errors import (
    InputError,
    OutputError,
    RequirementError,
    ShoalError,
    Undecided,
    VerificationError,
    presentable,
)
from shoal.web._store import Changed, NotFound
from shoal.web._words import page

_TITLES = {
    404: "Not found",
    405: "Not found",
    422: "This does not work yet",
    500: "Something went wrong",
}
_TABLE = re.compile(r"/tables/([0-9a-f]{16})(?:/.*)?")


class FieldProblem(BaseModel):
    """What is wrong with a part of the body, and with which of its parameters, if it is one."""

    parameter: str | None = None
    problem: str


class Problem(BaseModel):
    """What is wrong, and what may help."""

    problems: list[str]
    hint: str | None = None
    fields: dict[str, list[FieldProblem]] | None = Field(default=None, description="problems by their part of the body")


def content(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON; one that is not ours is named by its place, for its message may hold data."""
    told = _told(error)
    fields = getattr(told, "fields", None)
    return {"problems": list(told.problems), "hint": told.hint} | ({"fields": fields} if fields else {})


def _status_of(error: BaseException) -> int:
    match _told(error):
        case NotFound():
            return 404
        case Changed():
            return 409
        case OutputError():
            return 507
        case InputError():
            return 422
        case RequirementError() | VerificationError() | Undecided():
            return 409
    return 500


def answer(request: HTTPConnection, status: int, told: dict[str, Any]) -> Response:
    """Return an error as a page where a person asked for one, and as JSON elsewhere."""
    path = request.url.path
    if "text/html" not in request.headers.get("accept", "") or path.startswith("/api"):
        return JSONResponse(told, status_code=status)
    ways = [("/", "All tables")]
    if (match := _TABLE.fullmatch(path)) and status != 404:
        ways.insert(0, (f"/tables/{match[1]}", "Change the columns"))
    title = _TITLES.get(status, "This did not work")
    return page("error", status=status, title=title, ways=ways, problems=told["problems"], hint=told["hint"])


def install(app: FastAPI) -> None:
    """Make the app answer all errors in this form."""

    @app.exception_handler(ShoalError)
    @app.exception_handler(OSError)
    async def _ours(request: Request, error: Exception) -> Response:
        return answer(request, _status_of(error), content(error))

    @app.exception_handler(RequestValidationError)
    async def _shape(request: Request, error: RequestValidationError) -> Response:
        # the places and rules only: what was sent may be data
        problems = [f"{_place(entry['loc'])}: {entry['type'].replace('_', ' ')}" for entry in error.errors()]
        return answer(request, 422, {"problems": problems, "hint": "see the API's description at /api"})

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        return answer(request, error.status_code, {"problems": [str(error.detail).lower()], "hint": None})


def _told(error: BaseException) -> ShoalError:
    """Return what is missing without the path that the system names."""
    if isinstance(error, FileNotFoundError):
        return NotFound("this is no longer there", hint="it may have been deleted in another window")
    return presentable(error)


def _place(parts: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in parts if part not in ("body", "query", "path")) or "the request"
