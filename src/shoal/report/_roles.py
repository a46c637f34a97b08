"""Every column of the original table: its role, what was done to it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.guarantees import Certificate
from shoal.methods.brief import Brief
from shoal.report._document import ColumnRole
from shoal.schema import Attribute, Role

_MEANINGS = {
    Role.IDENTIFIER: "names a person",
    Role.PERSON: "says whose record it is",
    Role.HOUSEHOLD: "says who belongs together",
    Role.QUASI_IDENTIFIER: "others may know it of a person",
    Role.SENSITIVE: "nobody should learn it about a person",
    Role.INSENSITIVE: "declared to be neither known to others nor secret",
    Role.WEIGHT: "says how many people a record stands for",
    Role.STRATUM: "others may know it of a person; the sample was drawn by it",
    Role.DROP: "not needed",
    Role.DECIDE: "not decided",
}
#: what a step does to the columns that it names
_DONE = {
    "generalized": "generalised",
    "bucketized": "released as buckets of near values",
    "permuted": "exchanged inside hidden classes",
    "ranked": "exchanged between records of near ranks",
    "randomized": "randomised",
    "noised": "released with noise",
    "concepts-drawn": "a more general term, drawn at random",
}
_FORMS = {"microaggregated": "replaced by a typical value of the class", "generalized": "generalised class by class"}


def column_roles(plan: Brief, certificate: Certificate) -> tuple[ColumnRole, ...]:
    """Return a line for each column of the plan, in its order."""
    done = _done(certificate.steps)
    return tuple(
        ColumnRole(
            name=attribute.name,
            role=attribute.role,
            done=_said(attribute, done.get(attribute.name, ())),
            reason=attribute.reason or _MEANINGS[attribute.role],
            given=bool(attribute.reason),
        )
        for attribute in plan.schema
    )


def _said(attribute: Attribute, done: Sequence[str]) -> str:
    if attribute.pseudonym:
        return "replaced by a keyed pseudonym"
    if attribute.role.names_someone:
        return "left out"
    return ", ".join(dict.fromkeys(done)) or "released as it is"


def _done(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for step in steps:
        for name, words in _named(step):
            found.setdefault(name, []).append(words)
    return found


def _named(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    words = _FORMS.get(step.get("form", "")) if step.get("step") == "classed" else _DONE.get(step.get("step", ""))
    if words is None:
        return
    names = step["columns"] if "columns" in step else [step["column"]]
    levels = dict(zip(names, zip(step.get("levels", ()), step.get("heights", ()), strict=False), strict=False))
    for name in names:
        if name in levels:
            level, height = levels[name]
            yield name, f"{words} to level {level} of {height}" if level else "released as it is"
        else:
            yield name, words
