"""A release of many truthful tables.

Everything that others see is a function of the plan, of the private choices and of the trimmed tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal import tables
from shoal.errors import ParameterError, Problems, RequirementError
from shoal.guarantees import Dropped, Event, Guarantee, Ordered, column, randomness
from shoal.hierarchies import leaves_declared
from shoal.kernels import Integers
from shoal.mechanisms import RandomSource, discrete_gaussians
from shoal.methods._preparation import bounded, bounded_steps, domains
from shoal.methods.base import Made, Part, PrivateReport, Work
from shoal.methods.truthful._make import check_declared, in_order, released_rows
from shoal.methods.truthful._promises import DifferentialPrivacy, released
from shoal.methods.truthful._sets_choice import Expected, candidates, cells, choose
from shoal.methods.truthful._sets_events import HiddenCounted, Noise, PairsChosen, TablesTrimmed
from shoal.methods.truthful._sets_joint import joint_classes
from shoal.methods.truthful._sets_listed import (
    HIDDEN,
    HiddenCounts,
    LeveledColumns,
    ListedClasses,
    countable,
    listed_classes,
    written_hidden,
)
from shoal.methods.truthful._sets_split import Split
from shoal.methods.truthful._tuples import Tuples
from shoal.models import Classes
from shoal.risk import Reidentification, reidentification
from shoal.schema import Schema
from shoal.tables import Frequencies, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.truthful._sets_method import TruthfulTables


def make_tables(work: Work, method: TruthfulTables) -> Made:
    """Carry out a plan that asks for many truthful tables."""
    plan, privacy = _resolved(work.plan)
    schema, table = plan.schema, work.table.with_schema(plan.schema)
    table = bounded(table, schema, privacy.records_per_person, work.source)
    names = tuple(attribute.name for attribute in released(schema))
    frequencies = tables.encode(table, quasi_identifiers=names, sensitive=()).frequencies
    check_declared(frequencies)
    lows = _lows(method, frequencies)
    listed = ListedClasses(frequencies, countable(schema))
    split = method.split(schema, privacy)
    declared = [
        LeveledColumns(tuple(names.index(name) for name in own), tuple(lows[names.index(name)] for name in own))
        for own in method.declared(schema)
    ]
    # drawn first: what is too wide for it is refused before anything is paid for
    joint = []
    if split.all_columns is not None:
        classes = joint_classes(
            frequencies, lows, split.scheme, split.all_columns, watch=work.watch, source=work.source
        )
        joint.append(CountedTable(trimmed(classes, split.all_columns, work.source)))
    found = [counted(listed, *each, work.source) for each in zip(declared, split.declared, strict=True)]
    chosen: list[LeveledColumns] = []
    if split.pairs:
        chosen = choose(
            listed,
            lows,
            _expected(listed, found, lows, split.declared, [leaves_declared(schema[name]) for name in names]),
            number=split.pairs,
            epsilon=split.choice,
            noise=split.usual,
            watch=work.watch,
            source=work.source,
        )
        split = split.with_pairs([listed.number(each) for each in chosen])
    found += [counted(listed, *each, work.source) for each in zip(chosen, split.chosen, strict=True)]
    shown = [each.shown for each in (*found, *joint)]
    if not any(len(each) for each in shown):
        raise RequirementError(
            "no value is frequent enough to be released in any table",
            hint="a larger epsilon or delta, fewer pairs, or higher `levels` help",
        )
    described = [listed.levels(each) for each in chosen]
    plan = replace(plan, method=replace(method, chosen=tuple(described) if split.pairs else None))
    parts = _parts(plan, table, shown)
    hidden = {part.file: each.hidden for part, each in zip(parts, found, strict=False) if each.hidden is not None}
    return Made(
        plan=plan,
        table=parts[0].table,
        guarantee=Guarantee(
            promises=(privacy.promise(covered=True, cryptographic=work.source.cryptographic, figures=split.figures()),),
            events=tuple(_events(schema, split, listed, lows, (declared, chosen), hidden)),
            randomness=randomness(cryptographic=work.source.cryptographic),
        ),
        measures={},
        after=_risk(shown),
        records=parts[0].records,
        domains=domains(schema, frequencies),
        parts=parts,
        notes={HIDDEN: written_hidden(hidden)},
        private=_private(frequencies, shown, table.left_out),
    )


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A trimmed table, and where the schema lists its classes the estimates X + m of all of them, in their order."""

    shown: Tuples
    estimates: Integers | None = None
    #: The estimates of those that no record shows.
    hidden: HiddenCounts | None = None


def counted(listed: ListedClasses, table: LeveledColumns, noise: Noise, source: RandomSource) -> CountedTable:
    """Draw what a table shows.

    Listed classes have their number whether it is above zero or not, others are shown by records or not at all.
    """
    classes = cells(listed.frequencies, table)
    number = listed.number(table)
    if number is None:
        return CountedTable(trimmed(classes, noise, source))
    sizes, levels = listed.counts(table), listed.levels(table)
    left = sizes - _taken(number, noise, source)
    names = list(listed_classes(listed.hierarchies, levels))
    place = listed.places(table, classes.codes)
    counts = np.where(place >= 0, left[place], classes.counts - _taken(len(classes), noise, source))
    drawn = classes.with_counts(np.maximum(counts, 0))
    return CountedTable(
        shown=in_order(drawn.chosen(drawn.counts > 0)),
        estimates=left + noise.m,
        hidden={names[each]: int(left[each]) + noise.m for each in np.flatnonzero(left <= 0).tolist()},
    )


def trimmed(classes: Tuples, noise: Noise, source: RandomSource) -> Tuples:
    """Draw how many copies of each class are shown, and keep those of which any are."""
    drawn = classes.with_counts(np.maximum(classes.counts - _taken(len(classes), noise, source), 0))
    return in_order(drawn.chosen(drawn.counts > 0))


def _taken(number: int, noise: Noise, source: RandomSource) -> Integers:
    """Draw how many records are taken off each of so many classes: exact, draws below -m repeated."""
    taken = np.full(number, -1, dtype=np.int64)
    while len(open_still := np.flatnonzero(taken < 0)):
        taken[open_still] = noise.m + discrete_gaussians(noise.variance, len(open_still), source=source)
    return taken


def _resolved(plan: Brief) -> tuple[Brief, DifferentialPrivacy]:
    """Return the plan with the standard definition, which is what the composition gives."""
    models = tuple(
        spelt.post_processed() if isinstance(spelt, DifferentialPrivacy) else spelt
        for spelt in (model.resolved(plan.schema) for model in plan.models)
    )
    privacy = next(model for model in models if isinstance(model, DifferentialPrivacy))
    return replace(plan, models=models), privacy


def _lows(method: TruthfulTables, frequencies: Frequencies) -> tuple[int, ...]:
    problems = Problems()
    for hierarchy in frequencies.hierarchies:
        if (level := method.levels.get(hierarchy.attribute, 0)) > hierarchy.height:
            problems.add(
                f"`levels` of `{method.title}` puts column `{hierarchy.attribute}` on level {level}; the top is "
                f"{hierarchy.height}"
            )
    problems.raise_as(ParameterError)
    return tuple(method.levels.get(name, 0) for name in frequencies.attributes)


def _expected(
    listed: ListedClasses,
    found: Sequence[CountedTable],
    lows: Sequence[int],
    noise: Sequence[Noise],
    closed: Sequence[bool],
) -> Expected:
    """Estimate records, and how many of them have each value, from what was released of single columns alone.

    Values that are not counted and that no record shows count 0: how many there are would depend on the data.
    ``closed`` are the columns that have no values but those that the schema lists; their tables count all records.
    """
    counts, totals, whole = [], [], []
    for j, (each, low, own) in enumerate(zip(found, lows, noise, strict=True)):
        hierarchy = each.shown.hierarchies[0]
        known = hierarchy.attribute in listed.hierarchies
        codes = each.shown.codes[:, 0].astype(np.int64)
        codes = listed.codes(j, low)[codes] if known else codes
        labels = (listed.hierarchies[hierarchy.attribute] if known else hierarchy).labels[low]
        sizes = np.zeros(len(labels)) if each.estimates is None else each.estimates.astype(np.float64)
        sizes[codes[codes >= 0]] = each.shown.counts[codes >= 0] + own.m
        counts.append(np.maximum(sizes, 0))
        totals.append(float(sizes.sum()) + float((each.shown.counts[codes < 0] + own.m).sum()))
        if closed[j] and each.estimates is not None:
            whole.append((totals[-1], 1 / (len(sizes) * float(own.variance))))
    if whole:
        return Expected(float(np.average([one for one, _ in whole], weights=[of for _, of in whole])), counts)
    return Expected(max(totals), counts)


# -- what leaves


def _parts(plan: Brief, table: Table, shown: Sequence[Tuples]) -> tuple[Part, ...]:
    files = plan.method.files(plan.schema)
    return tuple(
        Part(
            file=file,
            table=tables.repeat(table.select(*names), released_rows(own, plan.schema), own.counts),
            records=int(own.counts.sum()),
            columns=tuple(column(plan.schema[name]) for name in names),
        )
        for (file, names), own in zip(files.items(), shown, strict=True)
    )


def _events(
    schema: Schema,
    split: Split,
    listed: ListedClasses,
    lows: Sequence[int],
    made: tuple[Sequence[LeveledColumns], Sequence[LeveledColumns]],
    hidden: Mapping[str, HiddenCounts],
) -> list[Event]:
    names = listed.frequencies.attributes
    (tables, levels), (pairs, pair_levels) = (
        ([tuple(names[j] for j in one.columns) for one in each], [one.levels for one in each]) for each in made
    )
    events = Dropped.by(schema)
    events += bounded_steps(schema, None if schema.person is None else split.per_person)
    events.append(TablesTrimmed.by(tables, levels, split.declared))
    if pairs:
        choice = PairsChosen(
            pairs=tuple(pairs),
            levels=tuple(pair_levels),
            candidates=len(candidates(listed.frequencies.hierarchies, lows)),
            epsilon_each=split.choice,
            rho=split.rho_of_choice,
        )
        events += [choice, TablesTrimmed.by(pairs, pair_levels, split.chosen)]
    events += split.joint_step(names, lows)
    if hidden:
        events.append(HiddenCounted.of(hidden))
    return [*events, split.composed(), Ordered()]


def _risk(shown: Sequence[Tuples]) -> Reidentification:
    """Return the risk of the table with the smallest class."""
    smallest = min((table for table in shown if len(table)), key=lambda table: int(table.counts.min()))
    classes = Frequencies(
        hierarchies=smallest.hierarchies,
        codes=np.asfortranarray(smallest.positions.astype(np.int32)),
        counts=smallest.counts,
        sensitive=(),
        sensitive_codes=np.zeros((len(smallest), 0), dtype=np.int32),
    )
    return reidentification(Classes.grouped(classes))


# -- what stays


def _private(frequencies: Frequencies, shown: Sequence[Tuples], left_out: int) -> PrivateReport:
    records = max(frequencies.records, 1)
    kept = [
        float((table.counts * (1 - np.mean([table.shares(j) for j in range(table.codes.shape[1])], axis=0))).sum())
        for table in shown
    ]
    return PrivateReport(
        records=frequencies.records,
        left_out=left_out,
        released=round(float(np.mean([table.counts.sum() for table in shown]))),
        loss=1 - float(np.mean(kept)) / records,
        before=reidentification(Classes.grouped(frequencies)),
    )
