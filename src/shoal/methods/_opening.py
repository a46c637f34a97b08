"""The opening of every method: checks of keys, sizes and units, the first steps, and the domains."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from shoal.errors import DataError, ParameterError, Problems
from shoal.guarantees import (
    DomainOrigin,
    Dropped,
    Event,
    ExpectedStep,
    LeftOut,
    Pseudonymized,
    Repeated,
    Rounded,
    exactly,
    maybe,
)
from shoal.hierarchies import provenance
from shoal.models import Model
from shoal.schema import Schema
from shoal.schema.rules import canonical_file
from shoal.tables import Frequencies, Table, count_values, people, repeated_identifiers, schema_of


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
    counts = people(table)
    if counts.repeat and not persons:
        raise ParameterError(
            f"method `{method}` counts records, and column `{schema.person}` says that the {counts.records:,} records "
            f"belong to {counts.persons:,} persons; what it promises would not hold for persons."
        )
    numbers = {schema.person: counts.persons, schema.household: counts.households}
    for attribute in schema:
        name = attribute.name
        if not attribute.pseudonym or (linked and name == schema.person):
            continue
        number = numbers[name] if name in numbers else count_values(table, name).distinct
        if number is not None and number < counts.records:
            raise ParameterError(
                f"column `{name}` would link {counts.records:,} records as those of {number:,} pseudonyms; no promise "
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
    """Return the steps that were taken before anything was protected."""
    events = [*Dropped.by(schema), *Pseudonymized.by(schema), *Rounded.by(schema)]
    repeated = repeated_identifiers(table)
    if repeated:
        events.append(Repeated(columns=tuple(repeated), values=tuple(repeated.values()), records=table.count()))
    if table.left_out:
        events.append(LeftOut(records=table.left_out, columns=LeftOut.possible_columns(schema)))
    return events


def expected_preparation(schema: Schema) -> list[ExpectedStep]:
    """Return what a plan says of the steps that are taken before anything is protected."""
    missing = LeftOut.possible_columns(schema)
    return [
        *exactly(*Dropped.by(schema), *Pseudonymized.by(schema), *Rounded.by(schema)),
        *([maybe(Repeated)] if schema.person is None and schema.identifiers else []),
        *([maybe(LeftOut, columns=missing)] if missing else []),
    ]


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
    """Return the fingerprint of the file that holds a column's hierarchy, as a release writes it, if one does."""
    rule = schema[column].hierarchy
    if rule is None or rule.file is None:
        return None
    return hashlib.sha256(canonical_file(rule, schema.folder)).hexdigest()
