"""Schemas as TOML files.

::

    shoal = 1                                  # version of the format; may be left out
    guessed = true                             # nobody has confirmed the roles yet; remove the line when you have

    [columns.age]                              # one table per column, in the order of the data's columns
    role = "quasi-identifier"                  # identifier, quasi-identifier, sensitive or insensitive
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

Paths start at the schema's folder.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, SchemaError
from shoal.schema._document import VERSION, read
from shoal.schema._domain import Kind
from shoal.schema._schema import Attribute, Missing, Schema

__all__ = ["dumps", "from_document", "load", "loads", "save", "toml_value"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


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
    return read(document, Path(folder))


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
    if schema.guessed:
        lines.append("guessed = true  # remove this line when you have confirmed the roles below")
    for attribute in schema:
        lines += ["", *_comment((comments or {}).get(attribute.name, ()))]
        lines += _table(attribute)
    return "\n".join(lines) + "\n"


def save(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a TOML file. Paths in it stay as they are, so save it into ``schema.folder``."""
    try:
        Path(path).write_text(dumps(schema), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the schema cannot be written to `{path}`: {error.strerror}") from None


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
