"""Budgets, kept by the steward in this app.

Vaults are tables that analysts may ask about; accounts say what all private releases of a table may spend together.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from shoal.errors import ParameterError
from shoal.web._context import SCHEMA, Context, Here
from shoal.web._store import now
from shoal.web.api.answers import AccountAnswer, RequestBody, TokenAnswer, VaultAnswer

if TYPE_CHECKING:
    from shoal import Account
    from shoal.queries import Entry, Ledger, Standing, Vault

router = APIRouter()
accounts = APIRouter()

Amount = Annotated[str, Field(min_length=1, max_length=64, description="a number as text, which is read exactly")]
Before = Annotated[int | None, Query(ge=1, le=10**15, description="show the entries before this one")]
Name = Annotated[str, Field(min_length=1, max_length=100)]
#: entries of the ledger that are shown at a time
_LAST = 200
_VAULT, _DATA, _WHOLE = "vault", "data.parquet", "*"
#: of vaults with a budget of their own
_PAID_ALONE: dict[str, Any] = {"account": None}


class Amounts(RequestBody):
    """What may be spent."""

    epsilon: Amount
    delta: Amount = "0"


class NewVault(RequestBody):
    """The budget that all analysts share, or the account of the table; how many records of a person answers look at."""

    epsilon: Amount | None = None
    delta: Amount = "0"
    account: str | None = Field(
        default=None, max_length=64, description="instead of epsilon: the account that pays for releases as well"
    )
    records_per_person: int | None = Field(default=None, ge=1, le=10**6)
    reason: str = Field(
        default="", max_length=500, description="why the budget is separate, where the table has an account"
    )


class Serving(RequestBody):
    """Where a vault answers: on this machine, or with TLS on all of its addresses."""

    port: int = Field(default=0, ge=0, le=65535, description="0 takes a free one")
    certificate: str = Field(default="", max_length=100_000, description="for other machines: TLS certificate, in PEM")
    private_key: str = Field(default="", max_length=100_000, description="its private key, in PEM")


class NewAnalyst(Amounts):
    """An analyst and what the analyst may spend."""

    name: Name


class Dismissal(RequestBody):
    """Whose token is taken away."""

    name: Name


@router.get("/vaults", response_model=list[VaultAnswer])
def every_vault(here: Here) -> list[dict[str, Any]]:
    """List the vaults, the newest first."""
    return [_PAID_ALONE | about for about in here.store.vaults.all()]


@router.post("/tables/{table}/vaults", status_code=201, response_model=VaultAnswer)
def create(here: Here, table: str, wanted: NewVault) -> dict[str, Any]:
    """Make a vault of a copy of a table, whose columns somebody has confirmed and whose domains are declared."""
    from shoal import tables
    from shoal.queries import Loss, Vault

    about, home = here.store.tables.about(table), here.store.tables.path(table)
    budget = None if wanted.epsilon is None else Loss.of(wanted.epsilon, wanted.delta)
    payer = None if wanted.account is None else opened(here, wanted.account)
    reason = check_separate(here, table, wanted.account, wanted.reason)
    identity = here.store.vaults.new()
    folder = here.store.vaults.path(identity)
    try:
        shutil.copyfile(home / SCHEMA, folder / SCHEMA)
        if (home / "hierarchies").is_dir():
            shutil.copytree(home / "hierarchies", folder / "hierarchies", copy_function=shutil.copyfile)
        with here.table(table) as records:
            tables.write(records, folder / _DATA)
        Vault.create(
            folder / _VAULT,
            str(folder / _DATA),
            schema=folder / SCHEMA,
            budget=budget,
            account=payer,
            records_per_person=wanted.records_per_person,
        )
        # the vault has a snapshot of its own
        (folder / _DATA).unlink()
        known = {"name": about["name"], "created": now(), "records": about["records"]}
        here.store.vaults.note(identity, known | ({"reason": reason} if payer is None else {"account": wanted.account}))
    except BaseException:
        here.store.vaults.remove(identity)
        raise
    return one_vault(here, identity)


@router.get("/vaults/{vault}", response_model=VaultAnswer)
def one_vault(here: Here, vault: str, before: Before = None) -> dict[str, Any]:
    """Return the budget, the analysts and a page of the ledger, which is checked from its first entry."""
    about = _PAID_ALONE | here.store.vaults.about(vault)
    with _ledger(here, vault) as ledger:
        known, able = ledger.standings(), set(ledger.tokens().values())
        entries, head, unit = ledger.entries(last=_LAST, before=before), ledger.head, ledger.unit
    return about | {
        "unit": str(unit),
        "address": here.serving.address(vault),
        "folder": str((here.store.vaults.path(vault) / _VAULT).absolute()),
        "whole": _amounts(known[_WHOLE]),
        "analysts": [
            {"name": name, "able": name in able} | _amounts(standing)
            for name, standing in known.items()
            if name != _WHOLE
        ],
        "head": str(head),
        "entries": head.number,
        "last": _told(entries),
    }


@router.post("/vaults/{vault}/analysts", status_code=201, response_model=TokenAnswer)
def admit(here: Here, vault: str, analyst: NewAnalyst) -> dict[str, str]:
    """Add an analyst, or give a known one a new budget and token; the token is in this answer and stored nowhere."""
    from shoal.queries import Loss

    given = Loss.of(analyst.epsilon, analyst.delta)
    return {"name": analyst.name, "token": _opened(here, vault).admit(analyst.name.strip(), given)}


@router.post("/vaults/{vault}/dismissals", status_code=204)
def dismiss(here: Here, vault: str, analyst: Dismissal) -> None:
    """Take an analyst's token away; what was spent stays spent."""
    _opened(here, vault).dismiss(analyst.name)


@router.put("/vaults/{vault}/budget", response_model=VaultAnswer)
def set_budget(here: Here, vault: str, budget: Amounts) -> dict[str, Any]:
    """Set what all analysts together may spend."""
    from shoal.queries import Loss

    given = Loss.of(budget.epsilon, budget.delta)
    with _ledger(here, vault) as ledger:
        ledger.set_budget(_WHOLE, given)
    return one_vault(here, vault)


@router.post("/vaults/{vault}/server", response_model=VaultAnswer)
def start_server(here: Here, vault: str, wanted: Serving) -> dict[str, Any]:
    """Let analysts ask the vault, until it is stopped or the app ends."""
    here.store.vaults.about(vault)
    folder = here.store.vaults.path(vault)
    if bool(wanted.certificate) != bool(wanted.private_key):
        raise ParameterError("give the certificate and its private key together")
    if not wanted.certificate:
        here.serving.start(vault, folder / _VAULT, port=wanted.port, tls=None)
        return one_vault(here, vault)
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as place:
        files = [Path(place) / name for name in ("certificate.pem", "private-key.pem")]
        for path, text in zip(files, (wanted.certificate, wanted.private_key), strict=True):
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        # the server reads them when it starts, and keeps no file
        here.serving.start(vault, folder / _VAULT, port=wanted.port, tls=(files[0], files[1]))
    return one_vault(here, vault)


@router.delete("/vaults/{vault}/server", status_code=204)
def stop_server(here: Here, vault: str) -> None:
    """Let nobody ask the vault any more; what was spent stays spent."""
    here.store.vaults.about(vault)
    here.serving.stop(vault)


@router.delete("/vaults/{vault}", status_code=204)
def remove(here: Here, vault: str) -> None:
    """Delete a vault, its copy of the table and its ledger."""
    here.store.vaults.about(vault)
    here.serving.stop(vault)
    here.store.vaults.remove(vault)


def _opened(here: Context, vault: str) -> Vault:
    from shoal.queries import Vault

    here.store.vaults.about(vault)
    return Vault.open(here.store.vaults.path(vault) / _VAULT)


def _ledger(here: Context, vault: str) -> closing[Ledger]:
    return closing(_opened(here, vault).ledger())


def _told(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return entries of a ledger in words, the newest first."""
    from shoal.queries import entry_text

    return [
        {"number": each.number, "time": str(each.content["time"]), "what": entry_text(each.content)}
        for each in reversed(entries)
    ]


def _amounts(standing: Standing) -> dict[str, Any]:
    spent, budget = standing.spent, standing.budget
    share = (spent.epsilon_units + spent.rho_units) / max(budget.epsilon_units + budget.rho_units, 1)
    return {part: str(getattr(standing, part)) for part in ("budget", "spent", "left")} | {"share": share}


@accounts.get("/accounts", response_model=list[AccountAnswer])
def every_account(here: Here) -> list[dict[str, Any]]:
    """List the accounts, the newest first, with what is left of each."""
    return [one_account(here, about["id"]) for about in here.store.accounts.all()]


@accounts.post("/tables/{table}/accounts", name="create", status_code=201, response_model=AccountAnswer)
def create_account(here: Here, table: str, budget: Amounts) -> dict[str, Any]:
    """Open an account for a table, from which its private releases are paid; keep one for each table."""
    from shoal import Account

    about, identity = here.store.tables.about(table), here.store.accounts.new()
    try:
        with here.table(table) as records:
            Account.create(
                here.store.account(identity),
                records.with_schema(here.schema(table)),
                epsilon=budget.epsilon,
                delta=budget.delta,
            )
        known = {"name": about["name"], "table": table, "content": here.content(table), "created": now()}
        here.store.accounts.note(identity, known)
    except BaseException:
        here.store.accounts.remove(identity)
        raise
    return one_account(here, identity)


@accounts.get("/accounts/{account}", response_model=AccountAnswer)
def one_account(here: Here, account: str) -> dict[str, Any]:
    """Return the budget, what was spent and what is left, and on what; the ledger is checked from its first entry."""
    about, summary = here.store.accounts.about(account), opened(here, account)
    standing = summary.standing
    return about | {
        "folder": str(summary.folder.absolute()),
        "unit": str(summary.unit),
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "history": _told(summary.history()),
    }


def accounts_of(here: Context, table: str) -> list[dict[str, Any]]:
    """Return all accounts, those first that were opened for this table or for the same file: these are its ``own``."""
    content = here.content(table)
    accounts = [
        one_account(here, each["id"]) | {"own": each.get("table") == table or each.get("content") == content}
        for each in here.store.accounts.all()
    ]
    return sorted(accounts, key=lambda each: not each["own"])


def accounts_with_tables(here: Context) -> list[dict[str, Any]]:
    """Return all accounts, each with the ids of the tables for which it pays: those of the same file."""
    contents = {about["id"]: here.content(about["id"]) for about in here.store.tables.all()}
    found = []
    for about in here.store.accounts.all():
        own = [table for table, content in contents.items() if about.get("content") == content]
        known = [about["table"]] if about.get("table") in contents else []
        found.append(one_account(here, about["id"]) | {"tables": list(dict.fromkeys([*known, *own]))})
    return found


def check_separate(here: Context, table: str, account: str | None, reason: str) -> str:
    """Return the reason for not paying from the account of a table, which every table with an account must give.

    Raises
    ------
    ParameterError
        If there is an account of the same records, and no reason.
    """
    if account is None and not reason.strip() and any(each["own"] for each in accounts_of(here, table)):
        raise ParameterError(
            "this table has an account, which pays for all that is learnt about it",
            hint="pay from it, or write down why not: two budgets add up, and nobody keeps their sum",
        )
    return reason.strip() if account is None else ""


def opened(here: Context, account: str) -> Account:
    """Return an account of the app."""
    from shoal import Account

    return Account.open(here.account(account))
