"""Errors in a browser are pages with a way on, never raw JSON."""

from __future__ import annotations

import pytest

from .conftest import Browser

PAGE = {"accept": "text/html,application/xhtml+xml"}


def plain(browser: Browser) -> str:
    """Return a table in which nothing may be known to others."""
    table = browser.open()
    columns = [{"role": "insensitive"}] * 4
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": columns}).status_code == 200
    return table


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/tables/0123456789abcdef", 404),
        ("/tables/0123456789abcdef/promise", 404),
        ("/runs/0123456789abcdef", 404),
        ("/nothing/here", 404),
        ("/static/nothing.js", 404),
    ],
)
def test_what_is_not_there_is_a_page_with_a_way_home(browser: Browser, path: str, status: int) -> None:
    answer = browser.get(path, headers=PAGE)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>" in answer.text
    assert 'href="/"' in answer.text


def test_a_table_without_quasi_identifiers_leads_back_to_its_columns(browser: Browser) -> None:
    table = plain(browser)
    answer = browser.get(f"/tables/{table}/risk", headers=PAGE)
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert f'href="/tables/{table}"' in answer.text


def test_a_wrong_number_in_an_address_is_a_page(browser: Browser, table: str) -> None:
    answer = browser.get(f"/tables/{table}/promise?run=0123456789abcdef&point=x", headers=PAGE)
    assert answer.status_code == 422
    assert "<h1>" in answer.text


def test_a_defect_is_a_page_too(browser: Browser, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a cell")

    monkeypatch.setattr("shoal.web._context.Context.schema", broken)
    answer = browser.get(f"/tables/{table}", headers=PAGE)
    assert answer.status_code == 500
    assert "<h1>" in answer.text
    assert "a cell" not in answer.text


def test_scripts_still_get_json(browser: Browser) -> None:
    assert browser.get("/api/tables/0123456789abcdef", headers=PAGE).json()["problems"]
    assert browser.get("/tables/0123456789abcdef").json()["problems"]
