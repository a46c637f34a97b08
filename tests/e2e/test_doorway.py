"""Who gets the key to the app: the browser of its owner, and no page of another port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .conftest import App


@pytest.fixture
def neighbour() -> Iterator[tuple[int, list[str]]]:
    """A server on another port of the same machine, and the cookies that it was sent."""
    cookies: list[str] = []

    class Listen(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>neighbour</title>")

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listen)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, cookies
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "shoal-0000000000000000.localhost"])
def test_a_page_of_another_port_receives_no_cookie(
    window: Any, app: App, neighbour: tuple[int, list[str]], host: str
) -> None:
    port, cookies = neighbour
    page = window.new_page()
    page.goto(app.home)
    assert "Open a table" in page.content()
    page.goto(f"http://{host}:{port}/")
    assert page.title() == "neighbour"
    status = page.evaluate("home => fetch(home, {credentials: 'include'}).then(got => got.status, () => 0)", app.home)
    assert status == 0, "the browser shows no answer of the app to a page of another port"
    page.close()
    assert cookies
    assert not any(cookies)


def test_a_second_browser_opens_the_printed_address_too(chromium: Any, app: App) -> None:
    context = chromium.new_context()
    page = context.new_page()
    assert page.goto(app.home).status == 401
    assert page.get_by_role("heading", name="Shoal cannot be opened from here").is_visible()
    page.goto(app.address)
    assert "Open a table" in page.content()
    context.close()
