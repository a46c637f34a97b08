"""Access to the app: requests of this browser from pages of this app, and no others.

A page of another site that the user visits must not reach the app (requests forged across sites, names rebound to the
loopback address), and other users of the machine must not either. So every request needs our host name and the cookie
that the token of the printed address was changed into; a request that changes something also needs our origin. Browsers
send cookies to every port of a host, so the host name is a random one below ``localhost``, which only this app has.
A script shows the API token instead, which no browser sends by itself.
"""

from __future__ import annotations

import hmac
import json
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.web._errors import answer, content
from shoal.web._words import page

#: where scripts reach the app; browsers use its own name
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
#: what the page of a refusal needs
OPEN = ("/static/app.css", "/static/shoal.svg")
SAFE = ("GET", "HEAD", "OPTIONS")
SMALL_BODY = 8 * 2**20

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Access:
    """The app's host name, the token of the printed address, its session, and the token of scripts.

    Scripts show ``api_token`` as ``Authorization: Bearer TOKEN``; None where there are none.
    """

    def __init__(self, *, api_token: str | None = None, host: str | None = None) -> None:
        self._api_token = api_token
        self.host = host or f"shoal-{secrets.token_hex(8)}.localhost"
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self.cookie = "shoal"

    def address(self, port: int) -> str:
        """Return the address that opens the app in a browser."""
        return f"http://{self.host}:{port}/?token={self.token}"

    def redeem(self, token: str) -> str | None:
        """Return the session for the token."""
        return self._session if hmac.compare_digest(token.encode(), self.token.encode()) else None

    def known(self, session: str) -> bool:
        """Return whether this is our session."""
        return hmac.compare_digest(session.encode(), self._session.encode())

    def script(self, authorization: str) -> bool:
        """Return whether a script showed the API token."""
        kind, _, token = authorization.partition(" ")
        if self._api_token is None or kind.lower() != "bearer":
            return False
        return hmac.compare_digest(token.strip().encode(), self._api_token.encode())


class Guard:
    """ASGI middleware: check host, session, origin and size of every request; add headers to every answer.

    ``port`` is that of our address, None for one without; an uploaded file has at most ``upload_limit`` bytes.
    """

    def __init__(self, app: ASGIApp, *, access: Access, port: int | None, upload_limit: int) -> None:
        self._app, self._access, self._port, self._upload_limit = app, access, port, upload_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refused = self._refuse(scope)
        if refused is not None:
            answer = _page(refused) if "text/html" in Headers(scope=scope).get("accept", "") else refused
            await answer(scope, receive, _with_headers(send))
            return
        limit = self._upload_limit if _is_upload(scope) else SMALL_BODY
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            await _problem(413, _too_large(limit))(scope, receive, _with_headers(send))
            return
        await self._answer(scope, _Bounded(receive, limit), _with_headers(send))

    async def _answer(self, scope: Scope, receive: _Bounded, send: Send) -> None:
        """Let the app answer; a defect is told by its place, for a message or a trace in a log may hold data."""
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if receive.exceeded and not started:
                raise _TooLarge
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if started:
                return
            if receive.exceeded:
                await _problem(413, _too_large(receive.limit))(scope, receive, send)
                return
            await answer(HTTPConnection(scope), 500, content(error))(scope, receive, send)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if host in map(self._named, (*LOOPBACK, self._access.host)):
            if self._access.script(headers.get("authorization", "")) and origin in (None, f"http://{host}"):
                return None
            if scope["path"] in OPEN and scope["method"] in SAFE:
                return None
        if host != self._named(self._access.host):
            return _problem(421, "this app does not answer at this address", hint=_AGAIN)
        if origin is not None and origin != f"http://{host}":
            return _problem(403, "this request comes from another site")
        if scope["method"] not in SAFE and origin is None:
            return _problem(403, "a request that changes something must say that it comes from this app", hint=_ORIGIN)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and scope["path"] == "/" and scope["method"] == "GET":
            return self._enter(given[0], headers)
        if not self._inside(headers):
            return _problem(401, "this browser window does not have the key to the app", hint=_AGAIN)
        if site not in (None, "same-origin", "none") and scope["path"].startswith("/api"):
            return _problem(403, "this request comes from another site")
        return None

    def _named(self, host: str) -> str:
        return host if self._port is None else f"{host}:{self._port}"

    def _enter(self, token: str, headers: Headers) -> Response:
        session = self._access.redeem(token)
        if session is None and not self._inside(headers):
            return _problem(401, "this address is of an app that was closed since", hint=_AGAIN)
        # a strict cookie is not sent on with a redirect that another site, or a file, led to: our own page goes on
        foreign = headers.get("sec-fetch-site") == "cross-site"
        answer = HTMLResponse(_GO_ON) if foreign else RedirectResponse("/", status_code=303)
        if session is not None:
            answer.set_cookie(self._access.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def _inside(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._access.cookie)
        except CookieError:
            return False
        return cookie is not None and self._access.known(cookie.value)


class _TooLarge(Exception):
    """A body turned out larger than what its headers, or their absence, let one think."""


class _Bounded:
    """Receives a body as far as its limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self.limit, self.exceeded = limit, False
        self._receive, self._size = receive, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self.limit:
            self.exceeded = True
            raise _TooLarge
        return message


_GO_ON = (
    '<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url=/"><title>Shoal</title>'
    '<p><a href="/">Open Shoal</a></p>'
)
_ORIGIN = "send the header Origin with the address of this app"
_AGAIN = "run `shoal open`, or open the address that `shoal serve` printed"


def _is_upload(scope: Scope) -> bool:
    return scope["method"] in ("POST", "PUT") and Headers(scope=scope).get("content-type") == "application/octet-stream"


def _too_large(limit: int) -> str:
    return f"this is larger than the {limit / 2**20:,.0f} MB that the app accepts"


def _problem(status: int, problem: str, *, hint: str | None = None) -> Response:
    return JSONResponse({"problems": [problem], "hint": hint}, status_code=status)


def _page(refused: Response) -> Response:
    """Return a refusal as a page, for a person who opened an address by hand; moving on is not refusing."""
    if refused.status_code < 400:
        return refused
    told = json.loads(bytes(refused.body))
    return page("refused", status=refused.status_code, **told)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
