"""Budgets and spending of analysts: the state that a ledger's entries add up to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import BudgetSpent, LedgerError, ParameterError
from shoal.queries._charges import Charges
from shoal.queries._loss import Loss
from shoal.queries._unit import RECORD, Unit
from shoal.schema.conditions import EVERYBODY, Region, from_json, to_json

WHOLE = "*"
"""The account of the table itself: what all analysts together may spend, in case they share their answers."""


@dataclass(slots=True)
class Budgeted:
    """One analyst, or the whole table."""

    budget: Loss
    charges: Charges = field(default_factory=Charges)
    token: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the account as plain data."""
        return {**_units(self.budget), "token": self.token, "charges": self.charges.to_json()}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Budgeted:
        """Return the account that `to_json` wrote."""
        return cls(loss_of(data), Charges.of_json(data["charges"]), data["token"])


@dataclass(frozen=True, slots=True)
class Standing:
    """What an account spent and has left; what is left of the whole table limits it too."""

    budget: Loss
    spent: Loss
    left: Loss


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a spending was recorded: its entry, and how the account stands after it."""

    number: int
    code: str
    standing: Standing


class Accounts:
    """The accounts after some entries of a ledger.

    An entry is a plain mapping; ``apply`` is the only thing that changes the state, so replaying the entries of a
    ledger always gives the same accounts.
    """

    def __init__(self) -> None:
        self._accounts: dict[str, Budgeted] = {}
        #: whose losses are counted
        self.unit = RECORD
        #: how many versions of the table have begun; only questions to the last one are charged by value
        self.version = 0
        #: a keyed digest of the columns that the table had when somebody last said that it is the one
        self.table: str | None = None
        #: the entries whose releases are known to have been written
        self.written: set[int] = set()

    @property
    def analysts(self) -> tuple[str, ...]:
        """The names of the analysts."""
        return tuple(name for name in self._accounts if name != WHOLE)

    def account(self, name: str) -> Budgeted:
        """Return an account."""
        if name not in self._accounts:
            raise ParameterError(f"the ledger has no account `{name}`.", hint="shoal vault analyst adds one")
        return self._accounts[name]

    def standing(self, name: str) -> Standing:
        """Return what an account spent and has left."""
        mine, whole = self.account(name), self.account(WHOLE)
        left, shared = mine.budget - mine.charges.spent, whole.budget - whole.charges.spent
        return Standing(mine.budget, mine.charges.spent, left - (left - shared))

    def in_measure(self, budget: Loss) -> Loss:
        """Return a budget in the terms of that of the whole table, if that is known yet."""
        if WHOLE not in self._accounts or bool(budget.rho_units) == self.in_rho:
            return budget
        if not self.in_rho:
            raise ParameterError("this ledger counts epsilon, so it cannot hold a budget in rho.")
        return Loss.within_both(budget.epsilon, budget.delta)

    @property
    def in_rho(self) -> bool:
        """Whether rho is added up, and not epsilon."""
        return self.account(WHOLE).budget.rho_units > 0

    def price(self, loss: Loss) -> Loss:
        """Return what a loss counts in the terms of the budget: of rho, or of epsilon."""
        if loss.rho_units and not self.in_rho:
            raise ParameterError(
                "this budget counts epsilon, so nothing can be paid for in rho.", hint="ask with `epsilon`"
            )
        return loss.concentrated() if self.in_rho and not loss.rho_units else loss

    def tokens(self) -> dict[str, str]:
        """Return whose token each digest is."""
        return {account.token: name for name, account in self._accounts.items() if account.token is not None}

    def charged_region(self, region: Region, version: int | None) -> Region:
        """Return whom a question is charged to: by value in the version that is open, else everybody.

        A person may have another value in each version. What was charged by value before the open version began was
        folded into everybody's charge; what an older copy is asked afterwards is charged to everybody as well.
        """
        return region if version is not None and version == self.version else EVERYBODY

    def check(self, name: str, loss: Loss, region: Region) -> None:
        """Refuse a spending that the analyst's budget or that of the whole table does not allow."""
        for owner in (name, WHOLE):
            account = self.account(owner)
            if not account.charges.allows(loss, region, budget=account.budget):
                whose = "the budget of the table" if owner == WHOLE else "your budget"
                left, less = account.budget - account.charges.spent, "rho" if loss.rho_units else "epsilon"
                raise BudgetSpent(
                    f"{whose} is not enough for this answer: it would cost {loss}, and {left} is left; nothing was "
                    "spent.",
                    hint=f"use a smaller {less}, or ask the data steward for more budget",
                )

    def apply(self, entry: Mapping[str, Any]) -> None:
        """Change the state as an entry says."""
        event = entry["event"]
        if event == "account":
            self._set_budget(entry["account"], loss_of(entry))
        elif event == "token":
            self.account(entry["account"]).token = entry["sha256"]
        elif event == "spend":
            loss, region = loss_of(entry), from_json(entry["region"])
            for owner in {entry["account"], WHOLE}:
                self.account(owner).charges.charge(loss, region)
        elif event == "version":
            for account in self._accounts.values():
                account.charges.fold()
            self.version += 1
        elif event == "unit":
            unit = Unit.of_entry(entry)
            # what was spent before would count in another unit
            if self._accounts:
                raise LedgerError("the ledger changes whose losses it counts after some have been counted.")
            self.unit = unit
        elif event == "table":
            self.table = str(entry["digest"])
        elif event == "written":
            self.written.add(int(entry["entry"]))
        elif event != "anchored":
            raise LedgerError(
                "the ledger contains an entry that this version of Shoal does not know.", hint="update Shoal"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "unit": self.unit.entry(),
            "table": self.table,
            "version": self.version,
            "written": sorted(self.written),
            "accounts": [[name, one.to_json()] for name, one in self._accounts.items()],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Accounts:
        """Return the state that `to_json` wrote."""
        accounts = cls()
        accounts.unit, accounts.table = Unit.of_entry(data["unit"]), data["table"]
        accounts.version, accounts.written = int(data["version"]), set(data["written"])
        accounts._accounts = {name: Budgeted.of_json(one) for name, one in data["accounts"]}
        return accounts

    def _set_budget(self, name: str, budget: Loss) -> None:
        if WHOLE in self._accounts and bool(budget.rho_units) != self.in_rho:
            raise LedgerError("the ledger changes what it counts after counting has begun.")
        if name in self._accounts:
            self._accounts[name].budget = budget
        else:
            self._accounts[name] = Budgeted(budget)


class VolatileLedger:
    """A ledger in memory, for trials: what was spent is forgotten with the session."""

    def __init__(self, account: str, budget: Loss) -> None:
        budget.check_policy()
        self._accounts, self._lock, self._number = Accounts(), threading.Lock(), 0
        for name in (WHOLE, account):
            self._accounts.apply(budget_entry(name, budget))

    def begin_version(self) -> int:
        with self._lock:
            self._accounts.apply(VERSION_ENTRY)
            return self._accounts.version

    def spend(
        self, account: str, loss: Loss, region: Region = EVERYBODY, *, query: str = "", version: int | None = None
    ) -> Receipt:
        with self._lock:
            region = self._accounts.charged_region(region, version)
            self._accounts.check(account, loss, region)
            self._accounts.apply(spend_entry(account, loss, region, query))
            self._number += 1
            return Receipt(self._number, "", self._accounts.standing(account))

    def price(self, loss: Loss) -> Loss:
        with self._lock:
            return self._accounts.price(loss)

    def standing(self, account: str) -> Standing:
        with self._lock:
            return self._accounts.standing(account)


VERSION_ENTRY = {"event": "version"}
"""The entry with which a version of the table begins."""


def loss_of(entry: Mapping[str, Any]) -> Loss:
    """Return the amount that an entry grants or spends."""
    try:
        return Loss(entry["epsilon"], entry["delta"], entry.get("rho", 0))
    except (ParameterError, KeyError):
        raise LedgerError("the ledger contains an amount that cannot be spent or granted.") from None


def budget_entry(name: str, budget: Loss) -> dict[str, Any]:
    """Return the entry that gives an account its budget."""
    return {"event": "account", "account": name, **_units(budget)}


def _units(loss: Loss) -> dict[str, int]:
    """Return the parts of an entry that :func:`loss_of` reads."""
    rho = {"rho": loss.rho_units} if loss.rho_units else {}
    return {"epsilon": loss.epsilon_units, "delta": loss.delta_units, **rho}


def entry_text(content: Mapping[str, Any]) -> str:
    """Say what an entry of a ledger records."""
    who = "all together" if content.get("account") == WHOLE else content.get("account")
    match content["event"]:
        case "spend" if content.get("account") == WHOLE:
            return f"{content['query']}; spent {loss_of(content)}"
        case "spend":
            return f"{who} spent {loss_of(content)}: {content['query']}"
        case "account":
            return f"budget of {who}: {loss_of(content)}"
        case "unit":
            return f"budgets count the privacy loss of {Unit.of_entry(content)}"
        case "table":
            return "the table was identified by the names of its columns"
        case "version":
            return "a new version of the table began; what was spent counts for everybody in it"
        case "written":
            return f"the release of entry {content['entry']} was written to {content['name']}"
        case "token":
            return f"{who} was given a token" if content["sha256"] else f"the token of {who} was revoked"
    return "a new anchor was made: entries before this may have been cut off"


def spend_entry(name: str, loss: Loss, region: Region, query: str) -> dict[str, Any]:
    """Return the entry of one answer."""
    return {"event": "spend", "account": name, **_units(loss), "region": to_json(region), "query": query}
