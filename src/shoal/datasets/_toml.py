r"""Schemas of data sets as TOML: a table ``[tables.NAME]`` per table, with its columns as in other schema files.

::

    shoal = 1

    [tables.patients]
    key = "patient"

    [tables.patients.columns.age]
    role = "quasi-identifier"

    [tables.stays]
    parent = "patients"
    key = "stay_id"
    parent_key = "patient"     # may be left out: called as the key of the parent
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal import schema
from shoal.datasets._schema import MOST_TABLES, DatasetSchema, TableSchema
from shoal.errors import Problems, SchemaError
from shoal.schema import Schema

VERSION = 1
_TEXTS = ("key", "parent", "parent_key", "list", "separator", "size")
_KEYS = (*_TEXTS, "at_most", "days_since_first", "columns")
_HEADER = re.compile(r"^(\[\[?)columns\.", re.MULTILINE)


def load(path: str | Path) -> DatasetSchema:
    """Read the schema of a data set; relative paths in it start at its folder.

    Raises
    ------
    SchemaError
        With every problem of the file at once.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError:
        raise SchemaError(f"the schema `{path}` cannot be read", hint="`shoal draft FOLDER` writes one") from None
    except UnicodeDecodeError:
        raise SchemaError(f"the schema `{path}` is not UTF-8 text", hint="save it as UTF-8") from None
    return loads(text, path.parent)


def loads(text: str, folder: str | Path = ".") -> DatasetSchema:
    """Read the schema of a data set from TOML text."""
    try:
        document = schema.parse(text)
    except ValueError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}") from None
    return from_document(document, folder)


def from_document(document: Mapping[str, Any], folder: str | Path = ".") -> DatasetSchema:
    """Read the schema of a data set from a parsed document, which other files may hold as a part."""
    problems = Problems()
    for key in document:
        if key not in ("shoal", "guessed", "shift_dates", "tables"):
            problems.add(f"the schema: unknown key `{key}`; the valid keys are shoal, guessed, shift_dates, tables")
    if document.get("shoal", VERSION) != VERSION:
        problems.add(f"the schema: `shoal`, the version of the format, must be {VERSION}")
    guessed, entries = document.get("guessed", False), document.get("tables")
    shifted = document.get("shift_dates")
    if shifted is not None and (isinstance(shifted, bool) or not isinstance(shifted, int)):
        problems.add("the schema: `shift_dates` must be a whole number of days")
    if not isinstance(guessed, bool):
        problems.add("the schema: `guessed` must be true or false")
    if not isinstance(entries, dict) or not entries:
        problems.add("the schema describes no tables: it has no `[tables.NAME]`")
        entries = {}
    if len(entries) > MOST_TABLES:
        raise SchemaError(f"the schema describes {len(entries):,} tables; a data set has at most {MOST_TABLES:,}")
    named = {name: entry.get("key") for name, entry in entries.items() if isinstance(entry, dict)}
    read = [_table(name, entry, named, Path(folder), problems) for name, entry in entries.items()]
    problems.raise_as(SchemaError)
    return DatasetSchema(
        tables=tuple(table for table in read if table is not None),
        guessed=guessed,
        shift_dates=shifted,
        folder=Path(folder),
    )


def _table(
    name: str, entry: object, keys: Mapping[str, object], folder: Path, problems: Problems
) -> TableSchema | None:
    subject = f"table `{name}`"
    if not isinstance(entry, dict):
        problems.add(f"{subject} must be a table")
        return None
    good = True
    for key in entry:
        if key not in _KEYS:
            problems.add(f"{subject}: unknown key `{key}`; the valid keys are {', '.join(_KEYS)}")
            good = False
    if isinstance(entry.get("parent"), list):
        problems.add(f"{subject}: it has several parents, and a row belongs to one row; keep the nearest one")
        good = False
    for key in _TEXTS:
        if not isinstance(entry.get(key, ""), str if key != "parent" else str | list):
            problems.add(f"{subject}: `{key}` must be text")
            good = False
    at_most, dates = entry.get("at_most"), entry.get("days_since_first", [])
    if at_most is not None and (isinstance(at_most, bool) or not isinstance(at_most, int)):
        problems.add(f"{subject}: `at_most` must be a whole number")
        good = False
    if not isinstance(dates, list) or not all(isinstance(name, str) for name in dates):
        problems.add(f"{subject}: `days_since_first` must be a list of columns")
        good = False
    columns = _columns(subject, entry.get("columns", {}), folder, problems)
    if not good or columns is None:
        return None
    parent = entry.get("parent")
    above = keys.get(parent) if parent is not None and "list" not in entry else None
    return TableSchema(
        name=name,
        columns=columns,
        key=entry.get("key"),
        parent=parent,
        parent_key=entry.get("parent_key", above if isinstance(above, str) else None),
        list_column=entry.get("list"),
        separator=entry.get("separator"),
        at_most=at_most,
        size=entry.get("size"),
        days_since_first=tuple(dates),
    )


def _columns(subject: str, entry: object, folder: Path, problems: Problems) -> Schema | None:
    if entry == {}:
        return Schema(attributes=(), folder=folder)
    try:
        return schema.from_document({"columns": entry}, folder)
    except SchemaError as error:
        for problem in error.problems:
            problems.add(f"{subject}, {problem}")
        return None


def dumps(described: DatasetSchema, *, comments: Mapping[tuple[str, str], str] | None = None) -> str:
    """Write the schema of a data set as TOML text; :func:`loads` gives it back.

    ``comments`` stand above tables, by name, and above columns, by the names of table and column.
    """
    notes = comments or {}
    lines = [f"shoal = {VERSION}"]
    if described.guessed:
        lines.append("guessed = true  # remove this line when you have confirmed keys, parents and roles")
    if described.shift_dates is not None:
        lines.append(f"shift_dates = {described.shift_dates}")
    for table in described:
        lines += ["", *_comment(notes.get((table.name, ""))), f"[tables.{table.name}]"]
        said = {
            "parent": table.parent,
            "key": table.key,
            "parent_key": table.parent_key,
            "list": table.list_column,
            "separator": table.separator,
            "at_most": table.at_most,
            "size": table.size,
            "days_since_first": [*table.days_since_first] or None,
        }
        lines += [f"{key} = {schema.toml_value(value)}" for key, value in said.items() if value is not None]
        about = {name: (text,) for (of, name), text in notes.items() if of == table.name and name}
        columns = schema.dumps(Schema(attributes=table.columns.attributes, folder=table.columns.folder), comments=about)
        body = columns.partition("\n")[2].strip("\n")
        lines += ["", _HEADER.sub(rf"\1tables.{table.name}.columns.", body)] if body else []
    return "\n".join(lines) + "\n"


def _comment(text: str | None) -> list[str]:
    if not text:
        return []
    return [f"# {''.join(c if c.isprintable() else '?' for c in line)}".rstrip() for line in text.split("\n")]
