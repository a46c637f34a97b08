"""Errors in the words of the command line: ``{"problems": [...], "hint": ...}`` for scripts, pages for people."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from shoal.errors import InputError, OutputError, RequirementError, ShoalError, VerificationError, presentable
from shoal.web._store import Changed, NotFound
from shoal.web._words import page

_TITLES = {
    404: "This is not here",
    405: "This is not here",
    422: "This does not work yet",
    500: "Something went wrong",
}
_TABLE = re.compile(r"/tables/([0-9a-f]{16})(?:/.*)?")


class Problem(BaseModel):
    """What is wrong, and what may help."""

    problems: list[str]
    hint: str | None = None
    fields: dict[str, list[str]] | None = Field(default=None, description="problems by their part of the body")


def content(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON; one that is not ours is named by its place, for its message may hold data."""
    told = _told(error)
    fields = getattr(told, "fields", None)
    return {"problems": list(told.problems), "hint": told.hint} | ({"fields": fields} if fields else {})


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error."""
    match _told(error):
        case NotFound():
            return 404
        case Changed():
            return 409
        case OutputError():
            return 507
        case InputError():
            return 422
        case RequirementError() | VerificationError():
            return 409
    return 500


def answer(path: str, accept: str, status: int, told: dict[str, Any]) -> Response:
    """Return an error as a page where a person asked for one, and as JSON elsewhere."""
    if not wants_page(path, accept):
        return JSONResponse(told, status_code=status)
    ways = [("/", "All tables")]
    if (found := _TABLE.fullmatch(path)) and status != 404:
        ways.insert(0, (f"/tables/{found[1]}", "Change the columns"))
    title = _TITLES.get(status, "This did not work")
    return page("error", status=status, title=title, ways=ways, problems=told["problems"], hint=told["hint"])


def wants_page(path: str, accept: str) -> bool:
    """Return whether a person looks at the answer."""
    return "text/html" in accept and not path.startswith("/api")


def install(app: FastAPI) -> None:
    """Make the app answer all errors in this form."""

    @app.exception_handler(ShoalError)
    @app.exception_handler(OSError)
    async def _ours(request: Request, error: Exception) -> Response:
        return _answered(request, status_of(error), content(error))

    @app.exception_handler(RequestValidationError)
    async def _shape(request: Request, error: RequestValidationError) -> Response:
        # the places and rules only: what was sent may be data
        problems = [f"{_place(entry['loc'])}: {entry['type'].replace('_', ' ')}" for entry in error.errors()]
        return _answered(request, 422, {"problems": problems, "hint": "see the API's description at /api"})

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        return _answered(request, error.status_code, {"problems": [str(error.detail).lower()], "hint": None})


def _answered(request: Request, status: int, told: dict[str, Any]) -> Response:
    return answer(request.url.path, request.headers.get("accept", ""), status, told)


def _told(error: BaseException) -> ShoalError:
    """Return what is missing without the path that the system names."""
    if isinstance(error, FileNotFoundError):
        return NotFound("this is no longer there", hint="it may have been deleted in another window")
    return presentable(error)


def _place(parts: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in parts if part not in ("body", "query", "path")) or "the request"
