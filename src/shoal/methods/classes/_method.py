"""A release made by putting every record into a class: buckets, Anatomy, microaggregation under closeness."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal import tables
from shoal.errors import RequirementError
from shoal.exact import one_of
from shoal.guarantees import Counted, Event, Ordered, PromiseEntry, Requirement
from shoal.methods._preparation import check_key, check_size, counted, domains, preparation, risk_of_people
from shoal.methods.base import DATA, Keeps, Made, Method, Part, Work, as_strong, decided, released_columns
from shoal.methods.classes._columns import HeldRecords, quasi_identifiers
from shoal.methods.classes._forms import (
    CONFIDENTIAL,
    IDENTIFYING,
    Classed,
    Outcome,
    Permuted,
    Separated,
    formed,
    released,
)
from shoal.methods.classes._partition import merged
from shoal.methods.classes._promises import HiddenClasses
from shoal.methods.classes._run import (
    Classified,
    ClassRun,
    Form,
    Formed,
    RandomizedColumns,
    checked,
    classes_of,
    released_sensitive,
    verdict,
)
from shoal.models import Classes, Model
from shoal.risk import reidentification
from shoal.schema import Attribute, Role, Schema
from shoal.tables import EncodedRecords, Table, free_name

if TYPE_CHECKING:
    from shoal.methods.brief import Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMethod(Method):
    """A method that chooses the class of every record on its own."""

    form: Form = field(default="microaggregated", metadata=one_of("microaggregated"))
    keeps: ClassVar[Keeps] = Keeps(persons=True)

    @abstractmethod
    def classify(self, people: HeldRecords, models: Sequence[Model]) -> Classified:
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
        found, made = settled(opened, self.classify(opened.people, opened.plan.class_models))
        work.watch.step(2, 3, "checking the promises")
        run = opened.run(found, made, checked(opened.plan, opened.encoded, found, made))
        return assembled(run, released(run), opened.table)

    def steps(self, columns: Sequence[Attribute]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
        """Return what is done before classes are made, and what there is to say of them afterwards."""
        del columns
        return (), ()

    def decided_steps(self, schema: Schema) -> list[dict[str, object]]:
        """Return how records were compared, their classes, and what became of these."""
        *identifying, confidential = self.files(schema).values()
        others = [name for name in confidential if not schema[name].role.tells_who]
        link = free_name("class", schema.names)
        moved: dict[str, list[Event]] = {
            "permuted": [Permuted(columns=tuple(others))],
            "anatomy": [
                Separated(identifying=names, confidential=confidential, class_column=link) for names in identifying
            ],
        }
        return [*self.decided_classes(schema, schema.quasi_identifiers), *decided(moved.get(self.form, ()))]

    def decided_classes(self, schema: Schema, names: Sequence[str]) -> list[dict[str, object]]:
        """Return the steps that make classes by some quasi-identifiers."""
        before, after = self.steps([schema[name] for name in schema.quasi_identifiers if name in names])
        made: dict[str, object] = {"step": Classed.name, "method": self.name, "form": self.form, "columns": list(names)}
        return [*decided(before), made, *decided(after)]

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Return the columns of every released table: two where the class alone links them, else one."""
        names = released_columns(schema)
        if self.form != "anatomy":
            return {DATA: names}
        identifying = tuple(name for name in names if schema[name].role.tells_who)
        return {IDENTIFYING: identifying, CONFIDENTIAL: tuple(name for name in names if name not in identifying)}

    def answers(self, model: Requirement, entry: PromiseEntry) -> bool:
        """Return whether a promise of a certificate is what was asked for, or more; hidden classes have k and t."""
        if entry.model != HiddenClasses.name:
            return Method.answers(self, model, entry)
        asked = {name: value for name, value in model.parameters().items() if name in ("k", "t")}
        return bool(asked) and all(as_strong(name, entry.parameters.get(name), value) for name, value in asked.items())

    def randomized(self, run: ClassRun) -> RandomizedColumns | None:
        """Return confidential columns that the method randomises, if it does."""
        del run
        return None

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del schema
        found = [
            f"method `{self.name}` cannot keep `{model.title}`, which depends on more than sizes and sensitive values"
            for model in models
            if model.capabilities.codes or model.capabilities.about_population
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
    people: HeldRecords
    work: Work

    def run(self, found: Classified, made: Formed, classes: Classes | None = None) -> ClassRun:
        """Return what is known of a run; where ``classes`` are not given, models were decided on others."""
        encoded = self.encoded
        if classes is None:
            classes = classes_of(made.partition, encoded.sensitive, encoded.sensitive_codes, encoded.persons)
        return ClassRun(
            plan=self.plan,
            method=self.method,
            encoded=encoded,
            found=found,
            formed=made,
            classes=classes,
            key=self.work.key,
            source=self.work.source,
        )


def open_records(work: Work) -> Opened:
    """Read the records of a plan whose method looks at each of them."""
    check_key(work.schema, work.key)
    plan = replace(work.plan, models=tuple(model.resolved(work.schema) for model in work.plan.models))
    method = plan.method
    assert isinstance(method, PartitionMethod)  # noqa: S101 - it makes the release
    table = work.table.with_schema(plan.schema)
    work.watch.step(0, 3, "reading the records")
    # the same records in another order make the same classes: ties are decided by all that is released of a record
    by = [name for name in released_columns(plan.schema) if plan.schema[name].role is not Role.IDENTIFIER]
    encoded = tables.encode_records(table, sensitive=_wanted(plan, method), by=by)
    check_size(plan.class_models, encoded.frequencies)
    if method.shows_members:
        _check_shares(plan.class_models, encoded)
    people = HeldRecords(
        quasi_identifiers=quasi_identifiers(plan.schema, encoded),
        sensitive=encoded.sensitive,
        codes=encoded.sensitive_codes,
        persons=encoded.persons,
        shown=method.shows_members,
    )
    work.watch.step(1, 3, "making classes")
    return Opened(plan=plan, method=method, table=table, encoded=encoded, people=people, work=work)


def _check_shares(models: Sequence[Model], encoded: EncodedRecords) -> None:
    """Refuse a person with so many records that not even all records in one class hide them."""
    k = max((model.capabilities.minimal_class_size for model in models), default=1)
    most = 0 if encoded.persons is None else int(np.bincount(encoded.persons).max())
    if most * k > len(encoded):
        raise RequirementError(
            f"one person has {most:,} of the {len(encoded):,} records, more than one in {k:,}; where quasi-identifiers "
            f"are released as they are, nobody may have more than 1/{k:,} of the records of a class",
            hint="use a method that generalises, a smaller k, or a table with fewer records of each person",
        )


def settled(opened: Opened, found: Classified) -> tuple[Classified, Formed]:
    """Give classes their form; those that then look the same are one, which may take a vote from a person of both."""
    while True:
        found = for_persons(opened, found)
        made = formed(opened.people, found, opened.method.form)
        if opened.people.persons is None or made.partition.count == found.partition.count:
            return found, made
        found = replace(found, partition=made.partition)


def for_persons(opened: Opened, found: Classified) -> Classified:
    """Merge classes with their neighbours until promises hold for persons, where a method counted records."""
    encoded, people = opened.encoded, opened.people
    if encoded.persons is None:
        return found
    models, (sensitive, codes) = opened.plan.class_models, released_sensitive(encoded, found)
    partition = merged(
        people.points,
        found.partition,
        lambda own: verdict(models, own, sensitive, codes, encoded.persons, shown=people.shown),
    )
    return replace(found, partition=partition)


def _wanted(plan: Brief, method: PartitionMethod) -> tuple[str, ...]:
    models: Sequence[Model] = plan.class_models
    read = [name for model in models for name in model.capabilities.sensitive]
    return tuple(dict.fromkeys([*read, *method.reads(plan.schema)]))


def assembled(run: ClassRun, outcome: Outcome, table: Table) -> Made:
    """Put a release together, from what is known of the run and what leaves."""
    plan, encoded, found, made = run.plan, run.encoded, run.found, run.formed
    parts, guarantee, notes = outcome
    events = [*preparation(plan.schema, table), *guarantee.events]
    if not any(event.name == Counted.name for event in events):
        events += counting(run)
    guarantee = replace(guarantee, events=(*events, Ordered()))
    return Made(
        plan=plan,
        table=_shown(run, parts),
        guarantee=guarantee,
        measures=reported(plan, made.measures),
        before=reidentification(Classes.grouped(encoded.frequencies)),
        after=reidentification(run.readings[-1]),
        people=None
        if run.method.shows_members
        else risk_of_people(plan.schema, encoded.frequencies, made.partition.labels),
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


def counting(run: ClassRun, columns: Sequence[str] = ()) -> list[Event]:
    """Say how many persons were released and how few a class has, where persons are counted."""
    person = run.schema.person
    if person is None or not run.method.counts_persons:
        return []
    step = counted(person, run.encoded.frequencies, run.formed.partition.labels, run.classes)
    hidden = run.crowd if run.method.shows_members else None
    return [replace(step, hidden=hidden, columns=tuple(columns))]


def reported(plan: Brief, measures: Mapping[str, float]) -> dict[str, float | None]:
    """Return the measures asked for and those of the form; the loss only where values are generalised."""
    names = dict.fromkeys((*(each.label for each in plan.reported), *measures))
    return {name: measures.get(name) for name in names if name != "loss" or name in measures}


def _shown(run: ClassRun, parts: tuple[Part, ...]) -> Table:
    """Return the released table, or the two of Anatomy joined."""
    if len(parts) == 1:
        return parts[0].table
    identifying, confidential = parts
    link = identifying.class_column or ""
    return tables.join_classes(identifying.table, confidential.table, link, run.confidential)
