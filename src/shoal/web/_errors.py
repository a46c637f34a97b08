"""Errors in the words of the command line, as JSON: ``{"problems": [...], "hint": ...}``."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from shoal.errors import InputError, RequirementError, ShoalError, VerificationError, presentable
from shoal.web._store import NotFound

__all__ = ["Problem", "content", "install", "status_of"]


class Problem(BaseModel):
    """What is wrong, and what may help."""

    problems: list[str]
    hint: str | None = None


def content(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON; one that is not ours is named by its place, for its message may hold data."""
    told = presentable(error)
    return {"problems": list(told.problems), "hint": told.hint}


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error."""
    match error:
        case NotFound():
            return 404
        case InputError():
            return 422
        case RequirementError() | VerificationError():
            return 409
    return 500


def _place(parts: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in parts if part not in ("body", "query", "path")) or "the request"


def install(app: FastAPI) -> None:
    """Make the app answer all errors in this form."""

    @app.exception_handler(ShoalError)
    async def _ours(_request: Request, error: ShoalError) -> JSONResponse:
        return JSONResponse(content(error), status_code=status_of(error))

    @app.exception_handler(RequestValidationError)
    async def _shape(_request: Request, error: RequestValidationError) -> JSONResponse:
        # the places and rules only: what was sent may be data
        problems = [f"{_place(entry['loc'])}: {entry['type'].replace('_', ' ')}" for entry in error.errors()]
        return JSONResponse({"problems": problems, "hint": "see the API's description at /api"}, status_code=422)

    @app.exception_handler(HTTPException)
    async def _http(_request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"problems": [str(error.detail).lower()], "hint": None}, status_code=error.status_code)
