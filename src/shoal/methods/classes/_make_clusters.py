"""Releases of microaggregation that are not one partition of the records into visible classes.

Sets of quasi-identifiers that are clustered apart; values that are exchanged inside clusters nobody publishes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import tables
from shoal.guarantees import Event, Guarantee, Promise, randomness
from shoal.methods.base import DATA, Made, Part, Work
from shoal.methods.classes._class_run import ClassRun, checked, released_columns
from shoal.methods.classes._cluster_events import Ranked
from shoal.methods.classes._errors import Errors, concept_errors, number_errors
from shoal.methods.classes._events import Permuted
from shoal.methods.classes._forms import Formed, formed
from shoal.methods.classes._method import Opened, Outcome, assembled, classed, open_records
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._people import Classified, classes_of
from shoal.methods.classes._promises_clusters import OfAttributeSet, OfClusters
from shoal.methods.classes._promises_exchange import Exchanged
from shoal.methods.classes._swapping import permutation_within
from shoal.methods.classes._univariate import individual_ranking
from shoal.schema import Kind
from shoal.tables import group

if TYPE_CHECKING:
    from shoal.methods.classes._method import PartitionMethod
    from shoal.methods.classes._microaggregation import Microaggregation

__all__ = ["aggregate_apart", "rank_and_swap", "swap"]

Numbers = NDArray[np.int64]
Points = NDArray[np.float64]


def aggregate_apart(work: Work, method: Microaggregation) -> Made:
    """Microaggregate sets of quasi-identifiers independently; what is promised holds for each set on its own."""
    opened = open_records(work)
    plan, encoded, groups = opened.plan, opened.encoded, method.groups or ()
    promises: list[Promise] = []
    events: list[Event] = []
    columns: dict[str, pa.Array] = {}
    labels, errors = [], Errors()
    for number, names in enumerate(groups):
        work.watch.step(1 + number, 2 + len(groups), "making classes")
        chosen = tuple(each for each in opened.people.quasi_identifiers if each.attribute.name in names)
        people = replace(opened.people, quasi_identifiers=chosen)
        found = method.classify(people, plan.class_models)
        made = formed(people, found, "microaggregated")
        classes = checked(plan, encoded, found, made)
        promises += [OfAttributeSet.made(model, classes, names) for model in plan.class_models]
        events += [
            *found.events,
            replace(classed(_run(opened, found, made, work)), columns=tuple(names)),
        ]
        events += found.details
        columns |= made.columns
        labels.append(made.partition.labels)
        errors += made.errors
    partition = Partition.numbered(group(np.stack(labels, axis=1))[0])
    together = Formed(columns=columns, partition=partition, measures=errors.measures())
    run = _run(opened, Classified(partition=partition), together, work)
    guarantee = Guarantee(promises=tuple(promises), events=tuple(events))
    return assembled(run, _one_table(run, (), guarantee), opened.table)


def swap(work: Work, method: PartitionMethod) -> Made:
    """Exchange all but the quasi-identifiers inside clusters of near records (MDAV-SWAP)."""
    opened = open_records(work)
    found = method.classify(opened.people, opened.plan.class_models)
    order = permutation_within(found.partition, source=work.source)
    work.watch.step(2, 3, "checking the promises")
    errors = Errors()
    for column in opened.people.quasi_identifiers:
        errors += column.moved_errors(order).weighted(column.attribute.weight)
    made = Formed(columns={}, partition=found.partition, measures=errors.measures())
    checked(opened.plan, opened.encoded, found, made)
    run = _run(opened, found, made, work)
    others = [model for model in run.plan.class_models if not model.capabilities.linkage]
    # that clusters were merged because of their values tells which failed: only those made without them hide people
    made_with = max(model.capabilities.minimal_class_size for model in run.plan.class_models)
    k = made_with if others else int(found.partition.sizes.min())
    linked = Exchanged(k=k, intruder="uninformed", columns=run.confidential)
    guarantee = Guarantee(
        promises=(
            linked.promise(cryptographic=work.source.cryptographic),
            *(OfClusters.made(model, run.classes) for model in others),
        ),
        events=(*found.events, classed(run), Permuted(columns=run.confidential)),
        randomness=randomness(cryptographic=work.source.cryptographic),
    )
    release = assembled(run, _one_table(run, [(run.confidential, order)], guarantee), opened.table)
    risk = max(
        release.after.prosecutor, 1 / k
    )  # the chance of finding somebody in the clusters before they were merged
    return replace(release, after=replace(release.after, prosecutor=risk, marketer=max(release.after.marketer, 1 / k)))


def rank_and_swap(work: Work) -> Made:
    """Exchange the values of every sensitive column between records of near ranks (IR-SWAP)."""
    opened = open_records(work)
    k = max(model.capabilities.minimal_class_size for model in opened.plan.class_models)
    moved: list[tuple[tuple[str, ...], Numbers]] = []
    events: list[Event] = []
    partitions, errors = [], Errors()
    for j, attribute in enumerate(opened.encoded.sensitive):
        work.watch.step(1 + j, 2 + len(opened.encoded.sensitive), "making classes")
        partition = individual_ranking(_ranks(opened, j), k)
        order = permutation_within(partition, source=work.source)
        sizes = partition.sizes
        events.append(
            Ranked(column=attribute.name, clusters=len(sizes), smallest=int(sizes.min()), largest=int(sizes.max()))
        )
        moved.append(((attribute.name,), order))
        partitions.append(partition)
        errors += _moved_errors(opened, j, order).weighted(opened.plan.schema[attribute.name].weight)
    worst = min(partitions, key=lambda partition: int(partition.sizes.min()))
    made = Formed(columns={}, partition=worst, measures=errors.measures())
    run = _run(opened, Classified(partition=worst), made, work)
    promise = Exchanged(k=int(worst.sizes.min()), intruder="informed", columns=opened.plan.schema.sensitive)
    guarantee = Guarantee(
        promises=(promise.promise(cryptographic=work.source.cryptographic),),
        events=tuple(events),
        randomness=randomness(cryptographic=work.source.cryptographic),
    )
    return assembled(run, _one_table(run, moved, guarantee), opened.table)


def _run(opened: Opened, found: Classified, made: Formed, work: Work) -> ClassRun:
    encoded = opened.encoded
    return ClassRun(
        plan=opened.plan,
        method=opened.method,
        encoded=encoded,
        found=found,
        formed=made,
        classes=classes_of(made.partition, encoded.sensitive, encoded.sensitive_codes),
        key=work.key,
        source=work.source,
    )


def _one_table(run: ClassRun, moved: Sequence[tuple[Sequence[str], Numbers]], guarantee: Guarantee) -> Outcome:
    names = released_columns(run.schema)
    table = tables.release_records(run.encoded, names, run.formed.columns, moved=moved, key=run.key)
    part = Part(file=DATA, table=table, records=len(run.encoded), columns=run.described(names))
    return (part,), guarantee, {}


# -- one sensitive column


def _ranks(opened: Opened, j: int) -> Points:
    """Return numbers in the order of a sensitive column; missing values come last."""
    attribute = opened.encoded.sensitive[j]
    values = _values(opened, j)
    if values is None:  # categories: neighbours in their hierarchy are near each other
        values = np.arange(attribute.size, dtype=np.float64)
    present = values[~np.isnan(values)]
    last = float(present.max()) + 1.0 if len(present) else 0.0
    return np.nan_to_num(values, nan=last)[opened.encoded.sensitive_codes[:, j]]


def _moved_errors(opened: Opened, j: int, order: Numbers) -> Errors:
    attribute, codes = opened.encoded.sensitive[j], opened.encoded.sensitive_codes[:, j]
    values = _values(opened, j)
    if values is not None:
        return number_errors(values[codes], values[codes][order])
    if attribute.hierarchy is not None:
        middle = int(np.bincount(codes).argmax())
        return concept_errors(attribute.hierarchy, codes, codes[order].astype(np.int64), middle)
    common = int(np.bincount(codes).max())
    return Errors(sse=float((codes != codes[order]).sum()), sst=float(len(codes) - common))


def _values(opened: Opened, j: int) -> Points | None:
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
