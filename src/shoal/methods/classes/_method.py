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
from shoal.guarantees import Counted, Event, ExpectedStep, Ordered, PromiseEntry, Requirement, exactly, once
from shoal.mechanisms import RandomSource
from shoal.methods._opening import check_size, domains, expected_preparation
from shoal.methods._own_values import OwnValue
from shoal.methods._persons import count_persons, risk_of_people
from shoal.methods.base import (
    DATA,
    Method,
    MethodCapabilities,
    Part,
    RecordClasses,
    Result,
    Work,
    as_strong,
    released_columns,
)
from shoal.methods.classes._columns import HeldRecords, quasi_identifiers
from shoal.methods.classes._forms import (
    CONFIDENTIAL,
    IDENTIFYING,
    Outcome,
    form_classes,
    release_run,
)
from shoal.methods.classes._partition import Partition, merge_clusters
from shoal.methods.classes._promises import HiddenClasses
from shoal.methods.classes._run import (
    Classified,
    ClassRun,
    Form,
    Formed,
    RandomizedColumns,
    check_classes,
    classes_of,
    released_sensitive,
    verdict,
)
from shoal.methods.classes._steps import CLASS_STEPS, Classed, Permuted, Separated
from shoal.models import Classes, Model
from shoal.risk import reidentification
from shoal.schema import Attribute, Role, Schema
from shoal.tables import EncodedRecords, Table, free_name

if TYPE_CHECKING:
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMethod(Method):
    """A method that chooses the class of every record on its own."""

    form: Form = field(default="microaggregated", metadata=one_of("microaggregated"))
    family: ClassVar[str] = "classes"
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(persons=True)
    step_kinds: ClassVar[tuple[type[Event], ...]] = CLASS_STEPS

    @abstractmethod
    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Put every record into a class, so that every class satisfies every model.

        What is drawn at random is drawn from ``source``, and a step with ``draws`` says so.

        Raises
        ------
        RequirementError
            If this method finds no such classes; it says what stands in the way.
        """

    @property
    def shows_members(self) -> bool:
        """Whether quasi-identifiers are released as they were: classes then hide sensitive values, not people."""
        return self.form in ("permuted", "anatomy")

    def make(self, work: Work) -> Result:
        """Put the records into classes, decide every promise on them, and release them in the form asked for."""
        opened = open_records(work)
        classified, made = settle_classes(opened, self.classify(opened.people, opened.plan.class_models, work.source))
        work.watch.step(2, 3, "checking the promises")
        run = opened.run(classified, made, check_classes(opened.plan, opened.encoded, classified, made))
        return assemble_result(run, release_run(run), opened.work)

    def steps(self, columns: Sequence[Attribute]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
        """Return what is done before classes are made, and what there is to say of them afterwards."""
        del columns
        return (), ()

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        return [
            *expected_preparation(plan.schema),
            *self.expected_classes(plan, plan.schema.quasi_identifiers),
            *self.expected_form(plan.schema),
            *self.expected_counts(plan),
            *exactly(Ordered()),
        ]

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        """Return the steps that make classes by some quasi-identifiers."""
        del plan
        return [once(Classed, method=self.name, form=self.form, columns=tuple(names))]

    def expected_form(self, schema: Schema) -> list[ExpectedStep]:
        """Return the steps that are taken on all classes together."""
        if self.form == "permuted":
            return exactly(Permuted(columns=self.confidential(schema)))
        if self.form != "anatomy":
            return []
        identifying, confidential = self.files(schema).values()
        link = free_name("class", schema.names)
        return exactly(Separated(identifying=identifying, confidential=confidential, class_column=link))

    def expected_counts(self, plan: Plan, names: Sequence[str] = ()) -> list[ExpectedStep]:
        """Return the step that counts the persons of classes of some columns, or of all, where persons are counted."""
        person = plan.schema.person
        if person is None or not self.counts_persons:
            return []
        step = once(Counted, column=person, columns=tuple(names))
        return [step if self.shows_members else step.deciding(hidden=None)]

    def confidential(self, schema: Schema) -> tuple[str, ...]:
        """Return the released columns that do not tell who somebody is."""
        return tuple(name for name in released_columns(schema) if not schema[name].role.tells_who)

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

    def randomize(self, run: ClassRun) -> RandomizedColumns | None:
        """Return confidential columns that the method randomises, if it does."""
        del run
        return None

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        del schema
        problems = [
            f"method `{self.name}` cannot keep `{model.title}`, which depends on more than sizes and sensitive values"
            for model in models
            if model.capabilities.codes or model.capabilities.about_population
        ]
        if self.form == "anatomy":
            problems += [
                f"method `{self.name}` releases quasi-identifiers as they are, and cannot keep `{model.title}`, which "
                "is about them"
                for model in models
                if not model.capabilities.decided_by_size and not model.capabilities.sensitive
            ]
        return problems

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns that the method itself looks at."""
        del schema
        return ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """A plan with everything spelt out, and the records that it is about, in memory."""

    plan: Plan
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
            classified=found,
            formed=made,
            classes=classes,
            key=self.work.key,
            source=self.work.source,
        )


def open_records(work: Work) -> Opened:
    """Read the records of a plan whose method looks at each of them."""
    work = work.open()
    plan, table, method = work.plan, work.table, work.plan.method
    assert isinstance(method, PartitionMethod)  # noqa: S101 - it makes the release
    work.watch.step(0, 3, "reading the records")
    # the same records in another order make the same classes: ties are decided by all that is released of a record
    by = [name for name in released_columns(plan.schema) if plan.schema[name].role is not Role.IDENTIFIER]
    encoded = tables.encode_records(table, sensitive=_columns_to_hold(plan, method), by=by)
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


def settle_classes(opened: Opened, classified: Classified) -> tuple[Classified, Formed]:
    """Give classes their form; those that then look the same are one, which may take a vote from a person of both."""
    while True:
        classified = for_persons(opened, classified)
        made = form_classes(opened.people, classified, opened.method.form)
        if opened.people.persons is None or made.partition.count == classified.partition.count:
            return classified, made
        classified = replace(classified, partition=made.partition)


def for_persons(opened: Opened, classified: Classified) -> Classified:
    """Merge classes with their neighbours until promises hold for persons, where a method counted records."""
    encoded, people = opened.encoded, opened.people
    if encoded.persons is None:
        return classified
    models, (sensitive, codes) = opened.plan.class_models, released_sensitive(encoded, classified)
    partition = merge_clusters(
        people.points,
        classified.partition,
        lambda own: verdict(models, own, sensitive, codes, encoded.persons, shown=people.shown),
    )
    return replace(classified, partition=partition)


def _columns_to_hold(plan: Plan, method: PartitionMethod) -> tuple[str, ...]:
    models: Sequence[Model] = plan.class_models
    read = [name for model in models for name in model.capabilities.sensitive]
    return tuple(dict.fromkeys([*read, *method.reads(plan.schema)]))


def assemble_result(run: ClassRun, outcome: Outcome, work: Work) -> Result:
    """Put the result of opened work together, from what is known of the run and what leaves."""
    plan, encoded, classified, made = run.plan, run.encoded, run.classified, run.formed
    parts, guarantee, notes = outcome
    if not any(isinstance(event, Counted) for event in guarantee.events):
        guarantee = replace(guarantee, events=(*guarantee.events, *counting(run)))
    result = Result(
        plan=plan,
        table=_join_parts(run, parts),
        guarantee=guarantee,
        measures=select_measures(plan, made.measures),
        before=reidentification(Classes.from_tuples(encoded.frequencies)),
        after=reidentification(run.readings[-1]),
        people=None
        if run.method.shows_members
        else risk_of_people(plan.schema, encoded.frequencies, made.partition.labels),
        records=len(encoded),
        domains=domains(plan.schema, encoded.frequencies),
        sensitive_hierarchies=tuple(
            attribute.hierarchy
            for attribute in encoded.sensitive
            if attribute.hierarchy is not None and attribute.name not in classified.bucketized
        ),
        parts=parts,
        record_classes=_record_classes(run, work.table),
        own_values=_own_values(run, guarantee.events),
        notes=notes,
    )
    return work.release(result)


def _own_values(run: ClassRun, steps: Sequence[Event]) -> tuple[OwnValue, ...]:
    """Return how likely values that changed places inside the classes, or their buckets, stay with their records."""
    names = [name for step in steps if isinstance(step, Permuted) for name in step.columns]
    labels, classified = run.formed.partition.labels.astype(np.int64), run.classified
    made = []
    for name in names:
        if classified.buckets is not None and name in classified.bucketized:
            texts = classified.buckets.labels[classified.bucketized.index(name)]
            codes = np.array([texts.index(text) for text in texts])[classified.buckets.numbers]
            pairs, counts = np.unique(labels * len(texts) + codes, return_counts=True)
            made.append(OwnValue.of(name, pairs // len(texts), counts))
        else:
            made.append(OwnValue.of(name, *tables.tally_by_class(run.encoded, labels, name)))
    return tuple(made)


def _record_classes(run: ClassRun, table: Table) -> tuple[RecordClasses, ...]:
    """Return the classes of the records, where confidential columns are released as they were."""
    if run.method.randomize(run) is not None:
        return ()
    names = [name for name in run.confidential if name not in run.classified.bucketized]
    return (classes_of_records(run, table, run.formed.partition, names),)


def classes_of_records(run: ClassRun, table: Table, partition: Partition, names: Sequence[str]) -> RecordClasses:
    """Return the classes of a partition in the order of the source, with the columns whose values they hide."""
    labels = np.empty(len(run.encoded), dtype=np.int64)
    labels[np.argsort(run.encoded.rows, kind="stable").argsort()] = partition.labels
    return RecordClasses(table=table, columns=tuple(names), find=lambda: labels)


def counting(run: ClassRun, columns: Sequence[str] = ()) -> list[Event]:
    """Say how many persons were released and how few a class has, where persons are counted."""
    person = run.schema.person
    if person is None or not run.method.counts_persons:
        return []
    step = count_persons(person, run.encoded.frequencies, run.formed.partition.labels, run.classes)
    hidden = run.crowd if run.method.shows_members else None
    return [replace(step, hidden=hidden, columns=tuple(columns))]


def select_measures(plan: Plan, measures: Mapping[str, float]) -> dict[str, float | None]:
    """Return the measures asked for and those of the form; the loss only where values are generalised."""
    names = dict.fromkeys((*(measure.label for measure in plan.weighted_measures), *measures))
    return {name: measures.get(name) for name in names if name != "loss" or name in measures}


def _join_parts(run: ClassRun, parts: tuple[Part, ...]) -> Table:
    """Return the released table, or the two of Anatomy joined."""
    if len(parts) == 1:
        return parts[0].table
    identifying, confidential = parts
    link = identifying.class_column or ""
    return tables.join_classes(identifying.table, confidential.table, link, run.confidential)
