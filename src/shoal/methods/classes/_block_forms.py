"""Release forms of classes that executors made block by block: their part, and that of the driver.

They say what the forms in memory say (`_forms`), of classes of which the driver knows sizes and histograms alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.exact import fraction
from shoal.guarantees import Column, Event, Guarantee, Promise, Words, column
from shoal.kernels import Counts, Floats, Integers
from shoal.mechanisms import SYSTEM, SeededSource
from shoal.methods.base import DATA, Part, Work, released_columns
from shoal.methods.classes._block_task import BlockColumn
from shoal.methods.classes._buckets import Bucketized
from shoal.methods.classes._forms import (
    CONFIDENTIAL,
    IDENTIFYING,
    VIEW,
    Outcome,
    joined_view,
)
from shoal.methods.classes._partition import Partition, permutation_within
from shoal.methods.classes._promises import HiddenClasses, ViewPrivacy, state_promise, strengthen
from shoal.methods.classes._promises_clusters import Exchanged
from shoal.methods.classes._run import ReleasedColumns, bucket_column
from shoal.methods.classes._steps import Classed, Permuted, Separated
from shoal.methods.classes._typical import Errors
from shoal.models import Classes, MultiplicativeCloseness
from shoal.schema import Kind, Role, Schema
from shoal.tables import ClusteredBlocks, Table, free_name

if TYPE_CHECKING:
    from shoal.methods.classes._by_block import BlockMethod
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockBuckets:
    """The columns that became buckets, and the closeness that all of them together must have."""

    event: Bucketized
    joint: MultiplicativeCloseness
    #: The labels of every combination of buckets, by its number.
    labels: tuple[tuple[str, ...], ...]

    def factor(self, classes: Classes) -> Fraction:
        """Return the t that classes keep with the buckets of all columns, rounded up."""
        achieved = strengthen(self.joint, self.joint.find_achieved(classes))
        return fraction(achieved.parameters()["t"])  # type: ignore[arg-type]

    def views(self, classes: Classes) -> tuple[Promise, ...]:
        """Say what closeness is as differential privacy, given the classes with the buckets of all columns."""
        return (ViewPrivacy(columns=self.event.columns, t=self.factor(classes)).promise(),)

    def promise_hidden_classes(self, classes: Classes, alike: Classes, times: Counts) -> Promise:
        """List the different histograms of classes that are not published, and how many have each."""
        histogram = alike.histogram(self.joint.attribute)
        counts = np.zeros((len(alike), len(self.labels)), dtype=np.int64)
        counts[np.repeat(np.arange(len(alike)), np.diff(histogram.offsets)), histogram.codes] = histogram.counts
        promise = HiddenClasses(columns=self.event.columns, k=int(alike.sizes.min()), t=self.factor(classes))
        rows = np.concatenate([times[:, None], counts], axis=1)[np.lexsort(counts.T[::-1])]
        return promise.with_classes(self.labels, rows.tolist(), Words(alike=False))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRun(ReleasedColumns):
    """The classes that executors made, as the driver knows them."""

    plan: Plan
    method: BlockMethod
    clustered: ClusteredBlocks
    records: int
    #: The different sizes of classes, and how many have each.
    sizes: Counts
    times: Counts
    #: For every promise the classes that decide it.
    judged: tuple[Classes, ...]
    #: What buckets promise besides, and of classes that nobody sees.
    views: tuple[Promise, ...]
    hidden: tuple[Promise, ...]
    #: Steps before the classes were made, and what there is to say of them afterwards.
    before: tuple[Event, ...]
    after: tuple[Event, ...]
    work: Work

    @property
    def schema(self) -> Schema:
        return self.plan.schema

    @property
    def step_of_classes(self) -> Classed:
        """Say which classes were made."""
        return Classed(
            method=self.method.name,
            form=self.method.form,
            columns=self.schema.quasi_identifiers,
            classes=int(self.times.sum()),
            smallest=int(self.sizes.min()),
            largest=int(self.sizes.max()),
        )

    def describe_columns(self, names: Sequence[str]) -> tuple[Column, ...]:
        """Return what a checker must know of columns."""
        buckets = {each.name: each for each in self.clustered.blocks.relabelled}
        return tuple(
            bucket_column(self.schema[name], buckets[name].labels or (), ordered=buckets[name].ordered)
            if name in buckets
            else column(self.schema[name])
            for name in names
        )

    def promises(self, words: Words) -> tuple[Promise, ...]:
        """Say what the classes keep."""
        pairs = zip(self.plan.class_models, self.judged, strict=True)
        return (*(state_promise(model, (classes,), words) for model, classes in pairs), *self.views)

    def one_table(self, table: Table, guarantee: Guarantee) -> Outcome:
        """Release one table."""
        described = self.describe_columns(released_columns(self.schema))
        return (Part(file=DATA, table=table, records=self.records, columns=described),), guarantee, {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockForm(ABC):
    """The interface of release forms whose classes executors make block by block."""

    #: The quasi-identifiers, on the scale of all blocks.
    columns: tuple[BlockColumn, ...]
    #: To how many decimals means are rounded; None: they are not.
    decimals: int | None
    #: Where random numbers come from: the system of the executor, or this number and that of the block.
    seed: int | None

    @property
    @abstractmethod
    def column_types(self) -> dict[str, str]:
        """The columns that executors make, and what Spark calls their types."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell classes apart."""
        return ("cluster",)

    @abstractmethod
    def values(
        self, rows: pa.Table, numbers: list[Floats], partition: Partition, clusters: Integers
    ) -> tuple[dict[str, pa.Array], Floats]:
        """Return the columns for the records of a block, whose classes have these numbers, and their squared errors."""

    @abstractmethod
    def outcome(self, run: BlockRun) -> Outcome:
        """Release what executors made."""

    def measures(self, errors: Errors) -> Mapping[str, float]:
        """Return what the quasi-identifiers lost, by the names of measures."""
        return errors.measures()

    def join_parts(self, run: BlockRun, parts: tuple[Part, ...]) -> Table:
        """Return the released table."""
        del run
        return parts[0].table


class Averaging(BlockForm):
    """The quasi-identifiers of a class become its middle."""

    __slots__ = ()

    @property
    def column_types(self) -> dict[str, str]:
        return {f"new{i}": each.type for i, each in enumerate(self.columns)}

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell classes apart: those with the same middle are one."""
        return tuple(self.column_types)

    def values(
        self, rows: pa.Table, numbers: list[Floats], partition: Partition, clusters: Integers
    ) -> tuple[dict[str, pa.Array], Floats]:
        """Return the middle of every record's class."""
        del clusters
        labels, errors, columns = pa.array(partition.labels), np.zeros(rows.num_rows), {}
        for i, each in enumerate(self.columns):
            middle, lost = each.middles(numbers[i], partition, self.decimals)
            columns[f"new{i}"] = middle.take(labels)
            errors += each.attribute.weight * lost
        return columns, errors

    def outcome(self, run: BlockRun) -> Outcome:
        """Release one table, whose quasi-identifiers are those of the class."""
        table = run.clustered.release_columns(released_columns(run.schema), key=run.work.key)
        events = (*run.before, run.step_of_classes, *run.after)
        promises = run.promises(Words(person=run.schema.person))
        return run.one_table(table, Guarantee(promises=promises, events=events))


class Exchanging(BlockForm):
    """All but the quasi-identifiers of a class change places at random; nobody sees the classes."""

    __slots__ = ()

    @property
    def column_types(self) -> dict[str, str]:
        return {"cluster": "bigint", "other": "bigint"}

    def values(
        self, rows: pa.Table, numbers: list[Floats], partition: Partition, clusters: Integers
    ) -> tuple[dict[str, pa.Array], Floats]:
        """Return the record that each takes its values from."""
        source = SYSTEM if self.seed is None else SeededSource(self.seed + int(clusters[0]))
        order = permutation_within(partition, source=source)
        errors = np.zeros(rows.num_rows)
        for each, own in zip(self.columns, numbers, strict=True):
            errors += each.attribute.weight * each.measure_errors(own, order)
        return {"cluster": pa.array(clusters), "other": rows[tables.ROW].take(pa.array(order))}, errors

    def outcome(self, run: BlockRun) -> Outcome:
        """Release one table in which all but the quasi-identifiers changed places."""
        moved, cryptographic = run.confidential, run.work.source.cryptographic
        table = run.clustered.release_exchanged(released_columns(run.schema), moved, key=run.work.key)
        linked = Exchanged(k=int(run.sizes.min()), intruder="uninformed", columns=moved)
        exchanged = (linked.promise(Words(group="cluster", alike=False), cryptographic=cryptographic),)
        promises = (*run.hidden, *run.views) if run.hidden else exchanged
        events = (*run.before, run.step_of_classes, Permuted(columns=moved))
        return run.one_table(table, Guarantee(promises=promises, events=events))


class Separating(BlockForm):
    """Quasi-identifiers and all other columns become two tables that the class alone links."""

    __slots__ = ()

    @property
    def column_types(self) -> dict[str, str]:
        return {"cluster": "bigint"}

    def values(
        self, rows: pa.Table, numbers: list[Floats], partition: Partition, clusters: Integers
    ) -> tuple[dict[str, pa.Array], Floats]:
        """Return the class of every record."""
        del numbers, partition
        return {"cluster": pa.array(clusters)}, np.zeros(rows.num_rows)

    def outcome(self, run: BlockRun) -> Outcome:
        """Release two tables."""
        link = free_name("class", run.schema.names)
        files = {IDENTIFYING: run.identifying, CONFIDENTIAL: run.confidential}
        made = run.clustered.with_classes(list(files.values()), link, key=run.work.key)
        parts = tuple(
            Part(
                file=file,
                table=table,
                records=run.records,
                columns=(_link(link, file), *run.describe_columns(names)),
                class_column=link,
            )
            for table, (file, names) in zip(made, files.items(), strict=True)
        )
        separated = Separated(identifying=run.identifying, confidential=run.confidential, class_column=link)
        promises = tuple(replace(promise, file=CONFIDENTIAL) for promise in run.promises(Words(alike=False)))
        guarantee = Guarantee(promises=promises, events=(*run.before, run.step_of_classes, separated))
        return parts, guarantee, {VIEW: joined_view(IDENTIFYING, CONFIDENTIAL, run.confidential, link) + "\n"}

    def measures(self, errors: Errors) -> Mapping[str, float]:
        """Return what the quasi-identifiers lost: nothing."""
        return {"loss": 0.0, **errors.measures()}

    def join_parts(self, run: BlockRun, parts: tuple[Part, ...]) -> Table:
        """Return the two tables joined."""
        identifying, confidential = parts
        return tables.join_classes(
            identifying.table, confidential.table, identifying.class_column or "", run.confidential
        )


def _link(name: str, file: str) -> Column:
    role = Role.QUASI_IDENTIFIER if file == CONFIDENTIAL else Role.INSENSITIVE
    return Column(name=name, role=role, kind=Kind.CATEGORICAL)


_FORMS: dict[str, type[BlockForm]] = {"microaggregated": Averaging, "permuted": Exchanging, "anatomy": Separating}


def block_form(method: BlockMethod, columns: tuple[BlockColumn, ...], work: Work) -> BlockForm:
    """Return the form that a method asks for."""
    form = _FORMS[method.form]
    drawn = form is Exchanging and not work.source.from_system()
    return form(columns=columns, decimals=method.decimals_of_means, seed=work.source.bits(48) if drawn else None)
