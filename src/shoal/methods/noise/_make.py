"""A release of noisy centroids.

Everything that is put into the :class:`Release` for others to see is a function of the plan, of the number of records,
of the noisy centroids and, where it is taken as public, of the partition; what else is known of the input goes into
its private report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import tables
from shoal.errors import DataError, ParameterError
from shoal.guarantees import Event, Guarantee, column
from shoal.mechanisms import RandomSource
from shoal.methods.base import DATA, Part, PrivateReport, Result, Work
from shoal.methods.classes import QuasiIdentifier, quasi_identifiers
from shoal.methods.noise._centroids import DPRelease, NoisyCentroids, dp_microaggregate
from shoal.methods.noise._columns import Columns, NumberColumn, Records
from shoal.methods.noise._design import (
    NOISE_SHARE,
    Clustered,
    Concentrated,
    ConceptsDrawn,
    KeptApart,
    Noised,
    design,
    one_number,
)
from shoal.methods.noise._promises import EpsilonBudget, privacy_promise
from shoal.methods.truthful import released
from shoal.models import Classes
from shoal.risk import Reidentification, reidentification
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables import EncodedRecords, Table

if TYPE_CHECKING:
    from shoal.methods.noise._method import DPMicroaggregation
    from shoal.plan import Plan


def perturb(work: Work, method: DPMicroaggregation) -> Result:
    watch, left_out = work.watch, work.table.left_out
    columns = Columns.of(work.schema)
    method = method.filling(columns)
    if not columns.names:
        raise ParameterError("no released column has more than one declared value: there is nothing to protect")
    watch.step(0, 3, "reading the records")
    opened = work.open(method=method)
    plan, table = opened.plan, opened.table
    work = opened.limit_records(_budget(plan).records_per_person)
    records = _records(method, _encoded(work.table), columns)
    if not len(records):
        raise DataError("there are no records to release")
    if isinstance(method.k, int) and method.k > len(records):
        raise ParameterError(f"`k` of `{method.title}` must be at most the number of records; got {method.k:,}.")
    watch.step(1, 3, "clustering and drawing noise")
    drawn = draw(plan, method, columns, records, source=work.source)
    watch.step(2, 3, "writing the records")
    return _released(work, drawn, _private(plan.schema, drawn, records, left_out + table.left_out))


def _released(work: Work, drawn: Perturbed, private: PrivateReport) -> Result:
    plan, table, schema, made = work.plan, work.table, work.schema, drawn.release
    promise = privacy_promise(
        made.target,
        k=made.k,
        epsilon=made.design.epsilon,
        delta=made.design.delta,
        cryptographic=work.source.cryptographic,
        records_per_person=_budget(plan).records_per_person,
    )
    parts = tuple(
        Part(
            file=file,
            table=tables.repeat(table, rows, np.ones(len(rows), np.int64)),
            records=len(rows),
            columns=tuple(column(schema[name]) for name in rows.column_names),
        )
        for file, rows in drawn.files.items()
    )
    result = Result(
        plan=plan,
        table=parts[0].table,
        guarantee=Guarantee(promises=(promise,), events=drawn.events),
        measures=_measures(drawn.events),
        after=min((_risk(rows, schema) for rows in drawn.files.values()), key=lambda risk: risk.smallest),
        records=parts[0].records,
        domains=plan.method.domains(schema),
        private=private,
        parts=parts if len(parts) > 1 else (),
    )
    return work.release(result)


# -- what goes in


def _encoded(table: Table) -> EncodedRecords:
    schema = table.schema
    assert schema is not None  # noqa: S101 - with_schema was called
    names = [each.name for each in released(schema)]
    flat = replace(schema, attributes=tuple(_as_it_is(schema[name]) for name in names))
    return tables.encode_records(replace(table.select(*names), schema=flat), sensitive=())


def _as_it_is(attribute: Attribute) -> Attribute:
    """Return the attribute as a quasi-identifier; how numbers generalise does not matter here."""
    hierarchy = attribute.hierarchy if attribute.kind is Kind.CATEGORICAL else None
    return replace(attribute, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchy)


def _records(method: DPMicroaggregation, encoded: EncodedRecords, columns: Columns) -> Records:
    numbers, concepts = columns.numbers, columns.concepts
    assert encoded.table.schema is not None  # noqa: S101 - it was given
    values = {
        quasi_identifier.attribute.name: quasi_identifier
        for quasi_identifier in quasi_identifiers(encoded.table.schema, encoded)
    }
    numeric = [_filled(method, number, values[number.name]) for number in numbers]
    codes = [concept.codes(values[concept.name].values)[values[concept.name].places] for concept in concepts]
    return Records(
        numeric=np.stack(numeric, axis=1) if numeric else np.empty((0, 0)),
        codes=np.stack(codes, axis=1) if codes else np.empty((0, 0), np.int32),
        taxonomies=tuple(concept.taxonomy for concept in concepts),
        lower=np.array([number.lower for number in numbers]),
        upper=np.array([number.upper for number in numbers]),
    )


def _filled(method: DPMicroaggregation, number: NumberColumn, own: QuasiIdentifier) -> NDArray[np.float64]:
    """Return the numbers of a column, missing ones as they were declared to be."""
    numbers = own.numbers()
    assert numbers is not None  # noqa: S101 - it is not categorical
    if number.name not in method.fill:
        return numbers
    stands = number.place(method.fill[number.name])
    assert stands is not None  # noqa: S101 - the plan was checked
    return np.where(np.isnan(numbers), stands, numbers)


# -- what is drawn


@dataclass(frozen=True, kw_only=True, eq=False)
class Perturbed:
    """What was drawn."""

    plan: Plan
    method: DPMicroaggregation
    #: The columns, and their noisy centroids.
    columns: Columns
    release: DPRelease
    #: The number of records.
    records: int

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The steps."""
        return tuple(_events(self))

    @cached_property
    def files(self) -> dict[str, pa.Table]:
        """The released tables by the name of their file, each sorted by its values: in no order of the input's."""
        return _files(self)

    def names(self, part: NoisyCentroids) -> tuple[str, ...]:
        """Return the columns of a set of attributes, in the order of the schema."""
        own = {self.columns.numbers[position].name for position in part.attributes.numeric}
        own |= {self.columns.concepts[position].name for position in part.attributes.categorical}
        return tuple(name for name in self.plan.schema.names if name in own)

    @property
    def per_person(self) -> int:
        return _budget(self.plan).records_per_person or 1

    def file(self, part: NoisyCentroids) -> str:
        """Return the data file of a set of attributes."""
        if self.release.target != "original" or len(self.release.parts) == 1:
            return DATA
        return f"set-{self.release.parts.index(part) + 1}.parquet"


def draw(
    plan: Plan, method: DPMicroaggregation, columns: Columns, records: Records, *, source: RandomSource
) -> Perturbed:
    """Cluster records and draw the noise of their centroids; all that is random or private happens here."""
    budget = _budget(plan)
    made = dp_microaggregate(
        records,
        epsilon=budget.total,
        delta=Fraction(budget.delta),
        k=method.k,
        target=method.target,
        noise=method.noise,
        sets=method.attribute_sets(columns),
        split=method.shares(columns.names),
        reference_points=method.reference_points,
        records_per_person=budget.records_per_person,
        source=source,
    )
    return Perturbed(plan=plan, method=method, columns=columns, release=made, records=len(records))


def _budget(plan: Plan) -> EpsilonBudget:
    (budget,) = plan.models
    assert isinstance(budget, EpsilonBudget)  # noqa: S101 - the plan asks for it and for nothing else
    return budget


def _files(run: Perturbed) -> dict[str, pa.Table]:
    steps = {event.column: event.rounded_to for event in run.events if isinstance(event, Noised)}
    columns: dict[str, dict[str, pa.Array]] = {}
    for part, rows in zip(run.release.parts, run.release.table(), strict=True):
        own = columns.setdefault(run.file(part), {})
        for position, values in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            number = run.columns.numbers[position]
            own[number.name] = number.released(values, steps[number.name])
        for position, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            own[run.columns.concepts[position].name] = run.columns.concepts[position].released(codes)
    for constant in run.columns.constants:
        first = next(iter(columns.values()))
        first[constant.name] = constant.released(np.full(run.records, constant.lower), Fraction(1))
    return {file: _in_columns(own, run.plan.schema) for file, own in columns.items()}


def _in_columns(columns: dict[str, pa.Array], schema: Schema) -> pa.Table:
    names = [name for name in schema.names if name in columns]
    return pa.table({name: columns[name] for name in names})


def _events(run: Perturbed) -> list[Event]:
    made = run.release
    events: list[Event] = []
    for part in made.parts:
        sizes, counts = np.unique(part.sizes, return_counts=True)
        events.append(
            Clustered(
                target=made.target,
                variant=run.method.variant,
                columns=run.names(part),
                clustering=part.clustering,
                records=run.records,
                k=made.k,
                sizes=tuple(zip(sizes.tolist(), counts.tolist(), strict=True)),
                file=run.file(part),
            )
        )
        events += [_noised(run, part, position) for position in part.attributes.numeric]
        events += [_drawn(run, part, position) for position in part.attributes.categorical]
    if made.design.delta:
        spent = {"epsilon_spent": made.design.epsilon, "delta_spent": made.design.delta}
        events.append(Concentrated(rho=made.design.rho, **spent))
    files = tuple(dict.fromkeys(run.file(part) for part in made.parts))
    return [*events, *([KeptApart(files=files)] if len(files) > 1 else [])]


def _noised(run: Perturbed, part: NoisyCentroids, place: int) -> Noised:
    number, made = run.columns.numbers[place], run.release
    event = Noised.of(
        number,
        made.design.costs[place],
        target=made.target,
        kind=part.kind,
        clusters=len(part.sizes),
        sizes=tuple(np.unique(part.sizes).tolist()) if made.target == "partition" else (made.k,),
        natural_order=part.clustering == "natural order",
        per_person=run.per_person,
    )
    return event.rounded(number, made.k, run.method.decimals)


def _drawn(run: Perturbed, part: NoisyCentroids, place: int) -> ConceptsDrawn:
    cost = run.release.design.costs[len(run.columns.numbers) + place]
    return ConceptsDrawn.of(
        run.columns.concepts[place],
        cost,
        target=run.release.target,
        clusters=len(part.sizes),
        per_person=run.per_person,
    )


def forecast(method: DPMicroaggregation, budget: EpsilonBudget, schema: Schema, records: int) -> dict[str, float]:
    """Return the figures of the noise, which the plan and the number of records decide: nothing is drawn."""
    columns = Columns.of(schema)
    if not columns.names or records < 1:
        return {}
    sets = method.attribute_sets(columns)
    made = design(
        target=method.target,
        sets=sets,
        records=records,
        spans=columns.widths,
        epsilon=budget.total,
        delta=Fraction(budget.delta),
        k=method.k,
        split=method.shares(columns.names),
        noise=method.noise,
        records_per_person=budget.records_per_person,
    )
    events = [
        Noised.of(
            columns.numbers[position],
            made.costs[position],
            target=made.target,
            kind=made.kind(attributes),
            clusters=made.clusters,
            sizes=(min(made.k, records),),
            natural_order=made.target == "original" and one_number(attributes),
            per_person=budget.records_per_person or 1,
        )
        for attributes in sets
        for position in attributes.numeric
    ]
    return _measures(events)


# -- what leaves


def _measures(events: Sequence[Event]) -> dict[str, float]:
    """Say how wide the noise is: public, and what decides whether a release is of any use."""
    return {
        NOISE_SHARE.format(column=event.column): event.share_of_domain for event in events if isinstance(event, Noised)
    }


def _risk(rows: pa.Table, schema: Schema) -> Reidentification:
    names = [name for name in rows.column_names if name in schema.quasi_identifiers] or rows.column_names
    return reidentification(Classes(sizes=tables.different(rows.select(names))[1]))


# -- what stays


def _private(schema: Schema, drawn: Perturbed, records: Records, left_out: int) -> PrivateReport:
    columns = drawn.columns
    quasi = [position for position, each in enumerate(columns.numbers) if each.name in schema.quasi_identifiers]
    coded = [position for position, each in enumerate(columns.concepts) if each.name in schema.quasi_identifiers]
    keys = np.concatenate([records.numeric[:, quasi], records.codes[:, coded]], axis=1)
    _, sizes = np.unique(keys, axis=0, return_counts=True)
    return PrivateReport(
        records=len(records),
        left_out=left_out,
        released=len(records),
        loss=_loss(drawn, records),
        before=reidentification(Classes(sizes=sizes.astype(np.int64))),
    )


def _loss(drawn: Perturbed, records: Records) -> float:
    """Return how far the released distributions of the columns are from those of the input, on average, in [0, 1].

    Of numbers the earth mover's distance over the width of the domain; of categories half the sum of differences.
    """
    distances = []
    for part, rows in zip(drawn.release.parts, drawn.release.table(), strict=True):
        for position, values in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            moved = np.abs(np.sort(values) - np.sort(records.numeric[:, position])).mean()
            distances.append(float(moved) / float(drawn.columns.numbers[position].width))
        for position, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            taxonomy = drawn.columns.concepts[position].taxonomy
            counts = taxonomy.counts(codes) - taxonomy.counts(records.codes[:, position])
            distances.append(float(np.abs(counts).sum()) / (2 * len(records)))
    return float(np.mean(distances)) if distances else 0.0
