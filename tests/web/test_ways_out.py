"""A hollow release is refused in the app, too, with buttons that lead on."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import Browser

K5 = {"promises": [{"model": "k-anonymity", "parameters": {"k": 5}}], "method": {"name": "mondrian"}}
NUMBER = {"kind": "numeric", "hierarchy": {"intervals": [5, 20, 40]}}


@pytest.fixture
def refused(browser: Browser) -> tuple[str, str]:
    draws = np.random.default_rng(4)
    weight, height = np.round(draws.normal(75, 15, 400)), np.round(draws.normal(170, 10, 400))
    rows = zip(weight, height, np.round(weight / (height / 100) ** 2, 1), strict=True)
    content = "weight,height,bmi\n" + "".join(f"{w:.0f},{h:.0f},{b}\n" for w, h, b in rows)
    table = browser.draft(content.encode(), "patients.csv")
    roles = [{"role": "quasi-identifier", **NUMBER}] * 2 + [{"role": "sensitive", "kind": "numeric"}]
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": roles}).is_success
    run = browser.post(f"/api/tables/{table}/runs", json=K5).json()["id"]
    status = browser.wait(run)
    assert status["state"] == "failed"
    assert any("what gives the records away: `bmi`" in each for each in status["error"]["problems"])
    return table, run


@pytest.mark.parametrize("way", ["generalise", "round", "drop", "accept"])
def test_every_way_out_leads_to_a_release(browser: Browser, refused: tuple[str, str], way: str) -> None:
    table, run = refused
    page = browser.get(f"/runs/{run}").text
    assert f'data-way="{way}"' in page
    following = browser.post(f"/api/runs/{run}/ways", json={"way": way})
    assert following.status_code == 201
    identity = following.json()["id"]
    assert browser.wait(identity)["state"] == "done"
    (bmi,) = [each for each in browser.get(f"/api/tables/{table}/schema").json()["columns"] if each["name"] == "bmi"]
    assert bmi["role"] == {"generalise": "quasi-identifier", "drop": "drop"}.get(way, "sensitive")
    assert ("round_to" in bmi) == (way == "round")
    found = browser.get(f"/api/runs/{identity}/exploration").json()["rehearsal"]
    assert (found is not None) == (way in ("round", "accept"))
    if found is not None:
        assert found["line"].startswith("Rehearsed attack: ")
        assert found["line"] in browser.get(f"/runs/{identity}").text


def test_only_a_refused_run_has_ways_out(browser: Browser, run: str) -> None:
    assert browser.post(f"/api/runs/{run}/ways", json={"way": "accept"}).status_code == 422
    assert "data-way" not in browser.get(f"/runs/{run}").text
