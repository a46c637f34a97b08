"""Methods that cluster near records by their quasi-identifiers, and replace these by the middle of their cluster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from shoal.exact import Arguments, is_finite, one_of
from shoal.guarantees import (
    Event,
    ExpectedStep,
    Guarantee,
    Ordered,
    Promise,
    PromiseEntry,
    Requirement,
    exactly,
    once,
)
from shoal.kernels import Floats
from shoal.mechanisms import RandomSource
from shoal.methods._opening import expected_preparation
from shoal.methods.base import Result, Work
from shoal.methods.classes._block_task import BlockRecords
from shoal.methods.classes._blocks import LEAST_BLOCK, blocked_mdav, blocks, exchange
from shoal.methods.classes._by_block import BlockMethod
from shoal.methods.classes._columns import HeldRecords, few_concepts, fine_points, semantic_space
from shoal.methods.classes._forms import one_table, step_of_classes
from shoal.methods.classes._mdav import mdav, vmdav
from shoal.methods.classes._method import assemble_result, counting, open_records, settle_classes
from shoal.methods.classes._near_classes import Strategy, microaggregate_points
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._promises_clusters import OfAttributeSet
from shoal.methods.classes._run import Classified, Form, Formed, check_classes
from shoal.methods.classes._steps import Averaged, Blocked, Compared
from shoal.methods.classes._typical import Errors
from shoal.models import Model
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import group

if TYPE_CHECKING:
    from shoal.plan import Plan

Categories = Literal["auto", "semantic", "points"]
"""How categories are compared: by their semantic distance; as points that have nearly these distances, which is faster;
or, automatically, by semantic distance where there are at most 5,000 records and 1,000 concepts, else as points."""


BLOCK = 125_000
"""Above so many records the executors of Spark make classes block by block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering(BlockMethod):
    """The base of methods that cluster records by their quasi-identifiers."""

    #: Tables of more records are divided into blocks of at most so many, at least 40,000, each clustered on its own; 0:
    #: never.
    block: int = BLOCK
    #: How promises about sensitive values are kept: ``"merge-first"`` merges failing clusters with their neighbours;
    #: ``"closeness-first"`` gives every class its share of the sensitive values from the beginning, where t-closeness
    #: is promised; ``"best"`` does both and keeps what loses less.
    strategy: Strategy = field(default="merge-first", metadata=one_of(*get_args(Strategy)))
    repairs: ClassVar[bool] = True

    @abstractmethod
    def cluster(self, people: HeldRecords, places: Floats, k: int) -> Partition:
        """Return clusters of at least k near records, which lie at ``places``."""

    @abstractmethod
    def name_distance(self, people: HeldRecords) -> str:
        """Say how categories are compared: ``"semantic"`` or ``"points"``."""

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Cluster the records, and merge clusters until every model holds."""
        columns = [column.attribute for column in people.quasi_identifiers]
        events: list[Event] = [step_of_comparison(columns, self.name_distance(people))]
        fine = fine_points(people)

        def cluster(k: int) -> Partition:
            if 0 < self.block < len(people):
                sizes = [len(rows) for rows in blocks(fine, self.block, multiple=k)]
                events.append(Blocked(blocks=len(sizes), largest=max(sizes), repaired=self.repairs))
            return self.cluster(people, fine, k)

        # classes with a share of every sensitive value are wide: fine distances would cost time and change nothing
        positions = fine if self.strategy == "merge-first" else people.points
        partition = microaggregate_points(
            positions,
            people.sensitive,
            people.codes,
            models,
            self.strategy,
            clusters=cluster,
            persons=people.persons,
            shown=people.shown,
        )
        return Classified(partition=partition, events=tuple(events))

    @abstractmethod
    def cluster_block(self, places: Floats, k: int) -> Partition:
        """Return clusters of at least k near records of one block, which sees no other."""

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block."""
        del models
        return self.block

    def partition_block(self, block: BlockRecords) -> Partition:
        """Cluster the records of a block, and merge clusters until every promise holds."""
        return block.microaggregate(self.strategy, partial(self.cluster_block, block.points))

    @property
    def fine(self) -> bool:
        """Whether categories get as many coordinates as there is room for; see `classify`."""
        return self.strategy == "merge-first"

    def steps(self, columns: Sequence[Attribute]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
        """Say how records were compared."""
        return (step_of_comparison(columns, "points"),), ()

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        """Return the steps that make classes; how categories are compared may depend on how many there are."""
        step = step_of_comparison([plan.schema[name] for name in names], "points")
        how = once(Compared, scaled=step.scaled, concepts=step.concepts, weighted=step.weighted)
        return [how, *BlockMethod.expected_classes(self, plan, names)]

    def fit(self, arguments: Arguments) -> None:
        """Report blocks that are too small to cluster well."""
        if arguments.whole("block", self.block, minimum=0) and self.block < 2 * LEAST_BLOCK:
            arguments.problems.add(
                f"`block` of `{self.title}` must be 0 or at least {2 * LEAST_BLOCK:,}; got {self.block}."
            )


def compared_as(people: HeldRecords, categories: Categories, block: int) -> str:
    """Say how categories are compared: ``"semantic"`` or ``"points"``; blocks are clustered as points."""
    if categories == "points" or 0 < block < len(people):
        return "points"
    few = categories == "semantic" or few_concepts(people.quasi_identifiers, len(people))
    some = any(column.attribute.kind is Kind.CATEGORICAL for column in people.quasi_identifiers)
    return "semantic" if few and some else "points"


def mdav_clusters(people: HeldRecords, places: Floats, k: int, *, block: int, compared: str) -> Partition:
    """Return MDAV clusters of k to 2k - 1 records, which lie at ``places``."""
    if 0 < block < len(people):
        return blocked_mdav(places, k, block_rows=block)
    if compared == "semantic":
        return mdav(semantic_space(people.quasi_identifiers), k)
    return mdav(places, k)


def mdav_block(places: Floats, k: int) -> Partition:
    """Return MDAV clusters of k to 2k - 1 records of one block, repaired inside it."""
    return exchange(places, mdav(places, k)).require(k, 2 * k - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregation(Clustering):
    """The base of methods that replace quasi-identifiers by the middle of their cluster."""

    #: Sets of quasi-identifiers AS_1, ..., AS_m, each clustered and replaced on its own; every quasi-identifier is in
    #: one of them. Without, all are clustered together.
    groups: Sequence[Sequence[str]] | None = None
    #: To how many decimals means are rounded, in [0, 12]; not at all where not given.
    decimals: int | None = None

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Cluster the records by all quasi-identifiers of ``people``, and merge clusters until every model holds."""
        classified = Clustering.classify(self, people, models, source)
        columns = [column.attribute for column in people.quasi_identifiers]
        return replace(classified, details=(step_of_averages(columns, self.decimals),), decimals=self.decimals)

    def make(self, work: Work) -> Result:
        """Cluster in memory, on the executors of Spark, or set by set, whichever the plan and the table ask for."""
        if len(self.groups or ()) > 1:
            return _aggregate_apart(work, self)
        return Clustering.make(self, work)

    @property
    def decimals_of_means(self) -> int | None:
        return self.decimals

    def steps(self, columns: Sequence[Attribute]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
        """Say how records were compared, and what stands for a class."""
        return Clustering.steps(self, columns)[0], (step_of_averages(columns, self.decimals),)

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        columns = [plan.schema[name] for name in plan.schema.quasi_identifiers if name in names]
        return [*Clustering.expected_classes(self, plan, names), *exactly(step_of_averages(columns, self.decimals))]

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        """Return the steps of each set of quasi-identifiers, and those of all."""
        if len(self.groups or ()) < 2:
            return Clustering.expected_steps(self, plan)
        steps = expected_preparation(plan.schema)
        for names in self.groups or ():
            steps += [*self.expected_classes(plan, names), *self.expected_counts(plan, names)]
        return [*steps, *self.expected_counts(plan, plan.schema.quasi_identifiers), *exactly(Ordered())]

    def find_unanswered(
        self, schema: Schema, asked: Sequence[Requirement], entries: Sequence[PromiseEntry]
    ) -> list[Requirement]:
        """Return the promises asked for that some set of quasi-identifiers does not answer."""
        if len(self.groups or ()) < 2:
            return Clustering.find_unanswered(self, schema, asked, entries)
        unanswered: list[Requirement] = []
        for names in self.groups or ():
            own = [entry for entry in entries if entry.parameters.get("columns") == list(names)]
            unanswered += Clustering.find_unanswered(self, schema, asked, own)
        return unanswered

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = Clustering.problems(self, schema, models)
        if self.groups is None:
            return problems
        named = [name for group in self.groups for name in group]
        for name in dict.fromkeys(named):
            if name not in schema.quasi_identifiers:
                problems.append(f"`groups` of `{self.title}` names `{name}`, which is not a quasi-identifier")
            elif named.count(name) > 1:
                problems.append(f"`groups` of `{self.title}` lists `{name}` twice")
        missing = [name for name in schema.quasi_identifiers if name not in named]
        return [*problems, *(f"`groups` of `{self.title}` leaves out `{name}`" for name in missing)]

    def fit(self, arguments: Arguments) -> None:
        """Report groups that are no columns, and more decimals than there can be."""
        Clustering.fit(self, arguments)
        if self.groups is not None:
            given = self.groups if isinstance(self.groups, (list, tuple)) else [self.groups]
            made = tuple(arguments.columns("groups", group) for group in given)
            object.__setattr__(self, "groups", made or None)
        if self.decimals is not None and not 0 <= arguments.whole("decimals", self.decimals, minimum=0) <= 12:
            arguments.problems.add(f"`decimals` of `{self.title}` must be in [0, 12]; got {self.decimals}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mdav(Microaggregation):
    """Cluster near records in groups of k and replace their quasi-identifiers by the middle of the cluster (MDAV-ID).

    Integers become means, days the mean day, ordinal values the median, categories the least marginal concept of their
    hierarchy. Other columns stay as they are.

    Parameters
    ----------
    block
        Tables of more records are divided into blocks of at most so many, at least 40,000; 0: never. Blocks of 125,000
        and the repair that follows cost nothing on the tables tried (a million records, 10 attributes: a sum of squared
        errors 0.5 to 2.5 % below the one of MDAV without blocks).
    strategy
        How promises about sensitive values are kept; see `Clustering`.
    groups
        Sets of quasi-identifiers AS_1, ..., AS_m that are microaggregated independently. **With more than one the
        release is not k-anonymous**: the promises hold for the columns of each set on their own.
    decimals
        To how many decimals means are rounded, in [0, 12]; not at all where not given.
    categories
        ``"semantic"``, ``"points"`` or ``"auto"``; see `Categories`.

    Guarantee
    ---------
    Syntactic: the promises, decided exactly on the released classes. Every MDAV cluster holds k to 2k - 1 records that
    are released with the same quasi-identifiers, which is k-anonymity [SC13 Alg. 2.1, section 2.8]; clusters that break
    another promise are merged until none does. Means of columns without missing values are kept, up to rounding.

    Assumptions
    -----------
    Those of the promises. Distances are taken in z-scores times the weights of the schema; they decide what is lost and
    no promise rests on them. Ties go to the lower row, so that the same table gives the same release.

    Notes
    -----
    O(n² m / k) in the worst case; the compiled kernel skips most of it. The records' quasi-identifiers are held in
    memory, also where the table lies on Spark or in a database; but above ``block`` records Spark's executors cluster
    block by block, where classes keep every promise apart from one another. A missing number is compared as the mean
    and by being missing; the mean of a cluster is that of its other members, and missing only where all are.

    Examples
    --------
    >>> Mdav(groups=[["age", "sex"], ["zip"]]).groups
    (('age', 'sex'), ('zip',))
    """

    categories: Categories = field(default="auto", metadata=one_of(*get_args(Categories)))
    name: ClassVar[str] = "mdav"
    about: ClassVar[str] = "People who are alike get the average of their group."

    def name_distance(self, people: HeldRecords) -> str:
        return compared_as(people, self.categories, self.block)

    def cluster(self, people: HeldRecords, places: Floats, k: int) -> Partition:
        """Return clusters of k to 2k - 1 records, by MDAV."""
        return mdav_clusters(people, places, k, block=self.block, compared=self.name_distance(people))

    def cluster_block(self, places: Floats, k: int) -> Partition:
        """Return clusters of k to 2k - 1 records of one block, repaired inside it."""
        return mdav_block(places, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class VMdav(Microaggregation):
    """As :class:`Mdav`, with clusters whose size follows the data: better for people in natural groups (V-MDAV).

    Parameters
    ----------
    block
        Tables of more records are divided into blocks of at most so many, at least 40,000; 0: never. Nothing is
        repaired afterwards: expect some 5 to 10 % more squared error than without blocks.
    strategy, groups, decimals
        See :class:`Mdav`.
    gamma
        The readiness of a cluster to grow, in [0, ∞): about 0.2 for scattered records, 1.1 for natural groups.

    Guarantee
    ---------
    As :class:`Mdav`; clusters hold at least k records [Solanas & Martínez-Ballesté 2006, cited as SC13 [86]].

    Assumptions
    -----------
    As :class:`Mdav`. Categories are compared as points that have nearly their semantic distances.

    Notes
    -----
    O(n² m) in the worst case.

    Examples
    --------
    >>> VMdav(gamma=1.1).name
    'vmdav'
    """

    gamma: float = 0.2
    name: ClassVar[str] = "vmdav"
    about: ClassVar[str] = "Like mdav, with group sizes that follow the data."
    repairs: ClassVar[bool] = False

    def fit(self, arguments: Arguments) -> None:
        """Report a gamma that is no number, or negative."""
        Microaggregation.fit(self, arguments)
        if not (is_finite(self.gamma) and self.gamma >= 0):
            arguments.problems.add(f"`gamma` of `{self.title}` must be in [0, inf); got {self.gamma!r}.")

    def name_distance(self, people: HeldRecords) -> str:
        """Say how categories are compared."""
        del people
        return "points"

    def cluster(self, people: HeldRecords, places: Floats, k: int) -> Partition:
        """Return clusters of at least k records, by V-MDAV."""
        if not 0 < self.block < len(people):
            return vmdav(places, k, gamma=self.gamma)
        labels, first = np.empty(len(people), np.int32), 0
        for rows in blocks(places, self.block, multiple=k):
            part = vmdav(places[rows], k, gamma=self.gamma)
            labels[rows] = part.labels + first
            first += part.count
        return Partition(labels).require(k)

    def cluster_block(self, places: Floats, k: int) -> Partition:
        """Return clusters of at least k records of one block, by V-MDAV."""
        return vmdav(places, k, gamma=self.gamma)


def _aggregate_apart(work: Work, method: Microaggregation) -> Result:
    """Microaggregate sets of quasi-identifiers independently; what is promised holds for each set on its own."""
    opened = open_records(work)
    plan, encoded, groups = opened.plan, opened.encoded, method.groups or ()
    promises: list[Promise] = []
    events: list[Event] = []
    columns: dict[str, pa.Array] = {}
    labels, errors = [], Errors()
    for number, names in enumerate(groups):
        work.watch.step(1 + number, 2 + len(groups), "making classes")
        chosen = tuple(
            quasi_identifier
            for quasi_identifier in opened.people.quasi_identifiers
            if quasi_identifier.attribute.name in names
        )
        people = replace(opened.people, quasi_identifiers=chosen)
        classified, made = settle_classes(
            replace(opened, people=people), method.classify(people, plan.class_models, work.source)
        )
        classes = check_classes(plan, encoded, classified, made)
        run = opened.run(classified, made)
        words = run.words(columns=tuple(names))
        promises += [OfAttributeSet.state_for_classes(model, classes, words) for model in plan.class_models]
        events += [
            *classified.events,
            replace(step_of_classes(run), columns=tuple(names)),
            *classified.details,
            *counting(run, names),
        ]
        columns |= made.columns
        labels.append(made.partition.labels)
        errors += made.errors
    partition = Partition.from_names(group(np.stack(labels, axis=1))[0])
    together = Formed(columns=columns, partition=partition, measures=errors.measures())
    run = opened.run(Classified(partition=partition), together)
    events += counting(run, plan.schema.quasi_identifiers)
    guarantee = Guarantee(promises=tuple(promises), events=tuple(events))
    return assemble_result(run, one_table(run, guarantee), opened.work)


@dataclass(frozen=True, slots=True, kw_only=True)
class TMicroaggregate(BlockMethod):
    """Group near records so that every class satisfies the promises; confidential values stay as they are.

    Made for t-closeness in the earth mover's distance; any promise about classes will do.

    Parameters
    ----------
    form
        What is released: ``microaggregated``, ``generalized`` or ``anatomy``; see :data:`Form`.
    strategy
        ``"merge-first"``: clusters of the least size that the models allow; then failing clusters are merged with
        their neighbours. Good for weak promises. ``"closeness-first"``: classes have about the right distribution
        from the beginning; better the stronger closeness is. ``"best"``: both, and the one with the lower sum of
        squared errors is kept; closeness first alone where there are more than 200,000 records.

    Guarantee
    ---------
    Syntactic: the promises, decided exactly on the released classes.

    Assumptions
    -----------
    Those of the promises.

    Examples
    --------
    >>> TMicroaggregate(strategy="merge-first").name
    't-microaggregate'
    """

    form: Form = field(default="microaggregated", metadata=one_of("microaggregated", "generalized", "anatomy"))
    strategy: Strategy = field(default="best", metadata=one_of(*get_args(Strategy)))
    name: ClassVar[str] = "t-microaggregate"
    about: ClassVar[str] = "Similar people in groups that resemble the whole table."

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Make classes by the strategy."""
        partition = microaggregate_points(
            people.points,
            people.sensitive,
            people.codes,
            models,
            self.strategy,
            persons=people.persons,
            shown=people.shown,
        )
        return Classified(partition=partition)

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block: values are not generalised in blocks, which do not know all of them."""
        del models
        return BLOCK if self.form != "generalized" else 0

    def partition_block(self, block: BlockRecords) -> Partition:
        """Make the classes of a block by the strategy."""
        return block.microaggregate(self.strategy)


def step_of_comparison(columns: Sequence[Attribute], distance: str) -> Compared:
    """Say how records were compared."""
    return Compared(
        scaled=tuple(column.name for column in columns if column.kind is not Kind.CATEGORICAL),
        concepts=_names(columns, Kind.CATEGORICAL),
        distance=distance,
        weighted=any(column.weight != 1 for column in columns),
    )


def step_of_averages(columns: Sequence[Attribute], decimals: int | None) -> Averaged:
    """Say what stands for a class."""
    return Averaged(
        means=_names(columns, Kind.NUMERIC),
        days=_names(columns, Kind.DATE),
        medians=_names(columns, Kind.ORDINAL),
        concepts=_names(columns, Kind.CATEGORICAL),
        decimals=decimals,
    )


def _names(columns: Sequence[Attribute], kind: Kind) -> tuple[str, ...]:
    return tuple(column.name for column in columns if column.kind is kind)
