"""A release of many truthful tables.

Everything that others see is a function of the plan, of the private choices and of the trimmed tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal import tables
from shoal.errors import ParameterError, Problems, RequirementError
from shoal.guarantees import Dropped, Event, Guarantee, Ordered, column, randomness
from shoal.hierarchies import leaves_declared
from shoal.mechanisms import RandomSource, discrete_gaussians
from shoal.methods._preparation import bounded, bounded_steps, domains
from shoal.methods.base import Made, Part, PrivateReport, Work
from shoal.methods.truthful._make import check_declared, in_order, released_rows
from shoal.methods.truthful._promises import DifferentialPrivacy, released
from shoal.methods.truthful._sets_choice import Expected, LeveledColumns, candidates, cells, choose
from shoal.methods.truthful._sets_events import PairsChosen, TablesTrimmed
from shoal.methods.truthful._sets_joint import joint_classes
from shoal.methods.truthful._sets_split import Split
from shoal.methods.truthful._tuples import Tuples
from shoal.models import Classes
from shoal.risk import Reidentification, reidentification
from shoal.schema import Schema
from shoal.tables import Frequencies, Table

if TYPE_CHECKING:
    from shoal.methods.brief import Brief
    from shoal.methods.truthful._sets_method import TruthfulTables

__all__ = ["make_tables", "trimmed"]


def make_tables(work: Work, method: TruthfulTables) -> Made:
    """Carry out a plan that asks for many truthful tables."""
    plan, privacy = _resolved(work.plan)
    schema, table = plan.schema, work.table.with_schema(plan.schema)
    table = bounded(table, schema, privacy.records_per_person, work.source)
    names = tuple(attribute.name for attribute in released(schema))
    frequencies = tables.encode(table, quasi_identifiers=names, sensitive=()).frequencies
    check_declared(frequencies)
    lows = _lows(method, frequencies)
    split = method.split(schema, privacy)
    declared = [
        LeveledColumns(tuple(names.index(name) for name in own), tuple(lows[names.index(name)] for name in own))
        for own in method.declared(schema)
    ]
    # drawn first: what is too wide for it is refused before anything is paid for
    joint = []
    if split.joint:
        classes = joint_classes(frequencies, lows, split, watch=work.watch, source=work.source)
        joint.append(trimmed(classes, split.joint_m, split.joint_variance, work.source))
    shown = [trimmed(cells(frequencies, each), split.m, split.variance, work.source) for each in declared]
    chosen: list[LeveledColumns] = []
    if split.pairs:
        expected = _expected(shown, lows, split.m, [leaves_declared(schema[name]) for name in names])
        chosen = choose(
            frequencies,
            lows,
            expected,
            number=split.pairs,
            epsilon=split.choice,
            m=split.pair_m,
            variance=split.pair_variance,
            watch=work.watch,
            source=work.source,
        )
    shown += [trimmed(cells(frequencies, each), split.pair_m, split.pair_variance, work.source) for each in chosen]
    shown += joint
    if not any(len(each) for each in shown):
        raise RequirementError(
            "no value is frequent enough to be released in any table",
            hint="a larger epsilon or delta, fewer pairs, or higher `levels` help",
        )
    described = [{names[j]: level for j, level in zip(each.columns, each.levels, strict=True)} for each in chosen]
    plan = replace(plan, method=replace(method, chosen=tuple(described) if split.pairs else None))
    parts = _parts(plan, table, shown)
    return Made(
        plan=plan,
        table=parts[0].table,
        guarantee=Guarantee(
            promises=(privacy.promise(covered=True, cryptographic=work.source.cryptographic, figures=split.figures()),),
            events=tuple(_events(schema, split, names, lows, declared, chosen, _candidates(frequencies, lows, split))),
            randomness=randomness(cryptographic=work.source.cryptographic),
        ),
        measures={},
        after=_risk(shown),
        records=parts[0].records,
        domains=domains(schema, frequencies),
        parts=parts,
        private=_private(frequencies, shown, table.left_out),
    )


def trimmed(classes: Tuples, m: int, variance: Fraction, source: RandomSource) -> Tuples:
    """Draw how many copies of each class are shown, and keep those of which any are: exact, draws below -m repeated."""
    left = np.zeros_like(classes.counts)
    open_still = np.arange(len(classes))
    while len(open_still):
        taken = m + discrete_gaussians(variance, len(open_still), source=source)
        left[open_still] = classes.counts[open_still] - taken
        open_still = open_still[taken < 0]
    drawn = classes.with_counts(np.maximum(left, 0))
    return in_order(drawn.chosen(drawn.counts > 0))


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


def _expected(shown: Sequence[Tuples], lows: Sequence[int], m: int, listed: Sequence[bool]) -> Expected:
    """Estimate records, and how many of them have each value, from the schema and what was shown, and nothing else.

    Values that were not shown share what is left where the schema lists all values, and count 0 otherwise: how many
    there are would depend on the data.
    """
    counts, hidden = [], []
    for table, low, known in zip(shown, lows, listed, strict=True):
        hierarchy = table.hierarchies[0]
        own = np.zeros(len(hierarchy.labels[low]))
        own[table.codes[:, 0]] = table.counts + m
        counts.append(own)
        named = np.array([label is not None for label in hierarchy.labels[low]])
        hidden.append((own == 0) & named & known)
    whole = [own for own, missed, known in zip(counts, hidden, listed, strict=True) if known and not missed.any()]
    if whole:
        records = float(np.average([own.sum() for own in whole], weights=[1 / np.count_nonzero(own) for own in whole]))
    else:
        records = max(float(own.sum()) for own in counts)
    for own, missed in zip(counts, hidden, strict=True):
        own[missed] = min(max(records - float(own.sum()), 0.0) / max(int(missed.sum()), 1), m)
    return Expected(records, counts)


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
    names: Sequence[str],
    lows: Sequence[int],
    declared: Sequence[LeveledColumns],
    chosen: Sequence[LeveledColumns],
    number: int,
) -> list[Event]:
    def named(each: Sequence[LeveledColumns]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(names[j] for j in one.columns) for one in each)

    def levels(each: Sequence[LeveledColumns]) -> tuple[tuple[int, ...], ...]:
        return tuple(one.levels for one in each)

    def step(each: Sequence[LeveledColumns], m: int, variance: Fraction, rho: Fraction) -> Event:
        return TablesTrimmed(tables=named(each), levels=levels(each), m=m, variance=variance, rho=rho)

    events = Dropped.by(schema)
    events += bounded_steps(schema, None if schema.person is None else split.per_person)
    events.append(step(declared, split.m, split.variance, split.rho_of_declared))
    if chosen:
        choice = PairsChosen(
            pairs=named(chosen),
            levels=levels(chosen),
            candidates=number,
            epsilon_each=split.choice,
            rho=split.rho_of_choice,
        )
        events += [choice, step(chosen, split.pair_m, split.pair_variance, split.rho_of_pairs)]
    if split.joint:
        events.append(split.joint_step(names, lows))
    return [*events, split.composed(), Ordered()]


def _candidates(frequencies: Frequencies, lows: Sequence[int], split: Split) -> int:
    return len(candidates(frequencies.hierarchies, lows)) if split.pairs else 0


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
