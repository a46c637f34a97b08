"""Read schemas from TOML files.

::

    shoal = 1                                  # version of the format; may be left out
    missing_values = ["?", "NA"]               # what stands for a missing value in all columns; a column may say more
    guessed = true                             # nobody has confirmed the roles yet; remove the line when you have

    [columns.age]                              # one table per column, in the order of the data's columns
    role = "quasi-identifier"                  # or identifier, person, household, sensitive, insensitive,
                                               # weight, stratum
    kind = "numeric"                           # categorical (default), ordinal, numeric or date
    minimum = 0                                # bounds of a numeric or date column; dates as 2024-12-31
    maximum = 120
    missing = "category"                       # category (default), drop or refuse
    weight = 2                                 # how much analysts care; default 1
    hierarchy = { intervals = [5, 10, 20] }    # left out: value -> *

    [columns.pain]
    role = "sensitive"
    kind = "ordinal"
    values = ["none", "mild", "severe"]        # all values; of an ordinal column in ascending order

    [columns.record]
    role = "identifier"
    pseudonym = true                           # replaced by a keyed pseudonym instead of dropped
    reason = "links the waves of the study"    # why it has this role, in your words; reports print it

    [columns.patient]
    role = "person"                            # whose record it is: promises count persons, not records

A hierarchy is a table with one rule, named by its key, and the rule's options:

================================================================  ====================================================
``{ intervals = [5, 10, 20], origin = 0 }``                        equal-width intervals
``{ cuts = [[18, 40, 65], [65]] }``                                intervals between cut points, finest level first
``{ quantiles = [16, 4] }``                                        intervals of about equally many records
``{ mask = [1, 2, 3], length = 5, side = "right", symbol = "*" }``  hide characters
``{ dates = ["month", "quarter", "year"] }``                       truncate days
``{ groups = [{ low = ["a", "b"], high = ["c"] }] }``              named groups, one table per level, finest first
``{ taxonomy = { flu = "infection", cold = "infection" } }``       a tree, as ``child = "parent"``
``{ taxonomy = "icd.csv", delimiter = ";" }``                      the same in a file of two columns
``{ file = "zip.csv", delimiter = ";" }``                          a table in ARX format
``{ flat = true }``                                                value -> ``*``, spelt out
================================================================  ====================================================

Paths start at the schema's folder. Every column is read on its own and to the end, so that one run reports every
problem of a file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from shoal.errors import InputError, Problems, SchemaError, quoted
from shoal.schema._domain import Bound, Domain, Kind
from shoal.schema._entry import (
    TomlTable,
    day_or_number,
    many,
    nearest,
    number,
    table,
    text,
    truth,
    whole,
    word_or_number,
)
from shoal.schema._reading import Reading
from shoal.schema._rule import HierarchyRule
from shoal.schema._schema import Attribute, Missing, Role, Schema
from shoal.schema._write import VERSION
from shoal.schema.rules import RULES

T = TypeVar("T")

_WRITTEN: Mapping[str, Callable[[object], object]] = {
    "missing_values": many(word_or_number),
    "date_format": text,
    "decimal": text,
    "thousands": text,
    "unreadable": number,
}


def load(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file; relative paths in it start at the file's folder.

    Raises
    ------
    SchemaError
        With every problem of the file at once.
    """
    path = Path(path)
    subject = f"the schema `{path}`"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"{subject} does not exist", hint="`shoal draft` writes one") from None
    except OSError as error:
        raise SchemaError(f"{subject} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{subject} is not UTF-8 text", hint="save it as UTF-8") from None
    return loads(text, path.parent, subject=subject)


def loads(text: str, folder: str | os.PathLike[str] = ".", *, subject: str = "the schema") -> Schema:
    r"""Read a schema from TOML text.

    Parameters
    ----------
    folder
        Where relative paths in it start.
    subject
        How messages call it.

    Examples
    --------
    >>> loads('[columns.sex]\nrole = "sensitive"\nkid = "numeric"')
    Traceback (most recent call last):
    shoal.errors.SchemaError: column `sex`: unknown key `kid` (did you mean `kind`?)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{subject} is not valid TOML: {error}") from None
    except RecursionError:
        raise SchemaError(f"{subject} is not valid TOML: too deeply nested") from None
    return from_document(document, folder)


def from_document(document: dict[str, Any], folder: str | os.PathLike[str] = ".") -> Schema:
    """Read a schema from a parsed TOML document, which other files may hold as a part."""
    return _read(document, Path(folder))


def _read(document: Mapping[str, object], folder: Path) -> Schema:
    """Return the schema that a parsed file describes, or raise with all of its problems."""
    problems = Problems()
    entry = TomlTable(document, "the schema", problems)
    version = entry.get("shoal", whole, VERSION)
    if version != VERSION:
        problems.add(f"the schema: `shoal`, the version of the format, must be {VERSION}")
    guessed = entry.get("guessed", truth, False)
    missing_values: tuple[str, ...] = entry.get("missing_values", many(word_or_number)) or ()
    columns: dict[str, object] = entry.get("columns", table) or {}
    entry.close()
    found = [_attribute(name, each, problems) for name, each in columns.items()]
    if not columns and not problems:
        problems.add("the schema describes no columns")
    problems.raise_as(SchemaError)
    attributes = tuple(attribute for attribute in found if attribute is not None)
    return Schema(attributes=attributes, folder=folder, guessed=guessed, missing_values=missing_values)


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
    entry = TomlTable(column, subject, problems)
    role = entry.word("role", Role)
    kind = entry.word("kind", Kind, Kind.CATEGORICAL)
    values = entry.get("values", many(text))
    minimum, maximum = entry.get("minimum", day_or_number), entry.get("maximum", day_or_number)
    missing = entry.word("missing", Missing, Missing.CATEGORY)
    weight = entry.get("weight", number, 1.0)
    hierarchy = entry.get("hierarchy", table)
    pseudonym = entry.get("pseudonym", truth, False)
    reason = entry.get("reason", text, "")
    written = {key: entry.get(key, read) for key, read in _WRITTEN.items()}
    good = entry.close()
    rule = None if hierarchy is None else _rule(subject, hierarchy, problems)
    if role is None or not good:
        return None
    reading = _noted(subject, problems, lambda: Reading(**{k: v for k, v in written.items() if v is not None}))  # type: ignore[arg-type]
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
            reading=reading or Reading(),
            reason=reason,
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
    entry = TomlTable(found, f"{subject}: `hierarchy`", problems)
    return _noted(subject, problems, lambda: RULES[named[0]].read(entry))


def _which_rule(found: Mapping[str, object], named: list[str]) -> str:
    if named:
        return f"`hierarchy` must name exactly one rule; got {quoted(named)}"
    for key in found:
        if meant := nearest(key, RULES):
            return f"`{key}` is not a hierarchy rule (did you mean `{meant}`?)"
    return f"`hierarchy` must name a rule: one of {', '.join(RULES)}"
