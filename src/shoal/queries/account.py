"""One account per table: what all releases and answers about the same people may spend together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from shoal import stopping
from shoal.errors import (
    AccountSpent,
    BudgetSpent,
    InputError,
    LedgerError,
    OutputError,
    ParameterError,
    SchemaError,
    reason,
)
from shoal.exact import Number
from shoal.guarantees import CERTIFICATE, AccountEntry, BudgetEntry
from shoal.plan import Plan
from shoal.queries._accounts import WHOLE, Receipt, Standing
from shoal.queries._loss import Loss, Measure, budget_of
from shoal.queries._store import Entry
from shoal.queries._unit import Unit
from shoal.queries.ledger import Ledger
from shoal.tables import Table
from shoal.writing import staged

__all__ = ["LEDGER", "Account", "AccountSpent", "Bill", "check_bound", "make_parent"]

LEDGER = "ledger.sqlite"
RELEASE = "release"
"""How the text of a spending on a release begins; questions never begin like this."""
NeighbourChoice = Literal["add-remove", "replace"]


@dataclass(frozen=True, slots=True)
class Account:
    """What may be spent on the people of one table, and what was: by releases, and by the answers of a vault.

    Make one with `create`, find it again with `open`, and give it to :func:`shoal.anonymize` or :meth:`shoal.Plan.run`.

    Parameters
    ----------
    folder
        Where its ledger, key and anchor are; readable by its owner only.

    Guarantee
    ---------
    Whatever was paid from the account is, all together, (epsilon, delta)-differentially private with the budget's
    epsilon and delta, for the neighbours that it counts; each release may depend on what was seen before. A release is
    paid for durably before the first random bit is drawn (:class:`shoal.queries.ledger.Ledger`), so that no crash gives
    away what was not paid. Costs are exact and rounded up.

    Assumptions
    -----------
    Everything that is published about these people with randomness is paid from this account: another account, or a
    release without one, is not noticed; nor can any account count what releases without differential privacy tell.
    Releases keep what they promise. The table may change: releases are charged to everybody, and questions by value
    only within one version of the table (:meth:`shoal.queries.ledger.Ledger.begin_version`). It is recognised by the
    names of its columns alone; what is in it decides nothing here, for a refusal would tell of it unpaid. A person has
    at most one record in each version, or a key that stays the same.

    Examples
    --------
    >>> import pyarrow, shoal, tempfile
    >>> sex = shoal.Attribute(name="sex", role="quasi-identifier", domain=shoal.Domain(values=("F", "M")))
    >>> people = pyarrow.table({"sex": ["F", "M"] * 100})
    >>> table = shoal.read(people, schema=shoal.Schema(attributes=(sex,)))
    >>> account = Account.create(Path(tempfile.mkdtemp()) / "clinic.account", table, epsilon=2, delta="1e-5")
    >>> wanted = shoal.DifferentialPrivacy(epsilon="0.5", delta="1e-6")
    >>> release = shoal.anonymize(table, wanted, account=account)
    >>> print(account.standing.left)
    epsilon 1.5, delta 0.000009
    """

    folder: Path

    @classmethod
    def create(
        cls,
        folder: str | Path,
        table: Table,
        *,
        epsilon: Number,
        delta: Number = 0,
        neighbours: NeighbourChoice = "add-remove",
        measure: Measure = "epsilon",
        records_per_person: int | None = None,
    ) -> Account:
        """Open a new account for a table.

        Parameters
        ----------
        folder
            To be made.
        table
            The table with its schema; whose record it is decides whose losses are counted.
        epsilon, delta
            The budget: what everything together may cost.
        neighbours : "add-remove" or "replace"
            Whether the account counts what is lost by somebody who is in the table or not, or by somebody whose record
            says this or that while the number of records is public. The first is stronger. Noisy data sets promise the
            second only; in an account that counts it, everything else costs twice its epsilon.
        measure : "epsilon" or "zcdp"
            What is added up: epsilon, or rho of zero-concentrated differential privacy, which is better where many
            questions are asked. (epsilon, delta) is kept either way; see :class:`shoal.queries.Loss`.
        records_per_person
            With a person column: how many records of a person the answers of a vault look at; 1 by default. Releases
            have a number of their own.
        """
        folder = Path(folder)
        if neighbours not in get_args(NeighbourChoice):
            raise ParameterError(f"`neighbours` of `Account` must be 'add-remove' or 'replace'; got {neighbours!r}.")
        if table.schema is None:
            raise SchemaError("an account needs a table with a schema.", hint="shoal.read(..., schema=...)")
        budget = budget_of(epsilon, delta, measure)
        unit = replace(Unit.of(table.schema, records_per_person), replaced=neighbours == "replace")
        make_parent(folder)
        with (
            staged(folder, private=True) as staging,
            closing(Ledger.create(staging / LEDGER, budget=budget, unit=unit)) as ledger,
        ):
            ledger.bind(*_looks(table))
        return cls(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Account:
        """Find an account."""
        folder = Path(folder)
        if not (folder / LEDGER).is_file():
            raise InputError(f"`{folder.name}` is not an account.", hint="shoal account create makes one")
        return cls(folder)

    def ledger(self) -> Ledger:
        """Open the ledger after checking it."""
        return Ledger.open(self.folder / LEDGER)

    @contextmanager
    def inspected(self) -> Iterator[Ledger]:
        """Open the ledger after checking it, and close it again."""
        with closing(self.ledger()) as ledger:
            yield ledger

    @property
    def standing(self) -> Standing:
        """The budget, what was spent and what is left."""
        with self.inspected() as ledger:
            return ledger.standing(WHOLE)

    @property
    def unit(self) -> Unit:
        """Whose losses are counted."""
        with self.inspected() as ledger:
            return ledger.unit

    def history(self) -> list[Entry]:
        """Return everything that was granted, spent and written, in order."""
        with self.inspected() as ledger:
            return ledger.entries()

    def set_budget(self, epsilon: Number, delta: Number = 0) -> None:
        """Change what everything together may cost; the history shows it."""
        budget = Loss.of(epsilon, delta)
        with self.inspected() as ledger:
            ledger.set_budget(WHOLE, budget)

    def follow(self, table: Table) -> None:
        """Say that the table has changed and is still about the same people, which begins a new version of it.

        What was spent stays spent, and counts for everybody from now on: a person may have other values than before.
        """
        with self.inspected() as ledger:
            check_bound(ledger, table, again=True)
            ledger.begin_version()
            ledger.bind(*_looks(table))

    def bill(self, plan: Plan, table: Table) -> Bill:
        """Return what a release by a plan will cost, and refuse it now if the account does not allow it.

        Raises
        ------
        ParameterError
            If the account cannot count the release, or is about another table.
        AccountSpent
            If the budget does not allow it; nothing is spent.
        """
        with self.inspected() as ledger:
            check_bound(ledger, table)
            loss = _loss(plan, ledger)
            bill = Bill(account=self, loss=loss, unit=ledger.unit, text=f"{RELEASE} by {plan.method.name}")
            with bill.refused():
                ledger.check_budget(WHOLE, bill.loss)
        return bill


@dataclass(slots=True, eq=False)
class Bill:
    """One release and its cost: paid for once, before any random bit is drawn."""

    #: Where it is paid from, how much, and whose loss it is.
    account: Account
    loss: Loss
    unit: Unit
    #: What stands in the history.
    text: str
    #: The entry, once it is paid.
    receipt: Receipt | None = field(default=None, init=False)

    def pay(self) -> None:
        """Spend durably, or raise; a bill is paid once."""
        if self.receipt is not None:
            return
        with self.account.inspected() as ledger, stopping.held(), self.refused():
            self.receipt = ledger.spend(WHOLE, self.loss, query=self.text)
            stopping.happened(f"{self}")

    @contextmanager
    def refused(self) -> Iterator[None]:
        """Say of a release what ledgers say of answers."""
        try:
            yield
        except BudgetSpent:
            left = self.account.standing.left
            none = ", delta 0" if self.loss.delta and not left.delta else ""
            less = "delta, or give the account more" if self.loss.delta > left.delta else "epsilon"
            raise AccountSpent(
                f"the budget of the account is not enough for this release: it would cost {self.loss}, and "
                f"{left}{none} is left; nothing was spent.",
                hint=f"use a smaller {less}; shoal account show lists what was spent, and on what",
            ) from None

    def __str__(self) -> str:
        return f"{self.loss} of the account `{self.account.folder.name}` is spent"

    @property
    def left(self) -> str:
        """What was left of the account right after."""
        return str(self.account.standing.left if self.receipt is None else self.receipt.standing.left)

    @property
    def entry(self) -> AccountEntry:
        """What the certificate says of it."""
        assert self.receipt is not None  # noqa: S101 - a release is paid before it is made
        standing = self.receipt.standing
        return AccountEntry(
            entry=self.receipt.number,
            code=self.receipt.code,
            neighbours=self.unit.neighbours,
            cost=_amount(self.loss),
            spent=_amount(standing.spent),
            budget=_amount(standing.budget),
        )

    def written(self, folder: Path) -> None:
        """Note in the history that the release is there; it is there whether or not that succeeds."""
        assert self.receipt is not None  # noqa: S101
        with suppress(LedgerError, OSError), self.account.inspected() as ledger:
            digest = hashlib.sha256((folder / CERTIFICATE).read_bytes()).hexdigest()
            ledger.note_written(self.receipt.number, folder.name, digest)


def make_parent(folder: Path) -> None:
    """Make the folder that a new account or vault is to stand in."""
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder `{folder.name}` cannot be created: {reason(error)}.") from None


def check_bound(ledger: Ledger, table: Table, *, again: bool = False) -> None:
    """Refuse a table that the account is not about; ``again``: one that cannot become it."""
    problems = []
    column = None if table.schema is None else table.schema.person
    if ledger.unit.column != column:
        whose = "every record as a separate person" if column is None else f"persons identified by `{column}`"
        problems.append(f"the account counts the privacy loss of {ledger.unit}; the schema of this table has {whose}.")
    if not again and not ledger.bound_to(*_looks(table)):
        problems.append("this is not the table that the account was made for: the names of its columns differ.")
    if problems:
        raise ParameterError(
            problems,
            hint="use the account of this table; if its columns have changed, say so with `shoal account follow`: what "
            "was spent stays spent",
        )


def _looks(table: Table) -> tuple[str, ...]:
    """Return what a table is recognised by: nothing that depends on the records."""
    return tuple(sorted(table.columns))


def _loss(plan: Plan, ledger: Ledger) -> Loss:
    """Return what a release costs in the account's own terms."""
    cost, unit = plan.cost, ledger.unit
    if cost is None:
        raise ParameterError(
            f"an account cannot charge for this release by method `{plan.method.name}`: as requested, it promises no "
            "differential privacy of the whole table.",
            hint="leave the account out, or ask for differential privacy: --epsilon with --delta, or "
            "dp-microaggregation with target `original`",
        )
    counted = cost.convert_neighbours(unit.neighbours)
    if counted is None:
        raise ParameterError(
            f"the account counts the privacy loss for neighbours that {unit.neighbours.value}; method "
            f"`{plan.method.name}` "
            f"promises less, for neighbours that {cost.neighbours.value}.",
            hint="make the account with --neighbours replace, in which every other release costs twice its epsilon",
        )
    return Loss.at_least_rho(*counted.rho_and_beta) if ledger.in_rho else Loss.at_least(counted.epsilon, counted.delta)


def _amount(loss: Loss) -> BudgetEntry:
    rho = str(loss.rho) if loss.rho_units else None
    return BudgetEntry(epsilon=str(loss.epsilon), delta=str(loss.delta), rho=rho)
