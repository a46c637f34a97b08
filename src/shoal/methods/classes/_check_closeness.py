"""Check promises of closeness that no single table shows: what they claim, computed again from the release.

Whether the steps were carried out as the certificate says, no file can show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from shoal.exact import fraction
from shoal.guarantees import Check, Decision, Evidence, PromiseEntry, Strength, checked, texts_of
from shoal.methods.classes._bridge import closeness_epsilon
from shoal.methods.classes._promises import composed, exposed
from shoal.methods.classes._stochastic import stochastic_t
from shoal.models import Classes, MultiplicativeCloseness
from shoal.schema import Role
from shoal.tables import Frequencies, SensitiveAttribute, group

__all__ = ["CLOSENESS", "check_closeness"]


def check_closeness(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Compute a promise again; anything that the certificate leaves out makes it fail."""
    return [checked(f"{entry.model} ({entry.strength})", lambda: CLOSENESS[entry.model](entry, evidence))]


def _view(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Compute the closeness of the joint distribution of the columns, and compare t with exp(epsilon / 2)."""
    t, epsilon = _fraction(entry.parameters["t"]), float(str(entry.parameters["epsilon"]))
    columns = texts_of(entry.parameters["columns"])
    found = _joint_factor(entry, evidence, columns)
    passed = found <= t and closeness_epsilon(t) <= epsilon
    named = " and ".join(f"`{name}`" for name in columns)
    shown = (
        f"the {'joint ' * (len(columns) > 1)}distribution of {named} differs by a factor of at most {float(found):.6g}"
    )
    return passed, shown if passed else f"{shown}, which is not what it says"


def _joint_factor(entry: PromiseEntry, evidence: Evidence, columns: Sequence[str]) -> Fraction | float:
    """Return the closeness of the combinations of columns, on the classes of the file or on those that are listed."""
    listed = [
        _fraction(other.parameters["t"])
        for other in evidence.certificate.promises
        if other.model == "hidden-classes" and other.parameters.get("columns") == columns
    ]
    if listed:
        return min(listed)
    data = evidence.data(entry)
    linked = [each.name for each in data.columns if each.role is Role.QUASI_IDENTIFIER]
    frequencies = evidence.counted(data, [*linked, *columns])
    classes, _ = group(frequencies.codes[:, [frequencies.attributes.index(name) for name in linked]])
    values, firsts = group(frequencies.codes[:, [frequencies.attributes.index(name) for name in columns]])
    joint = Frequencies(
        hierarchies=(),
        codes=np.empty((len(values), 0), dtype=np.int32),
        counts=frequencies.counts,
        sensitive=(SensitiveAttribute(name="joint", size=len(firsts), ordered=False),),
        sensitive_codes=values[:, None].astype(np.int32),
    )
    found = MultiplicativeCloseness("joint", 1).achieved(Classes.of(joint, classes))["t"]
    return found if isinstance(found, float) else Fraction(found)


def _stochastic(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Count the records and the smallest class, and compute t from them and from what the steps spend."""
    data = evidence.data(entry)
    names = [column.name for column in data.columns if column.role is Role.QUASI_IDENTIFIER]
    sizes = Classes.grouped(evidence.counted(data, names)).sizes
    epsilon = _fraction(entry.parameters["epsilon"])
    done = _randomised(entry, evidence)
    confidential = {column.name for column in data.columns if column.role is Role.SENSITIVE}
    if {str(step["column"]) for step in done} != confidential:
        return False, "the steps do not randomise every confidential column"
    if _spent(done) > epsilon:
        return False, "the steps spend more epsilon than it says"
    t = stochastic_t(epsilon, records=int(sizes.sum()), smallest=int(sizes.min()))
    passed = t <= float(str(entry.parameters["t"]))
    counted = f"{int(sizes.sum()):,} records and classes of at least {int(sizes.min()):,} give t = {t:.6g}"
    return passed, counted if passed else f"{counted}, which is more than it says"


def _local(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Add up what the steps spend on the columns of the promise."""
    columns = set(texts_of(entry.parameters["columns"]))
    done = _randomised(entry, evidence)
    if {str(step["column"]) for step in done} != columns:
        return False, "the steps do not randomise the columns that it is about"
    if any(step["mechanism"] not in _MECHANISMS for step in done):
        return False, "a step uses a mechanism that is not known to be private"
    if entry.strength is Strength.UNCONDITIONAL and "operating system" not in evidence.certificate.randomness:
        return False, "the promise calls itself unconditional, but its random numbers are not covered"
    spent = _spent(done)
    passed = spent <= _fraction(entry.parameters["epsilon"])
    return passed, f"the steps spend epsilon {float(spent):.6g} in all"


_MECHANISMS = ("randomized-response", "refinement", "noise")


def _hidden(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Decide the promise on the histograms that the certificate lists, and compare their sum with the data file."""
    data = evidence.data(entry)
    columns, k, t = (
        texts_of(entry.parameters["columns"]),
        int(str(entry.parameters["k"])),
        _fraction(entry.parameters["t"]),
    )
    labels = [tuple(row) for row in entry.exact["labels"]]  # type: ignore[attr-defined]
    rows = [[int(number) for number in row] for row in entry.exact["histograms"]]  # type: ignore[attr-defined]
    totals = [sum(row[0] * row[1 + place] for row in rows) for place in range(len(labels))]
    if dict(zip(labels, totals, strict=True)) != evidence.tallied(data, columns):
        return False, "the listed classes do not add up to the released values"
    if not any(step.get("step") == "permuted" for step in evidence.certificate.steps):
        return False, "no step exchanges values"
    records = sum(totals)
    for number, *counts in rows:
        size = sum(counts)
        ratios = [Fraction(count * records, size * total) for count, total in zip(counts, totals, strict=True)]
        if number < 1 or size < k or any(not 1 / t <= ratio <= t for ratio in ratios):
            return False, "a listed class breaks it"
    classes = sum(row[0] for row in rows)
    return True, f"holds for the {classes:,} classes that the certificate lists; who is in which, it does not show"


def _composition(entry: PromiseEntry, evidence: Evidence) -> Decision:
    """Compose the promises of the tables again."""
    parts = [
        [other.promise() for other in evidence.certificate.promises if other.file == data.file]
        for data in evidence.certificate.tables
    ]
    found = composed(parts, [exposed(data.columns) for data in evidence.certificate.tables])
    said = entry.parameters
    passed = int(str(said["tables"])) == len(parts) > 1
    if "k" in said:
        passed &= "k" in found and int(str(said["k"])) <= int(str(found["k"]))
    if "t" in said:
        passed &= "t" in found and _fraction(said["t"]) >= _fraction(found["t"])
        passed &= closeness_epsilon(_fraction(said["t"])) <= float(str(said["epsilon"]))
    if "local epsilon" in said or "local epsilon" in found:
        passed &= _fraction(said["local epsilon"]) >= _fraction(found["local epsilon"])
    return passed, "follows from the promises of the tables" if passed else "does not follow from those of the tables"


CLOSENESS: dict[str, Callable[[PromiseEntry, Evidence], Decision]] = {
    "view-differential-privacy": _view,
    "stochastic-closeness": _stochastic,
    "local-differential-privacy": _local,
    "hidden-classes": _hidden,
    "composition": _composition,
}
"""Promises by name, and what decides them."""


def _randomised(entry: PromiseEntry, evidence: Evidence) -> list[dict[str, object]]:
    """Return the steps that randomised columns of the table that a promise is about."""
    names = {column.name for column in evidence.data(entry).columns}
    return [step for step in evidence.certificate.steps if step.get("step") == "randomized" and step["column"] in names]


def _spent(steps: Sequence[Mapping[str, object]]) -> Fraction:
    spent = [fraction(str(step["epsilon_spent"])) for step in steps]
    if not spent or min(spent) <= 0:
        raise ValueError("nothing was randomised")
    return sum(spent, Fraction(0))


def _fraction(value: object) -> Fraction:
    if not isinstance(value, (int, float, str)):
        raise TypeError("not a number")
    return fraction(value)
