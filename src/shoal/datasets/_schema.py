"""The schema of a data set: its tables, their columns and keys, and the parent of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import Problems, SchemaError, quoted
from shoal.schema import Kind, Missing, Role, Schema

#: a name that is a file name everywhere, and no other file of a release
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
#: tables from the persons down to the deepest items, and all tables
DEEPEST, MOST_TABLES = 6, 1_000
#: days by which dates may be shifted
MOST_DAYS = 3650
_ROLES = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.INSENSITIVE, Role.DROP, Role.DECIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """One table of a data set.

    Parameters
    ----------
    name
        What it is called; files and reports use the name.
    columns
        What its columns mean, but for keys.
    key
        The column that numbers its rows; needed where rows of other tables belong to them.
    parent
        The table that its rows belong to; None for the table of the persons.
    parent_key
        The column that says which row of the parent a row belongs to; by default it is called as the parent's key.
    list_column
        The column of the parent whose cells are lists: every entry is a row of this table, which has one column.
    separator
        What stands between the entries of such a cell; without it cells are lists already, or arrays of JSON.
    at_most
        The most rows that may belong to a row of the parent; of more, as many are drawn at random and the others are
        left out.
    size
        A column that the parent gets: how many rows of this table belong to each of its rows. Others may know it.
    days_since_first
        Columns of dates that become days since the first of all such dates of the same person.
    """

    name: str
    columns: Schema
    key: str | None = None
    parent: str | None = None
    parent_key: str | None = None
    list_column: str | None = None
    separator: str | None = None
    at_most: int | None = None
    size: str | None = None
    days_since_first: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the source that join it with others."""
        return tuple(dict.fromkeys(name for name in (self.key, self.parent_key) if name is not None))

    @property
    def released_key(self) -> str:
        """The column that numbers its rows in a release."""
        return self.key or f"{self.name}_number"

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that others may know."""
        return self.columns.quasi_identifiers

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that leave, but for keys."""
        return tuple(each.name for each in self.columns if not each.role.names_someone)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSchema:
    """The tables of a data set: that of the persons first, every other one after the one that it belongs to.

    Parameters
    ----------
    tables
        The tables, in any order; they are put into this one.
    guessed
        True where a draft wrote it and nobody confirmed it.
    shift_dates
        The most days by which the dates of a person are shifted, all of them together by one secret number.

    Raises
    ------
    SchemaError
        For no or several tables of persons, loops, parents that are not there, keys that are missing.
    """

    tables: tuple[TableSchema, ...]
    guessed: bool = False
    shift_dates: int | None = None
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        problems = Problems()
        names = [table.name for table in self.tables]
        for name in sorted({name for name in names if names.count(name) > 1}):
            problems.add(f"table `{name}` appears twice")
        self._check_parents(problems)
        for table in self.tables:
            self._check_table(table, problems)
        if self.shift_dates is not None and not 1 <= self.shift_dates <= MOST_DAYS:
            problems.add(f"`shift_dates` must be a whole number of days from 1 to {MOST_DAYS:,}")
        problems.raise_as(SchemaError)
        object.__setattr__(self, "tables", tuple(self._ordered()))

    def __iter__(self) -> Iterator[TableSchema]:
        return iter(self.tables)

    def __getitem__(self, name: str) -> TableSchema:
        return next(table for table in self.tables if table.name == name)

    def __contains__(self, name: object) -> bool:
        return any(table.name == name for table in self.tables)

    @property
    def root(self) -> TableSchema:
        """The table of the persons."""
        return self.tables[0]

    @property
    def items(self) -> tuple[TableSchema, ...]:
        """The other tables."""
        return self.tables[1:]

    def below(self, name: str) -> tuple[TableSchema, ...]:
        """Return the tables whose rows belong to those of a table."""
        return tuple(table for table in self.tables if table.parent == name)

    def parent_column(self, name: str) -> str | None:
        """Return the column of a released table that says which row of its parent a row belongs to."""
        table = self[name]
        if table.parent is None:
            return None
        return table.parent_key or self[table.parent].released_key

    def key_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a released table that are keys: that of its parent, and its own where one is needed."""
        own = [self[name].released_key] if self.below(name) or self[name].parent is None else []
        above = self.parent_column(name)
        return (*own, *([] if above is None else [above]))

    def size_columns(self, name: str) -> dict[str, str]:
        """Return the columns of a table that say how many rows belong to a row, each with the table of these rows."""
        return {table.size: table.name for table in self.below(name) if table.size is not None}

    def shown_columns(self, name: str) -> tuple[str, ...]:
        """Return all columns of a released table but for keys."""
        return (*self[name].released, *self.size_columns(name))

    @property
    def shows_places(self) -> bool:
        """Whether a release shows which rows of a person are missing, so that only persons can be left out."""
        return any(table.size is not None or table.days_since_first for table in self.tables)

    def depth(self, name: str) -> int:
        """Return how many tables lie above a table."""
        parent = self[name].parent
        return 0 if parent is None else 1 + self.depth(parent)

    def _ordered(self) -> Iterator[TableSchema]:
        """Yield the tables, level by level."""
        level = [table for table in self.tables if table.parent is None]
        while level:
            yield from level
            above = {table.name for table in level}
            level = [table for table in self.tables if table.parent in above]

    def _check_parents(self, problems: Problems) -> None:
        by_name = {table.name: table for table in self.tables}
        roots = [table.name for table in self.tables if table.parent is None]
        if len(roots) != 1:
            said = f"{quoted(roots)} name none" if roots else "every table names one"
            problems.add(f"one table, that of the persons, has no `parent`; {said}")
        for table in self.tables:
            if table.parent is not None and table.parent not in by_name:
                problems.add(f"table `{table.name}`: its parent `{table.parent}` is no table of the data set")
                continue
            seen, above = [table.name], table.parent
            while above in by_name and above not in seen:
                seen.append(above)
                above = by_name[above].parent
            if above == table.name:
                problems.add(f"table `{table.name}` lies below itself: {' below '.join([*seen, table.name])}")
            elif len(seen) > DEEPEST:
                problems.add(f"table `{table.name}` lies deeper than {DEEPEST} tables")

    def _check_table(self, table: TableSchema, problems: Problems) -> None:
        subject = f"table `{table.name}`"
        if not NAME.fullmatch(table.name):
            problems.add(f"{subject}: a name has letters, digits, `_` and `-`, begins with a letter, 60 at most")
        if table.key is None and any(each.parent == table.name and each.list_column is None for each in self.tables):
            problems.add(f"{subject}: rows of other tables belong to its rows, so it needs a `key`")
        if table.parent is None and (table.list_column is not None or table.parent_key is not None):
            problems.add(f"{subject}: the table of the persons has neither `parent_key` nor `list`")
        if table.list_column is not None:
            self._check_list(table, problems)
        elif table.parent is not None and table.parent_key is None:
            problems.add(f"{subject}: `parent_key` must name the column that holds the key of its parent")
        if table.key is not None and table.key == table.parent_key:
            problems.add(f"{subject}: `{table.key}` is its key and that of its parent; leave `key` out")
        if table.separator is not None and table.list_column is None:
            problems.add(f"{subject}: `separator` goes with `list`")
        for name in {*table.keys, table.released_key}:
            if name in table.columns:
                problems.add(f"{subject}: column `{name}` is a key, and keys are not described under `columns`")
        self._check_items(table, problems)
        keys = {each.key: each.name for each in self.tables if each.key is not None and each.name != table.name}
        for name in table.released:
            if name in keys:
                problems.add(
                    f"{subject}: column `{name}` is called as the key of `{keys[name]}`; released, it would undo that "
                    'keys are replaced: give it the role "identifier" or "drop"'
                )
        for attribute in table.columns:
            self._check_column(f"{subject}, column `{attribute.name}`", attribute, problems)

    def _check_items(self, table: TableSchema, problems: Problems) -> None:
        """Check what is asked for of rows that belong to others."""
        subject = f"table `{table.name}`"
        if table.parent is None and (table.at_most is not None or table.size is not None):
            problems.add(f"{subject}: the table of the persons has neither `at_most` nor `size`")
        if table.at_most is not None and table.at_most < 1:
            problems.add(f"{subject}: `at_most` must be at least 1")
        if table.at_most is not None and any(each.days_since_first for each in self.tables):
            problems.add(f"{subject}: `at_most` may leave out first rows, and days are counted from these; drop one")
        if table.size is not None and table.parent in {each.name for each in self.tables}:
            above = next(each for each in self.tables if each.name == table.parent)
            sizes = [each.size for each in self.tables if each.parent == table.parent]
            if table.size in (*above.columns.names, *above.keys, above.released_key) or sizes.count(table.size) > 1:
                problems.add(f"{subject}: `{above.name}` has a column `{table.size}` already; give `size` another name")
        for name in table.days_since_first:
            if name not in table.columns or table.columns[name].kind is not Kind.NUMERIC:
                problems.add(f'{subject}: `{name}` becomes days; describe it as a column with kind = "numeric"')

    def _check_list(self, table: TableSchema, problems: Problems) -> None:
        subject = f"table `{table.name}`"
        if table.key is not None or table.parent_key is not None:
            problems.add(f"{subject}: a table made of lists has no keys of its own")
        if len(table.columns.attributes) != 1:
            problems.add(f"{subject}: a table made of lists has one column")
        if table.parent is not None and table.parent in self and table.list_column in self[table.parent].columns:
            problems.add(f"{subject}: column `{table.list_column}` of `{table.parent}` is a list, and described here")

    @staticmethod
    def _check_column(subject: str, attribute: object, problems: Problems) -> None:
        from shoal.schema import Attribute

        assert isinstance(attribute, Attribute)  # noqa: S101 - for the type checker
        if attribute.role not in _ROLES:
            problems.add(f"{subject}: the role {attribute.role} is for single tables; keys say whose row it is")
        if attribute.missing is Missing.DROP:
            problems.add(f'{subject}: missing = "drop" would leave out rows that others belong to')
        if attribute.pseudonym or attribute.derived is not None:
            problems.add(f"{subject}: neither `pseudonym` nor `derived` can be used in a data set")
