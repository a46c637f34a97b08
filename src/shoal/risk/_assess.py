"""Risk assessment of one table: re-identification, the columns that single records out, and scores of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import notebook, tables
from shoal.errors import SchemaError
from shoal.exact import share
from shoal.risk._attribute_disclosure import AttributeDisclosure, attribute_disclosure
from shoal.risk._partial_knowledge import CombinationRisk, combination_risk_of
from shoal.risk._population import PopulationUniqueness, individual_risk, population_uniqueness
from shoal.risk._reidentification import PeopleRisk, Reidentification, k_map, people_risk, reidentification
from shoal.risk._special_uniques import SpecialUniques, record_scores, summarize_scores
from shoal.risk._survey import Sample, SurveyRisk, household_risks, sample, survey_risk_of
from shoal.schema import Attribute, Flat, Kind, Outside, Role, Schema
from shoal.tables import Classes, Frequencies, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """The separation and distinction of one quasi-identifier."""

    #: Its name.
    column: str
    #: Its number of distinct values (a missing value counts as one).
    distinct: int
    #: Distinct values over records, in (0, 1].
    distinction: float
    #: The share of pairs of records that differ in it, in [0, 1].
    separation: float
    #: The records that would still be unique if the column were removed.
    unique_without: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The risk of a table.

    Parameters
    ----------
    reidentification
        How likely an intruder finds a person's record.
    columns
        What drives it: the quasi-identifiers, the most separating first.
    attributes
        How well sensitive values can be guessed from the class, per sensitive column and level of its hierarchy.
    population
        How many people are unique in the population; None where the sampling fraction is not known.
    notes
        What must be known to read the figures, in sentences.
    people
        The risk of persons and households; None where the schema names neither.
    survey
        The risk against the population that sampling weights stand for; None where the schema names no weight.
    special
        What makes records unique (SUDA2), where that was asked for.
    combinations
        The risk by combination of columns, the most telling first, where that was asked for.
    """

    reidentification: Reidentification
    columns: tuple[Separation, ...]
    attributes: tuple[AttributeDisclosure, ...] = ()
    population: PopulationUniqueness | None = None
    notes: tuple[str, ...] = ()
    people: PeopleRisk | None = None
    survey: SurveyRisk | None = None
    special: SpecialUniques | None = None
    combinations: tuple[CombinationRisk, ...] = ()

    def __repr__(self) -> str:
        risk = self.reidentification
        return f"<Assessment of {risk.records:,} records: {risk.unique:,} unique, smallest class {risk.smallest:,}>"

    def _repr_html_(self) -> str:
        rows = [
            (column.column, f"{column.distinct:,}", share(column.separation), f"{column.unique_without:,}")
            for column in self.columns
        ]
        header = ("column", "distinct values", "pairs told apart", "unique records without it")
        return notebook.render_table(repr(self).strip("<>"), header, rows)


def assess(
    table: Any,
    *,
    population: Table | None = None,
    sampling_fraction: float | None = None,
    schema: Schema | None = None,
    special: bool = False,
    combinations: int = 0,
) -> Assessment:
    """Measure the risk of ``table`` as it is.

    Parameters
    ----------
    table
        A table with a schema that names at least one quasi-identifier; a frame or the name of a file gets a drafted
        one.
    population
        The table of the population that the records were drawn from, for the journalist's risk.
    sampling_fraction
        The share of the population that the table holds, in (0, 1], to estimate how many people are unique in it; by
        default what the sampling weights say, where the schema names one.
    schema
        What the columns mean, for a released table, whose generalised values fit no schema: that of the original.
    special
        Whether to look for special uniques; see :func:`special_uniques`.
    combinations
        The risk of combinations of at most so many columns is measured; see :func:`combination_risk`.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"age": [31, 31, 38], "illness": ["flu", "flu", "cold"]})
    >>> age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
    >>> illness = shoal.Attribute(name="illness", role="sensitive")
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=(age, illness)))
    >>> found = shoal.assess(table, sampling_fraction=0.1)
    >>> found.reidentification.unique, found.attributes[0].certain, found.population.chosen
    (1, 3, 'pitman')
    """
    if schema is None:
        table = tables.described(table, decided=False)
    described = _complete_schema(table, schema)
    flat = _flatten_hierarchies(described, table, released=schema is not None)
    known = population if schema is None else None
    frequencies = tables.encode(flat, sensitive=(), population=known).frequencies
    classes = Classes.from_tuples(frequencies)
    data = _take_sample(flat, asked=special or bool(combinations))
    survey = None if data is None or data.weights is None else survey_risk_of(data, *_design(flat))
    if sampling_fraction is None and survey is not None:
        sampling_fraction = min(survey.records / survey.population, 1.0)
    return Assessment(
        reidentification=reidentification(classes)
        if population is None or schema is None
        else k_map(table, population, schema).reidentification,
        columns=separations(frequencies),
        attributes=_measure_disclosure(
            flat, [name for name in described.sensitive if name in table.columns], frequencies
        ),
        population=None if sampling_fraction is None else population_uniqueness(classes, sampling_fraction),
        notes=(*_repeats(flat, classes.records), *_explain_unused_weight(flat, survey)),
        people=people_risk(flat),
        survey=survey,
        special=summarize_scores(record_scores(data)) if special and data is not None else None,
        combinations=combination_risk_of(data, largest=combinations, k=3) if combinations and data is not None else (),
    )


#: records times columns up to which all secrets are counted in one pass
_TOGETHER = 20_000_000


def _measure_disclosure(table: Table, secrets: Sequence[str], known: Frequencies) -> tuple[AttributeDisclosure, ...]:
    """Measure what is learnt of the secrets: together where their tuples fit into memory, or one after the other."""
    cells = known.records * (len(known.attributes) + len(secrets))
    batches = [tuple(secrets)] if cells <= _TOGETHER else [(name,) for name in secrets]
    return tuple(
        disclosures
        for batch in batches
        if batch
        for disclosures in attribute_disclosure(Classes.from_tuples(tables.encode(table, sensitive=batch).frequencies))
    )


def _repeats(table: Table, records: int) -> Iterator[str]:
    """Say of identifiers whose values repeat that records are counted, not people."""
    for name, number in tables.repeated_identifiers(table).items():
        yield (
            f"Column `{name}` repeats: {number:,} different values in {records:,} records. If it says whose a record "
            "is, give it the role `person`; the risks of people are then shown, too."
        )


def _take_sample(table: Table, *, asked: bool) -> Sample | None:
    """Return the records one by one, where they are looked at so: other figures need the classes alone."""
    weighted = tables.schema_of(table).sampling_weight in table.columns
    return sample(table) if asked or weighted else None


def _design(table: Table) -> tuple[str, tuple[str, ...]]:
    schema = tables.schema_of(table)
    return str(schema.sampling_weight), tuple(name for name in schema.strata if name in table.columns)


def _explain_unused_weight(table: Table, survey: SurveyRisk | None) -> Iterator[str]:
    """Say of a sampling weight that was not used why."""
    name = tables.schema_of(table).sampling_weight
    if name in table.columns and survey is None:
        yield f"`{name}` is not used: somebody has several records, and a sampling weight belongs to a person."


def separations(frequencies: Frequencies) -> tuple[Separation, ...]:
    """Return how well each quasi-identifier separates records, best first."""
    records = frequencies.records
    found = []
    for column, name in enumerate(frequencies.attributes):
        counts = np.bincount(frequencies.codes[:, column], weights=frequencies.counts)
        counts = counts[counts > 0]
        alike = float((counts * (counts - 1)).sum())
        others = replace(frequencies, codes=np.delete(frequencies.codes, column, axis=1))
        found.append(
            Separation(
                column=name,
                distinct=len(counts),
                distinction=len(counts) / records if records else 0.0,
                separation=1 - alike / (records * (records - 1)) if records > 1 else 0.0,
                unique_without=int(np.count_nonzero(Classes.from_tuples(others).sizes == 1)),
            )
        )
    return tuple(sorted(found, key=lambda each: (-each.separation, each.column)))


def _complete_schema(table: Table, schema: Schema | None) -> Schema:
    described = table.schema if schema is None else schema
    if described is None or not set(described.quasi_identifiers) & set(table.columns):
        raise SchemaError(
            "the schema names no quasi-identifier",
            hint='give at least one column `role = "quasi-identifier"`, or let `shoal draft` propose roles',
        )
    return described


def _flatten_hierarchies(schema: Schema, table: Table, *, released: bool) -> Table:
    """Return the table with every quasi-identifier as it is, with no hierarchy but ``value -> *``."""
    attributes = tuple(_flat(attribute, released=released) for attribute in schema if attribute.name in table.columns)
    try:
        return table.with_schema(replace(schema, attributes=attributes))
    except SchemaError:
        if not released:
            raise
    # sensitive values of a release, too, may fit no hierarchy
    return table.with_schema(replace(schema, attributes=tuple(_words(attribute) for attribute in attributes)))


def _flat(attribute: Attribute, *, released: bool) -> Attribute:
    if not attribute.role.known_elsewhere:
        return attribute
    # released values are words, and so are ordinal ones, whose order does not matter here
    if released or attribute.kind is Kind.ORDINAL:
        return _words(attribute)
    return replace(attribute, domain=None, outside=Outside.REFUSE, hierarchy=Flat())


def _words(attribute: Attribute) -> Attribute:
    role = Role.INSENSITIVE if attribute.role is Role.WEIGHT else attribute.role
    return replace(attribute, role=role, kind=Kind.CATEGORICAL, domain=None, outside=Outside.REFUSE, hierarchy=Flat())


def record_risks(table: Table, *, largest: int | None = None) -> pa.Table:
    """Return the risk of every record, in the order of the source.

    Parameters
    ----------
    table
        A table with a schema that names at least one quasi-identifier.
    largest
        The most columns of a minimal sample unique that are looked for; see :func:`special_uniques`.

    Returns
    -------
    pyarrow.Table
        ``record``: its number in the source, from 1. ``class_size``: the records that share its quasi-identifiers.
        ``prosecutor_risk``: 1 / class size. With a sampling weight: ``population``, the estimated people of the class,
        and ``individual_risk``. With households: ``household_risk``, that any member is found. ``suda_score`` and
        ``dis_score``: see :func:`special_uniques`. ``unique_by``: the smallest set of columns on which nobody resembles
        the record. No value of the table is repeated.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"sex": ["f", "f", "m"], "town": ["Ulm", "Rome", "Rome"]})
    >>> columns = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in people.column_names)
    >>> found = shoal.risk.record_risks(shoal.read(people).with_schema(shoal.Schema(attributes=columns)))
    >>> found["unique_by"].to_pylist()
    ['town', 'sex, town', 'sex']
    """
    data = sample(table)
    labels, sizes = data.classes()
    risks = 1 / sizes[labels]
    columns: dict[str, object] = {
        "record": np.arange(1, len(data) + 1),
        "class_size": sizes[labels],
        "prosecutor_risk": risks,
    }
    if data.weights is not None:
        people = data.people(labels, sizes)
        risks = individual_risk(sizes, people)[labels]
        columns |= {"population": people[labels], "individual_risk": risks}
    if data.homes is not None:
        columns["household_risk"] = household_risks(risks, data.homes)[data.homes]
    scored = record_scores(data, largest=largest)
    named = scored.smallest()
    columns |= {
        "suda_score": scored.scores,
        "dis_score": scored.intrusions,
        "unique_by": [", ".join(named[row]) if row in named else None for row in range(len(data))],
    }
    return pa.table(columns)
