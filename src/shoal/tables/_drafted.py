"""Tables as people hand them over: frames, file names and tables without a schema get one, drafted if need be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, SchemaError, quoted
from shoal.policy import in_force
from shoal.schema import ColumnProfile, Draft, Role, Schema, template
from shoal.schema import as_quasi_identifier as draft_quasi_identifier
from shoal.schema import draft as draft_profiles
from shoal.tables._files import elsewhere, read
from shoal.tables._profile import profile
from shoal.tables._rounding import finest_step
from shoal.tables._sample import relations_of_sample, sampler
from shoal.tables._table import Table, load_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a person says about the columns before a schema is drafted; see :func:`shoal.draft`."""

    keep: Sequence[str] = ()
    also: Sequence[str] = ()
    drop: Sequence[str] = ()
    person: str | None = None

    def __post_init__(self) -> None:
        for name in ("keep", "also", "drop"):
            given = getattr(self, name)
            if isinstance(given, str):
                object.__setattr__(self, name, (given,))
            elif not all(isinstance(each, str) for each in given):
                raise ParameterError(f"`{name}` must be a list of names of columns.")

    def __bool__(self) -> bool:
        return bool(self.keep or self.also or self.drop or self.person)

    def applied(self, drafted: Draft) -> Draft:
        """Return a draft in which they are heard."""
        made = drafted.keeping(self.keep, also=self.also).dropping(self.drop)
        return made if self.person is None else made.with_persons(self.person)


def as_table(source: Any) -> Table:
    """Return a table; a frame, or the name of a file, is read."""
    return source if isinstance(source, Table) else read(source)


def draft_schema(source: Any, wishes: Wishes | None = None, *, private: bool = False) -> Draft:
    """Draft a schema of a table, a frame or a file; see :func:`shoal.draft`."""
    table, wishes = as_table(source), wishes or Wishes()
    if private:
        return _heed(wishes, table, template(table.columns))
    return draft_profiled(table, profile(table), wishes)


def draft_profiled(table: Table, profiles: Sequence[ColumnProfile], wishes: Wishes | None = None) -> Draft:
    """Draft a schema of a table whose columns have been profiled."""
    return draft_profiles(
        profiles,
        table.count(),
        sampler=sampler(table, profiles),
        relations=partial(relations_of_sample, table),
        finest_step=partial(finest_step, table),
        purpose=partial(_heed, wishes or Wishes(), table),
    )


def _heed(wishes: Wishes, table: Table, drafted: Draft) -> Draft:
    """Return a draft that follows what a person wishes and the policy of the office forbids."""
    drafted = wishes.applied(drafted)
    policy = in_force()
    for name in () if policy is None else policy.forbidden(table.columns):
        if not (drafted.schema[name].role.left_out or drafted.schema[name].role.names_someone):
            drafted = drafted.with_role(name, Role.DROP)
    return drafted


def as_quasi_identifier(table: Table, schema: Schema, name: str) -> Schema:
    """Return a schema in which a column is one that others may know, with the hierarchy that a draft gives it."""
    (found,) = profile(table.select(name))
    drafted = draft_quasi_identifier(found)
    known = schema.with_role(name, Role.QUASI_IDENTIFIER)[name]
    column = replace(known, hierarchy=drafted.hierarchy if drafted.kind == known.kind else None)
    attributes = tuple(column if each.name == name else each for each in schema)
    return replace(schema, attributes=attributes)


def described(
    source: Any,
    wishes: Wishes | None = None,
    *,
    schema: Schema | str | Path | None = None,
    decided: bool = True,
    prepare: Callable[[Schema], Schema] = lambda schema: schema,
) -> Table:
    """Return a table with a schema.

    It is the given one, the table's own or that of the schema file beside a data file. For a frame or a file without
    one, and where wishes are given, it is drafted, and a warning says what was assumed. If ``decided``, what only a
    person can decide is refused. ``prepare`` returns the schema by which records are read, from a given one.
    """
    table, wishes = as_table(source), wishes or Wishes()
    beside = None if schema is not None or table.schema is not None else _schema_file(source)
    chosen = schema if schema is not None else (None if wishes else beside)
    if chosen is not None or table.schema is not None:
        if wishes:
            raise ParameterError("`keep`, `also`, `drop` and `person` are for drafts; this table has a schema.")
        if chosen is None:
            return table
        return table.with_schema(prepare(load_schema(chosen)))
    if isinstance(source, Table) and not wishes:
        raise SchemaError(
            "the table has no schema, so Shoal does not know which columns identify people: quasi-identifiers, secrets",
            hint="give `schema=` to `shoal.read`, or use `shoal.draft(table).schema` after looking at it",
        )
    drafted = draft_schema(table, wishes)
    if decided:
        _refuse_what_is_open(drafted)
    warnings.warn(_assumed(drafted), stacklevel=3)
    return table.with_schema(drafted.schema)


def _schema_file(source: Any) -> Path | None:
    """Return the schema file beside a data file, where there is one."""
    if not isinstance(source, str | Path) or elsewhere(str(source)):
        return None
    path = Path(source)
    beside = path.with_name(f"{Path(path.name.removesuffix('.gz')).stem}.schema.toml")
    return beside if beside.is_file() else None


def _refuse_what_is_open(drafted: Draft) -> None:
    """Name everything that only a person can decide, and the argument that decides it."""
    problems = []
    if drafted.schema.asks_for_persons and drafted.person is not None:
        named = drafted.person.columns[0] if len(drafted.person.columns) == 1 else "COLUMN"
        problems.append(
            f'persons may have several records: {drafted.person}; write person="{named}", or person="records" if every '
            "record stands for another person"
        )
    for name in drafted.undecided:
        problems.append(
            f'column `{name}` needs a decision: write drop=["{name}"], or give a schema: schema=shoal.draft(frame)'
            f'.with_role("{name}", "quasi-identifier").schema'
        )
    if not drafted.schema.quasi_identifiers:
        problems.append(
            "no column is known to others: name the columns that the purpose needs, for example "
            f"keep=[{', '.join(_text(name) for name in drafted.schema.names[:3])}]"
        )
    if problems:
        raise SchemaError(problems)


def _text(name: str) -> str:
    return f'"{name}"'


_ASSUMED = {
    Role.QUASI_IDENTIFIER: "known to others and made coarser",
    Role.SENSITIVE: "sensitive and kept unchanged, or rounded",
    Role.INSENSITIVE: "harmless and kept unchanged",
    Role.WEIGHT: "survey weights and kept unchanged",
    Role.PERSON: "keys of persons and removed",
    Role.HOUSEHOLD: "keys of households and removed",
    Role.IDENTIFIER: "names of people and removed",
    Role.DROP: "left out",
}
_NAMED = 8


def _assumed(drafted: Draft) -> str:
    """Say what a draft took the columns for."""
    parts = []
    for role, words in _ASSUMED.items():
        if names := drafted.schema.having(role):
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            parts.append(f"{quoted(names[:_NAMED])}{more}: {words}")
    return f"the roles of the columns were guessed ({'; '.join(parts)}); shoal.draft shows why"


def frame_of(table: Table, kind: str) -> Any:
    """Return the records as the kind of frame that a source was; as an Arrow table where it was none."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return table.to_polars()
    if kind == "relation":
        import duckdb

        return duckdb.from_arrow(table.to_arrow())
    return table.to_arrow()
