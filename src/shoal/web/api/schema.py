"""Schemas: roles, kinds and hierarchies of the columns, with a preview of every level."""

from __future__ import annotations

import datetime as dt
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from shoal.errors import HierarchyError, SchemaError
from shoal.web._context import SCHEMA, Context, Here, receive
from shoal.web.api.tables import UPLOAD

if TYPE_CHECKING:
    from shoal import Schema
    from shoal.schema import Attribute

__all__ = ["document", "router"]

router = APIRouter()

_SHOWN = 60
Column = Annotated[dict[str, Any], Body(description="a column as in a schema file")]


@router.get("/tables/{table}/schema")
def get(here: Here, table: str) -> dict[str, Any]:
    """Return what the columns mean, in the order of the table."""
    schema = here.schema(table)
    return {"guessed": schema.guessed, "columns": document(schema)}


@router.put("/tables/{table}/schema")
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
    with here.table(table) as opened:
        opened.with_schema(schema)
    _save(here, table, schema)
    return {"guessed": False, "columns": document(schema)}


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
    return _levels(here, table, attribute)


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


def document(schema: Schema) -> list[dict[str, Any]]:
    """Return a schema as the columns of its file, each with its name; days as text."""
    from shoal import schema as schemas

    columns: dict[str, dict[str, Any]] = tomllib.loads(schemas.dumps(schema))["columns"]
    return [{"name": name} | {key: _plain(value) for key, value in column.items()} for name, column in columns.items()]


def _checked(here: Context, table: str, column: dict[str, Any]) -> dict[str, Any]:
    """Return a column as a schema file has it; a hierarchy file must be one that was uploaded for this table."""
    found = {key: value for key, value in column.items() if key != "name" and value is not None}
    if found.get("kind") == "date":
        for bound in ("minimum", "maximum"):
            if isinstance(found.get(bound), str):
                try:
                    found[bound] = dt.date.fromisoformat(found[bound])
                except ValueError:
                    raise SchemaError(f"`{bound}` of a date column must be a day such as 2024-12-31") from None
    rule = found.get("hierarchy")
    if isinstance(rule, dict):
        paths = [rule[key] for key in ("file", "taxonomy") if isinstance(rule.get(key), str)]
        uploaded = _uploaded(here, table)
        if any(path not in uploaded for path in paths):
            raise HierarchyError("a hierarchy file must be uploaded first", hint="choose the file in the column's form")
    return found


def _uploaded(here: Context, table: str) -> set[str]:
    folder = here.store.tables.path(table) / "hierarchies"
    return {f"hierarchies/{path.name}" for path in folder.glob("*.csv")}


def _schema(here: Context, table: str, columns: dict[str, Any]) -> Schema:
    from shoal import schema

    return schema.from_document({"shoal": 1, "columns": columns}, here.store.tables.path(table))


def _save(here: Context, table: str, schema: Schema) -> None:
    from shoal import schema as schemas

    path = here.store.tables.path(table) / SCHEMA
    partial = path.with_suffix(".partial")
    schemas.save(schema, partial)
    partial.replace(path)


def _check_hierarchy(path: Any, delimiter: str) -> None:
    from shoal import hierarchies

    try:
        hierarchies.read_arx(path, attribute="column", delimiter=delimiter)
    except HierarchyError as error:
        raise HierarchyError(
            [text.replace(path.name, "the file") for text in error.problems], hint=error.hint
        ) from None


def _levels(here: Context, table: str, attribute: Attribute) -> dict[str, Any]:
    from shoal import hierarchies
    from shoal.schema import Schema

    with here.table(table) as opened:
        alone = opened.select(attribute.name).with_schema(Schema(attributes=(attribute,)))
        counted = alone.to_arrow().column(0).value_counts()
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    built = hierarchies.build(
        attribute, values, folder=here.store.tables.path(table), counts=counts, missing=values.null_count > 0
    )
    levels = list(zip(built.labels, built.codes, strict=True))
    step = max(1, built.size // _SHOWN)
    shown = range(0, built.size, step)
    return {
        "values": built.size,
        "levels": [len(labels) for labels in built.labels],
        "rows": [[labels[codes[leaf]] for labels, codes in levels] for leaf in shown],
        "provenance": built.provenance.value,
        "outside": hierarchies.outside(built, values, counts),
    }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
