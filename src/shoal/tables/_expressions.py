"""Filters written as Ibis expressions: ``_.age >= 40``, turned into the language of filters.

An expression is read, never run. What it may hold is what a filter can say: comparisons of a column with a value,
``between``, ``isin``, ``isnull`` and ``notnull``, joined by ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from shoal.errors import InputError
from shoal.schema import Kind

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.common.deferred import Deferred


Filter: TypeAlias = "str | ir.BooleanValue | Deferred | None"
"""A filter as text, as an Ibis expression, or none."""

_TYPES = {Kind.NUMERIC: "float64", Kind.DATE: "date"}
# what holds where a comparison is false: neither holds for a missing value
_OPPOSITES = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class FilterError(InputError):
    """A filter is not in the language of filters, or does not fit the schema."""


def filter_text(where: Filter, kinds: Callable[[], Mapping[str, Kind]]) -> str | None:
    """Return a filter as text; ``kinds`` tells the columns, where an expression is not about a table yet.

    As in Ibis, a comparison with a missing value is neither true nor false, and ``~`` leaves it so.

    Examples
    --------
    >>> from ibis import _
    >>> filter_text((_.age >= 40) & ~(_.sex == "F"), lambda: {"age": Kind.NUMERIC, "sex": Kind.CATEGORICAL})
    '(`age` >= 40) and (`sex` != "F")'
    """
    if where is None or isinstance(where, str):
        return where
    return _said(_bound(where, kinds).op(), negated=False)


def _bound(where: Any, kinds: Callable[[], Mapping[str, Kind]]) -> ir.Value:
    import ibis
    import ibis.expr.types as ir

    if isinstance(where, ir.Value):
        return where
    try:
        (found,) = ibis.table({name: _TYPES.get(kind, "string") for name, kind in kinds().items()}).bind(where)
    except Exception:
        # Ibis raises errors of many kinds for columns that do not exist and types that do not compare
        raise FilterError("the filter is not an Ibis expression about columns of this table.") from None
    return found


def _said(node: Any, *, negated: bool) -> str:
    """Return where an expression is true; negated, where it is false."""
    import ibis.expr.operations as ops

    signs = {
        ops.Equals: "=",
        ops.NotEquals: "!=",
        ops.Less: "<",
        ops.LessEqual: "<=",
        ops.Greater: ">",
        ops.GreaterEqual: ">=",
    }
    if isinstance(node, ops.Not):
        return _said(node.arg, negated=not negated)
    if isinstance(node, ops.And | ops.Or):
        word = "and" if isinstance(node, ops.And) != negated else "or"
        return f"({_said(node.left, negated=negated)}) {word} ({_said(node.right, negated=negated)})"
    if type(node) in signs:
        return _compared(node.left, signs[type(node)], node.right, negated=negated)
    if isinstance(node, ops.IsNull | ops.NotNull):
        missing = isinstance(node, ops.IsNull) != negated
        return f"{_column(node.arg)} is {'' if missing else 'not '}missing"
    if isinstance(node, ops.Between):
        column, low, high = _column(node.arg), _value(node.lower_bound), _value(node.upper_bound)
        return f"{column} < {low} or {column} > {high}" if negated else f"{column} between {low} and {high}"
    if isinstance(node, ops.InValues):
        column, values = _column(node.value), ", ".join(_value(each) for each in node.options)
        return f"{column} not in ({values}) and {column} is not missing" if negated else f"{column} in ({values})"
    raise _unknown(node)


def _compared(left: Any, sign: str, right: Any, *, negated: bool) -> str:
    import ibis.expr.operations as ops

    if isinstance(left, ops.Literal):
        left, right, sign = right, left, _TURNED[sign]
    return f"{_column(left)} {_OPPOSITES[sign] if negated else sign} {_value(right)}"


def _column(node: Any) -> str:
    import ibis.expr.operations as ops

    if not isinstance(node, ops.Field):
        raise _unknown(node)
    if "`" in node.name:
        raise FilterError("a column whose name contains a backquote cannot be used in a filter.")
    return f"`{node.name}`"


def _value(node: Any) -> str:
    import ibis.expr.operations as ops

    if not isinstance(node, ops.Literal):
        raise _unknown(node)
    value = node.value
    if isinstance(value, dt.date):
        return f'"{value:%Y-%m-%d}"'
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value):
        return str(value)
    raise FilterError("a filter can compare columns only with numbers, text and dates.")


def _unknown(node: Any) -> FilterError:
    return FilterError(
        f"a filter cannot contain the Ibis operation `{type(node).__name__}`.",
        hint="compare columns with values: ==, !=, <, <=, >, >=, between, isin, isnull, joined by &, | and ~",
    )
