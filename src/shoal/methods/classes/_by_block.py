"""The driver's part of a release of classes that the executors of Spark make block by block.

It cuts the table into blocks, has each of them put into classes (`_block_task`), and decides every promise on these.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal import tables
from shoal.errors import RequirementError
from shoal.guarantees import Counted, ExpectedStep, Promise, maybe
from shoal.kernels import Counts, Floats
from shoal.methods._opening import domains_of_schema
from shoal.methods.base import Result, Work
from shoal.methods.classes._block_forms import BlockBuckets, BlockForm, BlockRun, block_form
from shoal.methods.classes._block_task import BlockColumn, BlockRecords, BlockTask, block_columns
from shoal.methods.classes._blocks import axes_cut, cut, dealt, recut, without_small
from shoal.methods.classes._method import PartitionMethod, select_measures
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._run import find_satisfying
from shoal.methods.classes._steps import Blocked
from shoal.methods.classes._typical import Errors
from shoal.models import Classes, Model, Scope
from shoal.risk import (
    PeopleRisk,
    Reidentification,
    reidentification_of_crowds,
    reidentification_of_sizes,
    risk_of_crowds,
)
from shoal.schema import Attribute
from shoal.tables import (
    Block,
    Blocks,
    ClusteredBlocks,
    Coordinate,
    CrowdCounts,
    DraftedBlocks,
    SensitiveAttribute,
    Table,
)

if TYPE_CHECKING:
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMethod(PartitionMethod):
    """A method whose classes the executors of Spark can make block by block, each of which sees no other.

    It says of how many records blocks are, and how the classes of one are made; everything else is here.
    """

    #: whether records are exchanged between clusters after blocks were clustered
    repairs: ClassVar[bool] = False

    @abstractmethod
    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block; 0 where blocks could not keep what is promised, and records are collected."""

    @abstractmethod
    def partition_block(self, block: BlockRecords) -> Partition:
        """Put the records of a block into classes that keep every promise in a release of all blocks."""

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        return [maybe(Blocked), *PartitionMethod.expected_classes(self, plan, names)]

    @property
    def fine(self) -> bool:
        """Whether categories get as many coordinates as there is room for; else the few that tell most."""
        return False

    @property
    def decimals_of_means(self) -> int | None:
        """To how many decimals means are rounded; None: they are not."""
        return None

    def of_blocks(self, models: Sequence[Model], sensitive: Sequence[SensitiveAttribute]) -> tuple[Model, ...]:
        """Return what every block must keep as one class, so that its classes can be made to keep the promises."""
        del sensitive
        return tuple(model for model in models if model.capabilities.sensitive)

    def make_buckets(self, blocks: Blocks, models: Sequence[Model]) -> tuple[Blocks, BlockBuckets | None]:
        """Replace sensitive values by buckets, where the method does that."""
        del models
        return blocks, None

    def make(self, work: Work) -> Result:
        """Make the classes on the executors of Spark where table and plan suit that, else in memory."""
        made = make_by_block(self, work)
        return PartitionMethod.make(self, work) if made is None else made


SAMPLE = 200_000
"""Records that the driver sees, at most: the planes between blocks are chosen by them."""


ROUNDS = 4
"""How often blocks are counted and corrected; where the sample speaks for the table, once is enough."""


WIDER = 4
"""Blocks that do not keep a promise are joined with their neighbours, to so many times their size at most."""


def _suits_persons(method: BlockMethod, work: Work) -> bool:
    """Say whether blocks can count persons: in classes that look alike, whose sizes alone are promised."""
    sizes = all(model.capabilities.decided_by_size for model in work.plan.class_models)
    return sizes and method.form == "microaggregated" and work.schema.household is None


def _of_values(model: Model) -> bool:
    """Say whether the verdict of a model on a class depends on one sensitive attribute, there and in the table."""
    wanted = model.capabilities
    apart = wanted.codes or wanted.about_population or wanted.scope is Scope.RELEASE
    return len(wanted.sensitive) == 1 and not apart


def make_by_block(method: BlockMethod, work: Work) -> Result | None:
    """Make a release of a table on Spark where it lies; None where it is not there, or not larger than a block, or
    where blocks cannot keep what is promised.
    """
    models = work.plan.class_models
    alone = all(model.capabilities.decided_by_size or _of_values(model) for model in models)
    if work.table.source.kind != "spark" or not alone or not method.block_rows(models):
        return None
    if work.schema.person is not None and not _suits_persons(method, work):
        return None
    work = work.open()
    blocks = _plan_blocks(method, work.plan, work.table)
    if blocks is None:
        return None
    work.watch.step(0, 3, "dividing the records into blocks")
    sample = blocks.sample()
    planes = blocks.keeping(blocks.planes(sample))
    if planes is None:
        return None
    work.watch.step(1, 3, "making classes")
    form = block_form(method, blocks.columns, work)
    clustered = blocks.cluster(sample, planes, form)
    work.watch.step(2, 3, "checking the promises")
    return _release(blocks, clustered, form, work)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BlockPlan:
    """A plan and a table on Spark that suit each other."""

    plan: Plan
    method: BlockMethod
    block: int
    blocks: Blocks
    records: int
    columns: tuple[BlockColumn, ...]
    k: int
    buckets: BlockBuckets | None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(column.attribute for column in self.columns)

    @property
    def models(self) -> tuple[Model, ...]:
        """The promises that are about sensitive values."""
        return tuple(model for model in self.plan.class_models if model.capabilities.sensitive)

    @property
    def repairs(self) -> bool:
        """Whether clusters are repaired over the borders of blocks, which would undo what these keep."""
        return self.method.repairs and not self.models and not self.blocks.persons

    @property
    def axes(self) -> tuple[Coordinate, ...]:
        """The coordinates along which blocks are cut; none where a block must have all records of a person."""
        return () if self.blocks.persons else tuple(axis for column in self.columns for axis in column.axes)

    @property
    def most(self) -> int:
        """The records of the largest block."""
        return _most(self.block)

    def sample(self) -> Floats:
        """Return the coordinates of some records, which speak for all."""
        return self.blocks.sample(self.axes, min(1.0, SAMPLE / self.records))

    def cluster(self, sample: Floats, planes: Block, form: BlockForm) -> ClusteredBlocks:
        """Cluster the blocks, and repair the clusters where the method does that.

        Repair looks over the borders of blocks: whole clusters are gathered into other blocks, whose borders are
        planes of other attributes. The widest come together, as far as half a block holds them: they are people far
        from all others, whom the planes part, and most of what is lost is theirs.
        """
        task = BlockTask(
            method=self.method,
            k=self.k,
            form=form,
            models=self.models,
            sensitive=self.blocks.sensitive,
            totals=self.blocks.totals,
        )
        if not self.repairs:
            return self.blocks.cluster(self.axes, planes, task.cluster, form.column_types, form.keys)
        drafted = self.blocks.draft(self.axes, planes, task.draft)
        others = cut(sample, self.records, self.most, late=axes_cut(planes))
        return drafted.repair(others, self._wide(drafted), task.repair, form.column_types, form.keys)

    def _wide(self, drafted: DraftedBlocks) -> float:
        """Return the width such that the clusters that are wider fill half a block, at most."""
        widths, sizes = drafted.widest(self.block // (2 * self.k) + 1)
        inside = np.cumsum(sizes) <= self.block // 2
        return float(widths[~inside].max(initial=0.0) if inside.any() else widths.max(initial=0.0))

    def planes(self, sample: Floats) -> Block:
        """Cut space into blocks of a quarter of ``block`` to a tenth more than it, as far as that can be had.

        Whatever the sample says, no block has fewer than k records.
        """
        most, least = self.most, max(self.k, self.block // 4)
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
        """Take planes away until every block keeps the promises as one class, so that its classes can be made to.

        Blocks that become too large by it are divided by chance: each part is a sample of such a block. None where not
        even these keep the promises.
        """
        if self.blocks.persons:
            return self._merge_until_peopled(planes)
        asked = self.method.of_blocks(self.plan.class_models, self.blocks.sensitive)
        if not asked:
            return planes
        joined = self._merge_until_satisfied(planes, asked)
        if joined is not None and (large := self._large(joined[1])):
            joined = self._merge_until_satisfied(dealt(joined[0], large, self.most, len(self.axes)), asked)
        return None if joined is None or self._large(joined[1]) else joined[0]

    def _merge_until_peopled(self, planes: Block) -> Block | None:
        """Take planes away until every block has k persons."""
        while min((people := self.blocks.sizes(self.axes, planes, persons=True)).values()) < self.k:
            if isinstance(planes, int):
                return None
            planes = without_small(planes, people, self.k)
        return planes

    def _merge_until_satisfied(self, planes: Block, asked: Sequence[Model]) -> tuple[Block, dict[int, int]] | None:
        while True:
            numbers, classes = self.blocks.classes(self.axes, planes)
            good = find_satisfying(asked, classes)
            if good.all():
                return planes, dict(zip(numbers, classes.sizes.tolist(), strict=True))
            if isinstance(planes, int):
                return None
            # two that fail become one, which may be good; one that fails goes to its neighbours
            planes = without_small(planes, dict(zip(numbers, (1 + good).tolist(), strict=True)), 2)

    def _large(self, sizes: Mapping[int, int]) -> dict[int, int]:
        return {number: size for number, size in sizes.items() if size > WIDER * self.most}

    def errors(self, sse: float) -> Errors:
        """Return the errors of the release: those of releasing the mean of all need no look at the records."""
        sst = sum(column.attribute.weight * column.spread for column in self.columns)
        return Errors(sse=sse, sst=float(sst))


def _plan_blocks(method: BlockMethod, plan: Plan, table: Table) -> _BlockPlan | None:
    k = max((model.capabilities.minimal_class_size for model in plan.class_models), default=1)
    block = method.block_rows(plan.class_models)
    if table.count() <= max(block, k):
        return None
    read = tuple(dict.fromkeys(name for model in plan.class_models for name in model.capabilities.sensitive))
    blocks = tables.in_blocks(table, plan.schema.quasi_identifiers, read, plan.schema.person)
    if blocks is None:
        return None
    blocks, buckets = method.make_buckets(blocks, plan.class_models)
    records, moments = blocks.moments()
    attributes = [plan.schema[name] for name in blocks.names]
    largest = _most(block) if method.fine else None
    columns = block_columns(attributes, moments, blocks.leaves, records, largest)
    if columns is None or records < k:
        return None
    return _BlockPlan(
        plan=plan, method=method, block=block, blocks=blocks, records=records, columns=columns, k=k, buckets=buckets
    )


def _most(block: int) -> int:
    return block + block // 10


def _release(blocks: _BlockPlan, clustered: ClusteredBlocks, form: BlockForm, work: Work) -> Result:
    plan, method = blocks.plan, blocks.method
    sizes, times = clustered.class_sizes()
    who = _people(blocks, clustered)
    counted = {blocks.records, *(int(leaves.counts.sum()) for leaves in blocks.blocks.leaves.values())}
    counted |= {int(counts.sum()) for counts in blocks.blocks.totals}
    values = clustered.histograms()
    crowds = Classes(sizes=sizes) if who is None else Classes(sizes=who.after.sizes, persons=who.after.persons)
    judged = [_decisive(model, crowds, values) for model in plan.class_models]
    _check(plan, judged, counted == {int(sizes @ times)})
    buckets = blocks.buckets
    together = None if buckets is None else _decisive(buckets.joint, Classes(sizes=sizes), values)
    views = () if buckets is None or together is None else buckets.views(together)
    hidden: tuple[Promise, ...] = ()
    if buckets is not None and together is not None and method.form == "permuted":
        hidden = (buckets.promise_hidden_classes(together, *values[buckets.joint.attribute]),)
    number, largest, sse = clustered.summary()
    before, after = method.steps(blocks.attributes)
    blocked = Blocked(blocks=number, largest=largest, repaired=blocks.repairs)
    run = BlockRun(
        plan=plan,
        method=method,
        clustered=clustered,
        records=blocks.records,
        sizes=sizes,
        times=times,
        judged=tuple(judged),
        views=views,
        hidden=hidden,
        before=(*before, *(() if buckets is None else (buckets.event,)), blocked),
        after=(*after, *(() if who is None else (who.persons_step,))),
        work=work,
    )
    parts, guarantee, notes = form.outcome(run)
    result = Result(
        plan=plan,
        table=form.join_parts(run, parts),
        guarantee=guarantee,
        measures=select_measures(plan, form.measures(blocks.errors(sse))),
        before=_risk(
            None if who is None else who.before, *tables.class_sizes(blocks.blocks.table, plan.schema.quasi_identifiers)
        ),
        after=_risk(None if who is None else who.after, sizes, times),
        people=None if who is None else who.risks,
        records=blocks.records,
        domains=domains_of_schema(plan.schema),
        sensitive_hierarchies=tuple(
            attribute.hierarchy for attribute in blocks.blocks.sensitive if attribute.hierarchy is not None
        ),
        parts=parts,
        notes=notes,
    )
    return work.release(result)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _People:
    """The persons of a table, and of the classes that were made of it."""

    column: str
    before: CrowdCounts
    after: CrowdCounts

    @property
    def persons_step(self) -> Counted:
        """Say how many persons were released, and how few a class has."""
        return Counted(
            column=self.column,
            records=int(self.after.sizes @ self.after.times),
            persons=self.after.people,
            memberships=int(self.after.persons @ self.after.times),
            smallest=int(self.after.sizes.min()),
            fewest=int(self.after.persons.min()),
        )

    @property
    def risks(self) -> tuple[PeopleRisk, PeopleRisk] | None:
        """The risk of persons, before and after; None where everybody has one record, and records say all."""
        if self.persons_step.persons == self.persons_step.records:
            return None
        return risk_of_crowds(self.before, self.column), risk_of_crowds(self.after, self.column)


def _people(blocks: _BlockPlan, clustered: ClusteredBlocks) -> _People | None:
    person = blocks.plan.schema.person
    if person is None:
        return None
    before = tables.crowds(blocks.blocks.table, blocks.plan.schema.quasi_identifiers, person)
    return _People(column=person, before=before, after=clustered.crowds())


def _risk(found: CrowdCounts | None, sizes: Counts, times: Counts) -> Reidentification:
    """Return the risk of classes, by their persons where these were counted and somebody has several records."""
    if found is None or found.people == int(sizes @ times):
        return reidentification_of_sizes(sizes, times)
    return reidentification_of_crowds(found)


def _decisive(model: Model, sizes: Classes, values: Mapping[str, tuple[Classes, Counts]]) -> Classes:
    """Return the classes that decide a promise: one of each size, or one of each histogram, decides for all alike.

    Where a class is compared with the whole release, those that are alike are taken together as one class: it has their
    distribution, and the release has its own.
    """
    if not model.capabilities.sensitive:
        return sizes
    (name,) = model.capabilities.sensitive
    classes, times = values[name]
    if model.capabilities.scope is not Scope.REFERENCE:
        return classes
    together = {name: classes.histogram(name).times(times)}
    return Classes(sizes=classes.sizes * times, sensitive=together)


def _check(plan: Plan, judged: Sequence[Classes], complete: bool) -> None:
    """Decide every promise on the classes that the executors made."""
    pairs = zip(plan.class_models, judged, strict=True)
    broken = [model.title for model, classes in pairs if not find_satisfying([model], classes).all()]
    if broken or not complete:
        raise RequirementError(
            [f"the classes of method `{plan.method.name}` do not keep `{title}`" for title in broken]
            or [f"the classes of method `{plan.method.name}` do not contain all records"],
            hint="this is a bug in Shoal: please report it",
        )


def _empty(planes: Block, sizes: dict[int, int]) -> bool:
    """Say whether a block has no record at all, and so was not counted."""
    if isinstance(planes, int):
        return planes not in sizes
    return _empty(planes.below, sizes) or _empty(planes.above, sizes)
