"""A release of several tables: groups of columns, each anonymised on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from shoal import methods, tables
from shoal._run._preparation import check_key
from shoal.errors import ParameterError, RequirementError
from shoal.guarantees import Dropped, Event, Guarantee, Promise
from shoal.guarantees._certificate import column
from shoal.mechanisms import RandomSource
from shoal.methods.classes import Slice, associations, composition, exposed, grouped
from shoal.methods.classes._events import Sliced
from shoal.methods.recode import Progress
from shoal.models import KAnonymity, Model
from shoal.plan import Plan
from shoal.release import Part, Release
from shoal.schema import Attribute, Flat, Kind, Role, Schema
from shoal.tables import Table

__all__ = ["cut"]

LOOKED_AT = 50_000
"""Records that columns are compared on."""


class Run(Protocol):
    """Carries out a plan: what `shoal._run.run` does."""

    def __call__(
        self,
        plan: Plan,
        table: Table,
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        pseudonym_key: bytes | None = None,
        source: RandomSource,
    ) -> Release:
        """Return the release."""


def cut(
    plan: Plan,
    table: Table,
    *,
    run: Run,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    pseudonym_key: bytes | None = None,
    source: RandomSource,
) -> Release:
    """Carry out a plan whose method divides the columns."""
    method = plan.method
    assert isinstance(method, Slice)  # noqa: S101 - the plan says so
    check_key(plan.schema, pseudonym_key)
    table = table.with_schema(plan.schema)
    groups = _groups(plan, method, table)
    plan = replace(plan, method=replace(method, groups=groups))
    made: list[tuple[Part, Release | None, tuple[Promise, ...]]] = []
    for number, group in enumerate(groups, start=1):
        names = [name for name in plan.schema.names if name in group]
        file = f"slice-{number}.parquet"
        mine = _part_plan(plan, method, names)
        if mine is None:
            made.append((_untouched(plan, table, file, names), None, ()))
            continue
        key = pseudonym_key if any(plan.schema[name].pseudonym for name in names) else None
        release = run(
            mine, table.select(*names), progress=progress, cancelled=cancelled, pseudonym_key=key, source=source
        )
        made.append(_as_part(release, file))
    return _together(plan, table, groups, made)


def _groups(plan: Plan, method: Slice, table: Table) -> tuple[tuple[str, ...], ...]:
    if method.groups is not None:
        return tuple(tuple(group) for group in method.groups)
    released = [each.name for each in plan.schema if each.role is not Role.IDENTIFIER or each.pseudonym]
    codes = _codes(table, released)
    together = [
        [released.index(name) for name in model.capabilities.sensitive]
        for model in plan.class_models
        if len(model.capabilities.sensitive) > 1
    ]
    found = grouped(associations(codes), method.size, together)
    return tuple(tuple(released[j] for j in group) for group in found)


def _codes(table: Table, names: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Return codes of some records, whatever the roles and hierarchies of their columns."""
    assert table.schema is not None  # noqa: S101 - with_schema was called
    flat = Schema(attributes=tuple(_flat(table.schema[name]) for name in names))
    encoded = tables.encode_records(replace(table.select(*names), schema=flat), sensitive=())
    frequencies = encoded.frequencies
    step = max(1, len(encoded) // LOOKED_AT)
    return np.asarray(frequencies.codes[::step])


def _flat(attribute: Attribute) -> Attribute:
    domain = attribute.domain if attribute.kind is Kind.ORDINAL else None
    return Attribute(
        name=attribute.name, role=Role.QUASI_IDENTIFIER, kind=attribute.kind, domain=domain, hierarchy=Flat()
    )


def _part_plan(plan: Plan, method: Slice, names: Sequence[str]) -> Plan | None:
    """Return the plan of a group, or None where it has no quasi-identifier: nothing in it tells who somebody is."""
    schema = replace(plan.schema, attributes=tuple(plan.schema[name] for name in names))
    if not schema.quasi_identifiers:
        if schema.identifiers:
            raise ParameterError(f"column `{schema.identifiers[0]}` must be in a group with a quasi-identifier.")
        return None
    mine = tuple(model for model in plan.class_models if _is_about(model, names))
    if not mine:
        raise ParameterError(
            f"no promise is about the group of columns {', '.join(f'`{name}`' for name in names)}",
            hint=f"add one that is about every group, such as `{KAnonymity.title}`",
        )
    inner = methods.from_parameters(method.inner, method.options)
    return Plan(schema=schema, models=mine, method=inner, measures=plan.measures)


def _is_about(model: Model, names: Sequence[str]) -> bool:
    return set(model.capabilities.sensitive) <= set(names)


def _untouched(plan: Plan, table: Table, file: str, names: Sequence[str]) -> Part:
    columns = tuple(column(plan.schema[name]) for name in names)
    sorted_table = tables.sorted_records(table.select(*names))
    return Part(file=file, table=sorted_table, records=table.count(), columns=columns)


def _as_part(release: Release, file: str) -> tuple[Part, Release, tuple[Promise, ...]]:
    if len(release.parts) > 1:
        raise RequirementError(
            f"method `{release.plan.method.name}` releases several tables; a slice is one",
            hint="choose another `inner` method, or another form of it",
        )
    if release.parts:
        part = replace(release.parts[0], file=file)
    else:
        columns = tuple(column(release.plan.schema[name]) for name in release.table.columns)
        part = Part(file=file, table=release.table, records=release.records, columns=columns)
    return part, release, tuple(_of_file(promise, file) for promise in release.guarantee.promises)


def _of_file(promise: Promise, file: str) -> Promise:
    """Return a promise that says which table it is about."""
    first, rest = promise.statement[:1], promise.statement[1:]
    return replace(promise, file=file, statement=f"In {file}: {first.lower()}{rest}")


def _together(
    plan: Plan,
    table: Table,
    groups: tuple[tuple[str, ...], ...],
    made: list[tuple[Part, Release | None, tuple[Promise, ...]]],
) -> Release:
    releases = [release for _, release, _ in made if release is not None]
    if not releases:
        raise ParameterError("no group of columns has a quasi-identifier.")
    promises = [promise for _, _, mine in made for promise in mine]
    if len(made) > 1:
        promises.append(composition([mine for _, _, mine in made], [exposed(part.columns) for part, _, _ in made]))
    dropped = tuple(name for name in plan.schema.identifiers if not plan.schema[name].pseudonym)
    events: list[Event] = [Dropped(columns=dropped)] if dropped else []
    events += [Sliced(groups=groups), *(event for release in releases for event in release.guarantee.events)]
    randomness = list(dict.fromkeys(release.guarantee.randomness for release in releases))
    worst = min(releases, key=lambda release: release.after.smallest)
    return Release(
        plan=plan,
        table=made[0][0].table,
        guarantee=Guarantee(
            promises=tuple(promises),
            events=tuple(events),
            randomness="; ".join(text for text in randomness if text != "none used") or "none used",
        ),
        measures={
            f"{name}, slice {number}": value
            for number, (_, release, _) in enumerate(made, start=1)
            if release is not None
            for name, value in release.measures.items()
        },
        before=worst.before,
        after=worst.after,
        records=table.count(),
        domains=tuple(domain for release in releases for domain in release.domains),
        sensitive_hierarchies=tuple(each for release in releases for each in release.sensitive_hierarchies),
        parts=tuple(part for part, _, _ in made),
    )
