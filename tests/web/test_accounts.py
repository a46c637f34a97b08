"""A steward opens an account for a table, and private releases are paid from it or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Browser

ROWS = "sex,ill\n" + "\n".join(f"{'FM'[i % 2]},{'yes' if i % 3 else 'no'}" for i in range(600)) + "\n"
COLUMNS: list[dict[str, Any]] = [
    {"role": "quasi-identifier", "values": ["F", "M"]},
    {"role": "sensitive", "values": ["yes", "no"]},
]


def wanted(account: str | None, epsilon: str = "2") -> dict[str, Any]:
    promise = {"model": "differential-privacy", "parameters": {"epsilon": epsilon, "delta": "0.001"}}
    method = {"name": "truthful", "parameters": {}}
    return {"promises": [promise], "method": method} | ({} if account is None else {"account": account})


@pytest.fixture(scope="module")
def table(browser: Browser) -> str:
    table = browser.draft(ROWS.encode(), "clinic.csv")
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS}).status_code == 200
    return table


def test_a_release_is_paid_before_it_appears_and_refused_when_nothing_is_left(browser: Browser, table: str) -> None:
    made = browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "3", "delta": "0.01"})
    assert made.status_code == 201, made.text
    account = made.json()["id"]
    assert "Every look costs its epsilon" in browser.get(f"/tables/{table}/promise").text
    assert "epsilon 3, delta 0.01 left" in browser.get(f"/tables/{table}/promise").text
    run = browser.post(f"/api/tables/{table}/runs", json=wanted(account))
    assert run.status_code == 201, run.text
    assert (run.json()["account"], run.json()["cost"]) == (account, "epsilon 2, delta 0.001")
    assert browser.wait(run.json()["id"])["state"] == "done"
    found = browser.get(f"/api/accounts/{account}").json()
    assert "--account ACCOUNT " in run.json()["shell"]
    shown = browser.post(f"/api/tables/{table}/plan", json=wanted(account)).json()
    assert f"--account {found['folder']} " in shown["shell"]
    assert f"account=shoal.Account.open({found['folder']!r})" in shown["python"]
    assert found["left"] == "epsilon 1, delta 0.009"
    assert any("release by truthful" in each["what"] for each in found["history"])
    certificate = json.loads(browser.get(f"/api/runs/{run.json()['id']}/files/certificate.json").content)
    assert certificate["account"]["cost"]["epsilon"] == "2"
    assert "It cost epsilon 2, delta 0.001 of the account" in browser.get(f"/runs/{run.json()['id']}").text
    runs = len(browser.get("/api/runs").json())
    refused = browser.post(f"/api/tables/{table}/runs", json=wanted(account))
    assert refused.status_code in (409, 422), refused.text
    assert "nothing was spent" in refused.text
    assert len(browser.get("/api/runs").json()) == runs, "a refused run leaves nothing"
    assert browser.get(f"/api/accounts/{account}").json()["left"] == "epsilon 1, delta 0.009"


def test_a_run_that_stops_says_that_the_account_may_have_paid(browser: Browser, table: str) -> None:
    account = browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "5", "delta": "0.01"}).json()["id"]
    run = browser.post(f"/api/tables/{table}/runs", json=wanted(account, "1")).json()["id"]
    browser.post(f"/api/runs/{run}/cancel")
    ended = browser.wait(run)
    assert ended["state"] == "done" or "stays spent" in ended["error"]["hint"]


def test_accounts_that_are_not_there_or_cannot_count_are_refused(browser: Browser, table: str) -> None:
    assert browser.post(f"/api/tables/{table}/runs", json=wanted("0" * 16)).status_code == 404
    assert browser.post(f"/api/tables/{table}/runs", json=wanted("../..")).status_code in (404, 422)
    assert browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "-1"}).status_code == 422
    account = browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "5"}).json()["id"]
    short = browser.post(f"/api/tables/{table}/runs", json=wanted(account, "1")).json()
    assert "and epsilon 5, delta 0 is left" in short["problems"][0]
    assert "use a smaller delta" in short["hint"]
    crowd = {"promises": [{"model": "k-anonymity", "parameters": {"k": 2}}], "account": account}
    assert browser.post(f"/api/tables/{table}/runs", json=crowd).status_code == 422


def test_the_same_file_opened_again_finds_its_account_and_other_files_may_name_it(browser: Browser) -> None:
    rows = ROWS.replace("yes", "oui")
    columns = [COLUMNS[0], {"role": "sensitive", "values": ["oui", "no"]}]
    columns_of_others = [*columns, {"role": "drop"}]
    first, again, other = (
        browser.draft(content.encode(), name)
        for content, name in ((rows, "one.csv"), (rows, "renamed.csv"), (rows.replace("\n", ",x\n"), "other.csv"))
    )
    for each, meanings in ((first, columns), (again, columns), (other, columns_of_others)):
        assert browser.put(f"/api/tables/{each}/schema", json={"columns": meanings}).status_code == 200
    account = browser.post(f"/api/tables/{first}/accounts", json={"epsilon": "3", "delta": "0.01"}).json()["id"]
    assert f'<option value="{account}" selected>account of one.csv' in browser.get(f"/tables/{again}/promise").text
    assert f'<option value="{account}">account of one.csv' in browser.get(f"/tables/{other}/promise").text
    assert browser.post(f"/api/tables/{again}/runs", json=wanted(account, "1")).status_code == 201
    refused = browser.post(f"/api/tables/{other}/runs", json=wanted(account, "1"))
    assert refused.status_code == 422
    assert "not the table that the account was made for" in refused.text


def test_a_vault_pays_from_the_account_of_its_table(browser: Browser, table: str) -> None:
    account = browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "4", "delta": "0.01"}).json()["id"]
    both = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "1", "account": account})
    assert both.status_code == 422
    assert browser.post(f"/api/tables/{table}/vaults", json={}).status_code == 422
    assert browser.post(f"/api/tables/{table}/vaults", json={"account": "0" * 16}).status_code == 404
    vaults = len(browser.get("/api/vaults").json())
    made = browser.post(f"/api/tables/{table}/vaults", json={"account": account})
    assert made.status_code == 201, made.text
    assert len(browser.get("/api/vaults").json()) == vaults + 1
    vault = made.json()
    assert (vault["account"], vault["whole"]["left"]) == (account, "epsilon 4, delta 0.01")
    run = browser.post(f"/api/tables/{table}/runs", json=wanted(account, "1")).json()["id"]
    assert browser.wait(run)["state"] == "done"
    assert browser.get(f"/api/vaults/{vault['id']}").json()["whole"]["left"] == "epsilon 3, delta 0.009"
    page = browser.get(f"/vaults/{vault['id']}").text
    assert "All analysts and releases together spent" in page
    assert browser.delete(f"/api/vaults/{vault['id']}").status_code == 204
    assert browser.get(f"/api/accounts/{account}").json()["left"] == "epsilon 3, delta 0.009", "spent stays spent"


def test_a_budget_beside_the_account_of_the_table_needs_a_reason(browser: Browser) -> None:
    content = (ROWS + "F,yes\n").encode()
    table = browser.draft(content, "reasons.csv")
    assert browser.put(f"/api/tables/{table}/schema", json={"columns": COLUMNS}).status_code == 200
    private = wanted(None, "1")
    unpaid = browser.post(f"/api/tables/{table}/runs", json=private)
    assert unpaid.status_code == 201, "a table without an account needs none"
    account = browser.post(f"/api/tables/{table}/accounts", json={"epsilon": "3", "delta": "0.01"}).json()["id"]
    comparison = {"epsilon": [1.0], "methods": ["truthful"]}
    asked = [("runs", private), ("vaults", {"epsilon": "1"}), ("comparisons", comparison)]
    for path, body in asked:
        refused = browser.post(f"/api/tables/{table}/{path}", json=body)
        assert refused.status_code == 422, path
        assert "has an account" in refused.text
        assert browser.post(f"/api/tables/{table}/{path}", json=body | {"reason": "  "}).status_code == 422
    run = browser.post(f"/api/tables/{table}/runs", json=private | {"reason": "a dress rehearsal"})
    assert run.status_code == 201, run.text
    assert browser.get(f"/api/runs/{run.json()['id']}").json()["reason"] == "a dress rehearsal"
    again = browser.draft(content, "again.csv")
    assert browser.put(f"/api/tables/{again}/schema", json={"columns": COLUMNS}).status_code == 200
    assert browser.post(f"/api/tables/{again}/runs", json=private).status_code == 422, "the same records"
    vault = browser.post(f"/api/tables/{table}/vaults", json={"epsilon": "1", "reason": "for teaching"})
    assert vault.status_code == 201, vault.text
    assert "for teaching" in browser.get(f"/vaults/{vault.json()['id']}").text
    assert f'data-tables="[&#34;{table}&#34;' in browser.get("/vaults").text
    assert browser.post(f"/api/tables/{table}/vaults", json={"account": account}).status_code == 201
