"""A release by microaggregation whose blocks are clustered on the executors of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import RequirementError
from shoal.guarantees import CLASSES, Guarantee, Ordered, column
from shoal.kernels import Counts, Floats, Integers, Mask
from shoal.methods._preparation import check_key, domains_of_schema, preparation
from shoal.methods.base import DATA, Made, Part, Work, released_columns
from shoal.methods.classes._block_columns import BlockColumn, block_columns
from shoal.methods.classes._blocks import axes_cut, cut, exchange, recut, without_small
from shoal.methods.classes._events import Blocked, Classed, averaged, compared
from shoal.methods.classes._method import reported
from shoal.methods.classes._partition import Partition, cluster_means, merged
from shoal.methods.classes._promises import stated
from shoal.methods.classes._run import classes_of, satisfied
from shoal.methods.classes._typical import Errors
from shoal.models import Classes, Model, Scope
from shoal.risk import reidentification_of_sizes
from shoal.schema import Attribute
from shoal.tables import ROW, Block, Blocks, ClusteredBlocks, Coordinate, DraftedBlocks, SensitiveAttribute, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.classes._microaggregation import Microaggregation


__all__ = ["BlockTask", "aggregate_by_block", "suits_blocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTask:
    """Cluster a block and replace its quasi-identifiers by the middle of each cluster."""

    #: How to cluster, and the least size.
    method: Microaggregation
    k: int
    #: The quasi-identifiers, on the scale of all blocks.
    columns: tuple[BlockColumn, ...]
    #: Promises about sensitive attributes, these, and how many records of the table have each value.
    models: tuple[Model, ...] = ()
    sensitive: tuple[SensitiveAttribute, ...] = ()
    totals: tuple[Counts, ...] = ()

    def cluster(self, rows: pa.Table) -> pa.Table:
        """Cluster a block, and merge clusters until every promise holds; return what is released for every record, and
        its squared error.
        """
        numbers = self._numbers(rows)
        places = self._places(numbers)
        partition = self.method.cluster_block(places, self.k)
        if self.models:
            codes = np.stack([rows[f"s{j}"].to_numpy() for j in range(len(self.sensitive))], axis=1)
            partition = merged(places, partition, lambda own: self._kept(own, codes))
        return self._released(rows, numbers, partition)

    def _kept(self, partition: Partition, codes: Integers) -> Mask:
        """Return which classes keep the promises in a release of them and all other records of the table."""
        names = [attribute.name for attribute in self.sensitive]
        own = classes_of(partition, self.sensitive, codes)
        return satisfied(self.models, own.among(dict(zip(names, self.totals, strict=True))))[: len(own)]

    def draft(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return the cluster of every record, how wide it is, and where."""
        numbers = self._numbers(rows)
        places = self._places(numbers)
        partition = self.method.cluster_block(places, self.k)
        centres = cluster_means(places, partition)[partition.labels]
        squares = np.square(places - centres).sum(axis=1)
        width = np.bincount(partition.labels, weights=squares)[partition.labels]
        middles = cluster_means(self._coordinates(numbers), partition)[partition.labels]
        first = int(rows["block"][0].as_py()) << 32
        found = {"cluster": pa.array(first + partition.labels.astype(np.int64)), "width": pa.array(width)}
        kept = {name: rows[name] for name in ("block", ROW, *(f"v{i}" for i in range(len(numbers))))}
        return pa.table({**kept, **found, **{f"q{i}": pa.array(place) for i, place in enumerate(middles.T)}})

    def repair(self, rows: pa.Table) -> pa.Table:
        """Exchange records between clusters that were drafted, and return what `cluster` does."""
        numbers = self._numbers(rows)
        drafted = Partition.numbered(rows["cluster"].to_numpy())
        partition = exchange(self._places(numbers), drafted).require(self.k, 2 * self.k - 1)
        return self._released(rows, numbers, partition)

    def _released(self, rows: pa.Table, numbers: list[Floats], partition: Partition) -> pa.Table:
        labels, errors = pa.array(partition.labels), np.zeros(len(partition))
        columns: dict[str, pa.Array] = {"block": rows["block"], "record": rows[ROW]}
        for i, each in enumerate(self.columns):
            middle, lost = each.middles(numbers[i], partition, self.method.decimals)
            columns[f"new{i}"] = middle.take(labels)
            errors += each.attribute.weight * lost
        return pa.table(
            {**columns, "error": pa.array(errors), **{f"s{j}": rows[f"s{j}"] for j in range(len(self.sensitive))}}
        )

    def _numbers(self, rows: pa.Table) -> list[Floats]:
        return [_floats(rows[f"v{i}"]) for i in range(len(self.columns))]

    def _places(self, numbers: list[Floats]) -> Floats:
        """Return where records lie; where no column gives them a place, they all have the same one."""
        placed = [each.places(values) for each, values in zip(self.columns, numbers, strict=True)]
        found = np.concatenate(placed, axis=1)
        return np.ascontiguousarray(found) if found.shape[1] else np.zeros((len(found), 1))

    def _coordinates(self, numbers: list[Floats]) -> Floats:
        """Return the coordinates that blocks are cut along."""
        axes = [axis.places(numbers[axis.column]) for each in self.columns for axis in each.axes]
        return np.stack(axes, axis=1) if axes else np.zeros((len(numbers[0]), 0))


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64()).fill_null(float("nan")).to_numpy())


SAMPLE = 200_000
"""Records that the driver sees, at most: the planes between blocks are chosen by them."""

ROUNDS = 4
"""How often blocks are counted and corrected; where the sample speaks for the table, once is enough."""


WIDER = 4
"""Blocks that do not keep a promise are joined with their neighbours, to so many times their size at most."""


def suits_blocks(method: Microaggregation, work: Work) -> bool:
    """Say whether a plan could be carried out block by block: one partition, and promises that classes keep alone.

    They may compare a class with the values of the whole table: these are counted before.
    """
    plan = work.plan
    return (
        method.block > 0
        and method.strategy == "merge-first"
        and len(method.groups or ()) <= 1
        and all(model.capabilities.decided_by_size or _of_values(model) for model in plan.class_models)
    )


def _of_values(model: Model) -> bool:
    """Say whether the verdict of a model on a class depends on one sensitive attribute, there and in the table."""
    wanted = model.capabilities
    apart = wanted.codes or wanted.about_population or wanted.scope is Scope.RELEASE
    return len(wanted.sensitive) == 1 and not apart


def aggregate_by_block(method: Microaggregation, asked: Work) -> Made | None:
    """Microaggregate a table on Spark where it lies; None where it is not there, or not larger than a block."""
    check_key(asked.schema, asked.key)
    table = asked.table.with_schema(asked.schema)
    work = _work(
        method, replace(asked.plan, models=tuple(model.resolved(asked.schema) for model in asked.plan.models)), table
    )
    if work is None:
        return None
    asked.watch.step(0, 3, "dividing the records into blocks")
    sample = work.sample()
    planes = work.keeping(work.planes(sample))
    if planes is None:
        return None
    asked.watch.step(1, 3, "making classes")
    clustered = work.cluster(sample, planes)
    asked.watch.step(2, 3, "checking the promises")
    return _release(work, clustered, asked.key)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Work:
    """A plan and a table on Spark that suit each other."""

    plan: Brief
    method: Microaggregation
    table: Table
    blocks: Blocks
    records: int
    columns: tuple[BlockColumn, ...]
    k: int

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(each.attribute for each in self.columns)

    @property
    def models(self) -> tuple[Model, ...]:
        """The promises that are about sensitive values."""
        return tuple(model for model in self.plan.class_models if model.capabilities.sensitive)

    @property
    def repairs(self) -> bool:
        """Whether clusters are repaired over the borders of blocks, which would undo what these keep."""
        return self.method.repairs and not self.models

    @property
    def axes(self) -> tuple[Coordinate, ...]:
        """The coordinates along which blocks are cut."""
        return tuple(axis for each in self.columns for axis in each.axes)

    @property
    def most(self) -> int:
        """The records of the largest block."""
        return _most(self.method)

    def sample(self) -> Floats:
        """Return the coordinates of some records, which speak for all."""
        return self.blocks.sample(self.axes, min(1.0, SAMPLE / self.records))

    def cluster(self, sample: Floats, planes: Block) -> ClusteredBlocks:
        """Cluster the blocks, and repair the clusters where the method does that.

        Repair looks over the borders of blocks: whole clusters are gathered into other blocks, whose borders are
        planes of other attributes. The widest come together, as far as half a block holds them: they are people far
        from all others, whom the planes part, and most of what is lost is theirs.
        """
        task = BlockTask(
            method=self.method,
            k=self.k,
            columns=self.columns,
            models=self.models,
            sensitive=self.blocks.sensitive,
            totals=self.blocks.totals,
        )
        types = [each.type for each in self.columns]
        if not self.repairs:
            return self.blocks.cluster(self.axes, planes, task.cluster, types)
        drafted = self.blocks.draft(self.axes, planes, task.draft)
        others = cut(sample, self.records, self.most, late=axes_cut(planes))
        return drafted.repaired(others, self._wide(drafted), task.repair, types)

    def _wide(self, drafted: DraftedBlocks) -> float:
        """Return the width such that the clusters that are wider fill half a block, at most."""
        widths, sizes = drafted.widest(self.method.block // (2 * self.k) + 1)
        inside = np.cumsum(sizes) <= self.method.block // 2
        return float(widths[~inside].max(initial=0.0) if inside.any() else widths.max(initial=0.0))

    def planes(self, sample: Floats) -> Block:
        """Cut space into blocks of a quarter of ``block`` to a tenth more than it, as far as that can be had.

        Whatever the sample says, no block has fewer than k records.
        """
        most, least = self.most, max(self.k, self.method.block // 4)
        planes = cut(sample, self.records, most)
        for _ in range(ROUNDS):
            sizes = self.blocks.sizes(self.axes, planes)
            if least <= min(sizes.values()) and max(sizes.values()) <= most and not _empty(planes, sizes):
                return planes
            # planes that were taken away change the numbers of blocks, so that the others are cut next time
            smaller = without_small(planes, sizes, least)
            planes = smaller if smaller != planes else recut(planes, sample, sizes, most)
        return without_small(planes, self.blocks.sizes(self.axes, planes), self.k)

    def keeping(self, planes: Block) -> Block | None:
        """Take planes away until every block keeps the promises as one class; None where that makes blocks too large.

        Its clusters can then be merged until they keep them, too.
        """
        while self.models:
            numbers, classes = self.blocks.classes(self.axes, planes)
            good = satisfied(self.models, classes)
            if int(classes.sizes.max()) > WIDER * self.most or (isinstance(planes, int) and not good.all()):
                return None
            if good.all():
                break
            # two that fail become one, which may be good; one that fails goes to its neighbours
            planes = without_small(planes, dict(zip(numbers, (1 + good).tolist(), strict=True)), 2)
        return planes

    def errors(self, sse: float) -> Errors:
        """Return the errors of the release: those of releasing the mean of all need no look at the records."""
        sst = sum(each.attribute.weight * each.spread for each in self.columns)
        return Errors(sse=sse, sst=float(sst))


def _work(method: Microaggregation, plan: Brief, table: Table) -> _Work | None:
    k = max((model.capabilities.minimal_class_size for model in plan.class_models), default=1)
    if table.count() <= max(method.block, k):
        return None
    read = tuple(dict.fromkeys(name for model in plan.class_models for name in model.capabilities.sensitive))
    blocks = tables.in_blocks(table, plan.schema.quasi_identifiers, read)
    if blocks is None:
        return None
    records, moments = blocks.moments()
    attributes = [plan.schema[name] for name in blocks.names]
    columns = block_columns(attributes, moments, blocks.leaves, records, _most(method))
    if columns is None or records < k:
        return None
    return _Work(plan=plan, method=method, table=table, blocks=blocks, records=records, columns=columns, k=k)


def _most(method: Microaggregation) -> int:
    return method.block + method.block // 10


def _release(work: _Work, clustered: ClusteredBlocks, key: bytes | None) -> Made:
    plan, method = work.plan, work.method
    sizes, times = clustered.class_sizes()
    counted = {work.records, *(int(found.counts.sum()) for found in work.blocks.leaves.values())}
    counted |= {int(counts.sum()) for counts in work.blocks.totals}
    judged = _judged(plan, Classes(sizes=sizes), clustered.histograms())
    _check(plan, judged, counted == {int(sizes @ times)})
    number, largest, sse = clustered.summary()
    names = released_columns(plan.schema)
    released = clustered.released(names, key=key)
    events = (
        *preparation(plan.schema, work.table),
        compared(work.attributes, "points"),
        Blocked(blocks=number, largest=largest, repaired=work.repairs),
        Classed(
            method=method.name,
            form=method.form,
            columns=plan.schema.quasi_identifiers,
            classes=int(times.sum()),
            smallest=int(sizes.min()),
            largest=int(sizes.max()),
        ),
        averaged(work.attributes, method.decimals),
        Ordered(),
    )
    described = tuple(column(plan.schema[name]) for name in names)
    return Made(
        plan=plan,
        table=released,
        guarantee=Guarantee(
            promises=tuple(
                stated(model, (classes,), CLASSES) for model, classes in zip(plan.class_models, judged, strict=True)
            ),
            events=events,
            randomness="none used",
        ),
        measures=reported(plan, work.errors(sse).measures()),
        before=reidentification_of_sizes(*tables.class_sizes(work.blocks.table, plan.schema.quasi_identifiers)),
        after=reidentification_of_sizes(sizes, times),
        records=work.records,
        domains=domains_of_schema(plan.schema),
        sensitive_hierarchies=tuple(
            attribute.hierarchy for attribute in work.blocks.sensitive if attribute.hierarchy is not None
        ),
        parts=(Part(file=DATA, table=released, records=work.records, columns=described),),
    )


def _judged(plan: Brief, sizes: Classes, values: Mapping[str, tuple[Classes, Counts]]) -> list[Classes]:
    """Return the classes that decide each promise: one of each size, or one of each histogram, decides for all alike.

    Where a class is compared with the whole release, those that are alike are taken together as one class: it has their
    distribution, and the release has its own.
    """
    found = []
    for model in plan.class_models:
        if not model.capabilities.sensitive:
            found.append(sizes)
            continue
        (name,) = model.capabilities.sensitive
        classes, times = values[name]
        if model.capabilities.scope is Scope.REFERENCE:
            together = {name: classes.histogram(name).times(times)}
            classes = Classes(sizes=classes.sizes * times, sensitive=together)
        found.append(classes)
    return found


def _check(plan: Brief, judged: Sequence[Classes], complete: bool) -> None:
    """Decide every promise on the classes that the executors made."""
    pairs = zip(plan.class_models, judged, strict=True)
    broken = [model.title for model, classes in pairs if not satisfied([model], classes).all()]
    if broken or not complete:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{title}`" for title in broken]
            or [f"the classes of method `{plan.method.name}` do not hold all records"],
            hint="this is a bug in Shoal: please report it",
        )


def _empty(planes: Block, sizes: dict[int, int]) -> bool:
    """Say whether a block has no record at all, and so was not counted."""
    if isinstance(planes, int):
        return planes not in sizes
    return _empty(planes.below, sizes) or _empty(planes.above, sizes)
