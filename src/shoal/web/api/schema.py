"""Schemas: roles, kinds and hierarchies of the columns, with a preview of every level."""

from __future__ import annotations

import dataclasses
import datetime as dt
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from shoal.errors import HierarchyError, ParameterError, SchemaError
from shoal.web._context import Context, Here, receive
from shoal.web._drafts import document, restore_schema, save_schema
from shoal.web._drafts import history as history_of
from shoal.web._words import rule_words
from shoal.web.api.answers import RequestBody, SavedSchemaAnswer, SchemaAnswer
from shoal.web.api.tables import MOST_COLUMNS, UPLOAD, received

if TYPE_CHECKING:
    from shoal import Schema
    from shoal.hierarchies import Hierarchy
    from shoal.schema import Attribute

router = APIRouter()

_SHOWN = 60
#: what one column may say of itself: entries of its lists, characters of a text, size of a number
_ENTRIES, _TEXT, _NUMBER = 100_000, 5_000, 10**15
#: bytes of a schema file
_FILE = 4 * 2**20
#: levels of a rule, each of which is shown and searched
_LEVELS = 60
Column = Annotated[dict[str, Any], Body(description="a column as in a schema file")]


@router.get("/tables/{table}/schema", response_model=SchemaAnswer)
def get(here: Here, table: str) -> dict[str, Any]:
    """Return what the columns mean, in the order of the table."""
    schema = here.schema(table)
    return {"guessed": schema.guessed, "version": here.version(table), "columns": document(schema)}


@router.put("/tables/{table}/schema", response_model=SchemaAnswer)
def put(
    here: Here,
    table: str,
    columns: Annotated[list[dict[str, Any]], Body(embed=True, description="one entry per column, in order")],
) -> dict[str, Any]:
    """Confirm or change what the columns mean. All problems are reported at once; records are checked against it."""
    about = here.store.tables.about(table)
    if len(columns) != len(about["columns"]):
        raise SchemaError(f"the table has {len(about['columns'])} columns; got {len(columns)}")
    names = [each["name"] for each in about["columns"]]
    checked = [_checked(here, table, column) for column in columns]
    schema = _schema(here, table, dict(zip(names, checked, strict=True)))
    schema = dataclasses.replace(schema, persons=here.schema(table).persons)
    with here.table(table) as opened:
        opened.with_schema(schema)
    with here.saving:
        save_schema(here, table, schema)
    return get(here, table)


class SchemaChanges(RequestBody):
    """What changed in some columns, and the state of the schema that it is a change of."""

    version: str = Field(max_length=64, description="the version that was shown")
    columns: dict[Annotated[int, Field(ge=0)], dict[str, Any]] = Field(
        default={}, max_length=MOST_COLUMNS, description="whole columns as in a schema file, by their number"
    )
    confirmed: bool = Field(default=False, description="whether a person has looked at every role")
    persons: Literal["records"] | None = Field(
        default=None, description="`records`: a person says that every record stands for another person"
    )


@router.patch("/tables/{table}/schema", response_model=SavedSchemaAnswer)
def change(here: Here, table: str, changes: SchemaChanges) -> dict[str, Any]:
    """Save some columns at once; what another window changed meanwhile is not overwritten, but told."""
    from shoal.schema import PersonsAnswer

    changed = {here.column(table, n): _checked(here, table, column) for n, column in changes.columns.items()}
    with here.saving:
        here.check_version(table, changes.version)
        old = here.schema(table)
        attributes = _schema(here, table, changed) if changed else ()
        by_name = {attribute.name: attribute for attribute in attributes}
        new = dataclasses.replace(
            old,
            attributes=tuple(by_name.get(attribute.name, attribute) for attribute in old),
            guessed=old.guessed and not changes.confirmed,
            persons=PersonsAnswer(changes.persons) if changes.persons else old.persons,
        )
        _check_records(here, table, new, by_name)
        save_schema(here, table, new)
    words = {n: rule_words(column.get("hierarchy")).replace("`", "") for n, column in changes.columns.items()}
    return {"guessed": new.guessed, "version": here.version(table), "words": words}


def change_columns(here: Context, table: str, way: str, ways: Mapping[str, Any]) -> None:
    """Make the columns of a hollow release quasi-identifiers, round them to the steps that were found, or drop them."""
    from shoal.schema import Role
    from shoal.tables import as_quasi_identifier

    schema = here.schema(table)
    if way == "round" and {*ways["columns"]} != {*ways["steps"]}:
        raise SchemaError("no rounding of these columns makes the rehearsal pass")
    with here.table(table) as opened:
        if way == "round":
            schema = schema.with_rounding(ways["steps"])
        for name in ways["columns"] if way != "round" else ():
            generalised = way == "generalise" and schema[name].hierarchy is None
            role = Role.QUASI_IDENTIFIER if way == "generalise" else Role.DROP
            schema = as_quasi_identifier(opened, schema, name) if generalised else schema.with_role(name, role)
        opened.with_schema(schema)
    with here.saving:
        save_schema(here, table, schema)


@router.put("/tables/{table}/schema.toml", openapi_extra=UPLOAD, response_model=SchemaAnswer)
async def put_file(request: Request, here: Here, table: str) -> dict[str, Any]:
    """Take a schema file for the table; hierarchy files that it names must have been uploaded, or are looked for so."""
    body = await received(request, _FILE, f"a schema file may have at most {_FILE:,} bytes")
    return await run_in_threadpool(take_file, here, table, body)


def take_file(here: Context, table: str, body: bytes) -> dict[str, Any]:
    """Make a schema file the schema of a table, if its records fit."""
    from shoal import schema

    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise SchemaError("the schema file is not UTF-8 text") from None
    read = schema.loads(text, here.store.tables.path(table))
    files = [each.hierarchy.file for each in read if each.hierarchy is not None]
    if not {str(file) for file in files if file is not None} <= _uploaded(here, table):
        raise HierarchyError("the schema names hierarchy files that are not here", hint="upload them first")
    for column in document(read):
        _bound(column)
    with here.table(table) as opened:
        opened.with_schema(read)
    with here.saving:
        save_schema(here, table, read)
    return get(here, table)


@router.get("/tables/{table}/columns/{number}/hierarchy.csv", response_class=PlainTextResponse)
def download(here: Here, table: str, number: int) -> PlainTextResponse:
    """Return the levels of a column as a hierarchy file in ARX format."""
    from shoal import hierarchies

    name = here.column(table, number)
    built, _ = _built(here, table, here.schema(table)[name])
    with tempfile.TemporaryDirectory(dir=here.store.scratch) as folder:
        path = Path(folder) / "hierarchy.csv"
        hierarchies.write_arx(built, path)
        text = path.read_text(encoding="utf-8")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}.csv"}
    return PlainTextResponse(text, headers=headers)


def _check_records(here: Context, table: str, schema: Schema, changed: Collection[str]) -> None:
    """Check the records of the changed columns alone; persons and households are checked together."""
    together = [each.name for each in schema if each.role.groups_records]
    names = [each.name for each in schema if each.name in changed or (each.name in together and changed)]
    if names:
        attributes = tuple(each for each in schema if each.name in names)
        with here.table(table) as opened:
            opened.select(*names).with_schema(dataclasses.replace(schema, attributes=attributes))


@router.get("/tables/{table}/schema.toml", response_class=PlainTextResponse)
def text(here: Here, table: str) -> PlainTextResponse:
    """Return the schema as a file."""
    from shoal import schema

    headers = {"content-disposition": 'attachment; filename="schema.toml"'}
    return PlainTextResponse(schema.dumps(here.schema(table)), headers=headers)


@router.post("/tables/{table}/columns/{number}/preview")
def preview(here: Here, table: str, number: int, column: Column) -> dict[str, Any]:
    """Show every level of a column's hierarchy before it is saved."""
    name = here.column(table, number)
    attribute = _schema(here, table, {name: _checked(here, table, column)})[name]
    built, outside = _built(here, table, attribute)
    levels = list(zip(built.labels, built.codes, strict=True))
    shown = range(0, built.size, max(1, built.size // _SHOWN))
    return {
        "values": built.size,
        "levels": [len(labels) for labels in built.labels],
        "rows": [[labels[codes[leaf]] for labels, codes in levels] for leaf in shown],
        "provenance": built.provenance.value,
        "outside": outside,
    }


@router.put("/tables/{table}/columns/{number}/hierarchy", openapi_extra=UPLOAD)
async def hierarchy(
    request: Request,
    here: Here,
    table: str,
    number: int,
    delimiter: Annotated[str, Query(min_length=1, max_length=1)] = ";",
) -> dict[str, Any]:
    """Take a hierarchy in ARX format for a column; it is used when the schema is saved with the returned rule."""
    here.column(table, number)
    folder = here.store.tables.path(table) / "hierarchies"
    folder.mkdir(mode=0o700, exist_ok=True)
    path, partial = folder / f"{number}.csv", folder / f"{number}.partial"
    partial.unlink(missing_ok=True)
    try:
        await receive(request, partial)
        await run_in_threadpool(_check_hierarchy, partial, delimiter)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return {"file": f"hierarchies/{number}.csv"} | ({} if delimiter == ";" else {"delimiter": delimiter})


def _checked(here: Context, table: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return a column as a schema file has it; a hierarchy file must be one that was uploaded for this table."""
    values = {key: value for key, value in column.items() if key != "name" and value is not None}
    if values.get("kind") == "date":
        for bound in ("minimum", "maximum"):
            if isinstance(values.get(bound), str):
                try:
                    values[bound] = dt.date.fromisoformat(values[bound])
                except ValueError:
                    raise SchemaError(f"`{bound}` of a date column must be a day such as 2024-12-31") from None
    rule = values.get("hierarchy")
    _bound(values)
    if isinstance(rule, dict):
        _bound_rule(rule)
        paths = [rule[key] for key in ("file", "taxonomy") if isinstance(rule.get(key), str)]
        uploaded = _uploaded(here, table)
        if any(path not in uploaded for path in paths):
            raise HierarchyError("a hierarchy file must be uploaded first", hint="choose the file in the column's form")
    return values


def _bound(value: Any) -> int:
    """Refuse what no person writes; return the number of entries."""
    if isinstance(value, str) and len(value) > _TEXT:
        raise SchemaError(f"a text may have at most {_TEXT:,} characters")
    if isinstance(value, int | float) and abs(value) > _NUMBER:
        raise SchemaError(f"numbers may be at most {_NUMBER:.0e}")
    if not isinstance(value, dict | list):
        return 1
    parts = [*value.values(), *value] if isinstance(value, dict) else value
    entries = sum(_bound(part) for part in parts)
    if entries > _ENTRIES:
        raise SchemaError(
            f"a column may have at most {_ENTRIES:,} values, groups and cut points here",
            hint="upload a hierarchy file instead",
        )
    return entries


def _bound_rule(rule: dict[str, Any]) -> None:
    """Refuse a hierarchy of more levels, groups or characters than anybody can use."""
    tree = rule.get("taxonomy")
    deep = isinstance(tree, dict) and _deep(tree)
    if deep or any(isinstance(part, list) and len(part) > _LEVELS for part in rule.values()):
        raise HierarchyError(f"a hierarchy may have at most {_LEVELS} levels")
    for key in ("quantiles", "mask"):
        numbers = rule.get(key) if isinstance(rule.get(key), list) else []
        if any(isinstance(number, int | float) and number > _TEXT for number in numbers or []):
            raise HierarchyError(f"the numbers of `{key}` may be at most {_TEXT:,}")
    length = rule.get("length")
    if isinstance(length, int | float) and length > _TEXT:
        raise HierarchyError(f"`length` may be at most {_TEXT:,}")


def _deep(parents: dict[str, Any]) -> bool:
    """Return whether a tree, or what goes round in circles, has too many levels: each pass goes up by one."""
    above = {parent for parent in parents.values() if isinstance(parent, str)}
    for _ in range(_LEVELS):
        above = {parents[node] for node in above if isinstance(parents.get(node), str)}
        if not above:
            return False
    return True


def _uploaded(here: Context, table: str) -> set[str]:
    folder = here.store.tables.path(table) / "hierarchies"
    return {f"hierarchies/{path.name}" for path in folder.glob("*.csv")}


def _schema(here: Context, table: str, columns: dict[str, Any]) -> Schema:
    from shoal import schema

    return schema.from_document({"shoal": 1, "columns": columns}, here.store.tables.path(table))


@router.get("/tables/{table}/schema/history")
def history(here: Here, table: str) -> dict[str, int]:
    """Return how many changes of the columns can be undone, and done again."""
    return {name: len(states) for name, states in history_of(here.store.tables.path(table)).items()}


@router.post("/tables/{table}/schema/{step}", response_model=SavedSchemaAnswer)
def step_back(here: Here, table: str, step: Literal["undo", "redo"]) -> dict[str, Any]:
    """Undo the last change of roles and hierarchies, or do it again."""
    source, target = ("past", "future") if step == "undo" else ("future", "past")
    with here.saving:
        restored = restore_schema(here, table, source, target)
    if restored is None:
        raise ParameterError("there is nothing to undo" if step == "undo" else "there is nothing to do again")
    return {"guessed": restored.guessed, "version": here.version(table)}


def _check_hierarchy(path: Any, delimiter: str) -> None:
    from shoal import hierarchies

    try:
        hierarchies.read_arx(path, attribute="column", delimiter=delimiter)
    except HierarchyError as error:
        raise HierarchyError(
            [text.replace(path.name, "the file") for text in error.problems], hint=error.hint
        ) from None


def _built(here: Context, table: str, attribute: Attribute) -> tuple[Hierarchy, str | None]:
    """Return the hierarchy of a column as it is now, and what is to be said of values that it does not have."""
    from shoal import hierarchies
    from shoal.schema import Schema

    with here.table(table) as opened:
        alone = opened.select(attribute.name).with_schema(Schema(attributes=(attribute,)))
        counted = alone.to_arrow().column(0).value_counts()
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    built = hierarchies.build(
        attribute, values, folder=here.store.tables.path(table), counts=counts, missing=values.null_count > 0
    )
    return built, hierarchies.outside(built, values, counts)
