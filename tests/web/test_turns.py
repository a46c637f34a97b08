"""Many requests at once: what is slow is computed once, and nobody waits for the work on another table."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import shoal
from shoal.web._turns import ALTOGETHER, AT_ONCE, WAITING, Turns

from .conftest import K2, Browser

TABLES = [f"/tables/{number:016x}" for number in range(20)]


class App:
    """An app whose answers wait, and how many requests it has worked on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.working: list[str] = []
        self.most = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.working.append(scope["path"])
        self.most = max(self.most, len(self.working))
        if scope["path"] != "/":
            await self.go_on.wait()
        self.working.remove(scope["path"])
        await send({"type": "http.response.start", "status": 200})


class Client:
    """A browser that asks for one page, and may leave."""

    def __init__(self, path: str, method: str = "GET") -> None:
        self.scope = {"type": "http", "method": method, "path": path, "headers": []}
        self.left, self.status = asyncio.Event(), 0
        self._messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> Any:
        if self._messages:
            return self._messages.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.status = self.status or message.get("status", 0)

    def ask(self, turns: Turns) -> asyncio.Task[None]:
        return asyncio.ensure_future(turns(self.scope, self.receive, self.send))


def run(journey: Callable[[Turns, App], Awaitable[None]]) -> None:
    async def whole() -> None:
        app = App()
        await asyncio.wait_for(journey(Turns(app), app), 30)

    asyncio.run(whole())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_sixty_downloads_of_a_run_leave_other_pages_alone() -> None:
    async def journey(turns: Turns, app: App) -> None:
        downloads = [Client(f"/api/runs/{'a' * 16}/release.zip") for _ in range(60)]
        asked = [client.ask(turns) for client in downloads]
        await settle()
        assert len(app.working) == AT_ONCE
        home, other = Client("/"), Client(TABLES[1])
        await home.ask(turns)
        assert home.status == 200
        second = other.ask(turns)
        await settle()
        assert len(app.working) == AT_ONCE + 1
        app.go_on.set()
        await asyncio.gather(*asked, second)
        assert [client.status for client in (*downloads, other)] == [200] * 61
        assert not turns._places

    run(journey)


def test_requests_of_all_tables_together_leave_threads_free() -> None:
    async def journey(turns: Turns, app: App) -> None:
        clients = [Client(table) for table in TABLES for _ in range(AT_ONCE)]
        asked = [client.ask(turns) for client in clients]
        await settle()
        assert len(app.working) == ALTOGETHER
        app.go_on.set()
        await asyncio.gather(*asked)
        assert app.most == ALTOGETHER
        assert all(client.status == 200 for client in clients)

    run(journey)


def test_who_left_while_waiting_is_forgotten() -> None:
    async def journey(turns: Turns, app: App) -> None:
        clients = [Client(TABLES[0]) for _ in range(AT_ONCE + 3)]
        asked = [client.ask(turns) for client in clients]
        await settle()
        for client in clients[AT_ONCE:]:
            client.left.set()
        await asyncio.gather(*asked[AT_ONCE:])
        assert [client.status for client in clients[AT_ONCE:]] == [0] * 3
        last = Client(TABLES[0])
        waiting = last.ask(turns)
        app.go_on.set()
        await asyncio.gather(waiting, *asked[:AT_ONCE])
        assert last.status == 200
        assert app.most == AT_ONCE

    run(journey)


def test_a_queue_has_an_end() -> None:
    async def journey(turns: Turns, app: App) -> None:
        asked = [Client(TABLES[0]).ask(turns) for _ in range(AT_ONCE)]
        await settle()
        asked += [Client(TABLES[0]).ask(turns) for _ in range(WAITING)]
        await settle()
        late = Client(TABLES[1])
        await late.ask(turns)
        assert late.status == 503
        app.go_on.set()
        await asyncio.gather(*asked)

    run(journey)


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/tables", f"/api/runs/{'a' * 16}/events"])
def test_what_takes_no_work_takes_no_turn(path: str) -> None:
    async def journey(turns: Turns, app: App) -> None:
        app.go_on.set()
        client = Client(path)
        await client.ask(turns)
        assert client.status == 200
        assert not turns._places

    run(journey)


def test_five_reloads_measure_a_risk_once(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    table = browser.open(name="reloaded.csv")
    assess, counted, first = shoal.assess, [], threading.Event()

    def slow(table: shoal.Table) -> Any:
        counted.append(1)
        first.wait(0.5)
        return assess(table)

    monkeypatch.setattr(shoal, "assess", slow)
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: browser.get(f"/api/tables/{table}/risk").status_code, range(5)))
    assert answers == [200] * 5
    assert len(counted) == 1


def test_a_release_is_compared_with_its_table_once(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2).json()["id"]
    assert browser.wait(run)["state"] == "done"
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: browser.get(f"/api/runs/{run}/usefulness").json(), range(4)))
    assert all(answer == answers[0] for answer in answers)
