"""A release made by putting every record into a class: buckets, Anatomy, microaggregation under closeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal._run._class_run import ClassRun, checked, hidden_classes, released_columns, views
from shoal._run._domains import domains
from shoal._run._preparation import check_key, check_size, preparation
from shoal._run._randomized import randomized, randomness
from shoal.guarantees import Event, Guarantee, Ordered
from shoal.guarantees._certificate import Column
from shoal.mechanisms import RandomSource
from shoal.methods.classes import PartitionMethod, People, StochasticCloseness, joined_view, permutation_within
from shoal.methods.classes._columns import quasi_identifiers
from shoal.methods.classes._events import Classed, Permuted, Separated
from shoal.methods.classes._forms import formed
from shoal.methods.classes._promises import stated
from shoal.methods.recode import Progress
from shoal.methods.recode._method import Watch
from shoal.models import Classes, Model
from shoal.plan import Plan
from shoal.release import DATA, Part, Release
from shoal.risk import reidentification
from shoal.schema import Kind, Role
from shoal.tables import EncodedRecords, Table

__all__ = ["Outcome", "assembled", "classed", "classify", "open_records", "reported"]

IDENTIFYING, CONFIDENTIAL, VIEW = "quasi-identifiers.parquet", "confidential.parquet", "joined.sql"


def classify(
    plan: Plan,
    table: Table,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    source: RandomSource,
) -> Release:
    """Carry out a plan whose method puts records into classes."""
    watch = Watch(progress, cancelled)
    opened = open_records(plan, table, watch, pseudonym_key)
    method = opened.method
    found = method.classify(opened.people, opened.plan.class_models)
    made = formed(opened.people, found, method.form)
    watch.step(2, 3, "checking the promises")
    run = ClassRun(
        plan=opened.plan,
        method=method,
        encoded=opened.encoded,
        found=found,
        formed=made,
        classes=checked(opened.plan, opened.encoded, found, made),
        key=pseudonym_key,
        source=source,
    )
    return assembled(run, _FORMS.get(method.form, _whole)(run), opened.table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """A plan with everything spelt out, and the records that it is about, in memory."""

    plan: Plan
    method: PartitionMethod
    table: Table
    encoded: EncodedRecords
    people: People


def open_records(plan: Plan, table: Table, watch: Watch, key: bytes | None) -> Opened:
    """Read the records of a plan whose method looks at each of them."""
    check_key(plan.schema, key)
    plan = replace(plan, models=tuple(model.resolved(plan.schema) for model in plan.models))
    method = plan.method
    assert isinstance(method, PartitionMethod)  # noqa: S101 - the plan says so
    table = table.with_schema(plan.schema)
    watch.step(0, 3, "reading the records")
    encoded = tables.encode_records(table, sensitive=_wanted(plan, method))
    check_size(plan, encoded.frequencies)
    people = People(
        quasi_identifiers=quasi_identifiers(plan.schema, encoded),
        sensitive=encoded.sensitive,
        codes=encoded.sensitive_codes,
    )
    watch.step(1, 3, "making classes")
    return Opened(plan=plan, method=method, table=table, encoded=encoded, people=people)


def assembled(run: ClassRun, outcome: Outcome, table: Table) -> Release:
    """Put a release together, from what is known of the run and what leaves."""
    plan, encoded, found, made = run.plan, run.encoded, run.found, run.formed
    parts, guarantee, notes = outcome
    guarantee = replace(guarantee, events=(*preparation(plan.schema, table), *guarantee.events, Ordered()))
    return Release(
        plan=plan,
        table=_shown(run, parts),
        guarantee=guarantee,
        measures=reported(plan, made.measures),
        before=reidentification(Classes.grouped(encoded.frequencies)),
        after=reidentification(run.classes),
        records=len(encoded),
        domains=domains(plan.schema, encoded.frequencies),
        sensitive_hierarchies=tuple(
            attribute.hierarchy
            for attribute in encoded.sensitive
            if attribute.hierarchy is not None and attribute.name not in found.bucketized
        ),
        parts=parts,
        notes=notes,
    )


def reported(plan: Plan, measures: Mapping[str, float]) -> dict[str, float | None]:
    """Return the measures asked for and those of the form; the loss only where values are generalised."""
    names = dict.fromkeys((*(each.label for each in plan.reported), *measures))
    return {name: measures.get(name) for name in names if name != "loss" or name in measures}


Outcome = tuple[tuple[Part, ...], Guarantee, Mapping[str, str]]


def _whole(run: ClassRun) -> Outcome:
    """Release one table, whose quasi-identifiers are those of the class; randomise what is to be randomised."""
    names, columns = released_columns(run.schema), dict(run.formed.columns)
    promises = [stated(model, run.classes, run.method.form) for model in run.plan.class_models]
    events: list[Event] = [*run.found.events, classed(run), *run.found.details]
    promises += views(run)
    bits = "none used"
    if isinstance(run.method, StochasticCloseness):
        drawn = randomized(run, run.method)
        columns |= drawn.columns
        promises += drawn.promises
        events += drawn.events
        bits = randomness(run.source)
    table = tables.release_records(run.encoded, names, columns, key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.described(names))
    return (part,), Guarantee(promises=tuple(promises), events=tuple(events), randomness=bits), {}


def _permuted(run: ClassRun) -> Outcome:
    """Release one table in which all but the quasi-identifiers changed places inside the classes."""
    names = released_columns(run.schema)
    order = permutation_within(run.formed.partition, source=run.source)
    columns = {name: values.take(pa.array(order)) for name, values in run.formed.columns.items()}
    table = tables.release_records(run.encoded, names, columns, moved=[(run.confidential, order)], key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.described(names))
    promise = hidden_classes(run)
    guarantee = Guarantee(
        promises=(promise, *views(run)),
        events=(*run.found.events, classed(run), Permuted(columns=run.confidential)),
        randomness=randomness(run.source),
    )
    return (part,), guarantee, {}


def _anatomy(run: ClassRun) -> Outcome:
    """Release two tables that only the class links."""
    link = _free_name("class", run.schema.names)
    columns = {**run.formed.columns, link: pa.array(run.formed.partition.labels.astype(np.int64) + 1)}
    parts = []
    for file, names in ((IDENTIFYING, run.identifying), (CONFIDENTIAL, run.confidential)):
        role = Role.QUASI_IDENTIFIER if file == CONFIDENTIAL else Role.INSENSITIVE
        parts.append(
            Part(
                file=file,
                table=tables.release_records(run.encoded, (link, *names), columns, key=run.key),
                records=len(run.encoded),
                columns=(Column(name=link, role=role, kind=Kind.CATEGORICAL), *run.described(names)),
                class_column=link,
            )
        )
    promises = [replace(stated(model, run.classes, "anatomy"), file=CONFIDENTIAL) for model in run.plan.class_models]
    separated = Separated(identifying=run.identifying, confidential=run.confidential, class_column=link)
    promises += [replace(promise, file=CONFIDENTIAL) for promise in views(run)]
    guarantee = Guarantee(promises=tuple(promises), events=(*run.found.events, classed(run), separated))
    return tuple(parts), guarantee, {VIEW: joined_view(IDENTIFYING, CONFIDENTIAL, run.confidential, link) + "\n"}


_FORMS: dict[str, Callable[[ClassRun], Outcome]] = {"permuted": _permuted, "anatomy": _anatomy}


# -- columns and events


def _wanted(plan: Plan, method: PartitionMethod) -> tuple[str, ...]:
    models: Sequence[Model] = plan.class_models
    read = [name for model in models for name in model.capabilities.sensitive]
    own = plan.schema.sensitive if isinstance(method, StochasticCloseness) else method.reads(plan.schema)
    return tuple(dict.fromkeys([*read, *own]))


def _free_name(wanted: str, taken: Sequence[str]) -> str:
    lower = {name.lower() for name in taken}
    return next(name for name in (wanted, *(f"{wanted} {i}" for i in range(2, len(lower) + 3))) if name not in lower)


def _shown(run: ClassRun, parts: tuple[Part, ...]) -> Table:
    """Return the released table, or the two of Anatomy joined."""
    if len(parts) == 1:
        return parts[0].table
    identifying, confidential = parts
    link = identifying.class_column or ""
    return tables.join_classes(identifying.table, confidential.table, link, run.confidential)


def classed(run: ClassRun) -> Classed:
    """Say which classes were made."""
    sizes = run.formed.partition.sizes
    return Classed(
        method=run.method.name,
        form=run.method.form,
        columns=run.schema.quasi_identifiers,
        classes=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
    )
