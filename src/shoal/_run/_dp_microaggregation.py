"""A release of noisy centroids.

Everything that is put into the :class:`Release` for others to see is a function of the plan, of the number of records,
of the noisy centroids and, where it is taken as public, of the partition; what else is known of the input goes into
its private report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import tables
from shoal._run._domains import _file_hash
from shoal._run._randomized import randomness
from shoal.closeness._columns import QuasiIdentifier, quasi_identifiers
from shoal.errors import DataError, ParameterError, Problems
from shoal.guarantees import Dropped, Event, Guarantee, Ordered
from shoal.guarantees._certificate import Domain, column
from shoal.mechanisms import RandomSource
from shoal.microaggregation import (
    DPMicroaggregation,
    DPRelease,
    NoisyCentroids,
    Records,
    dp_microaggregate,
    marginality_sensitivity,
)
from shoal.microaggregation._budget import EpsilonBudget
from shoal.microaggregation._dp_columns import ConceptColumn, NumberColumn, concept_columns, number_columns
from shoal.microaggregation._dp_events import Clustered, ConceptsDrawn, Noised
from shoal.microaggregation._dp_method import covered
from shoal.microaggregation._dp_promise import privacy_promise
from shoal.models import Classes
from shoal.plan import Plan
from shoal.recoding import Progress
from shoal.recoding._method import Watch
from shoal.release import DATA, Part, PrivateReport, Release
from shoal.risk import Reidentification, reidentification
from shoal.schema import Attribute, Kind, Missing, Provenance, Role, Schema
from shoal.tables import EncodedRecords, Table

__all__ = ["perturb"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """What a release is made from; columns with a single value have no noise and are apart."""

    plan: Plan
    method: DPMicroaggregation
    numbers: tuple[NumberColumn, ...]
    constants: tuple[NumberColumn, ...]
    concepts: tuple[ConceptColumn, ...]
    release: DPRelease
    records: int

    def columns(self, part: NoisyCentroids) -> tuple[str, ...]:
        """Return the columns of a set of attributes, in the order of the schema."""
        own = {self.numbers[place].name for place in part.attributes.numeric}
        own |= {self.concepts[place].name for place in part.attributes.categorical}
        return tuple(name for name in self.plan.schema.names if name in own)

    def file(self, part: NoisyCentroids) -> str:
        """Return the data file of a set of attributes."""
        if self.release.target != "original" or len(self.release.parts) == 1:
            return DATA
        return f"set-{self.release.parts.index(part) + 1}.parquet"


def perturb(
    plan: Plan,
    table: Table,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    source: RandomSource,
) -> Release:
    """Carry out a plan whose method adds noise to the centroids of clusters."""
    method, budget, watch = plan.method, plan.models[0], Watch(progress, cancelled)
    assert isinstance(method, DPMicroaggregation) and isinstance(budget, EpsilonBudget)  # noqa: S101, PT018
    table, left_out = table.with_schema(plan.schema), table.left_out
    every, concepts = number_columns(plan.schema), concept_columns(plan.schema)
    numbers = tuple(each for each in every if each.width)
    watch.step(0, 3, "reading the records")
    encoded = _encoded(table)
    records = _records(method, encoded, numbers, concepts)
    if not len(records):
        raise DataError("there are no records to release")
    if isinstance(method.k, int) and method.k > len(records):
        raise ParameterError(f"`k` of `{method.title}` must be at most the number of records; got {method.k:,}.")
    names = [*(each.name for each in numbers), *(each.name for each in concepts)]
    watch.step(1, 3, "clustering and drawing noise")
    made = dp_microaggregate(
        records,
        epsilon=budget.total,
        k=method.k,
        target=method.target,
        sets=method.attribute_sets(numbers, concepts),
        split=method.shares(names),
        reference_points=method.reference_points,
        source=source,
    )
    watch.step(2, 3, "writing the records")
    run = _Run(
        plan=plan,
        method=method,
        numbers=numbers,
        constants=tuple(each for each in every if not each.width),
        concepts=concepts,
        release=made,
        records=len(records),
    )
    events = _events(run)
    files = _files(run, {event.column: event.rounded_to for event in events if isinstance(event, Noised)})
    return _released(run, table, files, events, source, _private(run, records, files, left_out + table.left_out))


def _released(
    run: _Run,
    table: Table,
    files: dict[str, pa.Table],
    events: list[Event],
    source: RandomSource,
    private: PrivateReport,
) -> Release:
    schema = run.plan.schema
    made = {name: tables.repeat(table, rows, np.ones(len(rows), np.int64)) for name, rows in files.items()}
    promise = privacy_promise(
        run.release.target,
        k=run.release.k,
        epsilon=sum(run.release.epsilons, Fraction(0)),
        cryptographic=source.cryptographic,
        left_out=tuple(each.name for each in covered(schema) if each.missing is Missing.DROP),
    )
    parts = tuple(
        Part(
            file=name,
            table=each,
            records=run.records,
            columns=tuple(column(schema[own]) for own in each.columns),
        )
        for name, each in made.items()
    )
    return Release(
        plan=run.plan,
        table=parts[0].table,
        guarantee=Guarantee(promises=(promise,), events=tuple(events), randomness=randomness(source)),
        measures=_measures(events),
        after=min((_risk(rows, schema) for rows in files.values()), key=lambda risk: risk.smallest),
        records=run.records,
        domains=tuple(
            Domain(column=each.name, provenance=Provenance.DECLARED, hierarchy_sha256=_file_hash(schema, each.name))
            for each in covered(schema)
        ),
        private=private,
        parts=parts if len(parts) > 1 else (),
    )


# -- what goes in


def _encoded(table: Table) -> EncodedRecords:
    schema = table.schema
    assert schema is not None  # noqa: S101 - with_schema was called
    names = [each.name for each in covered(schema)]
    flat = replace(schema, attributes=tuple(_as_it_is(schema[name]) for name in names))
    return tables.encode_records(replace(table.select(*names), schema=flat), sensitive=())


def _as_it_is(attribute: Attribute) -> Attribute:
    """Return the attribute as a quasi-identifier; how numbers generalise does not matter here."""
    hierarchy = attribute.hierarchy if attribute.kind is Kind.CATEGORICAL else None
    return replace(attribute, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchy)


def _records(
    method: DPMicroaggregation,
    encoded: EncodedRecords,
    numbers: Sequence[NumberColumn],
    concepts: Sequence[ConceptColumn],
) -> Records:
    assert encoded.table.schema is not None  # noqa: S101 - it was given
    values = {each.attribute.name: each for each in quasi_identifiers(encoded.table.schema, encoded)}
    problems = Problems()
    numeric = [_filled(method, each, values[each.name], problems) for each in numbers]
    problems.raise_as(DataError)
    codes = [each.codes(values[each.name].values)[values[each.name].places] for each in concepts]
    return Records(
        numeric=np.stack(numeric, axis=1) if numeric else np.empty((0, 0)),
        codes=np.stack(codes, axis=1) if codes else np.empty((0, 0), np.int32),
        taxonomies=tuple(each.taxonomy for each in concepts),
        lower=np.array([each.lower for each in numbers]),
        upper=np.array([each.upper for each in numbers]),
    )


def _filled(
    method: DPMicroaggregation, number: NumberColumn, own: QuasiIdentifier, problems: Problems
) -> NDArray[np.float64]:
    """Return the numbers of a column, missing ones as they were declared to be."""
    found = own.numbers()
    assert found is not None  # noqa: S101 - it is not categorical
    missing = np.isnan(found)
    if not missing.any():
        return found
    stands = number.place(method.fill[number.name]) if number.name in method.fill else None
    if stands is None:
        problems.add(
            f"column `{number.name}`: {int(missing.sum()):,} records miss a value, which has no mean; declare what "
            f"stands for it (`fill` of `{method.title}`; --option 'fill={{{number.name}=...}}'), or leave these "
            'records out (missing = "drop" in the schema)'
        )
        return found
    return np.where(missing, stands, found)


# -- what leaves


def _files(run: _Run, steps: dict[str, Fraction]) -> dict[str, pa.Table]:
    """Return the released tables, each sorted by its values: their order holds nothing of the input's."""
    columns: dict[str, dict[str, pa.Array]] = {}
    for part, rows in zip(run.release.parts, run.release.table(), strict=True):
        own = columns.setdefault(run.file(part), {})
        for place, values in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            number = run.numbers[place]
            own[number.name] = number.released(values, steps[number.name])
        for place, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            own[run.concepts[place].name] = run.concepts[place].released(codes)
    for constant in run.constants:
        first = next(iter(columns.values()))
        first[constant.name] = constant.released(np.full(run.records, constant.lower), Fraction(1))
    return {file: _sorted(own, run.plan.schema) for file, own in columns.items()}


def _sorted(columns: dict[str, pa.Array], schema: Schema) -> pa.Table:
    names = [name for name in schema.names if name in columns]
    return pa.table({name: columns[name] for name in names}).sort_by([(name, "ascending") for name in names])


def _events(run: _Run) -> list[Event]:
    schema, made = run.plan.schema, run.release
    events: list[Event] = [Dropped(columns=schema.identifiers)] if schema.identifiers else []
    for part in made.parts:
        sizes, counts = np.unique(part.sizes, return_counts=True)
        events.append(
            Clustered(
                target=made.target,
                variant=run.method.variant,
                columns=run.columns(part),
                clustering=part.clustering,
                records=run.records,
                k=made.k,
                sizes=tuple(zip(sizes.tolist(), counts.tolist(), strict=True)),
                file=run.file(part),
            )
        )
        events += [_noised(run, part, place) for place in part.attributes.numeric]
        events += [_drawn(run, part, place) for place in part.attributes.categorical]
    return [*events, Ordered()]


def _noised(run: _Run, part: NoisyCentroids, place: int) -> Noised:
    number, made = run.numbers[place], run.release
    event = Noised(
        column=number.name,
        target=made.target,
        share=made.epsilons[place],
        clusters=len(part.sizes),
        width=number.width,
        sizes=tuple(np.unique(part.sizes).tolist()) if made.target == "partition" else (made.k,),
        natural_order=part.clustering == "natural order",
        rounded_to=Fraction(1),
        unit={Kind.DATE: "days", Kind.ORDINAL: "ranks"}.get(number.attribute.kind, ""),
    )
    # the least noise that a cluster may have decides, so that the step says nothing about the sizes
    least = event.scale(2 * made.k - 1 if made.target == "partition" else made.k)
    return replace(event, rounded_to=number.step(least, run.method.decimals.get(number.name)))


def _drawn(run: _Run, part: NoisyCentroids, place: int) -> ConceptsDrawn:
    concept, made, clusters = run.concepts[place], run.release, len(part.sizes)
    share = made.epsilons[len(run.numbers) + place]
    return ConceptsDrawn(
        column=concept.name,
        target=made.target,
        share=share,
        clusters=clusters,
        concepts=concept.taxonomy.count,
        missing=None in concept.labels,
        sensitivity=marginality_sensitivity(concept.taxonomy),
        choice=share / clusters if made.target == "original" else share,
    )


def _measures(events: Sequence[Event]) -> dict[str, float | None]:
    """Say how wide the noise is: public, and what decides whether a release is of any use."""
    return {
        f"noise of {event.column}, share of domain": event.scale(min(event.sizes)) / float(event.width)
        for event in events
        if isinstance(event, Noised)
    }


def _risk(rows: pa.Table, schema: Schema) -> Reidentification:
    names = [name for name in rows.column_names if name in schema.quasi_identifiers] or rows.column_names
    counts = rows.select(names).group_by(names).aggregate([([], "count_all")])["count_all"]
    return reidentification(Classes(sizes=counts.to_numpy().astype(np.int64)))


# -- what stays


def _private(run: _Run, records: Records, files: dict[str, pa.Table], left_out: int) -> PrivateReport:
    quasi = [place for place, each in enumerate(run.numbers) if each.name in run.plan.schema.quasi_identifiers]
    coded = [place for place, each in enumerate(run.concepts) if each.name in run.plan.schema.quasi_identifiers]
    keys = np.concatenate([records.numeric[:, quasi], records.codes[:, coded]], axis=1)
    _, sizes = np.unique(keys, axis=0, return_counts=True)
    return PrivateReport(
        records=run.records,
        left_out=left_out,
        released=run.records,
        loss=_loss(run, records),
        before=reidentification(Classes(sizes=sizes.astype(np.int64))),
    )


def _loss(run: _Run, records: Records) -> float:
    """Return how far the released distributions of the columns are from those of the input, on average, in [0, 1].

    Of numbers the earth mover's distance over the width of the domain; of categories half the sum of differences.
    """
    distances = []
    for part, rows in zip(run.release.parts, run.release.table(), strict=True):
        for place, released in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            moved = np.abs(np.sort(released) - np.sort(records.numeric[:, place])).mean()
            distances.append(float(moved) / float(run.numbers[place].width))
        for place, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            taxonomy = run.concepts[place].taxonomy
            counts = taxonomy.counts(codes) - taxonomy.counts(records.codes[:, place])
            distances.append(float(np.abs(counts).sum()) / (2 * run.records))
    return float(np.mean(distances)) if distances else 0.0
