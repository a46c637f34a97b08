"""Several tables joined by keys: opened, drafted, confirmed, released and verified."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

import shoal

from .conftest import CANARY, OCTETS, Browser


def patients(hostile: str = "Oslo") -> dict[str, bytes]:
    people = "patient_id,age,town\n" + "".join(f"p{i},{30 + i % 3},{['Bergen', hostile][i % 2]}\n" for i in range(60))
    visits = "patient_id,ward,cost\n" + "".join(f"p{i % 60},{'ABC'[i % 3]},{i}\n" for i in range(150))
    return {"patients.csv": people.encode(), "visits.csv": visits.encode()}


def opened(browser: Browser, files: dict[str, bytes]) -> Any:
    dataset = browser.post("/api/datasets?name=clinic").json()["id"]
    for name, content in files.items():
        answer = browser.put(f"/api/datasets/{dataset}/tables?name={name}", content=content, headers=OCTETS)
        assert answer.status_code == 204, answer.text
    drafted = browser.post(f"/api/datasets/{dataset}/draft")
    assert drafted.status_code == 200, drafted.text
    return drafted.json()


def test_two_tables_with_a_key_are_released_together(browser: Browser, tmp_path: Path) -> None:
    found = opened(browser, patients())
    assert found["guessed"]
    tables = {each["name"]: each for each in found["tables"]}
    assert tables["patients"]["key"] == "patient_id"
    assert (tables["visits"]["parent"], tables["visits"]["parent_key"]) == ("patients", "patient_id")
    roles = {
        "patients": {"age": "quasi-identifier", "town": "quasi-identifier"},
        "visits": {"ward": "quasi-identifier"},
    }
    roles["visits"]["cost"] = "insensitive"
    address = f"/api/datasets/{found['id']}"
    confirmed = browser.put(f"{address}/roles", json={"roles": roles})
    assert confirmed.status_code == 200, confirmed.text
    assert not confirmed.json()["guessed"]
    made = browser.post(f"{address}/release", json={"k": 3, "known_items": 1})
    assert made.status_code == 201, made.text
    assert set(made.json()["release"]["rows"]) == {"patients", "visits"}
    assert browser.get(f"{address}/verification").json()["passed"]
    with zipfile.ZipFile(io.BytesIO(browser.get(f"{address}/release.zip").content)) as archive:
        archive.extractall(tmp_path)
    assert shoal.verify(tmp_path / "release").passed
    page = browser.get(f"/datasets/{found['id']}").text
    assert "at least 3 persons" in page
    assert f"/datasets/{found['id']}" in browser.get("/").text
    assert browser.delete(address).status_code == 204
    assert browser.get(address).status_code == 404


def test_cells_and_names_never_reach_the_page_as_html(browser: Browser) -> None:
    found = opened(browser, patients(CANARY))
    assert CANARY not in browser.get(f"/datasets/{found['id']}").text


@pytest.mark.parametrize("name", ["../evil.csv", "a b.csv", "x.exe", ".csv", "1.csv", "a/b.csv"])
def test_other_names_are_refused(browser: Browser, name: str) -> None:
    dataset = browser.post("/api/datasets").json()["id"]
    answer = browser.put(f"/api/datasets/{dataset}/tables", params={"name": name}, content=b"a", headers=OCTETS)
    assert answer.status_code == 422


def test_what_does_not_go_together_is_told(browser: Browser) -> None:
    dataset = browser.post("/api/datasets").json()["id"]
    assert browser.post(f"/api/datasets/{dataset}/draft").status_code == 422
    assert browser.post(f"/api/datasets/{dataset}/release", json={"k": 3, "known_items": 1}).status_code == 422
    found = opened(browser, patients())
    wrong = {"roles": {"patients": {"nothing": "sensitive"}}}
    assert browser.put(f"/api/datasets/{found['id']}/roles", json=wrong).status_code == 422
    assert browser.get(f"/api/datasets/{found['id']}/release.zip").status_code == 404
    impossible = browser.post(f"/api/datasets/{found['id']}/release", json={"k": 1000, "known_items": 1})
    assert impossible.status_code in (409, 422)
    assert impossible.json()["problems"]
