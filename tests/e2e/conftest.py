"""The app as a process of its own, and a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
# machines that do other work besides are slow; what never comes still fails
sync_api.expect.set_options(timeout=30_000)
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for found in map(shutil.which, BROWSERS) if found), None)
#: no sandbox, for root; and nothing of its own accord: no updates, no look-ups, no drawing that nobody sees
PLAIN = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-quic", "--no-first-run"),
]


@dataclass
class App:
    """A running `shoal serve`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def home(self) -> str:
        return self.address.partition("?")[0].rstrip("/")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def serve(*options: str) -> App:
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", "serve", "--no-browser", *options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found, "`shoal serve` prints its address"
    return App(process, found[0])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=PLAIN)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    app = serve("--state", str(tmp_path_factory.mktemp("state")))
    yield app
    app.stop()


@pytest.fixture(scope="session")
def window(app: App, chromium: Any) -> Iterator[Any]:
    """The window in which the printed address was opened."""
    window = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    window.set_default_timeout(60_000)
    page = window.new_page()
    page.goto(app.address)
    page.close()
    yield window
    window.close()


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    """A tab that fails its test if a script fails or the policy of the app is broken."""
    page, problems = window.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    page.close()
    assert not problems


@pytest.fixture(scope="session")
def hospital() -> Path:
    return Path(__file__).parents[2] / "examples" / "hospital"
