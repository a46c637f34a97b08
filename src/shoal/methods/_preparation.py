"""What every release starts with: keys, sizes, columns that go, records per person, and where domains came from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal import tables
from shoal.errors import DataError, ParameterError, Problems
from shoal.guarantees import (
    Bounded,
    Counted,
    Decision,
    DomainOrigin,
    Dropped,
    Event,
    Evidence,
    LeftOut,
    Pseudonymized,
    Repeated,
)
from shoal.hierarchies import provenance
from shoal.mechanisms import RandomSource
from shoal.models import Model
from shoal.risk import PeopleRisk, risk_of_classes
from shoal.schema import Missing, Schema
from shoal.tables import Classes, Frequencies, Table, count_values, group, people, repeated_identifiers, schema_of


def check_key(schema: Schema, key: bytes | None) -> None:
    """Refuse pseudonyms without a secret that is long enough."""
    wanted = [attribute.name for attribute in schema if attribute.pseudonym]
    if wanted and key is None:
        raise ParameterError(
            f"column `{wanted[0]}` asks for pseudonyms, which need a secret key",
            hint="give `pseudonym_key` (on the command line: --pseudonym-key FILE)",
        )
    if key is not None and len(key) < 16:
        raise ParameterError("`pseudonym_key` must hold at least 16 bytes.")


def check_unit(method: str, table: Table, *, persons: bool, linked: bool = False) -> None:
    """Refuse to promise to persons what holds for records: where somebody has several, and a method counts records.

    Refuse, too, pseudonyms that link records, unless the method promises something about linked records.
    """
    schema = schema_of(table)
    found = people(table)
    if found.repeat and not persons:
        raise ParameterError(
            f"method `{method}` counts records, and column `{schema.person}` says that the {found.records:,} records "
            f"belong to {found.persons:,} persons; what it promises would not hold for persons."
        )
    numbers = {schema.person: found.persons, schema.household: found.households}
    for attribute in schema:
        name = attribute.name
        if not attribute.pseudonym or (linked and name == schema.person):
            continue
        number = numbers[name] if name in numbers else count_values(table, name).distinct
        if number is not None and number < found.records:
            raise ParameterError(
                f"column `{name}` would link {found.records:,} records as those of {number:,} pseudonyms; no promise "
                "about records covers what they reveal together.",
                hint=f"leave the pseudonym out: pseudonym = false under [columns.{name}]"
                + ('; or keep the links with method `generalize`: links = "kept"' if name == schema.person else ""),
            )


def check_size(models: Sequence[Model], frequencies: Frequencies) -> None:
    """Refuse classes that are larger than the table."""
    problems = Problems()
    if not frequencies.records:
        raise DataError("the table has no records")
    people = "records" if frequencies.holders is None else "persons"
    for model in models:
        size = model.capabilities.minimal_class_size
        if size > frequencies.persons:
            problems.add(
                f"`{model.title}` requires classes of {size:,} {people}; the table has {frequencies.persons:,}"
            )
        if model.capabilities.codes and frequencies.holders is not None:
            problems.add(
                f"`{model.title}` counts records, and the {frequencies.records:,} records belong "
                f"to {frequencies.persons:,} persons; what it promises would not hold for persons"
            )
    problems.raise_as(ParameterError)


def preparation(schema: Schema, table: Table) -> list[Event]:
    """Say what happened to columns and records before anything was protected."""
    events = Dropped.by(schema)
    kept = tuple(name for name in schema.identifiers if schema[name].pseudonym)
    if kept:
        events.append(Pseudonymized(columns=kept))
    repeated = repeated_identifiers(table)
    if repeated:
        events.append(Repeated(columns=tuple(repeated), values=tuple(repeated.values()), records=table.count()))
    if table.left_out:
        columns = tuple(attribute.name for attribute in schema if attribute.missing is Missing.DROP)
        events.append(LeftOut(records=table.left_out, columns=columns))
    return events


def counted(column: str, frequencies: Frequencies, labels: npt.NDArray[np.integer], classes: Classes) -> Counted:
    """Say how many persons were released, and how few a class has; ``labels`` are the classes of the tuples."""
    persons = classes.records
    if frequencies.holders is not None:
        persons = frequencies.holders.present(labels)
    return Counted(
        column=column,
        records=classes.records,
        persons=persons,
        memberships=int(classes.crowds.sum()),
        smallest=int(classes.sizes.min()),
        fewest=int(classes.crowds.min()),
    )


def risk_of_people(
    schema: Schema, frequencies: Frequencies, labels: npt.NDArray[np.integer]
) -> tuple[PeopleRisk, PeopleRisk] | None:
    """Return the risk of persons and households before and after; ``labels`` are the released classes of the tuples.

    None where every record is of a person of its own and no household is named: records then say all.
    """
    if (frequencies.holders is None and frequencies.households is None) or not (labels >= 0).any():
        return None
    before = risk_of_classes(frequencies, group(frequencies.codes)[0].astype(np.int64), schema.person)
    return before, risk_of_classes(frequencies, labels.astype(np.int64), schema.person)


def domains(schema: Schema, frequencies: Frequencies) -> tuple[DomainOrigin, ...]:
    """Return where the domain of every generalised column came from."""
    return tuple(
        DomainOrigin(
            column=hierarchy.attribute,
            provenance=hierarchy.provenance,
            hierarchy_sha256=file_hash(schema, hierarchy.attribute),
        )
        for hierarchy in frequencies.hierarchies
    )


def domains_of_schema(schema: Schema) -> tuple[DomainOrigin, ...]:
    """As `domains`, of all quasi-identifiers, where no hierarchy was made of the values."""
    return domains_of_columns(schema, schema.quasi_identifiers)


def domains_of_columns(schema: Schema, names: Sequence[str]) -> tuple[DomainOrigin, ...]:
    """Return where the domains of some columns came from."""
    return tuple(
        DomainOrigin(column=name, provenance=provenance(schema[name]), hierarchy_sha256=file_hash(schema, name))
        for name in names
    )


def file_hash(schema: Schema, column: str) -> str | None:
    """Return the fingerprint of the file that holds a column's hierarchy, if one does."""
    rule = schema[column].hierarchy
    path = None if rule is None else rule.file
    return None if path is None else hashlib.sha256((schema.folder / path).read_bytes()).hexdigest()


def unfit(schema: Schema, title: str) -> list[str]:
    """Return what in a schema was read off the data or singles records out, each with what to do about it."""
    return drafted(schema, title) + [
        f"`{title}`: column `{attribute.name}` asks for pseudonyms, which single records out; drop it "
        "(pseudonym = false)"
        for attribute in schema
        if attribute.pseudonym
    ]


def drafted(schema: Schema, title: str) -> list[str]:
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


def bounded_assumption(records: int) -> str:
    """Say what a promise to persons assumes of the person column."""
    most = "One record" if records == 1 else f"At most {records:,} records"
    return (
        f"{most} of every person {'is' if records == 1 else 'are'} used. All records of a person have the same key, "
        "and no other person's records have it; anyone with two keys counts as two persons."
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
    return True, f"one person; {UNSEEN} that {most} kept, drawn at random"
