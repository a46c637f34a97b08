"""Turns of slow requests: a few work on one table or run at a time, and no thread waits for one of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: requests that work on one table or run at the same time: pages of others must not wait for them
AT_ONCE = 4
#: requests that work on any table or run at the same time; the server has 40 threads
ALTOGETHER = 24
#: requests that wait for their turn
WAITING = 200

# an event stream takes no thread
_WORK = re.compile(r"(?:/api)?(/(?:tables|runs|verifications)/[0-9a-f]{16})(?!.*/events$)(?:/.*)?")


@dataclass(slots=True)
class _Place:
    """The turns of one table or run, and how many requests ask for them."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    asking: int = 0


class Turns:
    """ASGI middleware: requests that read a table or run wait for their turn; those whose client left are forgotten."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._places: dict[str, _Place] = {}
        self._altogether = asyncio.Semaphore(ALTOGETHER)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = _WORK.fullmatch(scope.get("path", "")) if scope["type"] == "http" and scope["method"] == "GET" else None
        if work is None:
            await self._app(scope, receive, send)
            return
        if self._waiting >= WAITING:
            busy = {"problems": ["the app is busy with many requests"], "hint": "try again in a moment"}
            await JSONResponse(busy, status_code=503)(scope, receive, send)
            return
        inbox = _Inbox(receive)
        async with self._place(work[1]) as place:
            if await self._turn(place, inbox):
                try:
                    await self._app(scope, inbox, send)
                finally:
                    self._altogether.release()
                    place.turns.release()

    @asynccontextmanager
    async def _place(self, name: str) -> AsyncIterator[_Place]:
        place = self._places.setdefault(name, _Place())
        place.asking += 1
        try:
            yield place
        finally:
            place.asking -= 1
            if not place.asking:
                del self._places[name]

    async def _turn(self, place: _Place, inbox: _Inbox) -> bool:
        """Wait for a turn; return False if the client left first."""
        self._waiting += 1
        turn = asyncio.ensure_future(self._acquire(place))
        left = asyncio.ensure_future(inbox.wait_for_end())
        try:
            await asyncio.wait({turn, left}, return_when=asyncio.FIRST_COMPLETED)
            if turn.done():
                return True
            turn.cancel()
            with suppress(asyncio.CancelledError):
                await turn
                # it came at the last moment
                self._altogether.release()
                place.turns.release()
            return False
        except asyncio.CancelledError:
            turn.cancel()
            raise
        finally:
            self._waiting -= 1
            left.cancel()
            with suppress(asyncio.CancelledError):
                await left

    async def _acquire(self, place: _Place) -> None:
        await place.turns.acquire()
        try:
            await self._altogether.acquire()
        except asyncio.CancelledError:
            place.turns.release()
            raise


class _Inbox:
    """What a client sends; it can be listened to before the app reads it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._heard: list[Message] = []

    async def __call__(self) -> Message:
        return self._heard.pop(0) if self._heard else await self._receive()

    async def wait_for_end(self) -> None:
        """Return when the client has left."""
        while True:
            message = await self._receive()
            self._heard.append(message)
            if message["type"] == "http.disconnect":
                return
