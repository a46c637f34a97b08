"""Methods that exchange values between near records: probabilistic k-anonymity."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ParameterError, RequirementError
from shoal.exact import Arguments, one_of
from shoal.guarantees import COMMON_STEPS, Event, ExpectedStep, Guarantee, once
from shoal.kernels import Floats, Integers
from shoal.mechanisms import RandomSource
from shoal.methods._own_values import OwnValue
from shoal.methods.base import MethodCapabilities, Result, Work
from shoal.methods.classes._by_block import make_by_block
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._forms import one_table, step_of_classes
from shoal.methods.classes._method import Opened, PartitionMethod, assemble_result, classes_of_records, open_records
from shoal.methods.classes._microaggregation import Categories, Clustering, compared_as, mdav_block, mdav_clusters
from shoal.methods.classes._partition import Partition, as_column, merge_clusters, permutation_within, require_size
from shoal.methods.classes._promises_clusters import Exchanged, OfClusters
from shoal.methods.classes._run import Classified, Form, Formed, check_classes, verdict
from shoal.methods.classes._steps import Permuted, Ranked
from shoal.methods.classes._typical import Errors, concept_errors, number_errors
from shoal.models import Model, ProbabilisticKAnonymity
from shoal.schema import Kind, Schema

if TYPE_CHECKING:
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap(Clustering):
    """Cluster near records in groups of k and exchange, at random, who has which other values (MDAV-SWAP).

    Every value stays in the table, and so do the quasi-identifiers of every record among themselves and all other
    columns among themselves: only how the two go together blurs, inside clusters of near records that nobody publishes.

    Parameters
    ----------
    block, strategy
        See :class:`Mdav`.
    categories
        ``"semantic"``, ``"points"`` or ``"auto"``; see :class:`Mdav`.

    Guarantee
    ---------
    Conditional: probabilistic k-anonymity against uninformed intruders. The quasi-identifiers of a cluster, all
    together, get a uniformly random permutation against the other columns, so each of its |C| >= k records got a
    person's values with probability 1/|C| <= 1/k [SC13 Def. 5, section 3.3.1]. Promises about sensitive values hold for
    the clusters. **Not k-anonymity**: quasi-identifiers are released as they are, and who is in the table is plain to
    see.

    Assumptions
    -----------
    An intruder knows the quasi-identifiers of everybody, the clusters and the method, but not the permutation, which is
    drawn from the operating system's generator, and no other column of anybody (uninformed intruder). Records
    are hidden, values are not: one that m of the |C| records share is a person's with probability m/|C|. A column that
    stays and from which an exchanged one follows undoes the exchange. Clusters are made without looking at sensitive
    values; where promises about these merge some, the k is that of the clusters before, since a merge tells which
    failed.

    Notes
    -----
    Releasing the other columns permuted, as is done here, is the same as permuting the quasi-identifiers [SC13, section
    3.3.2]. Cost as :class:`Mdav`.

    Examples
    --------
    >>> Swap().form
    'permuted'
    """

    form: Form = field(default="permuted", metadata=one_of("permuted"))
    categories: Categories = field(default="auto", metadata=one_of(*get_args(Categories)))
    name: ClassVar[str] = "swap"
    about: ClassVar[str] = "People who are alike exchange their other values."
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        model_for_k=ProbabilisticKAnonymity.name, persons=True
    )

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        seen = [model for model in models if not model.capabilities.linkage and not model.capabilities.sensitive]
        problems = [
            *_explain_missing_promise(self, models),
            *(_explain_refused_model(self, model) for model in seen),
            *_kept_apart(self, schema),
        ]
        if self.strategy != "merge-first":
            problems.append(
                f'`strategy` of `{self.title}` must be "merge-first": clusters made from sensitive values reveal how '
                "these were exchanged"
            )
        return problems

    def make(self, work: Work) -> Result:
        """Exchange all but the quasi-identifiers inside clusters of near records, on Spark where they lie."""
        made = make_by_block(self, work)
        return self._in_memory(work) if made is None else made

    def _in_memory(self, work: Work) -> Result:
        """Exchange all but the quasi-identifiers inside clusters of near records (MDAV-SWAP)."""
        opened = open_records(work)
        classified = self.classify(opened.people, opened.plan.class_models, work.source)
        order = permutation_within(classified.partition, source=work.source)
        work.watch.step(2, 3, "checking the promises")
        errors = Errors()
        for column in opened.people.quasi_identifiers:
            errors += column.moved_errors(order).multiply(column.attribute.weight)
        made = Formed(columns={}, partition=classified.partition, measures=errors.measures())
        check_classes(opened.plan, opened.encoded, classified, made)
        run = opened.run(classified, made)
        others = [model for model in run.plan.class_models if not model.capabilities.linkage]
        # that clusters were merged because of their values tells which failed: only those made without them hide people
        made_with = max(model.capabilities.minimal_class_size for model in run.plan.class_models)
        k = made_with if others else run.crowd
        words = run.words(group="cluster", alike=False)
        linked = Exchanged(k=k, intruder="uninformed", columns=run.confidential)
        guarantee = Guarantee(
            promises=(
                linked.promise(words, cryptographic=work.source.cryptographic),
                *(OfClusters.state_for_clusters(model, run.readings, words) for model in others),
            ),
            events=(*classified.events, step_of_classes(run), Permuted(columns=run.confidential)),
        )
        release = assemble_result(run, one_table(run, guarantee, moved=[(run.confidential, order)]), opened.work)
        # the chance of finding somebody in the clusters before they were merged
        after, risk = release.after, 1 / k
        after = replace(after, prosecutor=max(after.prosecutor, risk), marketer=max(after.marketer, risk))
        return replace(release, after=after)

    def name_distance(self, people: HeldRecords) -> str:
        return compared_as(people, self.categories, self.block)

    def cluster(self, people: HeldRecords, places: Floats, k: int) -> Partition:
        """Return clusters of k to 2k - 1 records, by MDAV."""
        return mdav_clusters(people, places, k, block=self.block, compared=self.name_distance(people))

    def cluster_block(self, places: Floats, k: int) -> Partition:
        """Return clusters of k to 2k - 1 records of one block, by MDAV."""
        return mdav_block(places, k)

    def block_rows(self, models: Sequence[Model]) -> int:
        """Return the records of a block; 0 with promises about values: which blocks were joined for these would tell
        more of the values than which clusters were merged.
        """
        return 0 if any(model.capabilities.sensitive for model in models) else self.block


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualRankingSwap(PartitionMethod):
    """Rank the records by each sensitive column and exchange its values, at random, between k neighbours (IR-SWAP).

    Every sensitive column is treated on its own; all other columns stay as they are.

    Parameters
    ----------
    sizes
        Columns that are exchanged among more neighbours than the promise asks for, each with its k: the larger, the
        less exactly a value is learnt [SC13, section 3.5].

    Guarantee
    ---------
    Conditional: probabilistic k-anonymity against informed intruders. One who knows every column of a person but one
    sensitive column finds the record that the person's value of that one was moved to with probability 1/|C| <= 1/k, C
    the cluster of ranks [SC13 Def. 5, sections 3.3.2 and 3.3.3]. **Not k-anonymity**: quasi-identifiers are released as
    they are. A column with a size of its own has clusters of at least that many.

    Assumptions
    -----------
    The intruder knows the clusters and the method, but not the permutations, which are drawn from the generator of the
    operating system, and no value of the column in question of anybody else. Values of a cluster are near each other,
    so the value itself is learnt with the precision of its cluster: take k much larger than for k-anonymity [SC13,
    section 3.5].

    Notes
    -----
    Numbers, days and ordinal values are ranked by their order, categories by the order of their hierarchy, where near
    values are neighbours; missing values come last. No scaling is needed. O(n log n) per column.

    Examples
    --------
    >>> IndividualRankingSwap().name
    'ir-swap'
    """

    form: Form = field(default="permuted", metadata=one_of("permuted"))
    sizes: Mapping[str, int] = field(default_factory=dict)
    name: ClassVar[str] = "ir-swap"
    about: ClassVar[str] = "Each secret is swapped among people with similar ones."
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        model_for_k=ProbabilisticKAnonymity.name, persons=True
    )
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*COMMON_STEPS, Ranked)

    def fit(self, arguments: Arguments) -> None:
        given: object = self.sizes
        if not isinstance(given, Mapping):
            arguments.problems.add(f"`sizes` of `{self.title}` must give a whole number by column.")
            return
        for name, size in given.items():
            arguments.whole(f"sizes[{name}]", size, minimum=1)

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = _explain_missing_promise(self, models)
        problems += [_explain_refused_model(self, model) for model in models if not model.capabilities.linkage]
        if not schema.sensitive:
            problems.append(f"method `{self.name}` exchanges the values of sensitive columns; the schema names none")
        return problems + [
            f"`sizes` of `{self.title}` names column `{name}`, which is not sensitive"
            for name in self.sizes
            if name not in schema.sensitive
        ]

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return schema.sensitive

    def expected_classes(self, plan: Plan, names: Sequence[str]) -> list[ExpectedStep]:
        """Return that records were ranked by every sensitive column."""
        del names
        return [once(Ranked, column=name, allows=self._is_large) for name in plan.schema.sensitive]

    def _is_large(self, step: Ranked) -> bool:
        return step.smallest >= self.sizes.get(step.column, 1)

    def expected_form(self, schema: Schema) -> list[ExpectedStep]:
        del schema
        return []

    def make(self, work: Work) -> Result:
        """Exchange the values of every sensitive column between records of near ranks."""
        opened = open_records(work)
        k = max(model.capabilities.minimal_class_size for model in opened.plan.class_models)
        moved: list[tuple[tuple[str, ...], Integers]] = []
        events: list[Event] = []
        partitions, errors, own_values = [], Errors(), list[OwnValue]()
        for j, attribute in enumerate(opened.encoded.sensitive):
            work.watch.step(1 + j, 2 + len(opened.encoded.sensitive), "making classes")
            ranks = _ranks(opened, j)
            size = max(k, self.sizes.get(attribute.name, k))
            if size > len(ranks):
                raise RequirementError(
                    f"column `{attribute.name}`: its values are to be exchanged among {size:,} neighbours, and there "
                    f"are {len(ranks):,} records",
                    hint="use smaller `sizes`",
                )
            partition = _for_persons(opened, ranks, individual_ranking(ranks, size))
            own_values.append(_own_value(opened, j, partition))
            order = permutation_within(partition, source=work.source)
            sizes = partition.sizes
            events.append(
                Ranked(column=attribute.name, clusters=len(sizes), smallest=int(sizes.min()), largest=int(sizes.max()))
            )
            moved.append(((attribute.name,), order))
            partitions.append(partition)
            errors += _moved_errors(opened, j, order).multiply(opened.plan.schema[attribute.name].weight)
        _require_exchanges(own_values)
        runs = [
            opened.run(
                Classified(partition=partition), Formed(columns={}, partition=partition, measures=errors.measures())
            )
            for partition in partitions
        ]
        run = min(runs, key=lambda each: each.crowd)
        promise = Exchanged(k=run.crowd, intruder="informed", columns=opened.plan.schema.sensitive)
        guarantee = Guarantee(
            promises=(
                promise.promise(run.words(group="cluster", alike=False), cryptographic=work.source.cryptographic),
            ),
            events=tuple(events),
        )
        release = assemble_result(run, one_table(run, guarantee, moved=moved), opened.work)
        hidden = zip(opened.encoded.sensitive, partitions, strict=True)
        classes = (classes_of_records(run, opened.work.table, own, [attribute.name]) for attribute, own in hidden)
        return replace(release, record_classes=tuple(classes), own_values=tuple(own_values))

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Refuse: every sensitive column has clusters of its own."""
        del people, models, source
        raise ParameterError(f"method `{self.name}` makes clusters of ranks, one partition for each sensitive column.")


def _own_value(opened: Opened, j: int, partition: Partition) -> OwnValue:
    size, codes = opened.encoded.sensitive[j].size, opened.encoded.sensitive_codes[:, j]
    pairs, counts = np.unique(partition.labels.astype(np.int64) * size + codes, return_counts=True)
    return OwnValue.of(opened.encoded.sensitive[j].name, pairs // size, counts)


def _require_exchanges(own_values: Sequence[OwnValue]) -> None:
    """Refuse columns in which every cluster has one value, so that everybody keeps theirs."""
    empty = [own_value.column for own_value in own_values if own_value.mean == 1]
    if empty:
        raise RequirementError(
            [
                f"column `{name}`: every cluster of near ranks has a single value, so every record would keep its own"
                for name in empty
            ],
            hint="use a larger k, finer values or another method, such as `swap`, or leave out these columns",
        )


def _for_persons(opened: Opened, ranks: Floats, partition: Partition) -> Partition:
    """Merge clusters of ranks with their neighbours until nobody has more than 1/k of the records of one."""
    persons = opened.encoded.persons
    if persons is None:
        return partition
    sensitive, codes = opened.encoded.sensitive, opened.encoded.sensitive_codes
    models = opened.plan.class_models
    return merge_clusters(
        ranks[:, None], partition, lambda own: verdict(models, own, sensitive, codes, persons, shown=True)
    )


def individual_ranking(values: ArrayLike, k: int) -> Partition:
    """Partition one numeric attribute by rank, as MDAV does in one dimension.

    Runs of k values come off both ends of the sorted values, until fewer than 3k remain; of 2k to 3k - 1 one more
    run comes off the end that is farther from the mean of the remaining; the rest is the last cluster
    [SC13, section 3.3.3; SCDF17, IR_MDAV]. Equal values are taken in the order of their rows from the left end.

    Guarantee
    ---------
    Every cluster holds k to 2k - 1 records, consecutive in rank.

    Notes
    -----
    O(n log n). No scaling is needed: one attribute has one scale.

    Examples
    --------
    >>> individual_ranking([10.0, 1.0, 2.0, 11.0, 3.0, 12.0, 6.0], 3).labels.tolist()
    [1, 0, 0, 1, 0, 1, 0]
    """
    column = as_column(values)
    n, size = len(column), require_size(k, len(column), "individual_ranking")
    order = np.argsort(column, kind="stable")
    # Only the last cut looks at the values: all others follow from n and k.
    pairs = max(0, (n - size) // (2 * size))
    left, right = pairs * size, n - pairs * size
    if right - left >= 2 * size:
        middle = column[order[left:right]]
        from_left = middle.mean() - middle[0] >= middle[-1] - middle.mean()
        left, right = (left + size, right) if from_left else (left, right - size)
    cuts = np.concatenate([np.arange(0, left + 1, size), np.arange(right, n + 1, size)])
    labels = np.empty(n, np.int32)
    labels[order] = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
    return Partition(labels).require(size, 2 * size - 1)


def _ranks(opened: Opened, j: int) -> Floats:
    """Return numbers in the order of a sensitive column; missing values come last."""
    attribute = opened.encoded.sensitive[j]
    values = _values(opened, j)
    if values is None:  # categories: neighbours in their hierarchy are near each other
        values = np.arange(attribute.size, dtype=np.float64)
    present = values[~np.isnan(values)]
    last = float(present.max()) + 1.0 if len(present) else 0.0
    return np.nan_to_num(values, nan=last)[opened.encoded.sensitive_codes[:, j]]


def _moved_errors(opened: Opened, j: int, order: Integers) -> Errors:
    attribute, codes = opened.encoded.sensitive[j], opened.encoded.sensitive_codes[:, j]
    values = _values(opened, j)
    if values is not None:
        return number_errors(values[codes], values[codes][order])
    if attribute.hierarchy is not None:
        middle = int(np.bincount(codes).argmax())
        return concept_errors(attribute.hierarchy, codes, codes[order].astype(np.int64), middle)
    common = int(np.bincount(codes).max())
    return Errors(sse=float((codes != codes[order]).sum()), sst=float(len(codes) - common))


def _values(opened: Opened, j: int) -> Floats | None:
    """Return the number, day or rank of every code of a sensitive column, NaN where missing; None for names."""
    attribute = opened.encoded.sensitive[j]
    declared = opened.plan.schema[attribute.name]
    if declared.kind is Kind.CATEGORICAL:
        return None
    if declared.kind is Kind.ORDINAL:
        assert declared.domain is not None and declared.domain.values is not None  # noqa: S101, PT018 - Attribute asks
        ranks = {label: rank for rank, label in enumerate(declared.domain.values)}
        return np.array([np.nan if label is None else ranks[label] for label in attribute.labels])
    if declared.kind is Kind.DATE:
        days = [np.nan if label is None else dt.date.fromisoformat(label).toordinal() for label in attribute.labels]
        return np.array(days, dtype=np.float64)
    return np.array([np.nan if label is None else float(label) for label in attribute.labels])


# -- what a plan may not ask for


def _explain_missing_promise(method: PartitionMethod, models: Sequence[Model]) -> list[str]:
    if any(model.capabilities.linkage for model in models):
        return []
    return [f"method `{method.name}` keeps `{ProbabilisticKAnonymity.title}`, which the plan does not promise"]


def _explain_refused_model(method: PartitionMethod, model: Model) -> str:
    return (
        f"method `{method.name}` leaves quasi-identifiers as they are and cannot keep `{model.title}`; it keeps "
        f"`{ProbabilisticKAnonymity.title}`"
    )


def _kept_apart(method: PartitionMethod, schema: Schema) -> list[str]:
    """Ask for something to exchange."""
    if len(schema.names) > len(schema.quasi_identifiers) + len(schema.identifiers):
        return []
    return [f"method `{method.name}` exchanges the columns that are not quasi-identifiers; the schema names none"]
