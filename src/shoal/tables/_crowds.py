"""How many persons the classes of a table have, and what the records of a person tell, counted on its engine.

Neither classes nor persons leave the engine: what comes here are figures, and how many classes have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels import Counts
from shoal.tables._engine import key, quiet
from shoal.tables._profiles import gathered
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrowdCounts:
    """The classes of a table that differ in their numbers, and figures of the persons."""

    #: The records and the persons of a class, and how many classes have as many of both.
    sizes: Counts
    persons: Counts
    times: Counts
    #: The number of persons.
    people: int
    #: The highest chance that a person is found, that of all on average, and how many are found for certain: for every
    #: class with records of a person an intruder names one person of the class, each with the same chance.
    highest: float
    mean: float
    certain: int
    #: The persons whose records, taken together, nobody else has.
    alone: int
    #: The records of the person who has most.
    most: int


def crowds(table: Table, names: Sequence[str], person: str) -> CrowdCounts:
    """Count the persons of the classes that some columns make. Cost: O(records log records), on the engine."""
    import ibis

    records = table.expression
    with quiet(table.source.name):
        named = records.select(own=_text([key(records[name]) for name in names]), who=key(records[person]))
        held = named.group_by(["own", "who"]).aggregate(records=named.count())
        held = held.mutate(crowd=held.count().over(ibis.window(group_by="own")))
        classes = held.group_by("own").aggregate(records=held["records"].sum(), persons=held.count())
        alike = classes.group_by(["records", "persons"]).aggregate(times=classes.count())
        found = table.engine.fetch(alike.order_by(["records", "persons"]))
        shown = held.mutate(pair=_text([held["own"], held["records"]]))
        lists = gathered(shown, ["who"], "pair")
        profiles = lists.group_by("pairs").aggregate(persons=lists.count())
        (row,) = table.engine.fetch(_of_persons(held)).to_pylist()
        (only,) = table.engine.fetch(
            profiles.aggregate(alone=(profiles["persons"] == 1).cast("int64").sum())
        ).to_pylist()
    return CrowdCounts(
        sizes=found["records"].to_numpy().astype(np.int64),
        persons=found["persons"].to_numpy().astype(np.int64),
        times=found["times"].to_numpy().astype(np.int64),
        people=int(row["people"]),
        highest=float(row["highest"]),
        mean=float(row["mean"]),
        certain=int(row["certain"]),
        alone=int(only["alone"] or 0),
        most=int(row["most"]),
    )


def _of_persons(held: ir.Table) -> ir.Table:
    """Return figures of the persons of pairs of class and person."""
    sure = held["crowd"] == 1
    missed = (1.0 - 1.0 / sure.ifelse(2, held["crowd"])).ln()
    each = held.group_by("who").aggregate(
        missed=sure.ifelse(0.0, missed).sum(), sure=sure.cast("int64").max(), records=held["records"].sum()
    )
    risk = (each["sure"] == 1).ifelse(1.0, 1.0 - each["missed"].exp())
    return each.aggregate(
        people=each.count(),
        highest=risk.max(),
        mean=risk.mean(),
        certain=each["sure"].sum(),
        most=each["records"].max(),
    )


def _text(columns: Sequence[Any]) -> ir.StringValue:
    """Return values as one text, which tells them apart: each has its length before it."""
    texts = [column.cast("string") for column in columns]
    parts = [(text.length().cast("string") + ":" + text).fill_null("-") for text in texts]
    return reduce(lambda left, right: left + right, parts)
