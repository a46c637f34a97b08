"""The page of the promise: problems under their fields, methods in groups, plans from files."""

from __future__ import annotations

from typing import Any

import pytest

from shoal import methods
from shoal.errors import ParameterProblem
from shoal.exact import ExpectedValue
from shoal.web._words import in_plain_words

from .conftest import K2, OCTETS, Browser


def test_problems_stand_by_the_part_that_they_are_about(browser: Browser, table: str) -> None:
    choice: dict[str, Any] = {
        "promises": [
            {"model": "k-anonymity", "parameters": {"k": 0}},
            {"model": "t-closeness", "parameters": {"attribute": "illness", "t": 7}},
        ],
        "method": {"name": "generalize", "parameters": {"suppression_limit": 9}},
    }
    answer = browser.post(f"/api/tables/{table}/plan", json=choice)
    assert answer.status_code == 422
    fields = answer.json()["fields"]
    assert set(fields) == {"promises.0", "promises.1", "method"}
    assert fields["promises.0"] == [{"parameter": "k", "problem": "must be a whole number, 1 or more; got 0."}]
    assert len(answer.json()["problems"]) == 3


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (ExpectedValue(kind="number", interval="(0, 1]"), "must be a number, more than 0 and 1 or less; got 2."),
        (ExpectedValue(kind="number", interval="[0, 1)"), "must be a number, 0 or more and less than 1; got 2."),
        (ExpectedValue(kind="flag"), "must be true or false; got 2."),
    ],
)
def test_intervals_are_said_in_words(expected: ExpectedValue, words: str) -> None:
    assert in_plain_words(ParameterProblem.of("Y", "x", expected, "2")) == words
    assert in_plain_words("nothing of the kind") == "nothing of the kind"


def test_every_method_has_a_line_and_a_group(browser: Browser) -> None:
    found = browser.get("/api/catalogue").json()["methods"]
    assert {each["name"] for each in found} == set(methods.names())
    assert all(each["line"] and each["family"] != "Others" for each in found)


def test_a_plan_file_fills_in_the_choice(browser: Browser, table: str) -> None:
    plan = browser.post(f"/api/tables/{table}/plan", json=K2).json()["plan"]
    answer = browser.post(f"/api/tables/{table}/plan/file", content=plan.encode(), headers=OCTETS)
    assert answer.status_code == 200, answer.text
    assert answer.json()["promises"] == K2["promises"]
    # nobody named a method: the one that loses least, with a limit of effort
    assert answer.json()["method"]["name"] == "specialize"
    assert answer.json()["method"]["parameters"]["effort"] == methods.EFFORT


@pytest.mark.parametrize("content", [b"\xff\xfe", b"not toml [", b"shoal = 1\n"])
def test_a_file_that_is_no_plan_is_told(browser: Browser, table: str, content: bytes) -> None:
    answer = browser.post(f"/api/tables/{table}/plan/file", content=content, headers=OCTETS)
    assert answer.status_code == 422
    assert "internal error" not in answer.text


def test_a_schema_file_is_taken_and_levels_are_handed_out(browser: Browser) -> None:
    table = browser.open()
    text = browser.get(f"/api/tables/{table}/schema.toml").text
    changed = text.replace("sensitive", "insensitive").replace("ininsensitive", "insensitive")
    answer = browser.put(f"/api/tables/{table}/schema.toml", content=changed.encode(), headers=OCTETS)
    assert answer.status_code == 200, answer.text
    assert answer.json()["columns"][3]["role"] == "insensitive"
    levels = browser.get(f"/api/tables/{table}/columns/1/hierarchy.csv").text.splitlines()
    assert levels[0].split(";")[0] == "20"
    assert len(levels[0].split(";")) == 5
    named = changed.replace('kind = "numeric"', 'kind = "numeric"\nhierarchy = { file = "../../secret.csv" }', 1)
    assert browser.put(f"/api/tables/{table}/schema.toml", content=named.encode(), headers=OCTETS).status_code == 422


def test_the_cost_is_tried_out_where_that_is_cheap_and_allowed(browser: Browser, table: str) -> None:
    before = browser.get("/api/runs").json()
    found = browser.post(f"/api/tables/{table}/estimate", json=K2 | {"method": {"name": "generalize"}}).json()
    assert 0 < found["loss"] < 1
    assert found["left_out"] <= 2
    assert "kept this promise" in found["words"]
    private = {"promises": [{"model": "differential-privacy", "parameters": {"epsilon": 1, "delta": 0.001}}]}
    declared = browser.post("/api/tables/example").json()["id"]
    for choice in (private | {"method": {"name": "truthful"}}, K2 | {"method": {"name": "mdav"}}):
        other = browser.post(f"/api/tables/{declared}/estimate", json=choice).json()
        assert other["loss"] is None
        assert "kept" not in other["words"]
    impossible = {"promises": [{"model": "k-anonymity", "parameters": {"k": 9999}}]}
    assert browser.post(f"/api/tables/{table}/estimate", json=impossible).status_code in (409, 422)
    assert browser.get("/api/runs").json() == before
