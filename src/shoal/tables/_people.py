"""Whose records a table holds: persons, their households and what their records tell, counted on its engine.

Neither classes nor persons leave a cluster: persons with the same records are counted together over there, and what
comes here are figures, and how many persons or classes have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.kernels import Counts, Mask
from shoal.schema import PersonsAnswer, Role, person_key, topic, words
from shoal.tables._engine import OURS, compute, figures, key, quiet
from shoal.tables._expressions import Value
from shoal.tables._holders import Holders
from shoal.tables._relations import TableQuery
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table

# records of one person; an identifier that repeats more often is one of something else, as of accounts or wards
_MOST = 100
#: The number of a record's tuple.
PLACE = f"{OURS}place__"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The numbers of records, of the persons that they are of, and of these persons' households."""

    #: The number of records.
    records: int
    #: The number of persons; that of the records where the schema names no person column.
    persons: int
    #: The number of households, or None where the schema names no household column.
    households: int | None = None
    #: The column that says whose record it is, or None where every record counts as a person of its own.
    column: str | None = None

    @property
    def repeat(self) -> bool:
        """Whether somebody has several records."""
        return self.persons < self.records


def people(table: Table) -> People:
    """Count the records, persons and households of a table with a schema. Cost: O(records), on the engine."""
    schema = table.schema
    person, household = (None, None) if schema is None else (schema.person, schema.household)
    records = table.expression
    asked = {"records": records.count()}
    asked |= {"persons": key(records[person]).nunique()} if person else {}
    asked |= {"households": key(records[household]).nunique()} if household else {}
    totals = figures(table, records.aggregate(**asked))
    return People(**{"persons": totals["records"]} | totals, column=person)


def person_of(table: Table) -> str | None:
    """Return the column that says whose record it is, where somebody has several."""
    schema = table.schema
    if schema is None or schema.person is None or schema.person not in table.columns:
        return None
    return schema.person if people(table).repeat else None


def household_of(table: Table) -> str | None:
    """Return the column that says whose household a record is of, where there is one."""
    name = None if table.schema is None else table.schema.household
    return name if name in table.columns else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonKeys:
    """Who the persons are, by their keys in a column."""

    column: str
    keys: pa.Array = field(repr=False)

    def only(self, table: Table, kept: Mask) -> Table:
        """Return the records of some persons, and of nobody else."""
        with quiet(table.source.name):
            staged = table.engine.stage(pa.table({"kept": self.keys.filter(pa.array(kept))}))
            records = table.expression
            return replace(table, expression=records.semi_join(staged, key(records[self.column]) == staged["kept"]))


def repeated_identifiers(table: Table) -> dict[str, int]:
    """Return the identifiers whose values repeat, each with its number of different values.

    An identifier that stands for 15,659 people in 400,123 records says that promises about records are not promises to
    people, unless the schema names a person column. First names and surnames repeat without saying so, and no name says
    so where a key of persons is another one in every record.
    """
    schema = table.schema
    if schema is None or schema.person is not None or schema.persons is PersonsAnswer.RECORDS:
        return {}
    records = table.expression
    named = [name for name in schema.having(Role.IDENTIFIER) if not records[name].type().is_nested()]
    topics = {name: topic(name) for name in named}
    names = [name for name, about in topics.items() if about is None or about.key not in ("person-name", "name-part")]
    if not names:
        return {}
    asked = {f"distinct{i}": key(records[name]).nunique() for i, name in enumerate(names)}
    asked |= {f"present{i}": records[name].count() for i, name in enumerate(names)}
    totals = figures(table, records.aggregate(**asked))
    for i, name in enumerate(names):
        present = int(totals[f"present{i}"])
        if person_key(name) and len(words(name)) > 1 and int(totals[f"distinct{i}"]) == present == table.count():
            return {}
    return {
        name: int(totals[f"distinct{i}"])
        for i, name in enumerate(names)
        if 1 < int(totals[f"distinct{i}"]) < int(totals[f"present{i}"]) <= _MOST * int(totals[f"distinct{i}"])
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """The different profiles of persons: which tuples somebody has records of, and how many of each.

    A pair of tuple and number is one whole number, and a profile the pairs in ascending order.
    """

    holders: Holders
    #: The persons (``whose``) with their profiles (``pairs``), on the engine.
    persons: TableQuery = field(repr=False)
    #: The profile of every person of ``holders``.
    pairs: pa.Array = field(repr=False)
    column: str

    def only(self, table: Table, kept: Mask) -> Table:
        """Return the records of the persons who have some of the profiles; who they are, the executors find out."""
        with quiet(table.source.name):
            staged = table.engine.stage(pa.table({"kept": self.pairs.filter(pa.array(kept))}))
            chosen = self.persons.semi_join(staged, self.persons["pairs"] == staged["kept"])
            records = table.expression
            return replace(table, expression=records.semi_join(chosen, key(records[self.column]) == chosen["whose"]))


def find_profiles(table: Table, records: TableQuery, counts: Counts, column: str, home: str | None = None) -> Profiles:
    """Let the executors find the different profiles of the values of a column, and how many values have each.

    ``records`` are those of the table with the number of their tuple, :data:`PLACE`, and ``counts`` the records of
    every tuple. With ``home``, the households are counted together whose members have the same profiles.

    Raises
    ------
    DataError
        If the table holds other records than those whose tuples were counted.
    """
    assert isinstance(table.engine, SparkEngine)  # noqa: S101 - others hand over the pairs
    names = {"whose": column} if home is None else {"home": home, "whose": column}
    rows = records.select(**{name: key(records[each]) for name, each in names.items()}, place=records[PLACE])
    counted = rows.group_by([*names, "place"]).aggregate(records=rows.count())
    pair = counted["records"] * len(counts) + counted["place"]
    persons = gather_values(counted.mutate(pair=pair), [*names], "pair")
    times, lists = kinds(table, persons if home is None else gather_values(persons, ["home"], "pairs"))
    homes: Counts | None = None
    if home is not None:
        homes = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        times, lists = times[homes], lists.flatten()
    pairs = lists.flatten().to_numpy().astype(np.int64)
    number = max(len(counts), 1)
    held = Holders.of(pairs % number, pc.list_parent_indices(lists).to_numpy(), pairs // number, len(lists))
    holders = replace(held, homes=homes, times=times)
    if int(holders.records.sum()) != int(counts.sum()):
        raise DataError(f"{table.source.name} changed while it was being read.")
    return Profiles(holders=holders, persons=persons, pairs=lists, column=column)


def gather_values(rows: TableQuery, by: Sequence[str], name: str) -> TableQuery:
    """Return the values of a column that belong together, in ascending order, as ``pairs``."""
    gathered = rows.group_by([*by]).aggregate(pairs=rows[name].collect())
    return gathered.mutate(pairs=gathered["pairs"].sort())


def kinds(table: Table, rows: TableQuery) -> tuple[Counts, pa.Array]:
    """Return how many rows have the same ``pairs``, and these, from the engine of a table."""
    found = compute(table, rows.group_by("pairs").aggregate(times=rows.count()))
    lists = found["pairs"].combine_chunks()
    lists = lists if isinstance(lists, pa.Array) else pa.concat_arrays(lists.chunks)
    return found["times"].to_numpy().astype(np.int64), lists


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
    records = table.expression
    named = records.select(own=_text([key(records[name]) for name in names]), who=key(records[person]))
    held = named.group_by(["own", "who"]).aggregate(records=named.count())
    held = held.mutate(crowd=held.count().over(group_by="own"))
    classes = held.group_by("own").aggregate(records=held["records"].sum(), persons=held.count())
    alike = classes.group_by(["records", "persons"]).aggregate(times=classes.count())
    counts = compute(table, alike.order_by(["records", "persons"]))
    lists = gather_values(held.mutate(pair=_text([held["own"], held["records"]])), ["who"], "pair")
    profiles = lists.group_by("pairs").aggregate(persons=lists.count())
    alone = figures(table, profiles.aggregate(alone=(profiles["persons"] == 1).cast("int64").sum()))["alone"]
    return CrowdCounts(
        sizes=counts["records"].to_numpy().astype(np.int64),
        persons=counts["persons"].to_numpy().astype(np.int64),
        times=counts["times"].to_numpy().astype(np.int64),
        alone=int(alone or 0),
        **figures(table, _of_persons(held)),
    )


def _of_persons(held: TableQuery) -> TableQuery:
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


def _text(columns: Sequence[Any]) -> Value:
    """Return values as one text, which tells them apart: each has its length before it."""
    texts = [column.cast("string") for column in columns]
    parts = [(text.length().cast("string") + ":" + text).fill_null("-") for text in texts]
    text: Value = reduce(Value.__add__, parts)
    return text
