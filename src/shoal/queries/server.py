"""The vault over HTTP: analysts with tokens ask, within their budgets and rates.

What a response says depends on the request, the schema, the ledger and noise; never on the records otherwise. Errors of
the computation all look the same.
"""

# no postponed annotations here: FastAPI reads those of functions whose dependencies are local

import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from shoal import __version__
from shoal.errors import BudgetSpent, InputError, LedgerError, MissingExtraError, ShoalError
from shoal.queries._messages import AnswerMessage, ErrorMessage, EstimateMessage, QueryMessage, StandingMessage
from shoal.queries._query import amounts
from shoal.queries.ledger import Ledger
from shoal.queries.session import Desk
from shoal.queries.vault import token_digest

try:
    from fastapi import Body, Depends, FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from starlette.exceptions import HTTPException
except ImportError:
    raise MissingExtraError("The vault's server", extra="vault") from None

__all__ = ["RateLimits", "create_app"]

LARGEST_BODY = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How often analysts may ask."""

    #: Answers per second and analyst, in the long run.
    rate: float = 20.0
    #: How many may come at once.
    burst: int = 40
    #: Seconds; responses to queries leave at whole multiples of it after their request, so that computing times do not
    #: show. 0 for at once.
    pace: float = 0.0


#: how often anybody may come with a token that nobody was given; who has one is not slowed down
WRONG_TOKENS = RateLimits(rate=1.0, burst=20)
#: refusals, one line each: the status, its word and the analyst; nothing of the question
LOG = logging.getLogger("shoal.vault")


class _Refused(Exception):
    def __init__(self, status: int, code: str, problem: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(problem)
        self.status, self.code, self.problem, self.headers = status, code, problem, headers


@dataclass(slots=True)
class _Door:
    """Who comes in: tokens, looked up at most once a second, and rates."""

    ledger: Ledger
    limits: RateLimits
    _names: dict[str, str] = field(default_factory=dict)
    _looked: float = -math.inf
    _allowed: dict[str | None, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def name(self, token: str) -> str:
        """Return whose token it is."""
        if time.monotonic() - self._looked > 1:
            await run_in_threadpool(self._look)
        name = self._names.get(token_digest(token))
        if name is None:
            # all strangers together: they may come from many addresses, or all from that of a proxy
            self._take(None, WRONG_TOKENS, "too many requests with unknown tokens; wait before you try again.")
            raise _Refused(401, "unknown", "the token is unknown.", {"WWW-Authenticate": "Bearer"})
        return name

    def _look(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked > 1:
                self._names = self.ledger.tokens()
                self._looked = time.monotonic()

    def take(self, name: str) -> None:
        """Count one question, or refuse it."""
        self._take(name, self.limits, "too many questions; wait before you ask again.")

    def _take(self, who: str | None, limits: RateLimits, problem: str) -> None:
        """Take from a bucket of ``burst`` that fills at ``rate``."""
        with self._lock:
            now = time.monotonic()
            level, before = self._allowed.get(who, (float(limits.burst), now))
            level = min(level + (now - before) * limits.rate, limits.burst)
            self._allowed[who] = (max(level - 1, 0.0) if level >= 1 else level, now)
        if level < 1:
            wait = math.ceil((1 - level) / limits.rate)
            raise _Refused(429, "too-often", problem, {"Retry-After": str(wait)})


def create_app(desk: Desk, ledger: Ledger, *, limits: RateLimits | None = None) -> FastAPI:
    """Return the application that answers over HTTP: at a desk, for analysts and budgets of a ledger."""
    limits = limits or RateLimits()
    door = _Door(ledger, limits)
    app = FastAPI(
        title="Shoal vault",
        version=__version__,
        description="Questions about a table of personal records, answered with differential privacy.",
        responses={code: {"model": ErrorMessage} for code in (401, 503)},
        redoc_url=None,
        docs_url=None,
    )
    _handle_errors(app)
    app.add_middleware(_BodyLimit)
    bearer = HTTPBearer(auto_error=False)

    async def analyst(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
        request.state.analyst = await door.name("" if given is None else given.credentials)
        return str(request.state.analyst)

    refusals: dict[int | str, dict[str, Any]] = {
        code: {"model": ErrorMessage} for code in (400, 403, 413, 422, 429, 500)
    }

    @app.post("/v1/ask", response_model=AnswerMessage, responses=refusals)
    def ask(message: Annotated[QueryMessage, Body()], name: Annotated[str, Depends(analyst)]) -> Response:
        """Pay for a query and answer it."""
        started = time.monotonic()
        door.take(name)
        try:
            # a response, because FastAPI would check and encode plain data in two more threads
            return JSONResponse(desk.ask(name, message.value()).to_json())
        finally:
            _wait(started, limits.pace)

    @app.post("/v1/estimate", response_model=EstimateMessage, responses=refusals)
    def estimate(message: Annotated[QueryMessage, Body()], name: Annotated[str, Depends(analyst)]) -> Response:
        """Say what a query would cost and how wrong its answer may be; nothing is paid, and no record is read."""
        door.take(name)
        return JSONResponse(desk.estimate(name, message.value()).to_json())

    @app.get("/v1/budget", response_model=StandingMessage)
    def budget(name: Annotated[str, Depends(analyst)]) -> dict[str, Any]:
        """Return what you may spend, have spent and have left."""
        standing = ledger.standing(name)
        return {part: amounts(getattr(standing, part)) for part in ("budget", "spent", "left")}

    @app.get("/v1/schema")
    def schema(name: Annotated[str, Depends(analyst)]) -> dict[str, Any]:
        """Return the columns that you may ask about, and what is declared of them."""
        return {"columns": [_described(attribute) for attribute in desk.schema], "unit": str(desk.unit)}

    @app.get("/health", responses={401: {}})
    def health() -> dict[str, str]:
        """Say that the server is up and can answer: it draws the noise of one answer, which nobody sees or pays for."""
        try:
            desk.draw()
        except ShoalError:
            raise _Refused(503, "not-ready", "no answer can be computed; nothing was spent.") from None
        return {"status": "up"}

    _pages(app)
    return app


def _pages(app: FastAPI) -> None:
    """Serve the page on which analysts ask; it holds nothing of the vault, and keeps no token."""
    for path, (name, kind) in _FILES.items():
        content = (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")

        app.add_api_route(path, _served(content, kind), include_in_schema=False)


def _served(content: str, kind: str) -> Callable[[], Response]:
    return lambda: Response(content, media_type=kind, headers=_HEADERS)


_FILES = {
    "/": ("ask.html", "text/html"),
    "/ask.js": ("ask.js", "text/javascript"),
    "/ask.css": ("ask.css", "text/css"),
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def _wait(started: float, pace: float) -> None:
    if pace > 0:
        passed = time.monotonic() - started
        time.sleep(max(math.ceil(passed / pace) * pace - passed, 0))


def _described(attribute: Any) -> dict[str, Any]:
    domain = attribute.domain
    shown: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind.value, "role": attribute.role.value}
    if domain is not None and domain.values is not None:
        shown["values"] = list(domain.values)
    if domain is not None and domain.bounded:
        shown |= {"minimum": domain.minimum, "maximum": domain.maximum}
    return shown


def _handle_errors(app: FastAPI) -> None:
    """Give every error one shape, without a word of where it came from."""

    @app.exception_handler(_Refused)
    def refused(request: Request, error: _Refused) -> Response:
        return _error(request, error.status, error.code, [error.problem], headers=error.headers)

    @app.exception_handler(ShoalError)
    def known(request: Request, error: ShoalError) -> Response:
        status, code = _status(error)
        return _error(request, status, code, error.problems, error.hint)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        problems = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()]
        return _error(request, 422, "invalid", problems)

    @app.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        return _error(request, error.status_code, "refused", [str(error.detail)], headers=dict(error.headers or {}))

    @app.exception_handler(Exception)
    def unknown(request: Request, _error_: Exception) -> Response:
        return _error(request, 500, "not-answered", ["the request could not be served."])


def _status(error: ShoalError) -> tuple[int, str]:
    if isinstance(error, BudgetSpent):
        return 403, "budget-spent"
    if isinstance(error, LedgerError):
        return 503, "ledger"
    return (422, "invalid") if isinstance(error, InputError) else (500, "not-answered")


def _error(
    request: Request,
    status: int,
    code: str,
    problems: list[str] | tuple[str, ...],
    hint: str | None = None,
    *,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    LOG.warning("refused %s %s %s", status, code, getattr(request.state, "analyst", "-"))
    content = {"code": code, "problems": list(problems), "hint": hint}
    return JSONResponse(content, status_code=status, headers={**(headers or {}), "Cache-Control": "no-store"})


_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Scope]]
_Send = Callable[[_Scope], Awaitable[None]]


class _BodyLimit:
    """Refuse bodies that are too large before they are read."""

    def __init__(self, app: Callable[[_Scope, _Receive, _Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = 0

        async def limited() -> _Scope:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > LARGEST_BODY:
                raise HTTPException(413, f"a request may have at most {LARGEST_BODY:,} bytes.")
            return message

        await self._app(scope, limited, send)
