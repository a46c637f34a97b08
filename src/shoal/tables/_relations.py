# ruff: noqa: S608 - statements are what this module writes; names and texts come quoted
"""Queries: a table of an engine and what is asked of it, as a value that becomes one statement of SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.tables._expressions import Dialect, Field, Ordering, Value, ascending, count_rows, quote_identifier
from shoal.tables._types import Type


class TableQuery:
    """Records that an engine computes when they are asked for. Immutable; methods return new queries."""

    __slots__ = ("_schema", "counted", "parents")

    def __init__(self, schema: Mapping[str, Type], *parents: TableQuery) -> None:
        self._schema = dict(schema)
        self.parents = parents
        #: records of which these are copies, where they are; see :mod:`shoal.tables._repeated`
        self.counted: TableQuery | None = None

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        """Return the statement, given how the parents are called behind FROM."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._schema)

    def schema(self) -> Mapping[str, Type]:
        """Return the type of every column."""
        return self._schema

    def __getitem__(self, name: str) -> Field:
        return Field(name, self._schema[name], self)

    def __getattr__(self, name: str) -> Field:
        if name.startswith("_") or name not in self._schema:
            raise AttributeError(name)
        return self[name]

    # -- what is asked

    def select(self, /, *columns: str | Value, **named: Value) -> TableQuery:
        """Return some columns."""
        return Select(self, self._values(columns, named))

    def mutate(self, /, *columns: Value, **named: Value) -> TableQuery:
        """Return all columns, some of them changed, and others besides."""
        return Select(self, {name: self[name] for name in self.columns} | self._values(columns, named))

    def filter(self, *conditions: Value) -> TableQuery:
        """Return the records that meet all conditions."""
        return Filter(self, conditions) if conditions else self

    def group_by(self, keys: str | Iterable[str] = (), /, **named: Value) -> Grouped:
        """Group the records by columns, or by values that get a name."""
        names = [keys] if isinstance(keys, str) else list(keys)
        return Grouped(self, self._values(names, named))

    def aggregate(self, figures: Sequence[Value] = (), /, **named: Value) -> TableQuery:
        """Return one record of figures."""
        return Aggregate(self, {}, self._values(figures, named))

    def count(self, where: Value | None = None) -> Value:
        """Return the number of records, as a figure."""
        return count_rows(where)

    def distinct(self) -> TableQuery:
        """Return the different records."""
        return Clause(self, before="DISTINCT ")

    def order_by(self, keys: str | Value | Sequence[str | Value]) -> TableQuery:
        """Return the records in an order."""
        listed = [keys] if isinstance(keys, str | Value) else list(keys)
        orders = [each if isinstance(each, Ordering) else ascending(each) for each in listed]
        return Order(self, orders)

    def limit(self, number: int, offset: int = 0) -> TableQuery:
        """Return so many records, leaving out the first ``offset``."""
        return Clause(self, after=f" LIMIT {number:d}" + (f" OFFSET {offset:d}" if offset else ""))

    def inner_join(self, other: TableQuery, on: Sequence[str | Value]) -> TableQuery:
        """Return the pairs of records that meet all conditions; a name stands for a column that both have."""
        return Join(self, other, "INNER JOIN", on)

    def semi_join(self, other: TableQuery, on: Sequence[str | Value] | Value) -> TableQuery:
        """Return the records that have a partner."""
        return Join(self, other, "SEMI JOIN", [on] if isinstance(on, Value) else on)

    def cross_join(self, other: TableQuery) -> TableQuery:
        """Return all pairs of records."""
        return Join(self, other, "CROSS JOIN", ())

    def _values(self, columns: Iterable[str | Value], named: Mapping[str, Value]) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for column in columns:
            value = self[column] if isinstance(column, str) else column
            label = value.label()
            if label is None:
                raise TypeError("a column without a name")
            values[label] = value
        return values | dict(named)


class Stored(TableQuery):
    """A table or view of the engine."""

    __slots__ = ("relation",)

    def __init__(self, relation: str, schema: Mapping[str, Type]) -> None:
        super().__init__(schema)
        self.relation = relation

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        return f"SELECT * FROM {sources[0]}"


class Select(TableQuery):
    """Some values of every record."""

    __slots__ = ("values",)

    def __init__(self, parent: TableQuery, values: Mapping[str, Value]) -> None:
        super().__init__({name: value.type() for name, value in values.items()}, parent)
        self.values = dict(values)

    @property
    def chooses(self) -> bool:
        """Whether columns are left as they are."""
        return all(isinstance(each, Field) and each.column == name for name, each in self.values.items())

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        return f"SELECT {_columns(self.values, dialect)} FROM {sources[0]} AS t"


class Filter(TableQuery):
    """The records that meet conditions."""

    __slots__ = ("conditions",)

    def __init__(self, parent: TableQuery, conditions: Sequence[Value]) -> None:
        super().__init__(parent.schema(), parent)
        self.conditions = conditions

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        conditions = " AND ".join(condition.sql(dialect, _plain(dialect)) for condition in self.conditions)
        return f"SELECT * FROM {sources[0]} AS t WHERE {conditions}"


class Clause(TableQuery):
    """All columns of some records: without repetition, or the first of them."""

    __slots__ = ("after", "before")

    def __init__(self, parent: TableQuery, *, before: str = "", after: str = "") -> None:
        super().__init__(parent.schema(), parent)
        self.before, self.after = before, after

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        return f"SELECT {self.before}* FROM {sources[0]} AS t{self.after}"


class Order(TableQuery):
    """Records in an order."""

    __slots__ = ("keys",)

    def __init__(self, parent: TableQuery, keys: Sequence[Value]) -> None:
        super().__init__(parent.schema(), parent)
        self.keys = keys

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        keys = ", ".join(key.sql(dialect, _plain(dialect)) for key in self.keys)
        return f"SELECT * FROM {sources[0]} AS t" + (f" ORDER BY {keys}" if keys else "")


class Grouped:
    """Records in groups, of which figures are asked."""

    __slots__ = ("_keys", "_query")

    def __init__(self, query: TableQuery, keys: Mapping[str, Value]) -> None:
        self._query, self._keys = query, keys

    def aggregate(self, figures: Sequence[Value] = (), /, **named: Value) -> TableQuery:
        """Return a record of figures for each group."""
        return Aggregate(self._query, self._keys, self._query._values(figures, named))


class Aggregate(TableQuery):
    """Figures of groups of records."""

    __slots__ = ("figures", "keys")

    def __init__(self, parent: TableQuery, keys: Mapping[str, Value], figures: Mapping[str, Value]) -> None:
        super().__init__({name: value.type() for name, value in (*keys.items(), *figures.items())}, parent)
        self.keys, self.figures = dict(keys), dict(figures)

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        # places, not names: a name might be that of a column of the records
        groups = f" GROUP BY {', '.join(str(position + 1) for position in range(len(self.keys)))}" if self.keys else ""
        return f"SELECT {_columns(self.keys | self.figures, dialect)} FROM {sources[0]} AS t{groups}"


class Join(TableQuery):
    """Records beside their partners."""

    __slots__ = ("how", "on")

    def __init__(self, left: TableQuery, right: TableQuery, how: str, on: Sequence[str | Value]) -> None:
        own = {} if how == "SEMI JOIN" else right.schema()
        super().__init__({**own, **left.schema()}, left, right)
        ordered = [*left.columns, *(name for name in own if name not in left.schema())]
        self._schema = {name: self._schema[name] for name in ordered}
        self.how, self.on = how, on

    def body(self, dialect: Dialect, sources: Sequence[str]) -> str:
        left, right = self.parents

        def place_field(field: Field) -> str:
            side = "r" if field.query is right else "l"
            return f"{side}.{quote_identifier(field.column, dialect)}"

        def column(name: str) -> str:
            side = "l" if name in left.schema() else "r"
            return f"{side}.{quote_identifier(name, dialect)}"

        same = [
            f"l.{quote_identifier(each, dialect)} = r.{quote_identifier(each, dialect)}"
            if isinstance(each, str)
            else each.sql(dialect, place_field)
            for each in self.on
        ]
        how = "LEFT SEMI JOIN" if (self.how, dialect) == ("SEMI JOIN", "spark") else self.how
        chosen = ", ".join(map(column, self.columns))
        on = f" ON {' AND '.join(same)}" if same else ""
        return f"SELECT {chosen} FROM {sources[0]} AS l {how} {sources[1]} AS r{on}"


def _plain(dialect: Dialect) -> Any:
    return lambda field: f"t.{quote_identifier(field.column, dialect)}"


def _columns(values: Mapping[str, Value], dialect: Dialect) -> str:
    return ", ".join(
        f"{value.sql(dialect, _plain(dialect))} AS {quote_identifier(name, dialect)}" for name, value in values.items()
    )


def compile_query(query: TableQuery, dialect: Dialect) -> str:
    """Return a query as one statement; what it refers to several times is written once."""
    times: Counter[int] = Counter()
    _count(query, times)
    shared: dict[int, str] = {}
    parts: list[str] = []

    def source(node: TableQuery) -> str:
        if isinstance(node, Stored):
            return node.relation
        if times[id(node)] < 2:
            return f"({statement(node)})"
        if id(node) not in shared:
            text = statement(node)
            shared[id(node)] = f"q{len(shared)}"
            parts.append(f"{shared[id(node)]} AS ({text})")
        return shared[id(node)]

    def statement(node: TableQuery) -> str:
        return node.body(dialect, [source(each) for each in node.parents or (node,)])

    text = statement(query)
    return f"WITH {', '.join(parts)} {text}" if parts else text


def _count(query: TableQuery, times: Counter[int]) -> None:
    times[id(query)] += 1
    if times[id(query)] == 1:
        for parent in query.parents:
            _count(parent, times)
