"""Where queries are paid for and answered, in this order."""

from __future__ import annotations

import threading
from typing import Protocol

from shoal.errors import SchemaError
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.queries._accounts import WHOLE, Accounts, Standing, budget_entry, spend_entry
from shoal.queries._answers import Answer
from shoal.queries._loss import Loss
from shoal.queries._query import Query
from shoal.queries._records import Records
from shoal.queries._refusals import NotAnswered
from shoal.queries._regions import EVERYBODY, Region
from shoal.queries.ledger import Receipt
from shoal.schema import Schema
from shoal.tables import Table

__all__ = ["Book", "Desk", "VolatileLedger", "records_of"]

# records times columns; above it the records stay on their engine
LARGEST_IN_MEMORY = 100_000_000


class Book(Protocol):
    """Where spendings are written: a ledger."""

    def spend(self, account: str, loss: Loss, region: Region = EVERYBODY, *, query: str = "") -> Receipt:
        """Record a spending, or refuse it."""
        ...

    def standing(self, account: str) -> Standing:
        """Return what an account spent and has left."""
        ...


class VolatileLedger:
    """A ledger in memory, for trials: what was spent is forgotten with the session."""

    def __init__(self, account: str, budget: Loss) -> None:
        self._accounts, self._lock, self._number = Accounts(), threading.Lock(), 0
        for name in (WHOLE, account):
            self._accounts.apply(budget_entry(name, budget))

    def spend(self, account: str, loss: Loss, region: Region = EVERYBODY, *, query: str = "") -> Receipt:
        """Record a spending, or refuse it."""
        with self._lock:
            self._accounts.check(account, loss, region)
            self._accounts.apply(spend_entry(account, loss, region, query))
            self._number += 1
            return Receipt(self._number, "", self._accounts.standing(account))

    def standing(self, account: str) -> Standing:
        """Return what an account spent and has left."""
        with self._lock:
            return self._accounts.standing(account)


class Desk:
    """Answers queries about one table, each after its cost was recorded.

    Everything that can be refused is refused before, by the schema, the query and the ledger; nothing that depends on
    the records can. If the computation itself fails, the answer is lost and its cost stays spent.
    """

    def __init__(self, schema: Schema, records: Records, book: Book, *, source: RandomSource = SYSTEM) -> None:
        self.schema, self.book = schema, book
        self._records, self._source = records, source

    def ask(self, account: str, query: Query) -> Answer:
        """Pay for a query and answer it."""
        prepared = query.prepare(self.schema)
        receipt = self.book.spend(account, prepared.loss, prepared.region, query=prepared.text)
        try:
            value, accuracy = prepared.answer(self._records, self._source)
        except Exception:
            # the cause may speak of records
            raise NotAnswered from None
        return Answer(
            value=value,
            accuracy=accuracy,
            cost=prepared.loss,
            spent=receipt.standing.spent,
            left=receipt.standing.left,
            query=prepared.text,
            entry=receipt.number if receipt.code else None,
            test_only=not self._source.cryptographic,
        )


def records_of(table: Table, *, in_memory: bool | None = None) -> tuple[Schema, Records]:
    """Return the schema and the records of a table, in memory where they are few enough."""
    from shoal.queries._engine_records import EngineRecords
    from shoal.queries._memory_records import MemoryRecords

    if table.schema is None:
        raise SchemaError(
            "queries need a table with a schema: sensitivities come from its declared domains.",
            hint="shoal.read(..., schema=...)",
        )
    if in_memory is None:
        in_memory = table.count() * len(table.columns) <= LARGEST_IN_MEMORY
    return table.schema, MemoryRecords(table) if in_memory else EngineRecords(table)
