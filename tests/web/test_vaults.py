"""A steward makes a vault of a table, lets analysts in and reads the ledger."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import ShoalError
from shoal.queries import Client, Count, Vault

from .conftest import Browser

httpx2 = pytest.importorskip("httpx2", reason="needs httpx2")

COLUMNS: list[dict[str, Any]] = [
    {"role": "identifier"},
    {"role": "quasi-identifier", "kind": "numeric", "minimum": 0, "maximum": 120},
    {"role": "quasi-identifier"},
    {"role": "sensitive", "values": ["flu", "cold", "gout", "none"]},
]


@pytest.fixture(scope="module")
def vault(browser: Browser) -> dict[str, Any]:
    table = browser.draft()
    before = browser.get("/api/vaults").json()  # the server may have vaults of other tests
    refused = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "10"})
    assert (refused.status_code, browser.get("/api/vaults").json()) == (422, before), "nobody has confirmed the roles"
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


def test_a_vault_is_started_and_stopped(browser: Browser) -> None:
    table = browser.draft(name="served.csv")
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS}).status_code == 200
    vault = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "1", "reason": "a test"}).json()["id"]
    token = browser.post(f"/api/vaults/{vault}/analysts", json={"name": "alice", "epsilon": "1"}).json()["token"]
    started = browser.post(f"/api/vaults/{vault}/server", json={})
    assert started.status_code == 200, started.text
    address = started.json()["address"]
    assert address.startswith("http://127.0.0.1:")
    assert browser.post(f"/api/vaults/{vault}/server", json={}).status_code == 422, "it answers already"
    assert address in browser.get(f"/vaults/{vault}").text
    client = Client(address, token)
    assert isinstance(client.ask(Count(epsilon="0.5")).value, int)
    client.close()
    columns = httpx2.get(f"{address}/v1/schema", headers={"authorization": f"Bearer {token}"}).json()["columns"]
    assert {"name": "age", "kind": "numeric", "role": "quasi-identifier", "minimum": 0, "maximum": 120} in columns
    assert "0.5" in browser.get(f"/api/vaults/{vault}").json()["whole"]["spent"]
    assert browser.delete(f"/api/vaults/{vault}/server").status_code == 204
    assert browser.get(f"/api/vaults/{vault}").json()["address"] is None
    with pytest.raises(ShoalError):
        Client(address, token).ask(Count(epsilon="0.1"))
    half = browser.post(f"/api/vaults/{vault}/server", json={"certificate": "x"})
    assert half.status_code == 422
    wrong = browser.post(f"/api/vaults/{vault}/server", json={"certificate": "x", "private_key": "y"})
    assert wrong.status_code == 422
    assert "PEM" in wrong.text
    assert browser.delete(f"/api/vaults/{vault}").status_code == 204


def test_a_vault_in_use_on_another_port_is_told(browser: Browser) -> None:
    table = browser.draft(name="other.csv")
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS}).status_code == 200
    vault = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "1", "reason": "a test"}).json()["id"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = browser.post(f"/api/vaults/{vault}/server", json={"port": taken.getsockname()[1]})
    assert refused.status_code == 422
    assert "cannot listen" in refused.text
