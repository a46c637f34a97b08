"""From a parsed file to a schema.

Every column is read on its own and to the end, so that one run reports every problem of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from shoal.errors import InputError, Problems, SchemaError
from shoal.schema._domain import Bound, Domain, Kind
from shoal.schema._entry import Entry, day_or_number, many, nearest, number, table, text, truth, whole
from shoal.schema._schema import Attribute, Missing, Role, Schema
from shoal.schema.rules import RULES, HierarchyRule

__all__ = ["VERSION", "read", "read_rule"]

VERSION = 1

T = TypeVar("T")


def read(document: Mapping[str, object], folder: Path) -> Schema:
    """Return the schema that a parsed file describes, or raise with all of its problems."""
    problems = Problems()
    entry = Entry(document, "the schema", problems)
    version = entry.get("shoal", whole, VERSION)
    if version != VERSION:
        problems.add(f"the schema: `shoal`, the version of the format, must be {VERSION}")
    guessed = entry.get("guessed", truth, False)
    columns: dict[str, object] = entry.get("columns", table) or {}
    entry.close()
    found = [_attribute(name, each, problems) for name, each in columns.items()]
    if not columns and not problems:
        problems.add("the schema describes no columns")
    problems.raise_as(SchemaError)
    attributes = tuple(attribute for attribute in found if attribute is not None)
    return Schema(attributes=attributes, folder=folder, guessed=guessed)


def read_rule(found: Mapping[str, object]) -> HierarchyRule:
    """Return the rule that a hierarchy table of a schema file describes, or raise with all of its problems."""
    problems = Problems()
    rule = _rule("the rule", found, problems)
    problems.raise_as(SchemaError)
    assert rule is not None  # noqa: S101 - else there was a problem
    return rule


def _attribute(name: str, column: object, problems: Problems) -> Attribute | None:
    """Return what one table describes, or None and note why not."""
    subject = f"column `{name}`"
    if not isinstance(column, dict):
        problems.add(f"{subject} must be a table")
        return None
    entry = Entry(column, subject, problems)
    role = entry.word("role", Role)
    kind = entry.word("kind", Kind, Kind.CATEGORICAL)
    values = entry.get("values", many(text))
    minimum, maximum = entry.get("minimum", day_or_number), entry.get("maximum", day_or_number)
    missing = entry.word("missing", Missing, Missing.CATEGORY)
    weight = entry.get("weight", number, 1.0)
    hierarchy = entry.get("hierarchy", table)
    pseudonym = entry.get("pseudonym", truth, False)
    good = entry.close()
    rule = None if hierarchy is None else _rule(subject, hierarchy, problems)
    if role is None or not good:
        return None
    domain = _noted(subject, problems, lambda: _domain(values, minimum, maximum))
    if domain is None and values is not None:
        domain = Domain(values=("-",))  # a stand-in, so that the rest of the column is checked as well
    return _noted(
        "",
        problems,
        lambda: Attribute(
            name=name,
            role=role,
            kind=kind,
            domain=domain,
            missing=missing,
            weight=weight,
            hierarchy=rule,
            pseudonym=pseudonym,
        ),
    )


def _noted(subject: str, problems: Problems, make: Callable[[], T]) -> T | None:
    """Return what is made, or None and note why it cannot be."""
    try:
        return make()
    except InputError as error:
        for problem in error.problems:
            problems.add(f"{subject}: {problem}" if subject else problem)
    return None


def _domain(values: tuple[str, ...] | None, minimum: Bound | None, maximum: Bound | None) -> Domain | None:
    if values is None and minimum is None and maximum is None:
        return None
    return Domain(values=values, minimum=minimum, maximum=maximum)


def _rule(subject: str, found: Mapping[str, object], problems: Problems) -> HierarchyRule | None:
    """Return the rule of a hierarchy table; its key says which one it is."""
    named = [key for key in found if key in RULES]
    if len(named) != 1:
        problems.add(f"{subject}: {_which_rule(found, named)}")
        return None
    entry = Entry(found, f"{subject}: `hierarchy`", problems)
    return _noted(subject, problems, lambda: RULES[named[0]].read(entry))


def _which_rule(found: Mapping[str, object], named: list[str]) -> str:
    if named:
        return f"`hierarchy` must name one rule; got {', '.join(f'`{key}`' for key in named)}"
    for key in found:
        if meant := nearest(key, RULES):
            return f"`hierarchy` has no rule `{key}` (did you mean `{meant}`?)"
    return f"`hierarchy` must name a rule: one of {', '.join(RULES)}"
