"""Check what a data set of noisy centroids promises: its arithmetic, computed again, and what the data files show.

Whether the noise was drawn as the certificate says, no file can show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal import schema, tables
from shoal.exact import fraction
from shoal.guarantees import (
    Certificate,
    Check,
    Decision,
    Evidence,
    Promise,
    PromiseEntry,
    check_parts,
    run_check,
)
from shoal.methods._private import UNSEEN, check_limit
from shoal.methods.noise._columns import Columns, ConceptColumn, NumberColumn
from shoal.methods.noise._design import Clustered, Concentrated, ConceptsDrawn, NoiseCost, Noised, Spending
from shoal.methods.noise._sensitivity import MOST_IN_BOX, NoiseKind, Target
from shoal.methods.truthful import gaussian

if TYPE_CHECKING:
    from shoal.plan import Plan

DRAWN = f"{UNSEEN} that they were drawn so"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Checked:
    """What is compared: the promise and how it must read, the certificate, the tables, the plan's domains."""

    entry: PromiseEntry
    target: Target
    again: Promise
    per_person: int
    certificate: Certificate
    rows: Mapping[str, pa.Table]
    plan: Plan
    numbers: Mapping[str, NumberColumn]
    concepts: Mapping[str, ConceptColumn]

    evidence: Evidence

    @property
    def spending(self) -> list[Spending]:
        """The steps that have a part of epsilon."""
        return self.evidence.steps(Spending)

    def cluster_step(self, column: str) -> Clustered:
        """Return the one step that clustered by a column."""
        (found,) = (step for step in self.evidence.steps(Clustered) if column in step.columns)
        return found


def check_noise(
    entry: PromiseEntry, evidence: Evidence, *, target: Target, again: Promise, records_per_person: int | None
) -> list[Check]:
    """Return one check per part of the promise, which must read as ``again`` does."""
    made: list[_Checked] = []

    def declared() -> Decision:
        made.append(_read(entry, evidence, target, again, records_per_person or 1))
        return _domains(made[0])

    checks = [
        run_check(f"{entry.model}, unit", lambda: check_limit(records_per_person, evidence)),
        run_check(f"{entry.model}, domains", declared),
    ]
    parts: dict[str, Callable[[_Checked], Decision]] = {
        "words": _words,
        "budget": _budget,
        "noise": _noise,
        "choices": _choices,
        "clusters": _clusters,
        "cells": _cells,
        "target": _target,
    }
    if made:
        checks += check_parts(entry.model, made[0], parts)
    return [replace(check, shown=UNSEEN not in check.detail) for check in checks]


def _read(entry: PromiseEntry, evidence: Evidence, target: Target, again: Promise, per_person: int) -> _Checked:
    columns = Columns.of(evidence.plan.schema)
    return _Checked(
        entry=entry,
        target=target,
        again=again,
        per_person=per_person,
        certificate=evidence.certificate,
        evidence=evidence,
        rows={name: table.to_arrow() for name, table in evidence.tables.items()},
        plan=evidence.plan,
        numbers={column.name: column for column in (*columns.numbers, *columns.constants)},
        concepts={column.name: column for column in columns.concepts},
    )


def _domains(checked: _Checked) -> Decision:
    """Compare the plan with the certificate, and look whether all domains are declared in it."""
    certificate = checked.certificate
    if sha256(schema.dumps(checked.plan.schema).encode()).hexdigest() != certificate.schema_sha256:
        return False, "the schema in plan.toml is not the certified one"
    if certificate.roles != "declared" or checked.plan.schema.guessed:
        return False, "the schema was guessed from the data"
    names = [column.name for data in certificate.tables for column in data.columns]
    known = {domain.column for domain in certificate.domains if domain.provenance.reveals_nothing}
    if sorted(names) != sorted([*checked.numbers, *checked.concepts]) or not known >= set(names):
        return False, "not every released column has a declared domain"
    return True, f"declared for all {len(names):,} columns"


def _words(checked: _Checked) -> Decision:
    """Compare the promise with how it must read, given its parameters, the plan and the random numbers."""
    return checked.entry.compare(checked.again)


def _budget(checked: _Checked) -> Decision:
    """Add up the parts of epsilon, one per column that can vary, and compare with what is promised and stated."""
    steps = checked.spending
    shares = [step.share for step in steps]
    total, promised = sum(shares, Fraction(0)), fraction(checked.entry.parameters["epsilon"])  # type: ignore[arg-type]
    varying = [name for name, column in checked.numbers.items() if column.width] + [*checked.concepts]
    stated = checked.certificate.budget
    if sorted(step.column for step in steps) != sorted(varying):
        return False, "not every column has one part of epsilon"
    if min(shares) <= 0 or total != promised or total > fraction(checked.plan.models[0].parameters()["epsilon"]):  # type: ignore[arg-type]
        return False, f"the columns share epsilon {float(total):.6g}, which is not what is promised"
    delta, rho = fraction(checked.entry.parameters.get("delta", 0)), _rho(checked)  # type: ignore[arg-type]
    if (problem := _unconverted(checked, shares, delta, rho)) is not None:
        return False, problem
    about = f"epsilon {float(total):.6g}" + (f" and delta {float(delta):.3g} (rho {float(rho):.4g})" if delta else "")
    if checked.target == "record-query":
        return stated is None, f"the columns share {about} for a query of one record; that of the table is not limited"
    spent = stated is not None and (Fraction(stated.epsilon), Fraction(stated.delta)) == (total, delta)
    return spent, f"the {len(shares):,} columns share {about} in total"


def _rho(checked: _Checked) -> Fraction:
    return sum((step.rho for step in checked.spending), Fraction(0))


def _unconverted(checked: _Checked, shares: list[Fraction], delta: Fraction, rho: Fraction) -> str | None:
    """Say what is wrong with a cost in rho: every column must have one, and together they must be (epsilon, delta)."""
    composed = checked.evidence.steps(Concentrated)
    parts = [step.rho for step in checked.spending]
    asked = fraction(checked.plan.models[0].parameters().get("delta", 0))  # type: ignore[arg-type]
    if delta > asked:
        return f"delta {float(delta):.3g} is more than the plan allows"
    if not delta:
        return "a column costs rho, but no delta is promised" if rho or composed else None
    if min(parts) <= 0 or [step.rho for step in composed] != [rho]:
        return "not every column has its part of rho, or the parts do not add up"
    total = sum(shares, Fraction(0))
    if not gaussian.satisfies(rho=rho, tables=(), epsilon=total, delta=delta):
        return f"rho {float(rho):.4g} does not amount to epsilon {float(total):.6g} with delta {float(delta):.3g}"
    return None


def _noise(checked: _Checked) -> Decision:
    """Compute sensitivities, grids and scales again from the declared widths, the sizes of clusters and epsilon."""
    steps = checked.evidence.steps(Noised)
    for step in steps:
        column, around = checked.numbers[step.column], checked.cluster_step(step.column)
        natural = around.clustering == "natural order"
        if (problem := _unfit(checked, step.kind, around.number, natural=natural)) is not None:
            return False, problem
        if natural and around.columns != (column.name,):
            return False, f"the clusters of `{column.name}` do not follow its order"
        again = Noised.of(
            column,
            NoiseCost(epsilon=step.share, rho=step.rho),
            target=checked.target,
            kind=step.kind,
            clusters=around.number,
            per_person=checked.per_person,
            sizes=tuple(size for size, _ in around.sizes) if checked.target == "partition" else (around.k,),
            natural_order=natural,
        ).rounded(column, around.k, getattr(checked.plan.method, "decimals", {}))
        if again != step:
            return False, f"the noise of `{column.name}` is not what its domain, its clusters and epsilon ask for"
    return True, f"the scales of {len(steps):,} columns are as they must be; {DRAWN}"


def _unfit(checked: _Checked, kind: NoiseKind, clusters: int, *, natural: bool) -> str | None:
    """Say why a kind of noise is not one that the plan and the promise allow, if so."""
    asked = checked.plan.method.parameters().get("noise", "auto")
    if (kind == "gaussian") != bool(checked.entry.parameters.get("delta")):
        return f"the noise is `{kind}`, which is not what the promise is about"
    if (asked == "laplace" and kind != "laplace") or (asked == "gaussian" and kind != "gaussian"):
        return f"the noise is `{kind}`, but the plan asks for `{asked}`"
    together = checked.target == "original" and not natural and 1 < clusters <= MOST_IN_BOX
    if kind == "box" and not together:
        return "noise in a box is for means that move together"
    return None


def _choices(checked: _Checked) -> Decision:
    """Compute again how far one record moves the marginality of concepts, and the epsilon of every choice."""
    steps = checked.evidence.steps(ConceptsDrawn)
    for step in steps:
        column, clusters = checked.concepts[step.column], checked.cluster_step(step.column).number
        cost = NoiseCost(epsilon=step.share, rho=step.rho)
        again = ConceptsDrawn.of(column, cost, target=checked.target, clusters=clusters, per_person=checked.per_person)
        if again != step:
            return False, f"the choices of `{column.name}` are not what its hierarchy and epsilon ask for"
    if not steps:
        return True, "there are none"
    return True, f"the choices of {len(steps):,} columns are as they must be; {DRAWN}"


def _clusters(checked: _Checked) -> Decision:
    """Compare the sizes of clusters with the rule that they follow, and with how often released values occur."""
    k = int(str(checked.entry.parameters["k"]))
    asked = getattr(checked.plan.method, "k", None)
    if asked not in ("auto", k):
        return False, "the clusters are not of the size that the plan asks for"
    known = {"mdav", "individual ranking"} if checked.target == "partition" else {"insensitive", "natural order"}
    for step in checked.evidence.steps(Clustered):
        rows, sizes = checked.rows[step.file].select(list(step.columns)), dict(step.sizes)
        if step.k != k or step.clustering not in known:
            return False, "the records were not clustered as the promise says"
        if step.records != len(rows):
            return False, "the clusters are not of the records of the release"
        if sum(size * count for size, count in sizes.items()) != len(rows) or min(sizes) < k:
            return False, "the clusters are too small, or do not add up to the records"
        if checked.target != "partition" and sizes != _by_rule(len(rows), k):
            return False, "the sizes of the clusters do not follow from the number of records and k"
        counts = tables.different(rows)[1]
        if int(np.min(counts)) < min(sizes) or len(counts) > sum(sizes.values()):
            return False, f"released values occur fewer than {k:,} times, or more differ than there are clusters"
    return True, f"every combination of values that were averaged together occurs at least {k:,} times"


def _cells(checked: _Checked) -> Decision:
    """Look at every released cell: it lies in the declared domain and on the stated grid."""
    rounded = {step.column: step.rounded_to for step in checked.evidence.steps(Noised)}
    cells = 0
    for rows in checked.rows.values():
        for name in rows.column_names:
            number = checked.numbers.get(name)
            if number is not None:
                lost = number.strange(rows[name], rounded.get(name, Fraction(1)))
            else:
                lost = checked.concepts[name].strange(rows[name])
            if lost:
                return False, f"{lost:,} values of `{name}` are outside its declared domain, or not rounded as stated"
            cells += len(rows)
    return True, f"all {cells:,} lie in the declared domains, on the stated grids"


def _target(checked: _Checked) -> Decision:
    """Compare the target of the promise with that of the steps and of the plan."""
    entry = checked.entry
    if {checked.target, entry.parameters["target"], checked.plan.method.parameters().get("target")} != {checked.target}:
        return False, "the plan is about another target than the promise"
    return True, f"target `{checked.target}`; the promise is {entry.strength}"


def _by_rule(records: int, k: int) -> dict[int, int]:
    """Return how many clusters of each size insensitive clustering makes: of k records, the last of what is left."""
    clusters = max(records // k, 1)
    last = records - (clusters - 1) * k
    return {last: 1} if clusters == 1 else {k: clusters} if last == k else {k: clusters - 1, last: 1}
