"""A steward makes a vault of a table, lets analysts in and reads the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal.queries import Count, Vault

from .conftest import Browser

COLUMNS: list[dict[str, Any]] = [
    {"role": "identifier"},
    {"role": "quasi-identifier", "kind": "numeric", "minimum": 0, "maximum": 120},
    {"role": "quasi-identifier"},
    {"role": "sensitive", "values": ["flu", "cold", "gout", "none"]},
]


@pytest.fixture(scope="module")
def vault(browser: Browser) -> dict[str, Any]:
    table = browser.draft()
    refused = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "10"})
    assert (refused.status_code, browser.get("/api/vaults").json()) == (422, []), "nobody has confirmed the roles"
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS}).status_code == 200
    made = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "10"})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


def test_analysts_are_admitted_ask_and_are_dismissed(browser: Browser, vault: dict[str, Any]) -> None:
    address = f"/api/vaults/{vault['id']}"
    answer = browser.post(f"{address}/analysts", json={"name": "alice", "epsilon": "2"})
    assert answer.status_code == 201
    token = answer.json()["token"]
    assert token not in browser.get(f"/vaults/{vault['id']}").text
    opened = Vault.open(Path(vault["folder"]))
    ledger = opened.ledger()
    opened.desk(ledger).ask("alice", Count(epsilon="0.5"))
    ledger.close()
    found = browser.get(address).json()
    assert (found["analysts"][0]["name"], found["analysts"][0]["able"]) == ("alice", True)
    assert "0.5" in found["analysts"][0]["spent"]
    assert "0.5" in found["whole"]["spent"]
    assert any("alice spent" in each["what"] for each in found["last"])
    assert browser.post(f"{address}/dismissals", json={"name": "alice"}).status_code == 204
    assert not browser.get(address).json()["analysts"][0]["able"]
    assert "alice spent" in browser.get(f"/vaults/{vault['id']}").text
    assert [each["number"] for each in browser.get(f"{address}?before=3").json()["last"]] == [2, 1]
    assert "alice spent" not in browser.get(f"/vaults/{vault['id']}?before=3").text
    assert browser.get(f"{address}?before=0").status_code == 422


@pytest.mark.parametrize("wrong", [{"epsilon": "-1"}, {"epsilon": "x"}, {"epsilon": "1", "delta": "2"}])
def test_wrong_amounts_are_refused_in_words(browser: Browser, vault: dict[str, Any], wrong: dict[str, str]) -> None:
    for method, path in (("PUT", "budget"), ("POST", "analysts")):
        body = wrong | ({"name": "bob"} if path == "analysts" else {})
        answer = browser.request(method, f"/api/vaults/{vault['id']}/{path}", json=body)
        assert answer.status_code == 422
        assert answer.json()["problems"]


def test_the_shared_budget_is_set_and_a_vault_deleted(browser: Browser, vault: dict[str, Any]) -> None:
    found = browser.put(f"/api/vaults/{vault['id']}/budget", json={"epsilon": "3"}).json()
    assert "3" in found["whole"]["budget"]
    assert vault["name"] in browser.get("/vaults").text
    assert browser.delete(f"/api/vaults/{vault['id']}").status_code == 204
    assert browser.get(f"/api/vaults/{vault['id']}").status_code == 404
