"""Risk above a threshold, estimates for a population, HIPAA's identifiers, and promises that nothing can keep."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Browser


def test_records_above_any_threshold_are_counted(browser: Browser, table: str, run: str) -> None:
    sizes = browser.get(f"/api/tables/{table}/class-sizes").json()["sizes"]
    assert sum(size * number for size, number in sizes) == 40
    risk = browser.get(f"/api/tables/{table}/risk").json()["reidentification"]
    assert sum(number for size, number in sizes if size == 1) == risk["unique"]
    released = browser.get(f"/api/runs/{run}/class-sizes").json()["sizes"]
    after = browser.get(f"/api/runs/{run}/exploration").json()["after"]
    assert min(size for size, _ in released) == after["smallest"] >= 2
    assert sum(number for _, number in released) == after["classes"]
    for page in (f"/tables/{table}/risk", f"/runs/{run}"):
        assert 'id="threshold"' in browser.get(page).text


def test_people_who_are_unique_in_the_population_are_estimated(browser: Browser, table: str) -> None:
    found = browser.get(f"/api/tables/{table}/population", params={"fraction": 0.5}).json()
    assert found["population"] == 80
    assert 0 <= found["share"] <= 1
    for fraction in (0, -1, 2, "x"):
        assert browser.get(f"/api/tables/{table}/population", params={"fraction": fraction}).status_code == 422


def test_released_columns_are_searched_for_identifiers(browser: Browser, run: str) -> None:
    found = browser.get(f"/api/runs/{run}/safe-harbor").json()
    assert {each["column"] for each in found} == {"age", "town", "illness"}
    assert {each["verdict"] for each in found} <= {"found", "a person must decide", "nothing found"}


@pytest.mark.parametrize(
    ("promise", "parameter", "words"),
    [
        ({"model": "k-anonymity", "parameters": {"k": 41}}, "k", "the table has no more records"),
        (
            {"model": "distinct-l-diversity", "parameters": {"attribute": "illness", "l": 5}},
            "l",
            "`illness` has no more different values",
        ),
    ],
)
def test_a_promise_that_nothing_can_keep_is_refused_while_it_is_typed(
    browser: Browser, table: str, promise: dict[str, Any], parameter: str, words: str
) -> None:
    answer = browser.post(f"/api/tables/{table}/plan", json={"promises": [promise]})
    assert answer.status_code == 422
    (field,) = answer.json()["fields"]["promises.0"]
    assert field["parameter"] == parameter
    assert words in field["problem"]
    fine = {"model": promise["model"], "parameters": promise["parameters"] | {parameter: 4}}
    crowd = {"model": "k-anonymity", "parameters": {"k": 2}}
    assert browser.post(f"/api/tables/{table}/plan", json={"promises": [crowd, fine]}).status_code == 200
