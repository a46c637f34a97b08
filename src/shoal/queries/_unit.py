"""Whose privacy a budget counts: that of a record, or of a person with all records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shoal.errors import LedgerError, ParameterError
from shoal.guarantees import Cost, Neighbours
from shoal.mechanisms import RandomSource, record_delta
from shoal.queries._loss import Loss
from shoal.schema import Schema
from shoal.schema.conditions import EVERYBODY, Region
from shoal.tables import Table, at_most


@dataclass(frozen=True, slots=True)
class Unit:
    """What neighbouring tables differ by.

    Guarantee
    ---------
    An answer that costs (epsilon, delta) is computed at (epsilon / records, delta (e^(epsilon / records) - 1) /
    (e^epsilon - 1)) for one record (`shoal.mechanisms.record_delta`), hence (epsilon, delta)-private for neighbours
    that add or remove one person with all records. The draw of the records is the same for all answers of a session, or
    of a version of the table in a vault, and another one in the next: each answer by itself, and by composition all
    of them, keep the promise.

    A person may have records in groups that a filter tells apart, and other ones in the next version. So answers about
    persons add up, whatever they are about; only look-ups by the person column touch nobody else.

    Where neighbours replace x by y, an answer about x alone or y alone costs one removal, and one about both of them
    two. Charging every answer twice to all whom it is about is enough: half of what x was charged and half of what y
    was add up to the loss, which the larger of the two is not below.

    Examples
    --------
    >>> print(Unit())
    one record
    >>> print(Unit("patient", 3))
    one person (`patient`), at most 3 of whose records are used
    """

    #: The column that says whose record it is; None: every record is a person of its own.
    column: str | None = None
    #: The most records of a person that answers look at, drawn at random among that person's own.
    records: int = 1
    #: Whether neighbours replace a record or person by another, so that their number is public. What is computed for
    #: neighbours that add or remove one then counts about twice: see :class:`shoal.guarantees.Cost`.
    replaced: bool = False

    @classmethod
    def of(cls, schema: Schema, records: int | None = None) -> Unit:
        """Return the unit of a schema; ``records`` is 1 by default."""
        if records is not None and (isinstance(records, bool) or not isinstance(records, int) or records < 1):
            raise ParameterError(f"`records_per_person` must be an integer of at least 1; got {records!r}.")
        if records is not None and schema.person is None:
            raise ParameterError(
                "`records_per_person` needs a column that says whose record it is.",
                hint='give it `role = "person"` in the schema, or leave the number out',
            )
        return cls(schema.person, records or 1)

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Unit:
        """Read the unit from an entry of a ledger."""
        column, records, neighbours = entry.get("column"), entry.get("records"), entry.get("neighbours", "add-remove")
        kind = "record" if column is None else "person"
        known = entry.get("unit") == kind and isinstance(column, str | None) and neighbours in ("add-remove", "replace")
        if not known or type(records) is not int or records < 1:
            raise LedgerError("the ledger contains a unit that cannot be read.")
        return cls(column, records, neighbours == "replace")

    def entry(self) -> dict[str, Any]:
        """Return the entry of a ledger that says whose losses it counts."""
        kind = "record" if self.column is None else "person"
        replaced = {"neighbours": "replace"} if self.replaced else {}
        return {"event": "unit", "unit": kind, "column": self.column, "records": self.records, **replaced}

    @property
    def neighbours(self) -> Neighbours:
        """Which two tables are not to be told apart."""
        if self.column is None:
            return Neighbours.REPLACE if self.replaced else Neighbours.ADD_REMOVE
        if not self.replaced:
            return Neighbours.ADD_REMOVE_PERSON
        return Neighbours.REPLACE_PERSON if self.records == 1 else Neighbours.REPLACE_RECORDS_OF_PERSON

    def charged(self, loss: Loss) -> Loss:
        """Return what an answer costs that was computed for neighbours that add or remove one."""
        if not self.replaced:
            return loss
        if loss.rho_units:
            if loss.delta_units:
                raise ParameterError("an answer that costs rho and delta has no known cost where neighbours replace.")
            return Loss(rho_units=4 * loss.rho_units)
        computed = replace(self, replaced=False).neighbours
        cost = Cost(epsilon=loss.epsilon, delta=loss.delta, neighbours=computed).convert_neighbours(self.neighbours)
        assert cost is not None  # noqa: S101 - adding and removing is what replacing consists of
        return Loss.at_least(cost.epsilon, cost.delta)

    def rho(self, loss: Loss) -> Fraction:
        """Return the rho of one record in an answer that costs a unit so much: groups of r count r^2 times.

        (Bun and Steinke 2016, Prop. 1.9.)
        """
        return loss.rho / self.records**2

    def epsilon(self, loss: Loss) -> Fraction:
        """Return the epsilon of one record in an answer that costs a unit so much."""
        return loss.epsilon / self.records

    def delta(self, loss: Loss) -> Fraction:
        """Return the delta of one record in an answer that costs a unit so much."""
        return record_delta(loss.epsilon, loss.delta, self.records)

    def touched(self, region: Region) -> Region:
        """Return whom an answer about a region of records costs something."""
        if self.column is None:
            return region
        return {self.column: region[self.column]} if self.column in region else EVERYBODY

    def bounded(self, table: Table, source: RandomSource) -> Table:
        """Return the records that answers look at."""
        return table if self.column is None else at_most(table, self.column, self.records, source.random_bytes(32))

    def __str__(self) -> str:
        number = "persons" if self.column is not None else "records"
        public = f"; the number of {number} is public" if self.replaced else ""
        if self.column is None:
            return f"one record{public}"
        used = "one of whose records is" if self.records == 1 else f"at most {self.records:,} of whose records are"
        return f"one person (`{self.column}`), {used} used{public}"


RECORD = Unit()
"""The unit of a table that does not say whose its records are."""
