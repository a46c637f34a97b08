"""Check promises of closeness that no single table shows: what they claim, computed again from the release.

Whether the steps were carried out as the certificate says, no file can show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from shoal import tables
from shoal.errors import ShoalError
from shoal.exact import fraction
from shoal.guarantees._certificate import Certificate, Data, PromiseEntry
from shoal.guarantees._check import Check
from shoal.guarantees._promise import Strength
from shoal.models import Classes, MultiplicativeCloseness
from shoal.schema import Attribute, Flat, Role, Schema
from shoal.tables import Frequencies, SensitiveAttribute, Table, group

__all__ = ["CLOSENESS", "check_closeness", "check_links"]

Opened = Mapping[str, Table]
Decision = tuple[bool, str]


def check_closeness(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Check:
    """Compute a promise again; anything that the certificate leaves out makes it fail."""
    try:
        passed, detail = CLOSENESS[entry.model](entry, certificate, opened)
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError):
        passed, detail = False, "the certificate does not say what is needed to check it"
    except ShoalError as error:
        passed, detail = False, "; ".join(error.problems)
    return Check(subject=f"{entry.model} ({entry.strength})", passed=passed, detail=detail)


def check_links(certificate: Certificate, opened: Opened) -> list[Check]:
    """Check that tables which a class column links have the same classes, and that others share no column."""
    linked = [data for data in certificate.tables if data.class_column is not None]
    checks = []
    if linked:
        first, *others = (_class_sizes(data, opened) for data in linked)
        same = all(sizes == first for sizes in others)
        detail = f"the same {len(first):,} classes in {len(linked)} tables" if same else "classes differ between tables"
        checks.append(Check(subject="class link", passed=same and len(linked) > 1, detail=detail))
    names = [name for data in certificate.tables for name in _unlinked(data)]
    if len(certificate.tables) > 1:
        shared = sorted({name for name in names if names.count(name) > 1})
        detail = f"`{shared[0]}` is in several tables" if shared else "the tables share no column"
        checks.append(Check(subject="columns of all tables", passed=not shared, detail=detail))
    return checks


def _view(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Decision:
    """Compute the closeness of the joint distribution of the columns, and compare t with exp(epsilon / 2)."""
    from shoal.methods.classes import closeness_epsilon

    t, epsilon = _fraction(entry.parameters["t"]), float(str(entry.parameters["epsilon"]))
    columns = _texts(entry.parameters["columns"])
    found = _joint_factor(entry, certificate, opened, columns)
    passed = found <= t and closeness_epsilon(t) <= epsilon
    named = " and ".join(f"`{name}`" for name in columns)
    shown = (
        f"the {'joint ' * (len(columns) > 1)}distribution of {named} differs by a factor of at most {float(found):.6g}"
    )
    return passed, shown if passed else f"{shown}, which is not what it says"


def _joint_factor(
    entry: PromiseEntry, certificate: Certificate, opened: Opened, columns: Sequence[str]
) -> Fraction | float:
    """Return the closeness of the combinations of columns, on the classes of the file or on those that are listed."""
    listed = [
        _fraction(other.parameters["t"])
        for other in certificate.promises
        if other.model == "hidden-classes" and other.parameters.get("columns") == columns
    ]
    if listed:
        return min(listed)
    data = _data(entry, certificate)
    linked = [each.name for each in data.columns if each.role is Role.QUASI_IDENTIFIER]
    frequencies = _counted(opened[data.file], data, [*linked, *columns])
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


def _stochastic(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Decision:
    """Count the records and the smallest class, and compute t from them and from what the steps spend."""
    from shoal.methods.classes import stochastic_t

    data = _data(entry, certificate)
    names = [column.name for column in data.columns if column.role is Role.QUASI_IDENTIFIER]
    sizes = Classes.grouped(_counted(opened[data.file], data, names)).sizes
    epsilon = _fraction(entry.parameters["epsilon"])
    done = _randomised(entry, certificate)
    confidential = {column.name for column in data.columns if column.role is Role.SENSITIVE}
    if {str(step["column"]) for step in done} != confidential:
        return False, "the steps do not randomise every confidential column"
    if _spent(done) > epsilon:
        return False, "the steps spend more epsilon than it says"
    t = stochastic_t(epsilon, records=int(sizes.sum()), smallest=int(sizes.min()))
    passed = t <= float(str(entry.parameters["t"]))
    counted = f"{int(sizes.sum()):,} records and classes of at least {int(sizes.min()):,} give t = {t:.6g}"
    return passed, counted if passed else f"{counted}, which is more than it says"


def _local(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Decision:
    """Add up what the steps spend on the columns of the promise."""
    del opened
    columns = set(_texts(entry.parameters["columns"]))
    done = _randomised(entry, certificate)
    if {str(step["column"]) for step in done} != columns:
        return False, "the steps do not randomise the columns that it is about"
    if any(step["mechanism"] not in _MECHANISMS for step in done):
        return False, "a step uses a mechanism that is not known to be private"
    if entry.strength is Strength.UNCONDITIONAL and "operating system" not in certificate.randomness:
        return False, "the promise calls itself unconditional, but its random numbers are not covered"
    spent = _spent(done)
    passed = spent <= _fraction(entry.parameters["epsilon"])
    return passed, f"the steps spend epsilon {float(spent):.6g} in all"


_MECHANISMS = ("randomized-response", "refinement", "noise")


def _hidden(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Decision:
    """Decide the promise on the histograms that the certificate lists, and compare their sum with the data file."""
    data = _data(entry, certificate)
    columns, k, t = (
        _texts(entry.parameters["columns"]),
        int(str(entry.parameters["k"])),
        _fraction(entry.parameters["t"]),
    )
    labels = [tuple(row) for row in entry.exact["labels"]]  # type: ignore[attr-defined]
    rows = [[int(number) for number in row] for row in entry.exact["histograms"]]  # type: ignore[attr-defined]
    totals = [sum(row[0] * row[1 + place] for row in rows) for place in range(len(labels))]
    if dict(zip(labels, totals, strict=True)) != _tallied(opened[data.file], data, columns):
        return False, "the listed classes do not add up to the released values"
    if not any(step.get("step") == "permuted" for step in certificate.steps):
        return False, "no step exchanges values"
    records = sum(totals)
    for number, *counts in rows:
        size = sum(counts)
        ratios = [Fraction(count * records, size * total) for count, total in zip(counts, totals, strict=True)]
        if number < 1 or size < k or any(not 1 / t <= ratio <= t for ratio in ratios):
            return False, "a listed class breaks it"
    classes = sum(row[0] for row in rows)
    return True, f"holds for the {classes:,} classes that the certificate lists; who is in which, it does not show"


def _composition(entry: PromiseEntry, certificate: Certificate, opened: Opened) -> Decision:
    """Compose the promises of the tables again."""
    from shoal.methods.classes import closeness_epsilon, composed, exposed

    del opened
    parts = [
        [other.promise() for other in certificate.promises if other.file == data.file] for data in certificate.tables
    ]
    found = composed(parts, [exposed(data.columns) for data in certificate.tables])
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


CLOSENESS: dict[str, Callable[[PromiseEntry, Certificate, Opened], Decision]] = {
    "view-differential-privacy": _view,
    "stochastic-closeness": _stochastic,
    "local-differential-privacy": _local,
    "hidden-classes": _hidden,
    "composition": _composition,
}
"""Promises by name, and what decides them."""


def _class_sizes(data: Data, opened: Opened) -> dict[tuple[str | None, ...], int]:
    return _tallied(opened[data.file], data, [str(data.class_column)])


def _unlinked(data: Data) -> list[str]:
    return [column.name for column in data.columns if column.name != data.class_column]


def _counted(table: Table, data: Data, names: Sequence[str]) -> Frequencies:
    """Count the distinct combinations of some columns, as they stand."""
    attributes = tuple(
        Attribute(
            name=column.name,
            role=Role.QUASI_IDENTIFIER if column.name in names else Role.INSENSITIVE,
            hierarchy=Flat() if column.name in names else None,
        )
        for column in data.columns
    )
    return tables.encode(table.with_schema(Schema(attributes=attributes), allow_empty=True), sensitive=()).frequencies


def _tallied(table: Table, data: Data, names: Sequence[str]) -> dict[tuple[str | None, ...], int]:
    frequencies = _counted(table, data, names)
    order = [frequencies.attributes.index(name) for name in names]
    labels = [frequencies.hierarchies[j].labels[0] for j in order]
    codes = np.asarray(frequencies.codes)[:, order]
    return {
        tuple(texts[code] for texts, code in zip(labels, row, strict=True)): count
        for row, count in zip(codes.tolist(), frequencies.counts.tolist(), strict=True)
    }


def _data(entry: PromiseEntry, certificate: Certificate) -> Data:
    """Return the table that a promise is about."""
    return next(each for each in certificate.tables if each.file == (entry.file or certificate.data.file))


def _randomised(entry: PromiseEntry, certificate: Certificate) -> list[dict[str, object]]:
    """Return the steps that randomised columns of the table that a promise is about."""
    names = {column.name for column in _data(entry, certificate).columns}
    return [step for step in certificate.steps if step.get("step") == "randomized" and step["column"] in names]


def _spent(steps: Sequence[Mapping[str, object]]) -> Fraction:
    spent = [Fraction(str(step["epsilon_spent"])) for step in steps]
    if not spent or min(spent) <= 0:
        raise ValueError("nothing was randomised")
    return sum(spent, Fraction(0))


def _fraction(value: object) -> Fraction:
    if not isinstance(value, (int, float, str)):
        raise TypeError("not a number")
    return fraction(value)


def _texts(value: object) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("not a list")
    return [str(entry) for entry in value]
