"""Requirements of differential privacy on a schema, and the records of a person that it uses."""

from __future__ import annotations

from shoal import tables
from shoal.guarantees import (
    Bounded,
    Decision,
    Evidence,
)
from shoal.mechanisms import RandomSource
from shoal.schema import Schema
from shoal.tables import Table


def unfit(schema: Schema, title: str) -> list[str]:
    """Return what in a schema was read off the data or singles records out, each with what to do about it."""
    return draft_problems(schema, title) + [
        f"`{title}`: column `{attribute.name}` asks for pseudonyms, which single records out; drop it "
        "(pseudonym = false)"
        for attribute in schema
        if attribute.pseudonym
    ]


def draft_problems(schema: Schema, title: str) -> list[str]:
    """Return that a schema was read off the data, with what to do about it, where it was."""
    if not schema.guessed:
        return []
    return [
        f"`{title}` needs a schema that a person wrote or confirmed, and this one is a draft: check that "
        "nothing in it was copied from the data, then remove the line `guessed = true`"
    ]


KEY = 32  # bytes

UNSEEN = "no file can show"


def unit_problems(schema: Schema, title: str, records: int | None) -> list[str]:
    """Return that a number of records per person is given where nothing says whose record it is."""
    if records is None or schema.person is not None:
        return []
    return [
        f"`records_per_person` of `{title}` needs a column that says whose record it is; give it the role `person`, or "
        "leave the parameter out: every record then counts as a separate person"
    ]


def assume_limit(records: int) -> str:
    """Say what a promise to persons assumes of the person column."""
    most = "One record" if records == 1 else f"At most {records:,} records"
    return (
        f"{most} of every person {'is' if records == 1 else 'are'} used. All records of a person have the same key, "
        "and no other person's records have it; anyone with two keys counts as two persons."
    )


def limit_records(table: Table, schema: Schema, records: int | None, source: RandomSource) -> Table:
    """Return the table with at most so many records of every person, drawn with fresh random bits; no longer whose."""
    if schema.person is None or records is None:
        return table
    kept = tables.at_most(table, schema.person, records, source.random_bytes(KEY))
    return kept.select(*(name for name in table.columns if name != schema.person))


def check_limit(records: int | None, evidence: Evidence) -> Decision:
    """Decide whether the unit of a promise is that of the schema, and the step says what the promise does."""
    schema = evidence.plan.schema
    if (schema.person is None) != (records is None):
        return False, "the unit is not the one that the schema names: a record, or a person"
    if evidence.steps(Bounded) != Bounded.by(schema, records):
        return False, "the steps do not keep as many records of a person as the promise says"
    if records is None:
        return True, "one record; the schema names no person"
    most = "one record of each was" if records == 1 else f"at most {records:,} records of each were"
    return True, f"one person; {UNSEEN} that {most} kept, drawn at random"
