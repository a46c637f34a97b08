"""Drafts for a purpose: as the library's, and never over what a person decided without saying so."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from typing import Any

import pyarrow.csv
import pytest

import shoal
from shoal.cli._draft import _listed
from shoal.methods.shorthand import AUDIENCES

from .conftest import OCTETS, Browser, people

VISITS = b"nr,sex,birth_year,ward\n" + b"".join(
    f"{1000 + i % 60},{'FM'[i % 60 % 2]},{1930 + i % 60},{'ABC'[i % 3]}\n".encode() for i in range(240)
)


def wide(columns: int = 150) -> bytes:
    names = ["age", "sex", "diagnosis", *(f"x{n}" for n in range(columns - 3))]
    rows = [
        [20 + i % 50, "FM"[i % 2], ["flu", "gout", "none"][i % 3], *(i * n % 7 for n in range(columns - 3))]
        for i in range(80)
    ]
    return "\n".join(",".join(map(str, row)) for row in (names, *rows)).encode() + b"\n"


def saved(browser: Browser, table: str) -> dict[str, Any]:
    return dict(browser.get(f"/api/tables/{table}/schema").json())


def draft(browser: Browser, table: str, keep: Sequence[str] = (), **more: Any) -> Any:
    body = {"version": saved(browser, table)["version"], "keep": list(keep), **more}
    return browser.post(f"/api/tables/{table}/purpose", json=body)


def described(columns: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["name"], each["role"], each.get("weight", 1), each.get("kind", "categorical")) for each in columns]


@pytest.mark.parametrize("keep", [["age", "illness"], ["ssn", "age"], []])
def test_the_columns_are_those_of_the_librarys_draft(browser: Browser, keep: list[str]) -> None:
    table = browser.draft()
    assert draft(browser, table, keep, audience="researchers").status_code == 200
    drafted = shoal.draft(shoal.read(pyarrow.csv.read_csv(io.BytesIO(people()))), keep=keep).schema
    expected = [(each.name, each.role.value, each.weight, each.kind.value) for each in drafted]
    assert described(saved(browser, table)["columns"]) == expected


def test_a_wide_table_keeps_what_the_purpose_needs(browser: Browser) -> None:
    table = browser.draft(wide(), "wide.csv")
    assert draft(browser, table, ["age", "diagnosis", "x7"]).status_code == 200
    roles = {each["name"]: each["role"] for each in saved(browser, table)["columns"]}
    assert len(roles) == 150
    assert {name for name, role in roles.items() if role != "drop"} == {"age", "diagnosis", "x7"}
    drafted = shoal.draft(shoal.read(pyarrow.csv.read_csv(io.BytesIO(wide()))), keep=["age", "diagnosis", "x7"]).schema
    assert roles == {each.name: each.role.value for each in drafted}
    page = browser.get(f"/tables/{table}").text
    assert page.count('name="keep"') == 150
    assert 'id="pick-filter"' in page
    reasons = {each["name"]: each["reason"] for each in browser.get(f"/api/tables/{table}").json()["columns"]}
    assert "not needed for the purpose" in reasons["sex"]


def test_wrong_names_are_refused_together_and_nothing_is_lost(browser: Browser) -> None:
    table = browser.draft()
    assert draft(browser, table, ["age"]).status_code == 200
    before, undone = saved(browser, table), browser.get(f"/api/tables/{table}/schema/history").json()
    answer = draft(browser, table, ["age", "blood", "shoe"])
    assert answer.status_code == 422
    assert [name in " ".join(answer.json()["problems"]) for name in ("`blood`", "`shoe`", "`age`")] == [
        True,
        True,
        False,
    ]
    assert draft(browser, table, ["age"], audience="enemies").status_code == 422
    assert draft(browser, table, ["town"], version="another").status_code == 409
    assert saved(browser, table) == before
    assert browser.get(f"/api/tables/{table}/schema/history").json() == undone
    assert browser.get(f"/api/tables/{table}/purpose").json()["keep"] == ["age"]


def test_what_a_person_decided_is_replaced_on_request_only_and_comes_back(browser: Browser) -> None:
    table = browser.draft()
    first = saved(browser, table)
    changes = {"version": first["version"], "columns": {"1": first["columns"][1] | {"role": "insensitive"}}}
    assert browser.patch(f"/api/tables/{table}/schema", json=changes).status_code == 200
    before = saved(browser, table)
    answer = draft(browser, table, ["age"])
    assert answer.status_code == 422
    assert "1 column: `age`" in answer.json()["problems"][0]
    assert saved(browser, table) == before
    assert draft(browser, table, ["age"], replace=True, audience="public").status_code == 200
    assert browser.get(f"/api/tables/{table}/purpose").json()["decided"] == []
    assert browser.post(f"/api/tables/{table}/schema/undo").status_code == 200
    assert saved(browser, table) == before
    undone = browser.get(f"/api/tables/{table}/purpose").json()
    assert (undone["keep"], undone["audience"], undone["commands"]) == ([], None, None)
    assert browser.post(f"/api/tables/{table}/schema/redo").status_code == 200
    assert browser.get(f"/api/tables/{table}/purpose").json()["keep"] == ["age"]


def test_confirmed_columns_are_not_replaced_unasked(browser: Browser) -> None:
    table = browser.draft()
    body = {"version": saved(browser, table)["version"], "confirmed": True}
    assert browser.patch(f"/api/tables/{table}/schema", json=body).status_code == 200
    answer = draft(browser, table, ["age"])
    assert answer.status_code == 422
    assert "4 columns" in answer.json()["problems"][0]
    assert not saved(browser, table)["guessed"]


def test_the_declared_columns_of_the_example_are_not_replaced_unasked(browser: Browser) -> None:
    table = browser.post("/api/tables/example").json()["id"]
    answer = draft(browser, table, ["age", "sex", "diagnosis"])
    assert answer.status_code == 422
    assert draft(browser, table, ["age", "sex", "diagnosis"], replace=True).status_code == 200


def test_declared_dates_and_missing_values_stay(browser: Browser) -> None:
    lines = [f"{20 + i},0{i % 9 + 1}/0{i % 8 + 1}/2020,{'none given' if i % 5 else i}" for i in range(60)]
    content = ("age,visit,pay\n" + "\n".join(lines) + "\n").encode()
    address = "/api/tables?name=visits.csv&dates=mm/dd/yyyy&missing=none given"
    table = browser.post(address, content=content, headers=OCTETS).json()["id"]
    before = browser.get(f"/api/tables/{table}/schema.toml").text
    assert "mm/dd/yyyy" in before
    assert draft(browser, table).status_code == 200
    assert browser.get(f"/api/tables/{table}/schema.toml").text == before


@pytest.mark.parametrize("answer", ["records", "nr"])
def test_the_page_asks_whose_the_records_are_and_keeps_the_answer(browser: Browser, answer: str) -> None:
    table = browser.draft(VISITS, "visits.csv")
    page = browser.get(f"/tables/{table}").text
    assert "May one person have several records?" in page
    changes = {"persons": "records"} if answer == "records" else {"columns": {"0": {"role": "person"}}}
    version = saved(browser, table)["version"]
    assert browser.patch(f"/api/tables/{table}/schema", json={"version": version, **changes}).status_code == 200
    assert "May one person have several records?" not in browser.get(f"/tables/{table}").text
    for keep in (["sex", "birth_year"], ["ward"]):
        assert draft(browser, table, keep).status_code == 200
    assert "May one person have several records?" not in browser.get(f"/tables/{table}").text
    role = saved(browser, table)["columns"][0]["role"]
    assert role == ("identifier" if answer == "records" else "person")
    assert f"--person {answer}" in browser.get(f"/api/tables/{table}/purpose").json()["commands"]["shell"]


@pytest.mark.parametrize("keep", [["age", "town"], ["illness, past", "age"]])
def test_the_shown_commands_say_the_purpose(browser: Browser, keep: list[str]) -> None:
    content = people().replace(b"illness", b'"illness, past"')
    table = browser.draft(content)
    assert draft(browser, table, keep, audience="public").status_code == 200
    commands = browser.get(f"/api/tables/{table}/purpose").json()["commands"]
    words = shlex.split(commands["shell"].replace("\\\n", " "))
    given = [words[i + 1] for i, word in enumerate(words) if word == "--keep"]
    assert _listed(given, ["ssn", "age", "town", "illness, past"]) == keep
    assert words[words.index("--for") + 1] == "public"
    assert f"keep={keep!r}" in commands["python"]


def test_the_promise_starts_from_those_who_get_the_data(browser: Browser) -> None:
    table = browser.draft()
    assert "data-usual" not in browser.get(f"/tables/{table}/promise").text
    for audience in AUDIENCES:
        assert draft(browser, table, ["age"], audience=audience).status_code == 200
        page = browser.get(f"/tables/{table}/promise").text
        (line,) = [line for line in page.splitlines() if "data-usual" in line]
        assert f"&#34;k&#34;: {AUDIENCES[audience].k}" in line or f'"k": {AUDIENCES[audience].k}' in line
