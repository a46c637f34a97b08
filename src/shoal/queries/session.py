"""A session: one analyst asks about one table, within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.errors import ParameterError
from shoal.exact import Number
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.queries._accounts import WHOLE, Standing
from shoal.queries._answers import Answer
from shoal.queries._desk import Book, Desk, VolatileLedger, records_of
from shoal.queries._loss import Loss
from shoal.queries._query import Query
from shoal.queries._questions import Questions
from shoal.queries.ledger import Ledger
from shoal.schema import Kind
from shoal.tables import Table

__all__ = ["Session"]


class Session(Questions):
    """Ask about a table, within a budget.

    Parameters
    ----------
    table
        A table with a schema. Bounds and values must be declared there: none is read off the data.
    budget : number, above 0
        The epsilon that all answers together may spend on one person.
    ledger
        The path of a ledger file, made if it does not exist: what was spent survives the session, the process and the
        machine's crash. Without one the budget is forgotten with the session; use that for trials only.
    delta : number in [0, 1)
        The delta that all answers together may spend.
    account
        The analyst's name in the ledger.
    in_memory
        Whether to copy the records to memory; by default if they are few enough.
    source
        Where random bits come from; a seeded source is for tests, and every answer then says so.

    Guarantee
    ---------
    (budget, delta)-differential privacy of all answers together, for neighbours that add or remove one record,
    against an analyst who chooses each query after the answers before ([SC13 5.4], seed 000: Protocol 1 with Laplace
    noise, Protocol 2 with refinement, Proposition 5). Queries about people that one attribute's declared values tell
    apart cost the maximum instead of the sum; see `shoal.queries._charges`.

    Assumptions
    -----------
    One record per person. The schema's domains were declared without looking at the data. Running time is not
    protected.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> from shoal.schema import Attribute, Domain, Kind, Schema
    >>> age = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=120))
    >>> people = shoal.read(pa.table({"age": [31, 45, 62, 78]}), schema=Schema(attributes=(age,)))
    >>> session = Session(people, 1)
    >>> answer = session.count("age >= 40", epsilon=0.25)
    >>> print(answer.left)
    epsilon 0.75
    >>> older = session.count("age >= 70", epsilon=0.25), session.count("age < 30", epsilon=0.25)
    >>> print(session.standing.left)
    epsilon 0.5
    """

    def __init__(
        self,
        table: Table,
        budget: Number,
        *,
        ledger: str | Path | Ledger | None = None,
        delta: Number = 0,
        account: str = "analyst",
        in_memory: bool | None = None,
        source: RandomSource = SYSTEM,
    ) -> None:
        schema, records = records_of(table, in_memory=in_memory)
        self._account = account
        self._desk = Desk(schema, records, _book(ledger, account, Loss.of(budget, delta)), source=source)

    @property
    def standing(self) -> Standing:
        """What was spent and is left."""
        return self._desk.book.standing(self._account)

    def ask(self, query: Query) -> Answer:
        """Answer a query value."""
        return self._desk.ask(self._account, query)

    def _kinds(self) -> Mapping[str, Kind]:
        return {attribute.name: attribute.kind for attribute in self._desk.schema}


def _book(ledger: str | Path | Ledger | None, account: str, budget: Loss) -> Book:
    if ledger is None:
        return VolatileLedger(account, budget)
    if account == WHOLE:
        raise ParameterError(f"`account` of `Session` must not be `{WHOLE}`, which stands for the whole table.")
    if not isinstance(ledger, Ledger):
        path = Path(ledger)
        ledger = Ledger.open(path) if path.exists() else Ledger.create(path, budget=budget)
    if account not in ledger.standings():
        ledger.set_budget(account, budget)
    known = ledger.standing(account).budget
    if known != budget:
        raise ParameterError(
            f"`budget` of `Session` must be what the ledger says, {known}; got {budget}.",
            hint="a budget is changed with `shoal vault budget`, or `Ledger.set_budget`",
        )
    return ledger
