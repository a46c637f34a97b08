"""Columns as expressions, written in the SQL of an engine: quoted, escaped and put in brackets here and nowhere else.

What is computed is the same on all engines; :data:`Dialect` says whose SQL is written.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from shoal.tables._types import BOOLEAN, DATE, INTEGER, NUMBER, STRING, UNKNOWN, Type, type_name

if TYPE_CHECKING:
    from shoal.tables._relations import TableQuery

Dialect = Literal["duckdb", "spark"]
Write = Callable[..., str]
Placed = Callable[["Field"], str]

_BLANKS = " \t\n\r\v\f"


def quote_identifier(name: str, dialect: Dialect = "duckdb") -> str:
    """Return a name as an identifier."""
    return '"' + name.replace('"', '""') + '"' if dialect == "duckdb" else "`" + name.replace("`", "``") + "`"


def text_literal(text: str, dialect: Dialect = "duckdb") -> str:
    """Return text as a literal; Spark reads escapes, and puts values of variables into what looks like one."""
    if dialect == "duckdb":
        return "'" + text.replace("'", "''") + "'"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


class Value:
    """A column, or a figure, that an engine computes; operators and methods make new ones."""

    __slots__ = ("_kind", "_label", "_parts", "_write")

    def __init__(self, kind: Type, write: Write, *parts: Value, label: str | None = None) -> None:
        self._kind, self._write, self._parts, self._label = kind, write, parts, label

    def type(self) -> Type:
        """Return the type of the values."""
        return self._kind

    def name(self, label: str) -> Value:
        """Return the same value under a name."""
        return Value(self._kind, self._write, *self._parts, label=label)

    def label(self) -> str | None:
        """Return the name, where there is one."""
        return self._label

    def sql(self, dialect: Dialect, placed: Placed) -> str:
        """Return the value in the SQL of an engine; ``placed`` says how columns are called."""
        return self._write(dialect, *(part.sql(dialect, placed) for part in self._parts))

    # -- logic and comparisons

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return _combine(BOOLEAN, "=", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return _combine(BOOLEAN, "<>", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("an expression is neither true nor false before an engine computes it")

    def __lt__(self, other: object) -> Value:
        return _combine(BOOLEAN, "<", self, other)

    def __le__(self, other: object) -> Value:
        return _combine(BOOLEAN, "<=", self, other)

    def __gt__(self, other: object) -> Value:
        return _combine(BOOLEAN, ">", self, other)

    def __ge__(self, other: object) -> Value:
        return _combine(BOOLEAN, ">=", self, other)

    def __and__(self, other: object) -> Value:
        return _combine(self._kind, "AND" if self._kind.is_boolean() else "&", self, other)

    def __or__(self, other: object) -> Value:
        return _combine(BOOLEAN, "OR", self, other)

    def __invert__(self) -> Value:
        return Value(BOOLEAN, lambda _, one: f"(NOT {one})", self)

    def identical_to(self, other: object) -> Value:
        """Return whether two values are equal, or both missing."""
        return _combine(BOOLEAN, "IS NOT DISTINCT FROM", self, other)

    def isnull(self) -> Value:
        """Return whether there is no value."""
        return Value(BOOLEAN, lambda _, one: f"({one} IS NULL)", self)

    def notnull(self) -> Value:
        """Return whether there is a value."""
        return Value(BOOLEAN, lambda _, one: f"({one} IS NOT NULL)", self)

    def isin(self, values: Iterable[object]) -> Value:
        """Return whether a value is one of some."""
        listed = list(values)
        if not listed:
            return literal(False)
        return Value(BOOLEAN, lambda _, one, *few: f"({one} IN ({', '.join(few)}))", self, *map(literal, listed))

    def ifelse(self, yes: object, no: object) -> Value:
        """Return one of two values, by whether this one is true."""
        first, second = literal(yes), literal(no)
        kind = second.type() if yes is None else first.type()
        return Value(kind, lambda _, one, a, b: f"(CASE WHEN {one} THEN {a} ELSE {b} END)", self, first, second)

    def fill_null(self, other: object) -> Value:
        """Return another value where there is none."""
        return function("COALESCE", self._kind, self, other)

    # -- numbers

    def __add__(self, other: object) -> Value:
        right = literal(other)
        if self._kind.is_string():
            return _combine(STRING, "||", self, right)
        return _combine(_wider(self, right), "+", self, right)

    def __radd__(self, other: object) -> Value:
        return literal(other) + self

    def __sub__(self, other: object) -> Value:
        return _combine(_wider(self, literal(other)), "-", self, other)

    def __rsub__(self, other: object) -> Value:
        return literal(other) - self

    def __mul__(self, other: object) -> Value:
        return _combine(_wider(self, literal(other)), "*", self, other)

    def __truediv__(self, other: object) -> Value:
        return _combine(NUMBER, "/", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return literal(other) / self

    def __mod__(self, other: object) -> Value:
        return _combine(_wider(self, literal(other)), "%", self, other)

    def __rshift__(self, other: object) -> Value:
        return _by_dialect(INTEGER, "({} >> {})", "SHIFTRIGHT({}, {})", self, other)

    def abs(self) -> Value:
        """Return the distance from zero."""
        return function("ABS", self._kind, self)

    def floor(self) -> Value:
        """Return the next whole number below, as a number."""
        return function("FLOOR", NUMBER, self)

    def ln(self) -> Value:
        """Return the natural logarithm."""
        return function("LN", NUMBER, self)

    def exp(self) -> Value:
        """Return e to this power."""
        return function("EXP", NUMBER, self)

    def isnan(self) -> Value:
        """Return whether a number is none."""
        return function("ISNAN", BOOLEAN, self)

    def isinf(self) -> Value:
        """Return whether a number is infinite."""
        return self.abs() == math.inf

    def clip(self, *, lower: float, upper: float) -> Value:
        """Return the nearest number between two."""
        bounded = function("LEAST", self._kind, function("GREATEST", self._kind, self, lower), upper)
        return self.isnull().ifelse(None, bounded)

    def bucket(self, edges: Sequence[float]) -> Value:
        """Return in which [edge, next edge) a number lies; null outside of them all."""
        positions = pairwise(edges)
        return cases(*(((self >= low) & (self < high), position) for position, (low, high) in enumerate(positions)))

    def delta(self, day: dt.date) -> Value:
        """Return the number of days since a day."""
        return _by_dialect(INTEGER, "DATE_DIFF('day', {1}, {0})", "DATEDIFF({0}, {1})", self, day)

    # -- texts

    def cast(self, kind: str | Type) -> Value:
        """Return a value as another type."""
        return self._cast(kind, "CAST")

    def try_cast(self, kind: str | Type) -> Value:
        """Return a value as another type, null where it cannot be."""
        return self._cast(kind, "TRY_CAST")

    def _cast(self, kind: str | Type, word: str) -> Value:
        wanted = kind if isinstance(kind, Type) else Type(kind)
        if wanted == self._kind:
            return Value(self._kind, self._write, *self._parts)
        return Value(wanted, lambda dialect, one: f"{word}({one} AS {type_name(dialect, wanted)})", self)

    def strip(self) -> Value:
        """Return a text without blanks around it."""
        return _by_dialect(STRING, "TRIM({0}, {1})", "TRIM(BOTH {1} FROM {0})", self, _BLANKS)

    def lower(self) -> Value:
        """Return a text in small letters."""
        return function("LOWER", STRING, self)

    def length(self) -> Value:
        """Return the number of letters of a text."""
        return function("LENGTH", INTEGER, self)

    def contains(self, words: str) -> Value:
        """Return whether a text contains another."""
        return function("CONTAINS", BOOLEAN, self, words)

    def replace(self, old: str, new: str) -> Value:
        """Return a text with one part in place of another."""
        return function("REPLACE", STRING, self, old, new)

    def substr(self, start: int, length: int) -> Value:
        """Return a part of a text."""
        return function("SUBSTRING", STRING, self, start + 1, length)

    def lpad(self, length: int, sign: str) -> Value:
        """Return a text with a sign before it until it has some length; longer ones as they are."""
        return (self.length() >= length).ifelse(self, function("LPAD", STRING, self, length, sign))

    def re_search(self, pattern: str) -> Value:
        """Return whether a regular expression occurs in a text."""
        return _by_dialect(BOOLEAN, "REGEXP_MATCHES({}, {})", "({} RLIKE {})", self, pattern)

    def re_extract(self, pattern: str, group: int) -> Value:
        """Return a group of a regular expression."""
        return function("REGEXP_EXTRACT", STRING, self, pattern, group)

    def hash(self) -> Value:
        """Return a number that looks random and depends on the value alone."""
        return function("HASH", INTEGER, self)

    def date(self) -> Value:
        """Return the day of a point in time."""
        return self.cast(DATE)

    # -- lists and structures

    def unnest(self) -> Value:
        """Return one row for each element of a list."""
        return _by_dialect(UNKNOWN, "UNNEST({})", "EXPLODE({})", self)

    def sort(self) -> Value:
        """Return a list in ascending order."""
        return _by_dialect(self._kind, "LIST_SORT({})", "ARRAY_SORT({})", self)

    def member(self, name: str, kind: Type) -> Value:
        """Return a member of a structure."""
        return Value(kind, lambda dialect, one: f"{one}.{quote_identifier(name, dialect)}", self)

    # -- figures

    def count(self) -> Value:
        """Return the number of values."""
        return function("COUNT", INTEGER, self)

    def sum(self, where: Value | None = None) -> Value:
        """Return the sum, of booleans the number of true ones."""
        if self._kind.is_boolean():
            return self.cast("int32").sum(where)
        return _where(function("SUM", INTEGER if self._kind.is_integer() else self._kind, self), where)

    def min(self, where: Value | None = None) -> Value:
        """Return the least value."""
        return _where(function("MIN", self._kind, self), where)

    def max(self, where: Value | None = None) -> Value:
        """Return the greatest value."""
        return _where(function("MAX", self._kind, self), where)

    def mean(self) -> Value:
        """Return the mean."""
        return function("AVG", NUMBER, self)

    def deviation(self) -> Value:
        """Return the standard deviation of all values."""
        return function("STDDEV_POP", NUMBER, self)

    def nunique(self) -> Value:
        """Return the number of different values."""
        return Value(INTEGER, lambda _, one: f"COUNT(DISTINCT {one})", self)

    def approx_nunique(self) -> Value:
        """Return about how many different values there are."""
        return function("APPROX_COUNT_DISTINCT", INTEGER, self)

    def collect(self) -> Value:
        """Return a list of the values."""
        values = _by_dialect(Type("nested list"), "LIST({})", "COLLECT_LIST({})", self)
        return _where(values, self.notnull())

    def over(self, *, group_by: str | Value, order_by: Sequence[Any] | Value = ()) -> Value:
        """Return a figure of the rows that share a value, in an order."""
        orders = [order_by] if isinstance(order_by, Value) else list(order_by)
        orders = [order if isinstance(order, Ordering) else ascending(order) for order in orders]
        group = group_by if isinstance(group_by, Value) else named_field(group_by)

        def write(_: Dialect, figure: str, by: str, *order: str) -> str:
            ordered = f" ORDER BY {', '.join(order)}" if order else ""
            return f"({figure} OVER (PARTITION BY {by}{ordered}))"

        return Value(self._kind, write, self, group, *orders)


class Field(Value):
    """A column of a query."""

    __slots__ = ("column", "query")

    def __init__(self, column: str, kind: Type, query: TableQuery | None) -> None:
        super().__init__(kind, lambda _: "", label=column)
        self.column, self.query = column, query

    def name(self, label: str) -> Value:
        """Return the same column under another name."""
        return Value(self._kind, lambda _, one: one, self, label=label)

    def sql(self, dialect: Dialect, placed: Placed) -> str:
        """Return how the column is called."""
        del dialect
        return placed(self)

    def _cast(self, kind: str | Type, word: str) -> Value:
        wanted = kind if isinstance(kind, Type) else Type(kind)
        return self if wanted == self._kind else super()._cast(kind, word)


def named_field(name: str) -> Field:
    """Return a column of whatever query the expression is used in."""
    return Field(name, UNKNOWN, None)


def literal(value: object, kind: str | None = None) -> Value:
    """Return a constant; an expression as it is."""
    if isinstance(value, Value):
        return value
    known = None if kind is None else Type(kind)
    if value is None:
        return Value(known or UNKNOWN, lambda _: "NULL")
    if isinstance(value, bool):
        return Value(BOOLEAN, lambda _: "TRUE" if value else "FALSE")
    if isinstance(value, int):
        plain = known is None or known == NUMBER
        if known == NUMBER:
            return literal(float(value))
        return Value(
            known or INTEGER,
            lambda dialect: f"{value:d}" if plain else f"CAST({value:d} AS {type_name(dialect, known or INTEGER)})",
        )
    if isinstance(value, float):
        return Value(NUMBER, lambda dialect: _number(value, dialect))
    if isinstance(value, str):
        return Value(STRING, lambda dialect: text_literal(value, dialect))
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return Value(DATE, lambda _: f"DATE '{value.isoformat()}'")
    raise TypeError(f"no literal of the type {type(value).__name__}")


def _number(value: float, dialect: Dialect) -> str:
    """Return a number of floating point, exactly; without an exponent engines would read a decimal number."""
    if not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    text = repr(value)
    text = text if "e" in text else f"{text}e0"
    return f"({text}D)" if dialect == "spark" else f"({text})"


def function(name: str, kind: Type, *arguments: object) -> Value:
    """Return what a function of the engine gives."""
    return Value(kind, lambda _, *texts: f"{name}({', '.join(texts)})", *map(literal, arguments))


def builtin(name: str, result: str) -> Callable[..., Value]:
    """Return a function of one engine."""
    return lambda *arguments: function(name, Type(result), *arguments)


def _by_dialect(kind: Type, duckdb: str, spark: str, *arguments: object) -> Value:
    forms = {"duckdb": duckdb, "spark": spark}
    return Value(kind, lambda dialect, *texts: forms[dialect].format(*texts), *map(literal, arguments))


def _combine(kind: Type, sign: str, left: object, right: object) -> Value:
    return Value(kind, lambda _, one, other: f"({one} {sign} {other})", literal(left), literal(right))


def _wider(left: Value, right: Value) -> Type:
    kinds = (left.type(), right.type())
    if any(kind.is_floating() for kind in kinds):
        return NUMBER
    return next((kind for kind in kinds if kind.is_decimal()), INTEGER)


def _where(figure: Value, condition: Value | None) -> Value:
    if condition is None:
        return figure
    return Value(figure.type(), lambda _, one, where: f"{one} FILTER (WHERE {where})", figure, condition)


def count_rows(where: Value | None = None) -> Value:
    """Return the number of rows, or of those that meet a condition."""
    return _where(Value(INTEGER, lambda _: "COUNT(*)"), where)


def row_number() -> Value:
    """Return the place of a row among others, from 0 on."""
    return _RowNumber()


class _RowNumber(Value):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(INTEGER, lambda _: "ROW_NUMBER()")

    def over(self, *, group_by: str | Value, order_by: Sequence[Any] | Value = ()) -> Value:
        return super().over(group_by=group_by, order_by=order_by) - 1


class Ordering(Value):
    """The order of records by a value, those without one last."""

    __slots__ = ()

    def __init__(self, column: str | Value, word: str) -> None:
        field = column if isinstance(column, Value) else named_field(column)
        super().__init__(field.type(), lambda _, one: f"{one} {word} NULLS LAST", field)


def ascending(column: str | Value) -> Ordering:
    """Return an order from the least value on."""
    return Ordering(column, "ASC")


def descending(column: str | Value) -> Ordering:
    """Return an order from the greatest value on."""
    return Ordering(column, "DESC")


def any_of(*conditions: Value) -> Value:
    """Return whether one of some conditions holds."""
    return Value(BOOLEAN, lambda _, *texts: f"({' OR '.join(texts)})", *conditions)


def least(*values: object) -> Value:
    """Return the least of some values."""
    parts = [literal(value) for value in values]
    return function("LEAST", parts[0].type(), *parts)


def cases(*branches: tuple[Value, object]) -> Value:
    """Return the value beside the first condition that holds; null where none does."""
    parts = [literal(part) for branch in branches for part in branch]

    def write(_: Dialect, *texts: str) -> str:
        pairs = zip(texts[::2], texts[1::2], strict=True)
        return f"(CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in pairs)} END)"

    return Value(parts[1].type(), write, *parts) if parts else literal(None)


def numbers_from(start: int, stop: object, step: int = 1) -> Value:
    """Return the list of every ``step``-th number from ``start`` on that is below ``stop``."""
    return _by_dialect(
        Type("nested list"),
        "RANGE({0}, {1}, {2})",
        "IF({1} > {0}, SEQUENCE(CAST({0} AS BIGINT), {1} - 1, CAST({2} AS BIGINT)), ARRAY())",
        *(start, stop, step),
    )


def array(values: Sequence[object]) -> Value:
    """Return a list."""
    return Value(
        Type("nested list"),
        lambda dialect, *texts: f"[{', '.join(texts)}]" if dialect == "duckdb" else f"ARRAY({', '.join(texts)})",
        *map(literal, values),
    )


def struct(**members: object) -> Value:
    """Return a structure."""

    def write(dialect: Dialect, *texts: str) -> str:
        names = [quote_identifier(name, dialect) for name in members]
        if dialect == "duckdb":
            return f"{{{', '.join(f'{name}: {text}' for name, text in zip(names, texts, strict=True))}}}"
        return f"STRUCT({', '.join(f'{text} AS {name}' for name, text in zip(names, texts, strict=True))})"

    return Value(Type("nested struct"), write, *map(literal, members.values()))
