"""A session: one analyst asks about one table, within a budget.

Queries are paid for and answered at a `Desk`, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from shoal.errors import MissingExtraError, NotAnswered, ParameterError, ShoalError
from shoal.exact import Number
from shoal.mechanisms import SYSTEM, Laplace, RandomSource
from shoal.queries._accounts import WHOLE, Standing, VolatileLedger
from shoal.queries._loss import Loss, Measure, budget_of
from shoal.queries._query import Answer, Query, Quotation
from shoal.queries._questions import Questions
from shoal.queries._records import ExactFigures, records_of
from shoal.queries._statistics import Count
from shoal.queries._unit import RECORD, Unit
from shoal.queries.ledger import Ledger
from shoal.schema import Kind, Schema
from shoal.tables import Table

__all__ = ["Desk", "Session", "check_unit"]


Book = Ledger | VolatileLedger
"""Where spendings are written."""


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
        machine's crash. Without one the budget is forgotten with the session; use that for trials only. Each session
        begins a new version of the table in the ledger: the records may have changed since the last one.
    delta : number in [0, 1)
        The delta that all answers together may spend.
    account
        The analyst's name in the ledger.
    in_memory
        Whether to copy the records to memory; by default if they are few enough.
    records_per_person : integer, at least 1
        Where the schema says whose record it is: answers look at no more than so many records of a person, drawn at
        random; 1 by default. A record then has its part of what an answer costs.
    source
        Where random bits come from; a seeded source is for tests, and every answer then says so.
    measure : "epsilon" or "zcdp"
        What is added up: epsilon, or rho of concentrated differential privacy, of which many answers with Gaussian
        noise cost far less. The budget is (epsilon, delta) either way; the second needs a delta.

    Guarantee
    ---------
    (budget, delta)-differential privacy of all answers together, for neighbours that add or remove one record, or where
    the schema has a person column one person with all records (`shoal.queries._unit`),
    against an analyst who chooses each query after the answers before ([SC13 5.4], seed 000: Protocol 1 with Laplace
    noise, Protocol 2 with refinement, Proposition 5). Queries about people that one attribute's declared values tell
    apart cost the maximum instead of the sum; see `shoal.queries._charges`.

    Assumptions
    -----------
    One record per person, or one key per person. The schema's domains were declared without looking at the data.
    Running time is not protected.

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
        records_per_person: int | None = None,
        source: RandomSource = SYSTEM,
        measure: Measure = "epsilon",
    ) -> None:
        self.unit = RECORD if table.schema is None else Unit.of(table.schema, records_per_person)
        schema, records = records_of(table, self.unit, in_memory=in_memory, source=source)
        self._account = account
        book = _book(ledger, account, budget_of(budget, delta, measure), self.unit)
        self.unit = book.unit if isinstance(book, Ledger) else self.unit
        self._desk = Desk(schema, records, book, version=book.begin_version(), unit=self.unit, source=source)

    @property
    def standing(self) -> Standing:
        """What was spent and is left."""
        return self._desk.book.standing(self._account)

    def ask(self, query: Query) -> Answer:
        """Answer a query value."""
        return self._desk.ask(self._account, query)

    def _kinds(self) -> Mapping[str, Kind]:
        return {attribute.name: attribute.kind for attribute in self._desk.schema}


def _book(ledger: str | Path | Ledger | None, account: str, budget: Loss, unit: Unit) -> Book:
    if ledger is None:
        return VolatileLedger(account, budget)
    if account == WHOLE:
        raise ParameterError(f"`account` of `Session` must not be `{WHOLE}`, which stands for the whole table.")
    if not isinstance(ledger, Ledger):
        path = Path(ledger)
        ledger = Ledger.open(path) if path.exists() else Ledger.create(path, budget=budget, unit=unit)
    check_unit(ledger, unit)
    if account not in ledger.standings():
        ledger.set_budget(account, budget)
    known = ledger.standing(account).budget
    if known != budget:
        raise ParameterError(
            f"`budget` of `Session` must be what the ledger says, {known}; got {budget}.",
            hint="change a budget with `shoal vault budget` or `Ledger.set_budget`",
        )
    return ledger


def check_unit(ledger: Ledger, unit: Unit) -> None:
    """Refuse to add up what records lost and what persons did; which neighbours are meant is the ledger's to say."""
    if replace(ledger.unit, replaced=False) != unit:
        raise ParameterError(
            f"the ledger counts the privacy loss of {ledger.unit}; this table needs one for {unit}.",
            hint="use a separate ledger, or the person column and the records per person that the ledger names",
        )


class Desk:
    """Answers queries about one copy of a table, that of a version, each after its cost was recorded.

    Everything that can be refused is refused before, by the schema, the query and the ledger; nothing that depends on
    the records can. If the computation itself fails, the answer is lost and its cost stays spent.
    """

    def __init__(
        self,
        schema: Schema,
        records: ExactFigures,
        book: Book,
        *,
        version: int,
        unit: Unit = RECORD,
        source: RandomSource = SYSTEM,
    ) -> None:
        self.schema, self.book, self.unit, self._version = schema, book, unit, version
        self._records, self._source = records, source

    def rehearse(self) -> None:
        """Count the records with noise and throw the answer away: what can fail then fails before anybody pays."""
        try:
            Count(epsilon=1).prepare(self.schema).answer(self._records, self._source)
        except MissingExtraError:
            raise
        except Exception:
            # whatever it is, nobody must pay for it; and the cause may speak of records
            raise _unable() from None

    def draw(self) -> None:
        """Draw the noise of one answer, without a look at the records, and throw it away."""
        try:
            Laplace(sensitivity=1, epsilon=1).release(0, source=self._source)
        except Exception:
            # whatever it is, nobody must pay for it
            raise _unable() from None

    def estimate(self, account: str, query: Query) -> Quotation:
        """Say what a query would cost and how wrong its answer may be; nothing is paid, and no record is read."""
        prepared = query.prepare(self.schema, self.unit)
        left = self.book.standing(account).left
        cost = self.book.price(self.unit.charged(prepared.loss))
        return Quotation(cost=cost, left=left, query=prepared.text, accuracy=prepared.expected)

    def ask(self, account: str, query: Query) -> Answer:
        """Pay for a query and answer it."""
        prepared = query.prepare(self.schema, self.unit)
        touched = self.unit.touched(prepared.region)
        cost = self.book.price(self.unit.charged(prepared.loss))
        receipt = self.book.spend(account, cost, touched, query=prepared.text, version=self._version)
        try:
            value, accuracy = prepared.answer(self._records, self._source)
        except Exception:
            # the cause may speak of records
            raise NotAnswered from None
        return Answer(
            value=value,
            accuracy=accuracy,
            cost=cost,
            spent=receipt.standing.spent,
            left=receipt.standing.left,
            query=prepared.text,
            entry=receipt.number if receipt.code else None,
            test_only=not self._source.cryptographic,
        )


def _unable() -> ShoalError:
    # the cause may speak of records
    return ShoalError("no answer can be computed; nothing was spent.", hint="tell the data steward")
