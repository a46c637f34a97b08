"""The table before and after: every record with its class, sorted and filtered."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import pytest

from .conftest import CANARY, K2, Browser


def ask(browser: Browser, run: str, **query: Any) -> Any:
    answer = browser.get(f"/api/runs/{run}/linked", params={"limit": 200} | query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_became_of_the_records_is_the_release(browser: Browser, run: str) -> None:
    found = ask(browser, run)
    assert found["columns"] == ["age", "town", "illness"]
    kept = [row for row in found["rows"] if row["after"] is not None]
    released = list(csv.reader(io.StringIO(browser.get(f"/api/runs/{run}/files/data.csv").text)))
    places = [released[0].index(name) for name in found["columns"]]
    assert Counter(tuple(row["after"]) for row in kept) == Counter(
        tuple(row[place] for place in places) for row in released[1:]
    )
    sizes = Counter(row["class"] for row in kept)
    assert all(row["size"] == sizes[row["class"]] >= 2 for row in kept)
    looks = {row["class"]: tuple(row["after"][:2]) for row in kept}
    assert len(set(looks.values())) == len(looks)


def test_records_are_sorted_filtered_and_paged(browser: Browser, run: str) -> None:
    ages = [int(row["before"][0]) for row in ask(browser, run, sort="before-0", descending=True)["rows"]]
    assert ages == sorted(ages, reverse=True)
    sizes = [row["size"] for row in ask(browser, run, sort="size")["rows"]]
    assert sizes == sorted(sizes)
    found = ask(browser, run, column=1, contains="OSL")
    assert found["total"] == len(found["rows"]) == sum(row["before"][1] == "Oslo" for row in ask(browser, run)["rows"])
    label = next(row for row in ask(browser, run)["rows"] if row["after"])["after"][0]
    same = ask(browser, run, column=0, side="after", equal=[label, "nothing else"])["rows"]
    assert same
    assert {row["after"][0] for row in same} == {label}
    assert ask(browser, run, start=5, limit=1)["rows"] == [ask(browser, run)["rows"][5]]
    assert all(row["size"] <= 3 for row in ask(browser, run, largest=3)["rows"])
    assert all(row["after"] is None for row in ask(browser, run, kind="left out")["rows"])


def test_a_class_says_who_is_in_it_and_what_its_secrets_show(browser: Browser, run: str) -> None:
    row = next(row for row in ask(browser, run)["rows"] if row["after"])
    found = browser.get(f"/api/runs/{run}/linked/{row['class']}").json()
    members = ask(browser, run, group=row["class"])["rows"]
    assert found["size"] == len(members) == row["size"]
    assert found["risk"] == 1 / row["size"]
    assert found["records"] == [each["record"] for each in members]
    assert found["secrets"][0]["column"] == "illness"
    assert sum(each["records"] for each in found["secrets"][0]["commonest"]) == row["size"]
    assert browser.get(f"/api/runs/{run}/linked/99999").status_code == 404


@pytest.mark.parametrize("query", [{"sort": "x"}, {"sort": "before-99"}, {"column": 99, "contains": "a"}, {"limit": 0}])
def test_what_is_not_there_is_refused(browser: Browser, run: str, query: dict[str, Any]) -> None:
    assert browser.get(f"/api/runs/{run}/linked", params=query).status_code in (404, 422)


def test_the_page_holds_no_cell_and_escapes_names(browser: Browser, run: str) -> None:
    page = browser.get(f"/runs/{run}/table")
    assert page.status_code == 200
    assert CANARY not in page.text
    assert "<th" in page.text


def test_methods_that_make_classes_show_who_is_together(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "suppress"}}).json()["id"]
    assert browser.wait(run)["state"] == "done"
    if browser.get(f"/runs/{run}/table").status_code == 200:
        found = ask(browser, run)
        assert found["total"] == 40
        assert found["recoded"] == [] or all(row["after"] for row in found["rows"] if row["size"])


def test_missing_values_are_missing_before_and_after(browser: Browser) -> None:
    rows = "\n".join(f"{i},{20 + i % 7},{'' if i % 5 == 0 else 'Oslo'},flu" for i in range(40))
    table = browser.open(f"ssn,age,town,illness\n{rows}\n".encode(), "gaps.csv")
    run = browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "generalize"}}).json()["id"]
    assert browser.wait(run)["state"] == "done"
    found = ask(browser, run)["rows"]
    assert sum(row["before"][1] is None for row in found) == 8
    assert all(row["after"] is None or row["after"][1] in (None, "Oslo", "*") for row in found)
    assert ask(browser, run, sort="before-1")["rows"][-1]["before"][1] is None
    assert ask(browser, run, column=1, contains="os")["total"] == 32
