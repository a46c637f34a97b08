"""A release by microaggregation whose blocks are clustered on the executors of Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import RequirementError
from shoal.guarantees import CLASSES, Guarantee, Ordered, column
from shoal.kernels import Floats
from shoal.methods._preparation import check_key, domains_of_schema, preparation
from shoal.methods.base import DATA, Made, Part, Work, released_columns
from shoal.methods.classes._blocks import axes_cut, cut, exchange, recut, without_small
from shoal.methods.classes._events import Blocked, Classed, averaged, compared
from shoal.methods.classes._method import reported
from shoal.methods.classes._partition import Partition, cluster_means
from shoal.methods.classes._promises import stated
from shoal.methods.classes._run import satisfied
from shoal.methods.classes._typical import Errors, as_numbers, middles, squared_errors
from shoal.models import Classes
from shoal.risk import reidentification_of_sizes
from shoal.schema import Attribute, Kind
from shoal.tables import ROW, Block, Blocks, ClusteredBlocks, ColumnMoments, Coordinate, DraftedBlocks, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.classes._microaggregation import Microaggregation


__all__ = ["BlockTask", "aggregate_by_block", "axes_of", "released_types", "suits_blocks"]

RANGE = 1e100
"""Means and deviations beyond it, or below its inverse, have squares that may not be numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTask:
    """Cluster a block and replace its quasi-identifiers by the middle of each cluster."""

    #: How to cluster, and the least size.
    method: Microaggregation
    k: int
    #: The quasi-identifiers, and the standard deviation of each over all records.
    attributes: tuple[Attribute, ...]
    deviations: tuple[float, ...]
    #: The coordinates of the records, on the scale of all blocks.
    axes: tuple[Coordinate, ...]

    def cluster(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return what is released for every record, and its squared error."""
        numbers = self._numbers(rows)
        return self._released(rows, numbers, self.method.cluster_block(self._places(numbers), self.k))

    def draft(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return the cluster of every record, how wide it is, and where."""
        numbers = self._numbers(rows)
        places = self._places(numbers)
        partition = self.method.cluster_block(places, self.k)
        centres = cluster_means(places, partition)[partition.labels]
        squares = np.square(places - centres).sum(axis=1)
        width = np.bincount(partition.labels, weights=squares)[partition.labels]
        first = int(rows["block"][0].as_py()) << 32
        found = {"cluster": pa.array(first + partition.labels.astype(np.int64)), "width": pa.array(width)}
        kept = {name: rows[name] for name in ("block", ROW, *(f"v{i}" for i in range(len(numbers))))}
        return pa.table({**kept, **found, **{f"q{i}": pa.array(centres[:, i]) for i in range(len(self.axes))}})

    def repair(self, rows: pa.Table) -> pa.Table:
        """Exchange records between clusters that were drafted, and return what `cluster` does."""
        numbers = self._numbers(rows)
        drafted = Partition.numbered(rows["cluster"].to_numpy())
        partition = exchange(self._places(numbers), drafted).require(self.k, 2 * self.k - 1)
        return self._released(rows, numbers, partition)

    def _released(self, rows: pa.Table, numbers: list[Floats], partition: Partition) -> pa.Table:
        labels, errors = pa.array(partition.labels), np.zeros(len(partition))
        columns: dict[str, pa.Array] = {"block": rows["block"], "record": rows[ROW]}
        for i, attribute in enumerate(self.attributes):
            middle = middles(attribute, numbers[i], partition, self.method.decimals)
            columns[f"new{i}"] = middle.take(labels)
            released = as_numbers(attribute, middle)[partition.labels]
            errors += attribute.weight * squared_errors(numbers[i], released, self.deviations[i] or 1.0)
        return pa.table({**columns, "error": pa.array(errors)})

    def _numbers(self, rows: pa.Table) -> list[Floats]:
        return [_floats(rows[f"v{i}"]) for i in range(len(self.attributes))]

    def _places(self, numbers: list[Floats]) -> Floats:
        if not self.axes:
            return np.zeros((len(numbers[0]), 1))
        return np.stack([axis.places(numbers[axis.column]) for axis in self.axes], axis=1)


def axes_of(
    attributes: tuple[Attribute, ...], moments: list[ColumnMoments], records: int
) -> tuple[Coordinate, ...] | None:
    """Return the coordinates of records: z-scores times the roots of weights, and whether a value is missing.

    None where numbers are too large or too small for their squares.
    """
    found: list[Coordinate] = []
    for place, (attribute, known) in enumerate(zip(attributes, moments, strict=True)):
        root, share = float(np.sqrt(attribute.weight)), known.count / records
        if abs(known.mean) >= RANGE or not (known.constant or 1 / RANGE < known.deviation < RANGE):
            return None
        if not known.constant:
            # a missing value lies at the mean, and makes the deviation of all smaller
            scale = root / (known.deviation * float(np.sqrt(share)))
            found.append(Coordinate(column=place, missing=False, centre=known.mean, scale=scale))
        if 0.0 < share < 1.0:
            scale = root / float(np.sqrt(share * (1.0 - share)))
            found.append(Coordinate(column=place, missing=True, centre=1.0 - share, scale=scale))
    return tuple(found)


def released_types(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    """Return what Spark calls the types of middles."""
    names = {Kind.NUMERIC: "double", Kind.DATE: "date", Kind.ORDINAL: "string"}
    return tuple(names[attribute.kind] for attribute in attributes)


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64()).fill_null(float("nan")).to_numpy())


SAMPLE = 200_000
"""Records that the driver sees, at most: the planes between blocks are chosen by them."""

ROUNDS = 4
"""How often blocks are counted and corrected; where the sample speaks for the table, once is enough."""


def suits_blocks(method: Microaggregation, work: Work) -> bool:
    """Say whether a plan could be carried out block by block: one partition of numbers, and promises about sizes."""
    plan = work.plan
    return (
        method.block > 0
        and method.strategy == "merge-first"
        and len(method.groups or ()) <= 1
        and all(model.capabilities.decided_by_size for model in plan.class_models)
        and all(plan.schema[name].kind is not Kind.CATEGORICAL for name in plan.schema.quasi_identifiers)
    )


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
    planes = work.planes(sample)
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
    moments: list[ColumnMoments]
    axes: tuple[Coordinate, ...]
    k: int

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(self.plan.schema[name] for name in self.blocks.names)

    @property
    def task(self) -> BlockTask:
        return BlockTask(
            method=self.method,
            k=self.k,
            attributes=self.attributes,
            deviations=tuple(known.deviation for known in self.moments),
            axes=self.axes,
        )

    @property
    def most(self) -> int:
        """The records of the largest block."""
        return self.method.block + self.method.block // 10

    def sample(self) -> Floats:
        """Return the coordinates of some records, which speak for all."""
        return self.blocks.sample(self.axes, min(1.0, SAMPLE / self.records))

    def cluster(self, sample: Floats, planes: Block) -> ClusteredBlocks:
        """Cluster the blocks, and repair the clusters where the method does that.

        Repair looks over the borders of blocks: whole clusters are gathered into other blocks, whose borders are
        planes of other attributes. The widest come together, as far as half a block holds them: they are people far
        from all others, whom the planes part, and most of what is lost is theirs.
        """
        task, types = self.task, released_types(self.attributes)
        if not self.method.repairs:
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

    def errors(self, sse: float) -> Errors:
        """Return the errors of the release: those of releasing the mean of all need no look at the records."""
        sst = 0.0
        for attribute, known in zip(self.attributes, self.moments, strict=True):
            if known.count:
                sst += attribute.weight * (self.records - known.count + (0 if known.constant else known.count))
        return Errors(sse=sse, sst=sst)


def _work(method: Microaggregation, plan: Brief, table: Table) -> _Work | None:
    k = max((model.capabilities.minimal_class_size for model in plan.class_models), default=1)
    if table.count() <= max(method.block, k):
        return None
    blocks = tables.in_blocks(table, plan.schema.quasi_identifiers)
    if blocks is None:
        return None
    records, moments = blocks.moments()
    axes = axes_of(tuple(plan.schema[name] for name in blocks.names), moments, records)
    if axes is None or records < k:
        return None
    return _Work(plan=plan, method=method, table=table, blocks=blocks, records=records, moments=moments, axes=axes, k=k)


def _release(work: _Work, clustered: ClusteredBlocks, key: bytes | None) -> Made:
    plan, method = work.plan, work.method
    sizes, times = clustered.class_sizes()
    classes = _checked(plan, Classes(sizes=sizes), work.records == int(sizes @ times))
    number, largest, sse = clustered.summary()
    names = released_columns(plan.schema)
    released = clustered.released(names, key=key)
    events = (
        *preparation(plan.schema, work.table),
        compared(work.attributes, "points"),
        Blocked(blocks=number, largest=largest, repaired=method.repairs),
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
            promises=tuple(stated(model, (classes,), CLASSES) for model in plan.class_models),
            events=events,
            randomness="none used",
        ),
        measures=reported(plan, work.errors(sse).measures()),
        before=reidentification_of_sizes(*tables.class_sizes(work.blocks.table, plan.schema.quasi_identifiers)),
        after=reidentification_of_sizes(sizes, times),
        records=work.records,
        domains=domains_of_schema(plan.schema),
        parts=(Part(file=DATA, table=released, records=work.records, columns=described),),
    )


def _checked(plan: Brief, classes: Classes, complete: bool) -> Classes:
    """Decide every promise on the classes that the executors made; one class of each size decides for all."""
    broken = [model.title for model in plan.class_models if not satisfied([model], classes).all()]
    if broken or not complete:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{title}`" for title in broken]
            or [f"the classes of method `{plan.method.name}` do not hold all records"],
            hint="this is a bug in Shoal: please report it",
        )
    return classes


def _empty(planes: Block, sizes: dict[int, int]) -> bool:
    """Say whether a block has no record at all, and so was not counted."""
    if isinstance(planes, int):
        return planes not in sizes
    return _empty(planes.below, sizes) or _empty(planes.above, sizes)
