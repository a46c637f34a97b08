"""Moving through solutions: figures of any node are those of its release."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import K2, Browser


def node(browser: Browser, run: str, *levels: int, around: bool = False) -> Any:
    answer = browser.get(f"/api/runs/{run}/nodes", params={"level": levels, "around": around})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_figures_of_a_node_are_those_of_its_release(browser: Browser, table: str, run: str) -> None:
    levels = browser.get(f"/api/runs/{run}/exploration").json()["search"]["levels"]
    chosen = [levels[0] + 1, levels[1]]
    found = node(browser, run, *chosen)
    assert found["node"]["keeps"]
    made = browser.post(f"/api/runs/{run}/node", json={"levels": dict(zip(found["attributes"], chosen, strict=True))})
    assert browser.wait(made.json()["id"])["state"] == "done"
    release = browser.get(f"/api/runs/{made.json()['id']}/exploration").json()
    assert release["search"]["value"] == pytest.approx(found["node"]["value"])
    assert release["search"]["suppressed"] == found["node"]["suppressed"]
    assert release["after"]["classes"] == found["node"]["classes"]
    assert release["after"]["smallest"] == found["node"]["smallest"]
    assert release["after"]["marketer"] == pytest.approx(found["node"]["average_risk"])
    assert release["after"]["prosecutor"] == pytest.approx(found["node"]["highest_risk"])


def test_the_finest_node_does_not_keep_the_promise_and_the_coarsest_does(browser: Browser, run: str) -> None:
    found = node(browser, run, 0, 0, around=True)
    assert not found["node"]["keeps"]
    assert found["node"]["suppressed"] > found["node"]["allowed"]
    assert [each["levels"] for each in found["around"]] == [[1, 0], [0, 1]]
    top = node(browser, run, *found["heights"])["node"]
    assert top["keeps"]
    assert (top["classes"], top["suppressed"]) == (1, 0)
    assert len(node(browser, run)["node"]["levels"]) == 2


@pytest.mark.parametrize("levels", [(0,), (0, 0, 0), (0, 99), (-1, 0)])
def test_combinations_that_are_not_there_are_refused(browser: Browser, run: str, levels: tuple[int, ...]) -> None:
    answer = browser.get(f"/api/runs/{run}/nodes", params={"level": levels})
    assert answer.status_code == 422
    assert answer.json()["problems"]


def test_solutions_are_kept_named_and_removed(browser: Browser, run: str) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    kept = browser.post(f"/api/runs/{run}/kept", json={"name": hostile, "levels": [1, 1]}).json()
    kept = browser.post(f"/api/runs/{run}/kept", json={"name": " ", "levels": [2, 1]}).json()
    assert [each["name"] for each in kept] == [hostile, "solution 2"]
    assert kept == browser.get(f"/api/runs/{run}/kept").json()
    assert hostile not in browser.get(f"/runs/{run}/explore").text
    left = browser.delete(f"/api/runs/{run}/kept/{kept[0]['id']}").json()
    assert [each["name"] for each in left] == ["solution 2"]
    assert browser.delete(f"/api/runs/{run}/kept/{kept[0]['id']}").status_code == 404
    assert browser.post(f"/api/runs/{run}/kept", json={"name": "x", "levels": [99, 0]}).status_code == 422


def test_a_local_recoding_goes_from_fine_to_coarse_and_has_levels_to_move_through(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "mondrian"}}).json()["id"]
    assert browser.wait(run)["state"] == "done"
    page = browser.get(f"/runs/{run}/explore").text
    assert 'id="coarser"' in page
    assert 'id="move"' in page
    found = [browser.get(f"/api/runs/{run}/coarser/{step}").json() for step in (0, 3)]
    assert [each["k"] for each in found] == [2, 6]
    assert found[0]["loss"] < found[1]["loss"]
    assert found[1]["highest_risk"] <= 1 / 6
    assert browser.get(f"/api/runs/{run}/coarser/99").status_code == 404
    made = browser.post(f"/api/runs/{run}/coarser/3").json()["id"]
    assert browser.wait(made)["state"] == "done"
    assert browser.get(f"/api/runs/{made}/exploration").json()["after"]["smallest"] >= 6
    levels = node(browser, run)
    chosen = dict(zip(levels["attributes"], levels["heights"], strict=True))
    one_level = browser.post(f"/api/runs/{run}/node", json={"levels": chosen})
    assert one_level.json()["method"] == "generalize"


def test_methods_without_levels_have_none_to_move_through(browser: Browser, table: str) -> None:
    run = browser.post(f"/api/tables/{table}/runs", json=K2 | {"method": {"name": "mdav"}})
    if run.status_code == 201:
        browser.wait(run.json()["id"])
        assert browser.get(f"/api/runs/{run.json()['id']}/nodes").status_code == 422
