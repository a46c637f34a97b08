"""A release of noisy centroids.

Everything that is put into the :class:`Release` for others to see is a function of the plan, of the number of records,
of the noisy centroids and, where it is taken as public, of the partition; what else is known of the input goes into
its private report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import tables
from shoal.errors import DataError, ParameterError, Problems
from shoal.guarantees import Domain, Event, Guarantee, column, randomness
from shoal.mechanisms import RandomSource
from shoal.methods._preparation import file_hash
from shoal.methods.base import Made, Part, PrivateReport, Work
from shoal.methods.classes import Records
from shoal.methods.classes._columns import QuasiIdentifier, quasi_identifiers
from shoal.methods.noise._dp_columns import NumberColumn, covered
from shoal.methods.noise._dp_events import Noised
from shoal.methods.noise._dp_promise import privacy_promise
from shoal.methods.noise._dp_release import Columns, Perturbed, draw
from shoal.models import Classes
from shoal.risk import Reidentification, reidentification
from shoal.schema import Attribute, Kind, Missing, Provenance, Role, Schema
from shoal.tables import EncodedRecords, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.noise._dp_method import DPMicroaggregation

__all__ = ["perturb"]


def perturb(work: Work, method: DPMicroaggregation) -> Made:
    """Carry out a plan whose method adds noise to the centroids of clusters."""
    plan, watch = work.plan, work.watch
    table, left_out = work.table.with_schema(plan.schema), work.table.left_out
    columns = Columns.of(plan.schema)
    if not columns.names:
        raise ParameterError("no released column has more than one declared value: there is nothing to protect")
    watch.step(0, 3, "reading the records")
    records = _records(method, _encoded(table), columns)
    if not len(records):
        raise DataError("there are no records to release")
    if isinstance(method.k, int) and method.k > len(records):
        raise ParameterError(f"`k` of `{method.title}` must be at most the number of records; got {method.k:,}.")
    watch.step(1, 3, "clustering and drawing noise")
    drawn = draw(plan, method, columns, records, source=work.source)
    watch.step(2, 3, "writing the records")
    return _released(plan, table, drawn, work.source, _private(plan.schema, drawn, records, left_out + table.left_out))


def _released(plan: Brief, table: Table, drawn: Perturbed, source: RandomSource, private: PrivateReport) -> Made:
    schema, made = plan.schema, drawn.release
    promise = privacy_promise(
        made.target,
        k=made.k,
        epsilon=sum(made.epsilons, Fraction(0)),
        cryptographic=source.cryptographic,
        left_out=tuple(each.name for each in covered(schema) if each.missing is Missing.DROP),
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
    return Made(
        plan=plan,
        table=parts[0].table,
        guarantee=Guarantee(
            promises=(promise,), events=drawn.events, randomness=randomness(cryptographic=source.cryptographic)
        ),
        measures=_measures(drawn.events),
        after=min((_risk(rows, schema) for rows in drawn.files.values()), key=lambda risk: risk.smallest),
        records=parts[0].records,
        domains=tuple(
            Domain(column=each.name, provenance=Provenance.DECLARED, hierarchy_sha256=file_hash(schema, each.name))
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


def _records(method: DPMicroaggregation, encoded: EncodedRecords, columns: Columns) -> Records:
    numbers, concepts = columns.numbers, columns.concepts
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


def _private(schema: Schema, drawn: Perturbed, records: Records, left_out: int) -> PrivateReport:
    columns = drawn.columns
    quasi = [place for place, each in enumerate(columns.numbers) if each.name in schema.quasi_identifiers]
    coded = [place for place, each in enumerate(columns.concepts) if each.name in schema.quasi_identifiers]
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
        for place, released in zip(part.attributes.numeric, rows.numeric.T, strict=True):
            moved = np.abs(np.sort(released) - np.sort(records.numeric[:, place])).mean()
            distances.append(float(moved) / float(drawn.columns.numbers[place].width))
        for place, codes in zip(part.attributes.categorical, rows.codes.T, strict=True):
            taxonomy = drawn.columns.concepts[place].taxonomy
            counts = taxonomy.counts(codes) - taxonomy.counts(records.codes[:, place])
            distances.append(float(np.abs(counts).sum()) / (2 * len(records)))
    return float(np.mean(distances)) if distances else 0.0
