"""A release made by putting every record into a class: buckets, Anatomy, microaggregation under closeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal._run._domains import domains
from shoal._run._recoding import _check_key, _check_size
from shoal.closeness import (
    Classified,
    PartitionMethod,
    People,
    StochasticCloseness,
    classes_of,
    closeness,
    joined_view,
    randomize,
)
from shoal.closeness._columns import quasi_identifiers
from shoal.closeness._events import Classed, Permuted, Randomized, Separated
from shoal.closeness._forms import Formed, formed
from shoal.closeness._promises import achieved, hidden, local_privacy, stated, stochastic, view
from shoal.errors import DataError, RequirementError
from shoal.guarantees import Dropped, Event, Guarantee, LeftOut, Ordered, Promise, Pseudonymized
from shoal.guarantees._certificate import Column, column
from shoal.mechanisms import RandomSource
from shoal.microaggregation import permutation_within
from shoal.models import Classes, Model, MultiplicativeCloseness
from shoal.models._arguments import fraction
from shoal.plan import Plan
from shoal.recoding import Progress
from shoal.recoding._method import Watch
from shoal.release import DATA, Part, Release
from shoal.risk import reidentification
from shoal.schema import Kind, Missing, Role, Schema
from shoal.tables import EncodedRecords, SensitiveAttribute, Table

__all__ = ["classify"]

IDENTIFYING, CONFIDENTIAL, VIEW = "quasi-identifiers.parquet", "confidential.parquet", "joined.sql"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """What all forms of a release are made from."""

    plan: Plan
    method: PartitionMethod
    encoded: EncodedRecords
    found: Classified
    formed: Formed
    classes: Classes
    key: bytes | None
    source: RandomSource

    @property
    def schema(self) -> Schema:
        return self.plan.schema

    @property
    def identifying(self) -> tuple[str, ...]:
        """The released columns that tell who somebody is."""
        roles = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER)
        return tuple(name for name in _released(self.schema) if self.schema[name].role in roles)

    @property
    def confidential(self) -> tuple[str, ...]:
        """All other released columns."""
        return tuple(name for name in _released(self.schema) if name not in self.identifying)

    def described(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return what a checker must know of columns."""
        return tuple(self._column(name) for name in names)

    def _column(self, name: str) -> Column:
        if name not in self.found.bucketized or self.found.buckets is None:
            return column(self.schema[name])
        labels = self.found.buckets.labels[self.found.bucketized.index(name)]
        ordered = len(self.found.bucketized) == 1 and self.schema[name].kind is not Kind.CATEGORICAL
        return Column(
            name=name,
            role=Role.SENSITIVE,
            kind=Kind.ORDINAL if ordered else Kind.CATEGORICAL,
            values=labels if ordered else None,
        )


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
    _check_key(plan.schema, pseudonym_key)
    plan = replace(plan, models=tuple(model.resolved(plan.schema) for model in plan.models))
    method, watch = plan.method, Watch(progress, cancelled)
    assert isinstance(method, PartitionMethod)  # noqa: S101 - the plan says so
    table = table.with_schema(plan.schema)
    watch.step(0, 3, "reading the records")
    encoded = tables.encode_records(table, sensitive=_wanted(plan, method))
    _check_size(plan, encoded.frequencies)
    people = People(
        quasi_identifiers=quasi_identifiers(plan.schema, encoded),
        sensitive=encoded.sensitive,
        codes=encoded.sensitive_codes,
    )
    watch.step(1, 3, "making classes")
    found = method.classify(people, plan.class_models)
    made = formed(people, found, method.form)
    watch.step(2, 3, "checking the promises")
    run = _Run(
        plan=plan,
        method=method,
        encoded=encoded,
        found=found,
        formed=made,
        classes=_checked(plan, encoded, found, made),
        key=pseudonym_key,
        source=source,
    )
    parts, guarantee, notes = _FORMS.get(method.form, _whole)(run)
    guarantee = replace(guarantee, events=(*_before(plan.schema, table), *guarantee.events, Ordered()))
    return Release(
        plan=plan,
        table=_shown(run, parts),
        guarantee=guarantee,
        measures={name: made.measures.get(name) for name in dict.fromkeys((*plan.measures, "sse"))},
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


Outcome = tuple[tuple[Part, ...], Guarantee, Mapping[str, str]]


def _whole(run: _Run) -> Outcome:
    """Release one table, whose quasi-identifiers are those of the class; randomise what is to be randomised."""
    names, columns = _released(run.schema), dict(run.formed.columns)
    promises = [stated(model, run.classes, run.method.form) for model in run.plan.class_models]
    events: list[Event] = [*run.found.events, _classed(run)]
    promises += _views(run)
    randomness = "none used"
    if isinstance(run.method, StochasticCloseness):
        drawn = _randomized(run, run.method)
        columns |= drawn.columns
        promises += drawn.promises
        events += drawn.events
        randomness = _randomness(run.source)
    table = tables.release_records(run.encoded, names, columns, key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.described(names))
    return (part,), Guarantee(promises=tuple(promises), events=tuple(events), randomness=randomness), {}


def _permuted(run: _Run) -> Outcome:
    """Release one table in which all but the quasi-identifiers changed places inside the classes."""
    names = _released(run.schema)
    order = permutation_within(run.formed.partition, source=run.source)
    columns = {name: values.take(pa.array(order)) for name, values in run.formed.columns.items()}
    table = tables.release_records(run.encoded, names, columns, moved=(run.confidential, order), key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.described(names))
    promise = _hidden(run)
    guarantee = Guarantee(
        promises=(promise, *_views(run)),
        events=(*run.found.events, _classed(run), Permuted(columns=run.confidential)),
        randomness=_randomness(run.source),
    )
    return (part,), guarantee, {}


def _anatomy(run: _Run) -> Outcome:
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
    views = [replace(promise, file=CONFIDENTIAL) for promise in _views(run)]
    guarantee = Guarantee(promises=(*promises, *views), events=(*run.found.events, _classed(run), separated))
    return tuple(parts), guarantee, {VIEW: joined_view(IDENTIFYING, CONFIDENTIAL, run.confidential, link) + "\n"}


_FORMS: dict[str, Callable[[_Run], Outcome]] = {"permuted": _permuted, "anatomy": _anatomy}


# -- promises


def _checked(plan: Plan, encoded: EncodedRecords, found: Classified, made: Formed) -> Classes:
    """Decide every promise on the classes that will be released, independently of the method."""
    sensitive, codes = _released_sensitive(encoded, found)
    classes = classes_of(made.partition, sensitive, codes)
    everything = np.ones(len(classes), dtype=np.bool_)
    broken = [model for model in plan.class_models if not model.keep(classes, everything).all()]
    if broken:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{model.title}`" for model in broken],
            hint="values that become buckets have as many different values as there are buckets",
        )
    return classes


def _released_sensitive(
    encoded: EncodedRecords, found: Classified
) -> tuple[tuple[SensitiveAttribute, ...], np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    """Return the sensitive attributes as they are released: buckets where there are some."""
    if found.buckets is None:
        return encoded.sensitive, encoded.sensitive_codes
    attributes, codes = list(encoded.sensitive), encoded.sensitive_codes.copy()
    for name, labels in zip(found.bucketized, found.buckets.labels, strict=True):
        j = [attribute.name for attribute in attributes].index(name)
        ordered = attributes[j].ordered and len(found.bucketized) == 1
        different = list(dict.fromkeys(labels))
        attributes[j] = SensitiveAttribute(name=name, size=len(different), ordered=ordered, labels=tuple(different))
        codes[:, j] = np.array([different.index(label) for label in labels])[found.buckets.numbers]
    return tuple(attributes), codes


def _views(run: _Run) -> list[Promise]:
    """Say what multiplicative closeness is as differential privacy, where there are buckets."""
    return [view(_joint_factor(run), run.found.bucketized)] if run.found.bucketized else []


def _joint(run: _Run) -> tuple[list[tuple[str, ...]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the released combinations of labels, and which of them every record has."""
    buckets = run.found.buckets
    assert buckets is not None  # noqa: S101 - asked of methods with buckets alone
    rows = list(zip(*buckets.labels, strict=True))
    labels = list(dict.fromkeys(rows))
    return labels, np.array([labels.index(row) for row in rows])[buckets.numbers]


def _joint_factor(run: _Run) -> Fraction:
    """Return the t that the joint distribution of all buckets has, rounded up, and at most what was asked for."""
    found = closeness(run.formed.partition, _joint(run)[1])
    asked = min(model.capabilities.factor for model in run.plan.class_models if model.capabilities.factor is not None)
    return fraction(achieved(MultiplicativeCloseness("joint", asked), found).parameters()["t"])  # type: ignore[arg-type]


def _hidden(run: _Run) -> Promise:
    """List the different histograms of the classes that are not published."""
    labels, numbers = _joint(run)
    partition = run.formed.partition
    counts = np.zeros((partition.count, len(labels)), dtype=np.int64)
    np.add.at(counts, (partition.labels, numbers), 1)
    histograms, classes = np.unique(counts, axis=0, return_counts=True)
    return hidden(
        _joint_factor(run),
        int(partition.sizes.min()),
        run.found.bucketized,
        labels=labels,
        histograms=np.concatenate([classes[:, None], histograms], axis=1).tolist(),
    )


# -- randomised values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    columns: dict[str, pa.Array]
    promises: list[Promise]
    events: list[Event]


def _randomized(run: _Run, method: StochasticCloseness) -> _Drawn:
    sizes = run.formed.partition.sizes
    epsilon = method.spent(records=len(run.encoded), smallest=int(sizes.min()))
    names = run.schema.sensitive
    drawn = _Drawn(columns={}, promises=[], events=[])
    for j, attribute in enumerate(run.encoded.sensitive):
        declared = run.schema[attribute.name]
        values = _values(attribute, run.encoded.sensitive_codes[:, j], declared.kind)
        mechanism = method.mechanism_for(declared)
        released = randomize(
            declared, values, epsilon / len(names), mechanism, hierarchy=attribute.hierarchy, source=run.source
        )
        drawn.columns[attribute.name] = pa.array(released)
        drawn.events.append(Randomized(column=attribute.name, mechanism=mechanism, epsilon_spent=epsilon / len(names)))
    drawn.promises.append(local_privacy(epsilon, names, cryptographic=run.source.cryptographic))
    drawn.promises.append(stochastic(epsilon, records=len(run.encoded), smallest=int(sizes.min())))
    return drawn


def _values(
    attribute: SensitiveAttribute, codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]], kind: Kind
) -> list[object]:
    labels = [attribute.labels[code] for code in codes.tolist()]
    missing = sum(label is None for label in labels)
    if missing:
        raise DataError(
            f"column `{attribute.name}`: {missing:,} records miss a value, which cannot be randomised",
            hint='leave these records out: missing = "drop" in the schema',
        )
    return [Fraction(label) for label in labels if label is not None] if kind is Kind.NUMERIC else list(labels)


def _randomness(source: RandomSource) -> str:
    if source.cryptographic:
        return "the cryptographic generator of the operating system"
    return "a seed, for tests: whoever knows it can repeat the draw"


# -- columns and events


def _wanted(plan: Plan, method: PartitionMethod) -> tuple[str, ...]:
    models: Sequence[Model] = plan.class_models
    read = [name for model in models for name in model.capabilities.sensitive]
    own = plan.schema.sensitive if isinstance(method, StochasticCloseness) else method.reads(plan.schema)
    return tuple(dict.fromkeys([*read, *own]))


def _released(schema: Schema) -> tuple[str, ...]:
    return tuple(each.name for each in schema if each.role is not Role.IDENTIFIER or each.pseudonym)


def _free_name(wanted: str, taken: Sequence[str]) -> str:
    lower = {name.lower() for name in taken}
    return next(name for name in (wanted, *(f"{wanted} {i}" for i in range(2, len(lower) + 3))) if name not in lower)


def _shown(run: _Run, parts: tuple[Part, ...]) -> Table:
    """Return the released table, or the two of Anatomy joined."""
    if len(parts) == 1:
        return parts[0].table
    identifying, confidential = parts
    link = identifying.class_column or ""
    return tables.join_classes(identifying.table, confidential.table, link, run.confidential)


def _classed(run: _Run) -> Classed:
    sizes = run.formed.partition.sizes
    return Classed(
        method=run.method.name,
        form=run.method.form,
        columns=run.schema.quasi_identifiers,
        classes=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
    )


def _before(schema: Schema, table: Table) -> list[Event]:
    events: list[Event] = []
    kept = tuple(name for name in schema.identifiers if schema[name].pseudonym)
    dropped = tuple(name for name in schema.identifiers if not schema[name].pseudonym)
    if dropped:
        events.append(Dropped(columns=dropped))
    if kept:
        events.append(Pseudonymized(columns=kept))
    if table.left_out:
        columns = tuple(attribute.name for attribute in schema if attribute.missing is Missing.DROP)
        events.append(LeftOut(records=table.left_out, columns=columns))
    return events
