"""Accounts: what all private releases of a table may spend together, kept by the steward in this app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from shoal.web._context import Context, Here
from shoal.web._store import now
from shoal.web.api.answers import AccountAnswer
from shoal.web.api.vaults import Amounts

if TYPE_CHECKING:
    from shoal import Account

__all__ = ["accounts_of", "every_account", "opened", "router"]

router = APIRouter()


@router.get("/accounts", response_model=list[AccountAnswer])
def every_account(here: Here) -> list[dict[str, Any]]:
    """List the accounts, the newest first, with what is left of each."""
    return [one_account(here, about["id"]) for about in here.store.accounts.all()]


@router.post("/tables/{table}/accounts", status_code=201, response_model=AccountAnswer)
def create(here: Here, table: str, budget: Amounts) -> dict[str, Any]:
    """Open an account for a table, from which its private releases are paid; keep one for each table."""
    from shoal import Account

    about, identity = here.store.tables.about(table), here.store.accounts.new()
    try:
        with here.table(table) as opened:
            Account.create(
                here.store.account(identity),
                opened.with_schema(here.schema(table)),
                epsilon=budget.epsilon,
                delta=budget.delta,
            )
        known = {"name": about["name"], "table": table, "content": here.content(table), "created": now()}
        here.store.accounts.note(identity, known)
    except BaseException:
        here.store.accounts.remove(identity)
        raise
    return one_account(here, identity)


@router.get("/accounts/{account}", response_model=AccountAnswer)
def one_account(here: Here, account: str) -> dict[str, Any]:
    """Return the budget, what was spent and what is left, and on what; the ledger is checked from its first entry."""
    from shoal.queries import entry_text

    about, found = here.store.accounts.about(account), opened(here, account)
    standing, entries = found.standing, found.history()
    return about | {
        "folder": str(found.folder.absolute()),
        "unit": str(found.unit),
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "history": [
            {"number": each.number, "time": str(each.content["time"]), "what": entry_text(each.content)}
            for each in reversed(entries)
        ],
    }


def accounts_of(here: Context, table: str) -> list[dict[str, Any]]:
    """Return all accounts, those first that were opened for this table or for the same file: these are its ``own``."""
    content = here.content(table)
    found = [
        one_account(here, each["id"]) | {"own": each.get("table") == table or each.get("content") == content}
        for each in here.store.accounts.all()
    ]
    return sorted(found, key=lambda each: not each["own"])


def opened(here: Context, account: str) -> Account:
    """Return an account of the app."""
    from shoal import Account

    return Account.open(here.account(account))
