"""Write a schema as TOML that a person likes to read."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal.schema._domain import Kind
from shoal.schema._schema import Attribute, Missing, Schema
from shoal.writing import write_file

VERSION = 1

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def dumps(schema: Schema, *, head: Sequence[str] = (), comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write a schema as TOML text; :func:`loads` gives it back.

    Parameters
    ----------
    head
        Comment lines above everything.
    comments
        Comment lines above the tables of columns.
    """
    lines = [*_comment(head), *([""] if head else []), f"shoal = {VERSION}"]
    if schema.missing_values:
        lines.append(f"missing_values = {toml_value(schema.missing_values)}")
    if schema.guessed:
        lines.append("guessed = true  # remove this line when you have confirmed the roles below")
    for attribute in schema:
        lines += ["", *_comment((comments or {}).get(attribute.name, ()))]
        lines += _table(attribute)
    return "\n".join(lines) + "\n"


def save(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a TOML file. Paths in it stay as they are, so save it into ``schema.folder``."""
    write_file(Path(path), dumps(schema).encode(), overwrite=True)


def _comment(lines: Sequence[str]) -> list[str]:
    return [f"# {line}".rstrip() for text in lines for line in _printable(text).split("\n")]


def _printable(text: str) -> str:
    # a column name may hold any character; a comment may not hold control characters
    return "".join(c if c == "\n" or (c.isprintable()) else "\N{REPLACEMENT CHARACTER}" for c in text)


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
        settings |= {"values": domain.values, "minimum": domain.minimum, "maximum": domain.maximum}
    if attribute.missing is not Missing.CATEGORY:
        settings["missing"] = attribute.missing.value
    if attribute.weight != 1:
        settings["weight"] = attribute.weight
    if attribute.pseudonym:
        settings["pseudonym"] = True
    if attribute.reason:
        settings["reason"] = attribute.reason
    for each in dataclasses.fields(attribute.reading):
        value = getattr(attribute.reading, each.name)
        if value != each.default:
            settings[each.name] = value
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
            return _array([toml_value(item) for item in value])
    raise TypeError(f"no TOML for {type(value).__name__}")


def _array(items: list[str]) -> str:
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)
