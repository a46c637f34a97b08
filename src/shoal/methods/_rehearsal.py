"""The rehearsal of what a method made: the classes of its records, attacked with what the original table says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.errors import ParameterError
from shoal.exact import fraction
from shoal.guarantees import PolicyEntry, RehearsalEntry
from shoal.kernels import Floats
from shoal.methods.base import RecordClasses, Result
from shoal.models import Model
from shoal.rehearsal import MARGIN, Rehearsal, combine_rehearsals, rehearse
from shoal.relations import unit_of
from shoal.schema import Kind, Role

if TYPE_CHECKING:
    from shoal.plan import Plan

#: the steps to which numbers are rounded, the finest first
STEPS = tuple(float(f"{digit}e{power}") for power in range(-6, 10) for digit in (1, 2, 5))


def rehearse_release(
    made: Result,
    *,
    kind: str,
    risk: float | None = None,
    columns: Mapping[str, pa.ChunkedArray] | None = None,
    accepted: Sequence[str] = (),
) -> Rehearsal | None:
    """Attack what a method made, as somebody would who knows everybody's exact quasi-identifiers.

    Parameters
    ----------
    made
        The release.
    kind
        ``exact`` or ``learned``.
    risk
        The highest risk that the promise states; by default what its models state.
    columns
        Values to attack in place of those that are released, in the order of the source: rounded ones.
    accepted
        Columns that do not count, besides those that the plan accepts.

    Returns
    -------
    Rehearsal or None
        None where there is nothing to rehearse: under differential privacy, where the records of a person are linked,
        without columns that are released as they are, with fewer than 8 classes, and on a cluster.
    """
    if any(tables.site_of([each.table]).session is not None for each in made.record_classes):
        return None
    counted = replace(made, plan=replace(made.plan, accepted=(*made.plan.accepted, *accepted))) if accepted else made
    stated, is_mean = (risk, False) if risk is not None else stated_risk(made.plan.class_models)
    found = [
        _rehearse(counted, each, kind=kind, risk=stated, is_mean=is_mean, columns=columns or {})
        for each in made.record_classes
    ]
    return combine_rehearsals([each for each in found if each is not None])


def finest_steps(made: Result, names: Sequence[str], *, kind: str) -> dict[str, float]:
    """Return for each of some columns the finest 1-2-5 step of rounding at which the rehearsal passes.

    Columns are taken in their order; those that are still to come do not count. Cost: a rehearsal for each step.

    Raises
    ------
    ParameterError
        If a column is not released as it is or holds no numbers, or if no step makes the rehearsal pass.
    """
    steps: dict[str, float] = {}
    rounded: dict[str, pa.ChunkedArray] = {}
    for place, name in enumerate(names):
        linked = next((each for each in made.record_classes if name in each.columns), None)
        if linked is None or made.plan.schema[name].kind is not Kind.NUMERIC:
            raise ParameterError(f"`{name}` is no column of numbers that is released as it is: it cannot be rounded.")
        values = tables.numbers(linked.table, name)
        coarsest = np.nanmax(values) - np.nanmin(values)
        if made.plan.schema[name].role is Role.WEIGHT:
            coarsest = min(coarsest, 2 * np.nanmin(values))  # a weight of 0 would leave people out of every estimate
        tried = [step for step in STEPS if unit_of(values) < step <= coarsest]
        for step in tried:
            attempt = {**rounded, name: _multiples(values, step)}
            found = rehearse_release(made, kind=kind, columns=attempt, accepted=names[place + 1 :])
            if found is None or not found.hollow:
                steps[name], rounded[name] = step, attempt[name]
                break
        else:
            raise ParameterError(f"no rounding of `{name}` makes the rehearsal pass.", hint=f"leave `{name}` out")
    return steps


def _multiples(values: Floats, step: float) -> pa.ChunkedArray:
    """Return the nearest multiples of a step; missing values stay missing."""
    exact = fraction(step)
    multiples = np.floor(values * exact.denominator / exact.numerator + 0.5) * exact.numerator / exact.denominator
    return pa.chunked_array([pa.array(multiples, from_pandas=True)])


def rehearsal_entry(plan: Plan) -> RehearsalEntry:
    """Return what a certificate says of a rehearsal by a plan."""
    return RehearsalEntry(kind=plan.rehearsal, margin=str(fraction(MARGIN)), accepted=plan.accepted)  # type: ignore[arg-type]


def policy_entry(plan: Plan) -> PolicyEntry | None:
    """Return what a certificate says of the policy of a plan."""
    if plan.policy is None:
        return None
    return PolicyEntry(office=plan.policy.office, sha256=plan.policy.fingerprint, user=plan.policy.user or None)


def stated_risk(models: Sequence[Model]) -> tuple[float | None, bool]:
    """Return the highest risk of re-identification that promises state, and whether it is a mean; None if none does."""
    least = max((model.capabilities.minimal_class_size for model in models), default=1)
    if least > 1:
        return 1 / least, False
    means = [float(model.capabilities.mean_risk) for model in models if model.capabilities.mean_risk is not None]
    return (min(means), True) if means else (None, False)


def _rehearse(
    made: Result,
    linked: RecordClasses,
    *,
    kind: str,
    risk: float | None,
    is_mean: bool,
    columns: Mapping[str, pa.ChunkedArray],
) -> Rehearsal | None:
    schema = made.plan.schema
    known = [name for name in schema.quasi_identifiers if name in linked.table.columns]
    whose = [schema.person] if schema.person in linked.table.columns else []
    rows = tables.in_order(linked.table.select(*known, *linked.columns, *whose))
    released = rows.select(list(linked.columns))
    for name, values in columns.items():
        if name in linked.columns:
            released = released.set_column(released.column_names.index(name), name, values)
    persons = None
    if whose:
        codes = pc.dictionary_encode(rows[whose[0]].combine_chunks())
        persons = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return rehearse(
        rows.select(known),
        released,
        linked.find(),
        risk=risk,
        is_mean=is_mean,
        kind=kind,
        accepted=[name for name in made.plan.accepted if name in linked.columns],
        persons=persons,
        tests=len(made.record_classes),
    )
