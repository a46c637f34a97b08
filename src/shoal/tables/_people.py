"""Whose records a table holds: how many persons and households, counted on its engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.kernels import Mask
from shoal.schema import Role, topic
from shoal.tables._engine import key, quiet

if TYPE_CHECKING:
    from shoal.tables._table import Table


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
    with quiet(table.source.name):
        found = {
            name: int(value) for name, value in table.engine.fetch(records.aggregate(**asked)).to_pylist()[0].items()
        }
    return People(
        records=found["records"],
        persons=found.get("persons", found["records"]),
        households=found.get("households"),
        column=person,
    )


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
    people, unless the schema names a person column. First names and surnames repeat without saying so.
    """
    schema = table.schema
    if schema is None or schema.person is not None:
        return {}
    records = table.expression
    named = [name for name in schema.having(Role.IDENTIFIER) if not records[name].type().is_nested()]
    names = [name for name in named if not _is_part_of_name(name)]
    if not names:
        return {}
    asked = {f"distinct{i}": key(records[name]).nunique() for i, name in enumerate(names)}
    asked |= {f"present{i}": records[name].count() for i, name in enumerate(names)}
    with quiet(table.source.name):
        (found,) = table.engine.fetch(records.aggregate(**asked)).to_pylist()
    return {
        name: int(found[f"distinct{i}"])
        for i, name in enumerate(names)
        if 1 < int(found[f"distinct{i}"]) < int(found[f"present{i}"])
    }


def _is_part_of_name(column: str) -> bool:
    about = topic(column)
    return about is not None and about.key in ("person-name", "name-part")
