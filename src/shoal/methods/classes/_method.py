"""A release made by putting every record into a class: buckets, Anatomy, microaggregation under closeness."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.guarantees import CLASSES, Column, Event, Guarantee, Ordered, PromiseEntry, Requirement, Words, randomness
from shoal.methods._preparation import check_key, check_size, domains, preparation
from shoal.methods.base import DATA, Made, Method, Part, Work, as_strong
from shoal.methods.classes._class_run import ClassRun, Drawn, checked, hidden_classes, released_columns, views
from shoal.methods.classes._columns import quasi_identifiers
from shoal.methods.classes._events import Classed, Permuted, Separated
from shoal.methods.classes._forms import formed, joined_view
from shoal.methods.classes._people import Classified, Form, People
from shoal.methods.classes._promises import stated
from shoal.methods.classes._swapping import permutation_within
from shoal.models import Classes, Model
from shoal.risk import reidentification
from shoal.schema import Kind, Role, Schema
from shoal.tables import EncodedRecords, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief

__all__ = ["Opened", "Outcome", "PartitionMethod", "assembled", "classed", "open_records", "reported"]

IDENTIFYING, CONFIDENTIAL, VIEW = "quasi-identifiers.parquet", "confidential.parquet", "joined.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMethod(Method):
    """A method that chooses the class of every record on its own."""

    form: Form = "microaggregated"

    @abstractmethod
    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Put every record into a class, so that every class satisfies every model.

        Raises
        ------
        RequirementError
            If this method finds no such classes; it says what stands in the way.
        """

    @property
    def shows_members(self) -> bool:
        """Whether quasi-identifiers are released as they were: classes then hide sensitive values, not people."""
        return self.form in ("permuted", "anatomy")

    def make(self, work: Work) -> Made:
        """Put the records into classes, decide every promise on them, and release them in the form asked for."""
        opened = open_records(work)
        found = self.classify(opened.people, opened.plan.class_models)
        made = formed(opened.people, found, self.form)
        work.watch.step(2, 3, "checking the promises")
        run = ClassRun(
            plan=opened.plan,
            method=self,
            encoded=opened.encoded,
            found=found,
            formed=made,
            classes=checked(opened.plan, opened.encoded, found, made),
            key=work.key,
            source=work.source,
        )
        return assembled(run, _FORMS.get(self.form, _whole)(run), opened.table)

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table: two where the class alone links them, else one."""
        names = released_columns(schema)
        if self.form != "anatomy":
            return {DATA: names}
        identifying = tuple(name for name in names if schema[name].role in (Role.IDENTIFIER, Role.QUASI_IDENTIFIER))
        return {IDENTIFYING: identifying, CONFIDENTIAL: tuple(name for name in names if name not in identifying)}

    def answers(self, model: Requirement, entry: PromiseEntry) -> bool:
        """Return whether a promise of a certificate is what was asked for, or more; hidden classes have k and t."""
        if entry.model != "hidden-classes":
            return Method.answers(self, model, entry)
        asked = {name: value for name, value in model.parameters().items() if name in ("k", "t")}
        return bool(asked) and all(as_strong(name, entry.parameters.get(name), value) for name, value in asked.items())

    def randomized(self, run: ClassRun) -> Drawn | None:
        """Return confidential columns that the method randomises, if it does."""
        del run
        return None

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del schema
        found = [
            f"method `{self.name}` cannot keep `{model.title}`, which looks at more than sizes and sensitive values"
            for model in models
            if model.capabilities.codes or model.capabilities.population
        ]
        if self.form == "anatomy":
            found += [
                f"method `{self.name}` releases quasi-identifiers as they are, and cannot keep `{model.title}`, which "
                "is about them"
                for model in models
                if not model.capabilities.decided_by_size and not model.capabilities.sensitive
            ]
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns that the method itself looks at."""
        del schema
        return ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """A plan with everything spelt out, and the records that it is about, in memory."""

    plan: Brief
    method: PartitionMethod
    table: Table
    encoded: EncodedRecords
    people: People


def open_records(work: Work) -> Opened:
    """Read the records of a plan whose method looks at each of them."""
    check_key(work.schema, work.key)
    plan = replace(work.plan, models=tuple(model.resolved(work.schema) for model in work.plan.models))
    method = plan.method
    assert isinstance(method, PartitionMethod)  # noqa: S101 - it makes the release
    table = work.table.with_schema(plan.schema)
    work.watch.step(0, 3, "reading the records")
    encoded = tables.encode_records(table, sensitive=_wanted(plan, method))
    check_size(plan.class_models, encoded.frequencies)
    people = People(
        quasi_identifiers=quasi_identifiers(plan.schema, encoded),
        sensitive=encoded.sensitive,
        codes=encoded.sensitive_codes,
    )
    work.watch.step(1, 3, "making classes")
    return Opened(plan=plan, method=method, table=table, encoded=encoded, people=people)


def assembled(run: ClassRun, outcome: Outcome, table: Table) -> Made:
    """Put a release together, from what is known of the run and what leaves."""
    plan, encoded, found, made = run.plan, run.encoded, run.found, run.formed
    parts, guarantee, notes = outcome
    guarantee = replace(guarantee, events=(*preparation(plan.schema, table), *guarantee.events, Ordered()))
    return Made(
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


def reported(plan: Brief, measures: Mapping[str, float]) -> dict[str, float | None]:
    """Return the measures asked for and those of the form; the loss only where values are generalised."""
    names = dict.fromkeys((*(each.label for each in plan.reported), *measures))
    return {name: measures.get(name) for name in names if name != "loss" or name in measures}


Outcome = tuple[tuple[Part, ...], Guarantee, Mapping[str, str]]


def _whole(run: ClassRun) -> Outcome:
    """Release one table, whose quasi-identifiers are those of the class; randomise what is to be randomised."""
    names, columns = released_columns(run.schema), dict(run.formed.columns)
    promises = [stated(model, run.classes, CLASSES) for model in run.plan.class_models]
    events: list[Event] = [*run.found.events, classed(run), *run.found.details]
    promises += views(run)
    bits = "none used"
    if (drawn := run.method.randomized(run)) is not None:
        columns |= drawn.columns
        promises += drawn.promises
        events += drawn.events
        bits = randomness(cryptographic=run.source.cryptographic)
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
        randomness=randomness(cryptographic=run.source.cryptographic),
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
    promises = [
        replace(stated(model, run.classes, Words(alike=False)), file=CONFIDENTIAL) for model in run.plan.class_models
    ]
    separated = Separated(identifying=run.identifying, confidential=run.confidential, class_column=link)
    promises += [replace(promise, file=CONFIDENTIAL) for promise in views(run)]
    guarantee = Guarantee(promises=tuple(promises), events=(*run.found.events, classed(run), separated))
    return tuple(parts), guarantee, {VIEW: joined_view(IDENTIFYING, CONFIDENTIAL, run.confidential, link) + "\n"}


_FORMS: dict[str, Callable[[ClassRun], Outcome]] = {"permuted": _permuted, "anatomy": _anatomy}


# -- columns and events


def _wanted(plan: Brief, method: PartitionMethod) -> tuple[str, ...]:
    models: Sequence[Model] = plan.class_models
    read = [name for model in models for name in model.capabilities.sensitive]
    return tuple(dict.fromkeys([*read, *method.reads(plan.schema)]))


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
