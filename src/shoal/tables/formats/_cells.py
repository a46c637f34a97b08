"""Cells of spreadsheets and statistics packages: values of any type in one column, as a column of one type."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence

import pyarrow as pa

from shoal.tables.formats._header import distinct_names


def table_of(names: Sequence[object], columns: Iterable[Sequence[object]]) -> pa.Table:
    """Return columns of cells as a table; names that are there twice get a number."""
    written = distinct_names(["" if name is None else str(name) for name in names])
    return pa.table([column_of(cells) for cells in columns], names=list(written))


def column_of(cells: Sequence[object]) -> pa.Array:
    """Return cells as an array of the narrowest type that holds them all, text where they are of several kinds.

    Examples
    --------
    >>> column_of([1.0, 2.0, None]).type, column_of([1.0, "many"]).to_pylist()
    (DataType(int64), ['1', 'many'])
    """
    values = [None if _is_missing(cell) else cell for cell in cells]
    present = [value for value in values if value is not None]
    if not present:
        return pa.array(values, pa.string())
    if all(isinstance(value, bool) for value in present):
        return pa.array(values, pa.bool_())
    if all(_is_number(value) for value in present):
        if all(float(value) == math.floor(float(value)) and abs(float(value)) < 2**53 for value in present):  # type: ignore[arg-type]
            return pa.array([None if value is None else int(value) for value in values], pa.int64())  # type: ignore[call-overload]
        return pa.array([None if value is None else float(value) for value in values], pa.float64())  # type: ignore[arg-type]
    if all(isinstance(value, dt.date) for value in present):
        if all(_day(value) == value for value in present):
            return pa.array([None if value is None else _day(value) for value in values], pa.date32())
        return pa.array([None if value is None else _moment(value) for value in values], pa.timestamp("us"))
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip()) or cell != cell


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _day(value: object) -> object:
    midnight = isinstance(value, dt.datetime) and value.time() == dt.time()
    return value.date() if isinstance(value, dt.datetime) and midnight else value


def _moment(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return dt.datetime(value.year, value.month, value.day) if isinstance(value, dt.date) else value  # noqa: DTZ001


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    value = _day(value)
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
