"""The app in process, opened as its owner's browser opens it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `web`")
pytest.importorskip("httpx2", reason="needs httpx2")

from starlette.testclient import TestClient

from shoal.web import Access, create_app

#: a cell that must never be read as HTML, and never appear in an error
CANARY = "<script>canary</script>"
HOST = "shoal-test.localhost"
ORIGIN = f"http://{HOST}"
OCTETS = {"content-type": "application/octet-stream"}
K2 = {"promises": [{"model": "k-anonymity", "parameters": {"k": 2}}]}


def people(records: int = 40) -> bytes:
    """Return a small CSV file in which everybody is found by age and town, one cell of which is hostile."""
    lines = ["ssn,age,town,illness"]
    towns, illnesses = ["Bergen", "Oslo", CANARY], ["flu", "cold", "gout", "none"]
    lines += [f"{1000 + i},{20 + i},{towns[i % 3]},{illnesses[i % 4]}" for i in range(records)]
    return ("\n".join(lines) + "\n").encode()


COLUMNS: list[dict[str, Any]] = [
    {"role": "identifier"},
    {"role": "quasi-identifier", "kind": "numeric", "hierarchy": {"intervals": [10, 20, 40]}},
    {"role": "quasi-identifier"},
    {"role": "sensitive"},
]


class Browser(TestClient):
    """A client that speaks as pages of the app do."""

    def draft(self, content: bytes | None = None, name: str = "people.csv") -> str:
        """Upload a table and return its id."""
        answer = self.post(f"/api/tables?name={name}", content=content or people(), headers=OCTETS)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def open(self, content: bytes | None = None, name: str = "people.csv") -> str:
        """Upload a table and confirm its columns; return its id."""
        table = self.draft(content, name)
        answer = self.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS})
        assert answer.status_code == 200, answer.text
        return table

    def wait(self, run: str, seconds: float = 60) -> dict[str, Any]:
        """Return the status of a run when it has ended."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status: dict[str, Any] = self.get(f"/api/runs/{run}").json()["status"]
            if status["state"] not in ("waiting", "running"):
                return status
            time.sleep(0.05)
        raise AssertionError(f"the run did not end: {status}")


@pytest.fixture(scope="session")
def start() -> Iterator[Callable[[Path], Browser]]:
    """Start apps on folders; all are closed at the end."""
    opened: list[Browser] = []

    def start(folder: Path, **options: Any) -> Browser:
        access = Access(host=HOST)
        app = create_app(folder, access=access, workers=2, **options)
        browser = Browser(app, base_url=ORIGIN, headers={"origin": ORIGIN})
        browser.__enter__()
        opened.append(browser)
        assert browser.get(f"/?token={access.token}").status_code == 200
        return browser

    yield start
    for browser in opened:
        browser.__exit__(None, None, None)


@pytest.fixture(scope="session")
def browser(start: Callable[[Path], Browser], tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """One app for all tests that do not need one of their own."""
    return start(tmp_path_factory.mktemp("app"))


@pytest.fixture(scope="session")
def table(browser: Browser) -> str:
    """A table with confirmed columns."""
    return browser.open()


@pytest.fixture(scope="session")
def run(browser: Browser, table: str) -> str:
    """A run that is done."""
    identity = str(browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "generalize"}}).json()["id"])
    assert browser.wait(identity)["state"] == "done"
    return identity
