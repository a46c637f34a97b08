"""The gate of the vault's server: who may come in is decided by the headers, before anything else is read.

Analysts bring a token. Strangers may see the page on which analysts ask and whether the server is up; whatever else
they want is refused, at a limited rate for one address and for all together, and with few lines in the log.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from shoal.queries._connections import Connections, network_of
from shoal.queries._workers import Allowances, TooOftenError, Workers
from shoal.queries.ledger import Ledger
from shoal.queries.vault import token_digest

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1 << 16
#: digits that the length of a body may have
_DIGITS = 18
# processor seconds that a request and each of its bytes cost outside of the threads that work on it
REQUEST, BYTE = 1e-3, 2e-7
#: requests per second of strangers: of one address, and of all
STRANGERS, ALL_STRANGERS = (1.0, 20.0), (20.0, 400.0)
#: the same of the page and of the health of the server
VISITS, ALL_VISITS = (5.0, 60.0), (50.0, 500.0)
#: lines of the log, per second and at once
LINES = (1.0, 50.0)
#: refusals, one line each: the status, its word and the analyst; nothing of the question
LOG = logging.getLogger("shoal.vault")
PUBLIC = frozenset({"/", "/ask.js", "/ask.css", "/health"})


class Refusal(Exception):
    """What is answered instead: a status, its word and a sentence."""

    def __init__(self, status: int, code: str, problem: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(problem)
        self.status, self.code, self.problem, self.headers = status, code, problem, headers or {}

    @classmethod
    def too_often(cls, problem: str, wait: TooOftenError) -> Refusal:
        """Say when to come back."""
        return cls(429, "too-often", problem, {"Retry-After": str(wait.seconds)})


@dataclass(slots=True)
class RefusalLog:
    """A bounded log: beyond some lines per second, refusals are only counted."""

    _lines: Allowances = field(default_factory=lambda: Allowances(*LINES))
    _left_out: int = 0

    def note(self, status: int, code: str, name: str | None) -> None:
        """Log a refusal."""
        try:
            self._lines.check("")
        except TooOftenError:
            self._left_out += 1
            return
        self._lines.take("", 1)
        if self._left_out:
            LOG.warning("refused %s more without a line each", f"{self._left_out:,}")
            self._left_out = 0
        LOG.warning("refused %s %s %s", status, code, name or "-")


class Tokens:
    """Whose token it is, looked up in the ledger at most once a second."""

    def __init__(self, ledger: Ledger, workers: Workers) -> None:
        self._ledger, self._workers = ledger, workers
        self._names: dict[str, str] = {}
        self._looked = -math.inf

    async def name(self, token: str) -> str | None:
        """Return the analyst's name; None where nobody has this token."""
        if time.monotonic() - self._looked > 1:
            self._names = (await self._workers.run(self._ledger.tokens)).value()
            self._looked = time.monotonic()
        return self._names.get(token_digest(token))


class Gate:
    """The outermost layer of the application: hosts, tokens, rates, sizes and times of requests.

    What comes through has a body that was read, and an analyst's name in ``scope["state"]["analyst"]``, or is public.
    """

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens,
        analysts: Allowances,
        log: RefusalLog,
        connections: Connections,
        names: Collection[str],
        behind_proxy: bool,
    ) -> None:
        self._app, self._tokens, self._analysts, self._log = app, tokens, analysts, log
        self._connections, self._behind_proxy = connections, behind_proxy
        self._hosts = {"localhost", *(name.lower() for name in names)}
        self._strangers, self._all_strangers = Allowances(*STRANGERS), Allowances(*ALL_STRANGERS)
        self._visits, self._all_visits = Allowances(*VISITS), Allowances(*ALL_VISITS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        client = tuple(scope["client"] or ("", 0))
        self._connections.expect(client)
        name = None
        try:
            headers = self._headers(scope)
            name = await self._admit(scope, headers)
            if name is not None:
                self._connections.know(client)
            body = await _read(receive, headers.get("content-length", "0"), 0 if name is None else LARGEST_BODY)
        except Refusal as refusal:
            self._log.note(refusal.status, refusal.code, name)
            await _send_refusal(send, refusal)
            return
        except Exception:
            # a token that cannot be looked up lets nobody in
            self._log.note(503, "ledger", None)
            await _send_refusal(send, Refusal(503, "ledger", "the ledger cannot be used; nothing is answered."))
            return
        if name is not None:
            self._analysts.take(name, REQUEST + len(body) * BYTE)
        scope.setdefault("state", {})["analyst"] = name
        self._connections.work(client)

        async def sending(message: Scope) -> None:
            self._connections.expect(client)
            await send(message)

        await self._app(scope, _replayed(body, receive), sending)
        self._connections.expect(client, idle=True)

    def _headers(self, scope: Scope) -> dict[str, str]:
        """Return the headers that matter, once each."""
        found: dict[str, str] = {}
        for raw, value in scope["headers"]:
            header = raw.decode("latin-1").lower()
            if header in found and header in ("authorization", "host", "content-length", "transfer-encoding"):
                raise Refusal(400, "refused", f"the header `{header}` may be given only once.")
            found[header] = value.decode("latin-1")
        if "content-length" in found and "transfer-encoding" in found:
            raise Refusal(400, "refused", "a request has either a `content-length` or a `transfer-encoding`.")
        if not self._is_our_host(found.get("host", "")):
            raise Refusal(421, "refused", "this server has another name.")
        return found

    def _is_our_host(self, host: str) -> bool:
        """Whether a request names this server: by an address, which no foreign page can borrow, or by its name."""
        bare = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
        try:
            ipaddress.ip_address(bare)
        except ValueError:
            return bare.lower() in self._hosts
        return True

    async def _admit(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Return the analyst's name; None for what everybody may see."""
        address = self._address(scope, headers)
        if scope["path"] in PUBLIC and scope["method"] == "GET":
            _take(self._visits, self._all_visits, address, "too many requests; wait before you try again.")
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        name = await self._tokens.name(token.strip()) if kind.lower() == "bearer" else None
        if name is None:
            problem = "too many requests with unknown tokens; wait before you try again."
            _take(self._strangers, self._all_strangers, address, problem)
            raise Refusal(401, "unknown", "the token is unknown.", {"WWW-Authenticate": "Bearer"})
        try:
            self._analysts.check(name)
        except TooOftenError as wait:
            raise Refusal.too_often("too many questions; wait before you ask again.", wait) from None
        return name

    def _address(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return where a request comes from; a proxy adds the address that it saw to the end of a list."""
        said = headers.get("x-forwarded-for", "").rpartition(",")[2].strip() if self._behind_proxy else ""
        return network_of(said or str((scope["client"] or ("", 0))[0]))


def _take(one: Allowances, together: Allowances, address: str, problem: str) -> None:
    try:
        one.check(address)
        together.check("")
    except TooOftenError as wait:
        raise Refusal.too_often(problem, wait) from None
    one.take(address, 1)
    together.take("", 1)


async def _read(receive: Receive, stated: str, most: int) -> bytes:
    """Return the body of a request, of at most so many bytes; one that is stated to be larger is not waited for."""
    too_large = Refusal(413, "refused", f"this request may have at most {most:,} bytes.")
    if not stated.isdecimal() or len(stated) > _DIGITS or int(stated) > most:
        raise too_large
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(400, "refused", "the request ended before its body.")
        body += bytes(message.get("body", b""))
        if len(body) > most:
            raise too_large
        if not message.get("more_body"):
            return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return the function that gives the body once, and after that what else comes: that the client is gone."""
    given = False

    async def replay() -> Scope:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _send_refusal(send: Send, refusal: Refusal) -> None:
    """Answer and close the connection: nothing more is read from it."""
    content = json.dumps({"code": refusal.code, "problems": [refusal.problem], "hint": None}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(content)), "cache-control": "no-store"}
    headers |= {"connection": "close"} | refusal.headers
    raw = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
