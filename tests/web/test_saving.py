"""What a person changes is saved at once, and two windows notice each other."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import COLUMNS, K2, Browser


def saved(browser: Browser, table: str) -> dict[str, Any]:
    return dict(browser.get(f"/api/tables/{table}/schema").json())


def change(browser: Browser, table: str, version: str, columns: dict[int, dict[str, Any]], **more: Any) -> Any:
    body = {"version": version, "columns": {str(n): column for n, column in columns.items()}, **more}
    return browser.patch(f"/api/tables/{table}/schema", json=body)


def test_one_column_is_saved_without_the_others(browser: Browser) -> None:
    table = browser.open()
    before = saved(browser, table)
    answer = change(browser, table, before["version"], {2: {"role": "insensitive"}})
    assert answer.status_code == 200, answer.text
    after = saved(browser, table)
    assert after["version"] == answer.json()["version"] != before["version"]
    assert [each["role"] for each in after["columns"]] == ["identifier", "quasi-identifier", "insensitive", "sensitive"]
    assert after["columns"][1] == before["columns"][1]


def test_a_change_that_does_not_fit_the_records_is_refused_and_nothing_is_saved(browser: Browser) -> None:
    table = browser.open()
    before = saved(browser, table)
    answer = change(browser, table, before["version"], {2: {"role": "quasi-identifier", "kind": "numeric"}})
    assert answer.status_code == 422
    assert "`town`" in answer.json()["problems"][0]
    assert saved(browser, table) == before


def test_a_change_of_what_another_window_changed_meanwhile_is_refused(browser: Browser) -> None:
    table = browser.open()
    version = saved(browser, table)["version"]
    assert change(browser, table, version, {2: {"role": "insensitive"}}).status_code == 200
    late = change(browser, table, version, {3: {"role": "insensitive"}})
    assert late.status_code == 409
    assert "another window" in late.json()["problems"][0]
    assert saved(browser, table)["columns"][3]["role"] == "sensitive"


def test_a_run_is_refused_when_the_columns_are_no_longer_those_that_the_page_showed(browser: Browser) -> None:
    table = browser.open()
    version = saved(browser, table)["version"]
    assert version in browser.get(f"/tables/{table}/promise").text, "the page sends what it showed"
    assert change(browser, table, version, {2: {"role": "insensitive"}}).status_code == 200
    for place in ("plan", "runs"):
        answer = browser.post(f"/api/tables/{table}/{place}", json={**K2, "columns": version})
        assert answer.status_code == 409, place
        assert "changed" in answer.json()["problems"][0]
    now = saved(browser, table)["version"]
    assert browser.post(f"/api/tables/{table}/plan", json={**K2, "columns": now}).status_code == 200


def test_guessed_roles_stay_guesses_until_a_person_confirms_them(browser: Browser) -> None:
    table = browser.post("/api/tables/example").json()["id"]
    other = browser.open()
    assert saved(browser, other)["guessed"] is False
    drafted = browser.draft()
    found = saved(browser, drafted)
    assert found["guessed"] is True
    answer = change(browser, drafted, found["version"], {3: {"role": "sensitive"}})
    assert answer.json()["guessed"] is True
    answer = change(browser, drafted, answer.json()["version"], {}, confirmed=True)
    assert answer.json()["guessed"] is False
    assert table != drafted


@pytest.mark.parametrize("columns", [{"9": {"role": "sensitive"}}, {"-1": {"role": "sensitive"}}, {"x": {}}])
def test_a_column_that_is_not_there_is_refused(browser: Browser, table: str, columns: dict[str, Any]) -> None:
    body = {"version": saved(browser, table)["version"], "columns": columns}
    assert browser.patch(f"/api/tables/{table}/schema", json=body).status_code in (404, 422)
    assert [each["role"] for each in saved(browser, table)["columns"]] == [each["role"] for each in COLUMNS]


def test_changes_of_columns_are_undone_and_done_again(browser: Browser) -> None:
    table = browser.open()
    address = f"/api/tables/{table}/schema"
    roles = [each["role"] for each in browser.get(address).json()["columns"]]
    before = browser.get(f"{address}/history").json()["past"]
    version = saved(browser, table)["version"]
    assert change(browser, table, version, {3: {"role": "insensitive"}}).status_code == 200
    assert browser.get(address).json()["columns"][3]["role"] == "insensitive"
    assert browser.get(f"{address}/history").json() == {"past": before + 1, "future": 0}
    assert browser.post(f"{address}/undo").status_code == 200
    assert [each["role"] for each in browser.get(address).json()["columns"]] == roles
    assert browser.post(f"{address}/redo").status_code == 200
    assert browser.get(address).json()["columns"][3]["role"] == "insensitive"
    assert browser.post(f"{address}/redo").status_code == 422
    while browser.post(f"{address}/undo").status_code == 200:
        pass
    assert browser.get(address).json()["guessed"], "the first state is the draft"
