"""Propose what the tables of a data set are: keys, parents, roles, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.datasets._read import declared_parents, list_entries, open_table, table_names
from shoal.datasets._schema import NAME, DatasetSchema, TableSchema
from shoal.datasets._toml import dumps
from shoal.errors import DataError, SchemaError, quoted
from shoal.schema import Attribute, Role, Schema
from shoal.schema.rules import text
from shoal.tables import Table, Wishes

#: values of a list column that are looked at
_LOOKED_AT = 2000
_SEPARATORS = ("|", ";")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDraft:
    """A proposed schema of a data set, and why."""

    schema: DatasetSchema
    #: Why a table has its key and parent (with an empty column), or a column its role, by table and column.
    reasons: Mapping[tuple[str, str], str]

    def dumps(self) -> str:
        """Return the text of the schema file, with the reasons as comments."""
        return dumps(self.schema, comments=self.reasons)

    def lines(self) -> list[str]:
        """Return what a person should look at: a line for every table and column."""
        found = []
        for table in self.schema:
            found.append(f"{table.name}: {self.reasons.get((table.name, ''), '')}")
            found += [
                f"  {each.name:<24} {each.role.value:<18} {self.reasons.get((table.name, each.name), '')}".rstrip()
                for each in table.columns
            ]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """One table: its columns, and those that may be keys, as text."""

    source: Table
    table: Table
    rows: int
    unique: dict[str, pa.Array]
    columns: dict[str, pa.Array]
    lists: dict[str, str | None]


def draft_dataset(source: str | Path | Mapping[str, Any]) -> DatasetDraft:
    """Propose a schema for a folder of files, an Excel or DuckDB file, or frames; a person must look at it.

    A key is a column without missing or repeated values; a table belongs to another where all values of one of its
    columns are keys of that one, by preference of the same name; foreign keys that a database declares come before what
    names suggest. Columns of lists become tables of one column. Roles
    are those that a draft of each table by itself proposes.

    Raises
    ------
    SchemaError
        If no table is that of the persons, or several are.
    """
    names = table_names(source)
    if not names:
        raise DataError("there are no tables to read", hint="put one file per table into the folder")
    if wrong := [name for name in names if not NAME.fullmatch(name)]:
        raise SchemaError(f"{quoted(wrong)} cannot be names of tables: letters, digits, `_` and `-`, a letter first")
    seen = {name: _look(open_table(source, name)) for name in names}
    declared = [key for key in declared_parents(source) if key[0] in seen and key[2] in seen]
    keys = _keys_of_others(seen, declared)
    parents = {name: (other, column) for name, ((_, _, other, column), *_) in keys.items()}
    reasons: dict[tuple[str, str], str] = {}
    found = []
    for name in names:
        parent = parents.get(name)
        key = _key_of(name, seen, parents)
        key = None if parent is not None and key == parent[1] else key
        taken = {column for column in (key, None if parent is None else parent[1]) if column is not None}
        columns, why = _columns(seen[name], taken)
        others = {column: other for _, _, other, column in keys.get(name, []) if column not in taken}
        columns, why = _without_keys(columns, why, others)
        reasons |= {(name, column): reason for column, reason in why.items()}
        reasons[name, ""] = _said(name, key, parent, seen[name].rows)
        described = TableSchema(
            name=name,
            columns=columns,
            key=key,
            parent=None if parent is None else parent[0],
            parent_key=None if parent is None else parent[1],
        )
        found.append(described)
        found += _listed(name, seen[name], names, reasons)
    roots = [table.name for table in found if table.parent is None]
    if len(roots) != 1:
        raise SchemaError(
            f"{quoted(roots)} belong to no other table, and one table, that of the persons, should",
            hint="a table belongs to another where all values of one of its columns are keys of the other; leave the "
            "tables out that have nothing to do with the persons, or write dataset.toml by hand",
        )
    return DatasetDraft(schema=DatasetSchema(tables=tuple(found), guessed=True), reasons=reasons)


def _look(table: Table) -> _Seen:
    rows = tables.in_order(table)
    looked_at = {name: _separator(rows[name]) for name in rows.column_names}
    lists = {name: separator for name, separator in looked_at.items() if separator is not None}
    columns = {name: text(rows[name].combine_chunks()) for name in rows.column_names if name not in lists}
    unique = {
        name: values
        for name, values in columns.items()
        if len(values) and not values.null_count and len(pc.unique(values)) == len(values)
    }
    kept = [name for name in rows.column_names if name not in lists]
    return _Seen(
        source=table,
        table=table.select(*kept) if kept else table,
        rows=len(rows),
        unique=unique,
        columns=columns,
        lists={name: separator or None for name, separator in lists.items()},
    )


def _separator(column: pa.ChunkedArray) -> str | None:
    """Return what separates the entries of a column of lists: "" for lists and JSON; None where it holds no lists."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return ""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    values = column.drop_null()[:_LOOKED_AT].combine_chunks()
    if not len(values):
        return None
    json = pc.and_(pc.starts_with(values, "["), pc.ends_with(values, "]"))
    if pc.all(json).as_py():
        return ""
    for separator in _SEPARATORS:
        having = pc.sum(pc.match_substring(values, separator)).as_py()
        if having and having * 10 >= len(values):
            return separator
    return None


def _keys_of_others(
    seen: Mapping[str, _Seen], declared: Sequence[tuple[str, str, str, str]]
) -> dict[str, list[tuple[int, bool, str, str]]]:
    """Return, for every table, its columns that hold keys of others: rows of the other, likeness, its name, the column.

    The nearest table, which has the most rows, comes first. Where a database declares foreign keys of a table, no
    others are guessed.
    """
    found: dict[str, list[tuple[int, bool, str, str]]] = {}
    for name, column, other, key in declared:
        if other != name and key in seen[other].unique and _holds_keys(seen[name], column, seen[other].unique[key]):
            found.setdefault(name, []).append((seen[other].rows, True, other, column))
    for name, table in seen.items():
        for other, above in seen.items() if name not in found else ():
            for key, keys in above.unique.items() if other != name else ():
                for column in table.columns:
                    same = column.lower() == key.lower()
                    likely = same or column.lower() in (f"{other}_{key}".lower(), f"{other.rstrip('s')}_id".lower())
                    # the table with more rows belongs to the other
                    if (
                        likely
                        and _holds_keys(table, column, keys)
                        and not (column in table.unique and table.rows >= above.rows)
                    ):
                        found.setdefault(name, []).append((above.rows, same, other, column))
    return {name: sorted(columns, reverse=True) for name, columns in found.items()}


def _holds_keys(table: _Seen, column: str, keys: pa.Array) -> bool:
    """Return whether all values of a column are keys of another table."""
    values = table.columns.get(column)
    if values is None or values.null_count == len(values):
        return False
    return bool(pc.all(pc.is_in(values.drop_null(), value_set=keys)).as_py())


def _without_keys(columns: Schema, reasons: dict[str, str], others: Mapping[str, str]) -> tuple[Schema, dict[str, str]]:
    """Return columns of which those that hold keys of other tables are not released."""
    found = [
        Attribute(name=each.name, role=Role.IDENTIFIER) if each.name in others else each for each in columns.attributes
    ]
    told = {name: f"it holds keys of `{other}`, which the parent says" for name, other in others.items()}
    return replace(columns, attributes=tuple(found)), reasons | told


def _key_of(name: str, seen: Mapping[str, _Seen], parents: Mapping[str, tuple[str, str]]) -> str | None:
    """Return the key of a table that others belong to, or that is called like one."""
    used = {column.lower() for child, (parent, column) in parents.items() if parent == name}
    for column in seen[name].unique:
        if column.lower() in used:
            return column
    if name not in parents:
        return next(iter(seen[name].unique), None)
    # a number of its rows that nobody uses is a key all the same: keys are replaced, other columns may be released
    one = name.lower().rstrip("s")
    likely = {one, name.lower(), "id", "key", "nr", "no", "number"}
    endings = ("_id", "_key", "_nr", "_no", "_number", "id")
    names = [column for column in seen[name].unique if column != parents[name][1]]
    return next((each for each in names if each.lower() in likely or each.lower().endswith(endings)), None)


def _columns(seen: _Seen, taken: set[str]) -> tuple[Schema, dict[str, str]]:
    """Return the columns of a table but for keys, with the roles that a draft proposes."""
    names = [name for name in seen.table.columns if name not in taken]
    return _columns_of(seen.table.select(*names)) if names else (Schema(attributes=()), {})


def _columns_of(table: Table) -> tuple[Schema, dict[str, str]]:
    drafted = tables.draft_schema(table, Wishes())
    attributes = tuple(map(_fitted, drafted.schema))
    return Schema(attributes=attributes, missing_values=drafted.schema.missing_values), dict(drafted.reasons)


def _fitted(attribute: Attribute) -> Attribute:
    """Return a column without what single tables alone can have."""
    role = attribute.role
    if role in (Role.PERSON, Role.HOUSEHOLD):
        role = Role.IDENTIFIER
    elif role is Role.WEIGHT:
        role = Role.INSENSITIVE
    elif role is Role.STRATUM:
        role = Role.QUASI_IDENTIFIER
    return replace(attribute, role=role, pseudonym=False, derived=None)


def _listed(name: str, seen: _Seen, names: list[str], reasons: dict[tuple[str, str], str]) -> list[TableSchema]:
    found: list[TableSchema] = []
    for column, separator in seen.lists.items():
        table = column if column not in names and NAME.fullmatch(column) else f"{name}_lists_{len(found) + 1}"
        described = TableSchema(
            name=table,
            columns=Schema(attributes=(Attribute(name=column, role=Role.QUASI_IDENTIFIER),)),
            parent=name,
            list_column=column,
            separator=separator,
        )
        reasons[table, ""] = f"the cells of column `{column}` of `{name}` are lists: every entry is a row of its own"
        entries, _ = list_entries(seen.source, described)
        (attribute,) = _columns_of(tables.read(entries))[0].attributes
        attribute = replace(attribute, role=Role.QUASI_IDENTIFIER)
        found.append(replace(described, columns=Schema(attributes=(attribute,))))
    return found


def _said(name: str, key: str | None, parent: tuple[str, str] | None, rows: int) -> str:
    keyed = f"`{key}` is different in every row" if key else "no other table belongs to it"
    if parent is None:
        return f"{rows:,} persons: it belongs to no other table; {keyed}"
    return f"{rows:,} rows that belong to `{parent[0]}`: every `{parent[1]}` is a key of it; {keyed}"
