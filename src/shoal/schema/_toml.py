"""Schemas as TOML files: read key by key and to the end, so that one run reports every problem, and written for people.

`docs/reference/schema.md` explains the format. Paths in a file start at its folder.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from shoal.errors import InputError, Problems, SchemaError, quoted
from shoal.schema._derived import Derived
from shoal.schema._domain import Domain, Kind, Provenance, Reading
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
from shoal.schema._rule import HierarchyRule
from shoal.schema._schema import Attribute, Missing, Outside, PersonsAnswer, Role, Schema
from shoal.schema.rules import RULES
from shoal.writing import write_file

T = TypeVar("T")


class _Origin(StrEnum):
    """The origins of domains as schema files name them; values read off the data have a key of their own."""

    DECLARED = "declared"
    PUBLIC = "public"
    PAID = "paid"


_PROVENANCE = {
    _Origin.DECLARED: Provenance.DECLARED,
    _Origin.PUBLIC: Provenance.PUBLIC,
    _Origin.PAID: Provenance.PAID,
}

_WRITTEN: Mapping[str, Callable[[object], object]] = {
    "missing_values": many(word_or_number),
    "date_format": text,
    "decimal": text,
    "thousands": text,
    "unit": text,
    "unreadable": number,
    "round_to": number,
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
    r"""Read a schema from TOML text; relative paths in it start at ``folder``, and messages call it ``subject``.

    Examples
    --------
    >>> loads('[columns.sex]\nrole = "sensitive"\nkid = "numeric"')
    Traceback (most recent call last):
    shoal.errors.SchemaError: column `sex`: unknown key `kid` (did you mean `kind`?)
    """
    try:
        document = parse(text)
    except ValueError as error:
        raise SchemaError(f"{subject} is not valid TOML: {error}") from None
    return from_document(document, folder)


#: parts of a dotted key, such as `columns.age.hierarchy`; the parser needs time and memory for their square
_MOST_PARTS = 64
_PART = r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DOTTED = re.compile(rf"(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")
#: bits of a whole number; more are no bound of anything, and decimal digits of many take long to write
_MOST_BITS = 1024


def parse(text: str) -> dict[str, Any]:
    """Parse TOML that a stranger may have written: ValueError says what is wrong, and nothing costs much."""
    if _DOTTED.search(text):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        document = tomllib.loads(text)
        _check_numbers(document)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("too deeply nested") from None
    except ValueError:
        raise ValueError("a number has too many digits") from None
    return document


def _check_numbers(value: object) -> None:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_numbers(inner)


def from_document(document: dict[str, Any], folder: str | os.PathLike[str] = ".") -> Schema:
    """Read a schema from a parsed TOML document, which other files may hold as a part."""
    problems = Problems()
    entry = TomlTable(document, "the schema", problems)
    version = entry.get("shoal", whole, VERSION)
    if version != VERSION:
        problems.add(f"the schema: `shoal`, the version of the format, must be {VERSION}")
    guessed = entry.get("guessed", truth, False)
    missing_values: tuple[str, ...] = entry.get("missing_values", many(word_or_number)) or ()
    persons = entry.word("persons", PersonsAnswer, PersonsAnswer.UNSTATED)
    impossible: tuple[str, ...] = entry.get("impossible", many(text)) or ()
    columns: dict[str, object] = entry.get("columns", table) or {}
    entry.close()
    found = [_attribute(name, each, Path(folder), problems) for name, each in columns.items()]
    if not columns and not problems:
        problems.add("the schema describes no columns")
    problems.raise_as(SchemaError)
    attributes = tuple(attribute for attribute in found if attribute is not None)
    return Schema(
        attributes=attributes,
        folder=Path(folder),
        guessed=guessed,
        missing_values=missing_values,
        persons=persons or PersonsAnswer.UNSTATED,
        impossible=impossible,
    )


def read_rule(found: Mapping[str, object]) -> HierarchyRule:
    """Return the rule that a hierarchy table of a schema file describes, or raise with all of its problems."""
    problems = Problems()
    rule = _rule("the rule", found, problems)
    problems.raise_as(SchemaError)
    assert rule is not None  # noqa: S101 - else there was a problem
    return rule


def _attribute(name: str, column: object, folder: Path, problems: Problems) -> Attribute | None:
    """Return what one table describes, or None and note why not."""
    subject = f"column `{name}`"
    if not isinstance(column, dict):
        problems.add(f"{subject} must be a table")
        return None
    entry = TomlTable(column, subject, problems)
    role = entry.word("role", Role)
    kind = entry.word("kind", Kind, Kind.CATEGORICAL)
    values, seen = entry.get("values", many(text)), entry.get("seen_values", many(text))
    origin = entry.word("provenance", _Origin, _Origin.DECLARED)
    if values is not None and seen is not None:
        problems.add(f"{subject}: `seen_values` were read off the data, `values` are declared; give one of the two")
    minimum, maximum = entry.get("minimum", day_or_number), entry.get("maximum", day_or_number)
    missing = entry.word("missing", Missing, Missing.CATEGORY)
    outside = entry.get("outside", text) or Outside.REFUSE
    weight = entry.get("weight", number, 1.0)
    hierarchy = entry.get("hierarchy", table)
    pseudonym = entry.get("pseudonym", truth, False)
    derived = entry.get("derived", table)
    reason = entry.get("reason", text, "")
    written = {key: entry.get(key, read) for key, read in _WRITTEN.items()}
    good = entry.close()
    rule = None if hierarchy is None else _rule(subject, hierarchy, problems)
    computed = None if derived is None else _read_derived(subject, derived, folder, problems)
    if role is None or not good:
        return None
    reading = _try_to_make(subject, problems, lambda: Reading(**{k: v for k, v in written.items() if v is not None}))  # type: ignore[arg-type]
    domain = None
    if values is not None or seen is not None or minimum is not None or maximum is not None:
        provenance = _PROVENANCE[origin or _Origin.DECLARED]
        if values is None and seen is not None:
            values, provenance = seen, Provenance.INFERRED
        domain = _try_to_make(
            subject,
            problems,
            lambda: Domain(values=values, minimum=minimum, maximum=maximum, provenance=provenance),
        )
    if domain is None and values is not None:
        domain = Domain(values=("-",))  # a stand-in, so that the rest of the column is checked as well
    return _try_to_make(
        "",
        problems,
        lambda: Attribute(
            name=name,
            role=role,
            kind=kind,
            domain=domain,
            missing=missing,
            outside=outside,
            weight=weight,
            hierarchy=rule,
            pseudonym=pseudonym,
            reading=reading or Reading(),
            derived=computed,
            reason=reason,
        ),
    )


def _try_to_make(subject: str, problems: Problems, make: Callable[[], T]) -> T | None:
    """Return what is made, or None and note why it cannot be."""
    try:
        return make()
    except InputError as error:
        for problem in error.problems:
            problems.add(f"{subject}: {problem}" if subject else problem)
    return None


def _rule(subject: str, found: Mapping[str, object], problems: Problems) -> HierarchyRule | None:
    """Return the rule of a hierarchy table; its key says which one it is."""
    named = [key for key in found if key in RULES]
    if len(named) != 1:
        problems.add(f"{subject}: {_which_rule(found, named)}")
        return None
    entry = TomlTable(found, f"{subject}: `hierarchy`", problems)
    return _try_to_make(subject, problems, lambda: RULES[named[0]].read(entry))


def _read_derived(subject: str, rule: Mapping[str, object], folder: Path, problems: Problems) -> Derived | None:
    """Return the rule by which a column follows from another one."""
    entry = TomlTable(rule, f"{subject}: `derived`", problems)
    return _try_to_make(subject, problems, lambda: Derived.read(entry, folder))


def _which_rule(found: Mapping[str, object], named: list[str]) -> str:
    if named:
        return f"`hierarchy` must name exactly one rule; got {quoted(named)}"
    for key in found:
        if meant := nearest(key, RULES):
            return f"`{key}` is not a hierarchy rule (did you mean `{meant}`?)"
    return f"`hierarchy` must name a rule: one of {', '.join(RULES)}"


VERSION = 1

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def dumps(schema: Schema, *, head: Sequence[str] = (), comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write a schema as TOML text; :func:`loads` gives it back.

    ``head`` are comment lines above everything, ``comments`` those above the tables of columns.
    """
    lines = [*_comment(head), *([""] if head else []), f"shoal = {VERSION}"]
    if schema.missing_values:
        lines.append(f"missing_values = {toml_value(schema.missing_values)}")
    if schema.impossible:
        lines.append(f"impossible = {toml_value(schema.impossible)}")
    if schema.guessed:
        lines.append("guessed = true  # remove this line when you have confirmed the roles below")
    if schema.persons:
        lines += [*_comment((comments or {}).get("", ())), f"persons = {toml_value(schema.persons.value)}"]
    for attribute in schema:
        lines += ["", *_comment((comments or {}).get(attribute.name, ()))]
        lines += _table(attribute)
    return "\n".join(lines) + "\n"


def save(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a TOML file. Paths in it stay as they are, so save it into ``schema.folder``."""
    write_file(Path(path), dumps(schema).encode(), overwrite=True)


def _comment(lines: Sequence[str]) -> list[str]:
    # a column name may hold any character; a comment may not hold control characters
    printable = (
        "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) for text in lines
    )
    return [f"# {line}".rstrip() for text in printable for line in text.split("\n")]


def _table(attribute: Attribute) -> list[str]:
    """Return the lines of a column's table; a long hierarchy gets tables of its own."""
    place = f"columns.{_key(attribute.name)}"
    settings = _settings(attribute)
    rule = {} if attribute.hierarchy is None else attribute.hierarchy.write()
    inline = f"hierarchy = {toml_value(rule)}"
    if attribute.hierarchy is None or len(inline) <= _WIDTH or not attribute.hierarchy.tabular:
        return [f"[{place}]", *settings, *([inline] if rule else [])]
    tables = [line for key, value in rule.items() for line in _tables(f"{place}.hierarchy.{key}", value)]
    options = [f"hierarchy.{key} = {toml_value(value)}" for key, value in rule.items() if isinstance(value, str)]
    return [f"[{place}]", *settings, *options, *tables]


def _tables(place: str, value: object) -> list[str]:
    if isinstance(value, Mapping):
        return ["", f"[{place}]", *(f"{_key(key)} = {toml_value(item)}" for key, item in value.items())]
    if isinstance(value, list):
        return [line for level in value for line in ["", f"[[{place}]]", *_tables("", level)[2:]]]
    return []


def _settings(attribute: Attribute) -> list[str]:
    """Return the lines of all keys but the hierarchy; what has its default value is left out, but for the role."""
    domain = attribute.domain
    settings: dict[str, object] = {"role": attribute.role.value}
    if attribute.kind is not Kind.CATEGORICAL:
        settings["kind"] = attribute.kind.value
    if domain is not None:
        key = "seen_values" if domain.provenance is Provenance.INFERRED else "values"
        settings |= {key: domain.values, "minimum": domain.minimum, "maximum": domain.maximum}
        words = {provenance: word.value for word, provenance in _PROVENANCE.items() if word is not _Origin.DECLARED}
        settings |= {"provenance": words.get(domain.provenance)}
    if attribute.missing is not Missing.CATEGORY:
        settings["missing"] = attribute.missing.value
    if attribute.outside != Outside.REFUSE:
        settings["outside"] = str(attribute.outside)
    if attribute.weight != 1:
        settings["weight"] = attribute.weight
    if attribute.pseudonym:
        settings["pseudonym"] = True
    if attribute.reason:
        settings["reason"] = attribute.reason
    for field in dataclasses.fields(attribute.reading):
        value = getattr(attribute.reading, field.name)
        if value != field.default:
            settings[field.name] = value
    if attribute.derived is not None:
        settings["derived"] = attribute.derived.write()
    return [f"{key} = {toml_value(value)}" for key, value in settings.items() if value is not None]


def toml_value(value: object) -> str:
    """Return a TOML value on one line, or as a block of lines where it is a long list."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case int() | float():
            return repr(value)
        case dt.date():
            return value.isoformat()
        case str():
            # JSON escapes what TOML asks to be escaped, but for the delete character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
        case Sequence():
            items = [toml_value(item) for item in value]
            line = f"[{', '.join(items)}]"
            return line if len(line) <= _WIDTH else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)
