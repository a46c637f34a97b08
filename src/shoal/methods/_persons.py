"""Differential privacy of persons: at most so many records of each are used, drawn before anything else."""

from __future__ import annotations

from shoal import tables
from shoal.guarantees import Bounded, Decision, Evidence
from shoal.mechanisms import RandomSource
from shoal.schema import Schema
from shoal.tables import Table

__all__ = ["UNSEEN", "bounded", "bounded_assumption", "bounded_steps", "check_bounded", "unit_problems"]

KEY = 32  # bytes
UNSEEN = "no file can show"


def unit_problems(schema: Schema, title: str, records: int | None) -> list[str]:
    """Return that a number of records per person is given where nothing says whose record it is."""
    if records is None or schema.person is not None:
        return []
    return [
        f"`records_per_person` of `{title}` needs a column that says whose record it is; give it the role `person`, or "
        "leave the parameter out: every record is then a person of its own"
    ]


def bounded_assumption(records: int) -> str:
    """Say what a promise to persons assumes of the person column."""
    most = "One record" if records == 1 else f"At most {records:,} records"
    return (
        f"{most} of every person {'is' if records == 1 else 'are'} used. All records of a person have the same key, "
        "and nobody else's have it; whoever goes by two keys counts as two persons."
    )


def bounded(table: Table, schema: Schema, records: int | None, source: RandomSource) -> Table:
    """Return the table with at most so many records of every person, drawn with fresh random bits; no longer whose."""
    if schema.person is None or records is None:
        return table
    kept = tables.at_most(table, schema.person, records, source.random_bytes(KEY))
    return kept.select(*(name for name in table.columns if name != schema.person))


def bounded_steps(schema: Schema, records: int | None) -> list[Bounded]:
    """Return the step that `bounded` is, if it is one."""
    return [] if schema.person is None or records is None else [Bounded(column=schema.person, records=records)]


def check_bounded(records: int | None, evidence: Evidence) -> Decision:
    """Decide whether the unit of a promise is that of the schema, and the step says what the promise does."""
    person, steps = evidence.plan.schema.person, evidence.steps(Bounded.name)
    wanted = [step.to_json() for step in bounded_steps(evidence.plan.schema, records)]
    if (person is None) != (records is None):
        return False, "the unit is not the one that the schema names: a record, or a person"
    stated = [(step.get("column"), step.get("records")) for step in steps]
    if stated != [(step["column"], step["records"]) for step in wanted]:
        return False, "the steps do not keep as many records of a person as the promise says"
    if records is None:
        return True, "one record; the schema names no person"
    most = "one record of each was" if records == 1 else f"at most {records:,} records of each were"
    return True, f"one person; that {most} kept, drawn at random, {UNSEEN}"
