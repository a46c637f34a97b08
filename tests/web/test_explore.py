"""A release is explored: other nodes are applied, pairs of columns, risks and usefulness are looked at."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import pytest

from .conftest import CANARY, K2, Browser, people


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_another_node_is_applied_as_a_new_run_that_keeps_the_promise(browser: Browser, run: str) -> None:
    search = browser.get(f"/api/runs/{run}/exploration").json()["search"]
    kept = [node for node in search["lattice"]["nodes"] if node["value"] is not None]
    other = next(node["levels"] for node in kept if node["levels"] != search["levels"])
    levels = dict(zip(search["attributes"], other, strict=True))
    made = browser.post(f"/api/runs/{run}/node", json={"levels": levels})
    assert made.status_code == 201, made.text
    assert browser.wait(made.json()["id"])["state"] == "done"
    found = browser.get(f"/api/runs/{made.json()['id']}/exploration").json()
    assert found["search"]["levels"] == other
    text = browser.get(f"/api/runs/{made.json()['id']}/files/data.csv").text
    sizes = Counter((row["age"], row["town"]) for row in rows(text))
    assert min(sizes.values()) >= 2


@pytest.mark.parametrize(
    "levels", [{"age": 99}, {"illness": 1}, {"age": -1}, {"nothing": 0}], ids=["too high", "secret", "low", "unknown"]
)
def test_a_node_that_is_none_is_refused(browser: Browser, run: str, levels: dict[str, int]) -> None:
    made = browser.post(f"/api/runs/{run}/node", json={"levels": levels})
    if made.status_code == 201:
        assert browser.wait(made.json()["id"])["state"] == "failed"
    else:
        assert made.status_code == 422


def test_nodes_of_other_methods_are_refused_in_words(browser: Browser) -> None:
    table = browser.open()
    made = browser.post(f"/api/tables/{table}/runs", json={**K2, "method": {"name": "suppress"}}).json()["id"]
    assert browser.wait(made)["state"] == "done"
    answer = browser.post(f"/api/runs/{made}/node", json={"levels": {"age": 1}})
    assert answer.status_code == 422
    assert browser.get(f"/runs/{made}/explore").status_code == 200


def test_a_pair_of_columns_is_drawn_and_its_cells_are_text(browser: Browser, run: str) -> None:
    drawn = browser.get(f"/api/runs/{run}/pairs/1/2")
    assert drawn.status_code == 200
    assert "before" in drawn.text
    assert "after" in drawn.text
    assert CANARY not in drawn.text
    assert browser.get(f"/api/runs/{run}/pairs/1/1").status_code == 422
    assert browser.get(f"/api/runs/{run}/pairs/0/1").status_code == 404, "an identifier is not released"


def test_risks_by_columns_are_those_of_a_plain_count(browser: Browser, run: str) -> None:
    found = {tuple(each["columns"]): each for each in browser.get(f"/api/runs/{run}/combinations").json()}
    original, released = rows(people().decode()), rows(browser.get(f"/api/runs/{run}/files/data.csv").text)
    assert set(found) == {("age",), ("town",), ("age", "town")}
    for columns, each in found.items():
        for kind, records in (("original", original), ("released", released)):
            sizes = Counter(tuple(row[name] for name in columns) for row in records)
            assert each[kind]["unique"] == sum(size == 1 for size in sizes.values())
            assert each[kind]["smallest"] == min(sizes.values())
            assert each[kind]["average"] == pytest.approx(len(sizes) / len(records))


def test_usefulness_says_what_counts_and_columns_lost(browser: Browser, run: str) -> None:
    found = browser.get(f"/api/runs/{run}/usefulness").json()
    assert 0 <= found["queries"]["median"] <= found["queries"]["ninth"] <= 1
    lost: dict[str, Any] = {each["column"]: each for each in found["columns"]}
    assert lost["age"]["coverage"] > 0
    assert lost["illness"]["coverage"] is None


def test_models_learn_from_the_release_and_are_tested_on_what_was_held_out(browser: Browser, run: str) -> None:
    answer = browser.get(f"/api/runs/{run}/predictions/3")
    assert answer.status_code == 200, answer.text
    assert {each["score"] for each in answer.json()} == {"accuracy"}
    assert all(0 <= each[part] <= 1 for each in answer.json() for part in ("zero", "original", "released"))


def test_a_release_of_several_tables_says_that_it_cannot_be_compared(browser: Browser) -> None:
    table = browser.open()
    l2 = {"promises": [{"model": "distinct-l-diversity", "parameters": {"attribute": "illness", "l": 2}}]}
    made = browser.post(f"/api/tables/{table}/runs", json={**l2, "method": {"name": "anatomy"}}).json()["id"]
    assert browser.wait(made)["state"] == "done"
    assert browser.get(f"/api/runs/{made}/usefulness").status_code == 404
    assert "several tables" in browser.get(f"/runs/{made}/explore").text


def test_the_page_shows_nodes_and_records_as_text(browser: Browser, run: str) -> None:
    page = browser.get(f"/runs/{run}/explore")
    assert page.status_code == 200
    assert "Records before and after" in page.text
    assert CANARY not in page.text


def test_levels_can_be_picked_after_a_run_of_another_method(browser: Browser, table: str) -> None:
    choice = K2 | {"method": {"name": "mondrian", "parameters": {"suppression_limit": 0.1, "intervals": True}}}
    first = browser.post(f"/api/tables/{table}/runs", json=choice).json()["id"]
    assert browser.wait(first)["state"] == "done"
    assert "Search one level per column" in browser.get(f"/runs/{first}/explore").text
    second = browser.post(f"/api/runs/{first}/one-level").json()
    assert second["method"] == "generalize"
    assert second["choice"]["promises"] == K2["promises"]
    assert second["choice"]["method"]["parameters"] == {"suppression_limit": 0.1}
    assert browser.wait(second["id"])["state"] == "done"
    page = browser.get(f"/runs/{second['id']}/explore").text
    assert "Apply: make this release" in page
    assert "Search one level per column" not in page


def test_what_has_no_levels_is_not_searched(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "mdav"}}).json()["id"]
    browser.wait(run)
    assert browser.post(f"/api/runs/{run}/one-level").status_code == 422
