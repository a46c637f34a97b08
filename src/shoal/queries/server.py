"""The vault over HTTP: analysts with tokens ask, within their budgets and rates.

What a response says depends on the request, the schema, the ledger and noise; never on the records otherwise. Errors of
the computation all look the same.
"""

# no postponed annotations here: FastAPI reads those of functions whose dependencies are local

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from shoal import __version__
from shoal.errors import BudgetSpent, InputError, LedgerError, MissingExtraError, NotAnswered, ShoalError
from shoal.queries._connections import ConnectionLimits as ConnectionLimits
from shoal.queries._connections import Connections as Connections
from shoal.queries._gate import Gate, Refusal, RefusalLog, Tokens
from shoal.queries._messages import AnswerMessage, ErrorMessage, EstimateMessage, QueryMessage, StandingMessage
from shoal.queries._query import Answer, Query, Quotation, amounts
from shoal.queries._serving import VaultServer as VaultServer
from shoal.queries._workers import Allowances, Lines, TooOftenError, Workers
from shoal.queries.ledger import Ledger
from shoal.queries.session import Desk
from shoal.schema import Attribute

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.encoders import jsonable_encoder
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException
except ImportError:
    raise MissingExtraError("The vault's server", extra="vault") from None

__all__ = ["ConnectionLimits", "Connections", "RateLimits", "VaultServer", "create_app"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How much analysts may ask, and when answers leave."""

    #: Processor seconds per second that the questions of each analyst may take in the long run.
    share: float = 0.25
    #: Processor seconds that they may take at once.
    burst: float = 5.0
    #: Seconds; answers leave at whole multiples of it after their request, so that computing times do not show. 0 for
    #: at once.
    pace: float = 0.05


_MESSAGES: TypeAdapter[Any] = TypeAdapter(QueryMessage)
#: problems of a request that are listed
_LISTED = 10
#: seconds for which the server's health is known
_FRESH = 1.0


class _Invalid(InputError):
    """A request that is no question."""


def create_app(
    desk: Desk,
    ledger: Ledger,
    *,
    limits: RateLimits | None = None,
    connections: Connections | None = None,
    names: Collection[str] = (),
    behind_proxy: bool = False,
) -> FastAPI:
    """Return the application that answers over HTTP: at a desk, for analysts and budgets of a ledger.

    ``names`` are those of this server besides its addresses and localhost; behind a proxy, addresses of strangers are
    those that the proxy names in ``X-Forwarded-For``.
    """
    limits, log, workers = limits or RateLimits(), RefusalLog(), Workers()
    connections = Connections() if connections is None else connections
    office = _Office(workers, Lines(), Allowances(limits.share, limits.burst))
    app = FastAPI(
        title="Shoal vault",
        version=__version__,
        description="Questions about a table of personal records, answered with differential privacy.",
        responses={code: {"model": ErrorMessage} for code in (400, 401, 413, 421, 429, 503)},
        redoc_url=None,
        docs_url=None,
        lifespan=_watched(connections),
    )
    _handle_errors(app, log)
    app.add_middleware(
        Gate,
        tokens=Tokens(ledger, workers),
        analysts=office.allowances,
        log=log,
        connections=connections,
        names=names,
        behind_proxy=behind_proxy,
    )
    refusals: dict[int | str, dict[str, Any]] = {code: {"model": ErrorMessage} for code in (403, 422, 500)}
    schema = _MESSAGES.json_schema(ref_template="#/components/schemas/{model}")
    definitions = schema.pop("$defs")
    taken = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    async def answer(request: Request, reply: Callable[[str, Query], Answer | Quotation]) -> Response:
        body, name = await request.body(), request.state.analyst

        def work() -> Response:
            return JSONResponse(reply(name, _query(body)).to_json())

        return await office.work(request, work)

    @app.post("/v1/ask", response_model=AnswerMessage, responses=refusals, openapi_extra=taken)
    async def ask(request: Request) -> Response:
        """Pay for a query and answer it."""
        started = time.monotonic()
        try:
            return await answer(request, desk.ask)
        finally:
            await _wait(started, limits.pace)

    @app.post("/v1/estimate", response_model=EstimateMessage, responses=refusals, openapi_extra=taken)
    async def estimate(request: Request) -> Response:
        """Say what a query would cost and how wrong its answer may be; nothing is paid, and no record is read."""
        return await answer(request, desk.estimate)

    @app.get("/v1/budget", response_model=StandingMessage)
    async def budget(request: Request) -> Response:
        """Return what you may spend, have spent and have left."""

        def work() -> Response:
            standing = ledger.standing(request.state.analyst)
            return JSONResponse({part: amounts(getattr(standing, part)) for part in ("budget", "spent", "left")})

        return await office.work(request, work)

    @app.get("/v1/schema", response_model=dict[str, Any])
    async def columns(request: Request) -> Response:
        """Return the columns that you may ask about, and what is declared of them."""

        def work() -> Response:
            found = {"columns": [_described(each) for each in desk.schema], "unit": str(desk.unit)}
            return JSONResponse(jsonable_encoder(found))

        return await office.work(request, work)

    checked, is_up = -math.inf, False

    @app.get("/health", responses={401: {}})
    async def health() -> dict[str, str]:
        """Say that the server is up and can answer: it draws the noise of one answer, which nobody sees or pays for."""
        nonlocal checked, is_up
        if time.monotonic() - checked > _FRESH:
            checked = time.monotonic()
            is_up = (await workers.run(desk.draw)).error is None
        if not is_up:
            raise Refusal(503, "not-ready", "no answer can be computed; nothing was spent.")
        return {"status": "up"}

    _describe(app, definitions)
    _pages(app)
    return app


@dataclass(frozen=True, slots=True)
class _Office:
    """Where questions are worked on, in the line of their analyst and on the analyst's account of processor time."""

    workers: Workers
    lines: Lines
    allowances: Allowances

    async def work(self, request: Request, work: Callable[[], Response]) -> Response:
        """Return the response that some work gives, unless nobody waits for it any more."""
        name = request.state.analyst
        try:
            async with self.lines.turn(name):
                self.allowances.check(name)
                if await request.is_disconnected():
                    return Response(status_code=499)
                outcome = await self.workers.run(work)
                self.allowances.take(name, outcome.seconds)
        except TooOftenError as wait:
            raise Refusal.too_often("too many questions; wait before you ask again.", wait) from None
        return outcome.value()


def _query(body: bytes) -> Query:
    """Return the query that the body of a request asks."""
    _refuse_repetitions(body)
    try:
        message = _MESSAGES.validate_json(body)
    except ValidationError as error:
        listed = error.errors(include_url=False, include_context=False, include_input=False)[:_LISTED]
        raise _Invalid([f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in listed]) from None
    query: Query = message.value()
    return query


def _refuse_repetitions(body: bytes) -> None:
    """Refuse an object with a key twice: readers differ in which value counts. What is no JSON is told later."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise _Invalid("an object of the request has a key twice.", hint="give every key once")
        return found

    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=once)


def _watched(connections: Connections) -> Callable[[FastAPI], Any]:
    """Return what runs beside the application: it closes connections whose time is over."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(connections.watch())
        yield
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching

    return lifespan


def _describe(app: FastAPI, definitions: dict[str, Any]) -> None:
    """Add the messages that are read here, and not by FastAPI, to the description of the interface."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        found = plain()
        found["components"]["schemas"] |= definitions
        return found

    app.openapi = described  # type: ignore[method-assign]


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


async def _wait(started: float, pace: float) -> None:
    if pace > 0:
        passed = time.monotonic() - started
        await asyncio.sleep(max(math.ceil(passed / pace) * pace - passed, 0))


def _described(attribute: Attribute) -> dict[str, Any]:
    domain = attribute.domain
    shown: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind.value, "role": attribute.role.value}
    if domain is not None and domain.values is not None:
        shown["values"] = list(domain.values)
    if domain is not None and domain.is_bounded:
        shown |= {"minimum": domain.minimum, "maximum": domain.maximum}
    return shown


def _handle_errors(app: FastAPI, log: RefusalLog) -> None:
    """Give every error one shape, without a word of where it came from."""

    def refuse(request: Request, refusal: Refusal, *more: str, hint: str | None = None) -> Response:
        log.note(refusal.status, refusal.code, getattr(request.state, "analyst", None))
        content = {"code": refusal.code, "problems": [refusal.problem, *more], "hint": hint}
        headers = {**refusal.headers, "Cache-Control": "no-store"}
        return JSONResponse(content, status_code=refusal.status, headers=headers)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        return refuse(request, error)

    @app.exception_handler(ShoalError)
    async def known(request: Request, error: ShoalError) -> Response:
        status, code = _status(error)
        return refuse(request, Refusal(status, code, error.problems[0]), *error.problems[1:], hint=error.hint)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return refuse(request, Refusal(error.status_code, "refused", str(error.detail), dict(error.headers or {})))

    @app.exception_handler(Exception)
    async def unknown(request: Request, _error_: Exception) -> Response:
        return refuse(request, Refusal(500, "failed", "the request could not be served."))


def _status(error: ShoalError) -> tuple[int, str]:
    if isinstance(error, BudgetSpent):
        return 403, "budget-spent"
    if isinstance(error, LedgerError):
        return 503, "ledger"
    if isinstance(error, NotAnswered):
        return 500, "not-answered"
    return (422, "invalid") if isinstance(error, InputError) else (500, "failed")
