"""Drafts of a table's columns: the first one, one for each purpose since, and what a person has decided after them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.tables import Wishes
from shoal.web._context import SCHEMA, Context
from shoal.web._store import read_json, write_json

if TYPE_CHECKING:
    from shoal import Schema, Table
    from shoal.schema import ColumnProfile, Draft

_DRAFTS = "drafts.json"
#: states of a schema that can be undone
_HISTORY, _STATES = "history.json", 50
_NO_DRAFT: dict[str, Any] = {"keep": [], "audience": None, "person": None, "reasons": {}, "columns": [], "asked": None}


def draft_columns(
    table: Table, reading: dict[str, Any], wishes: Wishes | None = None
) -> tuple[Sequence[ColumnProfile], Draft]:
    """Return the profiles of the columns and a draft, with the dates and missing values that ``reading`` declares."""
    from shoal import tables

    profiles = tables.profile(table, date_format=reading.get("dates"))
    drafted = tables.draft_profiled(table, profiles, wishes)
    missing = (*drafted.schema.missing_values, *(each for each in reading.get("missing", ()) if each.strip()))
    schema = dataclasses.replace(drafted.schema, missing_values=tuple(dict.fromkeys(missing)))
    return profiles, dataclasses.replace(drafted, schema=schema)


def document(schema: Schema) -> list[dict[str, Any]]:
    """Return a schema as the columns of its file, each with its name; days as text."""
    from shoal import schema as schemas

    columns: dict[str, dict[str, Any]] = tomllib.loads(schemas.dumps(schema))["columns"]
    return [
        {"name": name}
        | {key: value.isoformat() if isinstance(value, dt.date) else value for key, value in column.items()}
        for name, column in columns.items()
    ]


def add_draft(folder: Path, drafted: Draft, wishes: Wishes | None = None, audience: str | None = None) -> None:
    """Note a draft as the one that the columns of a table start from."""
    wishes, person = wishes or Wishes(), drafted.person
    drafts = _drafts(folder)["drafts"]
    drafts.append(
        {
            "keep": list(wishes.keep),
            "audience": audience,
            "person": wishes.person,
            "reasons": dict(drafted.reasons),
            "columns": document(drafted.schema),
            "asked": None if person is None else {"columns": person.columns, "why": str(person)},
        }
    )
    write_json(folder / _DRAFTS, {"current": len(drafts) - 1, "drafts": drafts})


def current_draft(folder: Path) -> dict[str, Any]:
    """Return the draft that the columns of a table start from; one that says nothing for a table without any."""
    noted = _drafts(folder)
    return dict(noted["drafts"][noted["current"]]) if noted["drafts"] else _NO_DRAFT


def person_answer(here: Context, table: str) -> str | None:
    """Return what a person has said about whose the records are: a column, ``records``, or nothing."""
    schema = here.schema(table)
    if schema.persons == "records":
        return "records"
    noted = current_draft(here.store.tables.path(table))
    proposed = {each["name"] for each in noted["columns"] if each.get("role") == "person"}
    is_answer = schema.person == noted["person"] or schema.person not in proposed
    return schema.person if is_answer else None


def decided_by_hand(here: Context, table: str) -> list[str]:
    """Return the columns that are not as drafted, or all where a person has confirmed them.

    The column that answers whose the records are is not among them: further drafts keep the answer.
    """
    schema, answer = here.schema(table), person_answer(here, table)
    drafted = {each["name"]: each for each in current_draft(here.store.tables.path(table))["columns"]}
    return [
        each["name"]
        for each in document(schema)
        if each["name"] != answer and (not schema.guessed or each != drafted.get(each["name"]))
    ]


def save_schema(
    here: Context, table: str, schema: Schema, drafted: tuple[Draft, Wishes, str | None] | None = None
) -> None:
    """Save what the columns mean, with the draft that it comes from where it is new; the state before can be undone."""
    from shoal import schema as schemas

    folder = here.store.tables.path(table)
    path, number = folder / SCHEMA, _drafts(folder)["current"]
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    partial = path.with_suffix(".partial")
    schemas.save(schema, partial)
    changed = before is not None and (drafted is not None or before != partial.read_text(encoding="utf-8"))
    partial.replace(path)
    if drafted is not None:
        add_draft(folder, *drafted)
    if changed:
        past = history(folder)["past"]
        _note_history(folder, [*past, {"schema": before, "draft": number}], [])


def restore_schema(here: Context, table: str, source: str, target: str) -> Schema | None:
    """Take the schema back to the newest state of ``source``, with its draft; None where there is none."""
    from shoal import schema as schemas

    folder = here.store.tables.path(table)
    path, states, noted = folder / SCHEMA, history(folder), _drafts(folder)
    if not states[source]:
        return None
    state = states[source].pop()
    states[target].append({"schema": path.read_text(encoding="utf-8"), "draft": noted["current"]})
    restored = schemas.loads(state["schema"], folder)  # hierarchy files that it names are still there
    partial = path.with_suffix(".partial")
    partial.write_text(state["schema"], encoding="utf-8")
    partial.replace(path)
    write_json(folder / _DRAFTS, noted | {"current": state["draft"]})
    _note_history(folder, states["past"], states["future"])
    return restored


def history(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the earlier states of a schema, and those that were undone, each the newest last."""
    found = read_json(folder / _HISTORY) or {}
    return {name: list(found.get(name, [])) for name in ("past", "future")}


def _note_history(folder: Path, past: list[Any], future: list[Any]) -> None:
    write_json(folder / _HISTORY, {"past": past[-_STATES:], "future": future[-_STATES:]})


def _drafts(folder: Path) -> dict[str, Any]:
    return read_json(folder / _DRAFTS) or {"current": 0, "drafts": []}
