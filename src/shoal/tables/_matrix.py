"""Columns of numbers in memory: what clustering methods work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, ParameterError, Problems
from shoal.tables._engine import ROW, quiet
from shoal.tables._table import Table

__all__ = ["Matrix", "matrix", "numbered"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matrix:
    """Numbers, one row per record.

    Parameters
    ----------
    columns
        The names of the columns.
    values
        Shape ``(records, columns)``, column-major; 0 where a value is missing.
    missing
        Where a value is missing; the same shape.
    rows
        The number of each record, ascending: what leads back to it (see :func:`numbered`).
    """

    columns: tuple[str, ...]
    values: npt.NDArray[np.float64]
    missing: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Matrix of {len(self.values):,} records: {', '.join(self.columns)}>"


def numbered(table: Table) -> Table:
    """Return the table with numbers on its records that stay the same whenever it is looked at.

    Files, frames and database tables have them already. Records on Spark are stored on its executors first, since
    Spark promises no order.
    """
    with quiet(table.source.name):
        return replace(table, expression=table.engine.numbered(table.expression))


def matrix(table: Table, columns: Sequence[str]) -> Matrix:
    """Fetch columns of numbers, truth values (0 and 1) or days (counted from 1970-01-01).

    Raises
    ------
    ParameterError
        If a column is absent or holds something else.
    DataError
        If a number is not finite.
    """
    table = numbered(table)
    names = tuple(columns)
    chosen = {f"c{i}": _number(table, name) for i, name in enumerate(names) if name in table.columns}
    _check(table, names, chosen)
    with quiet(table.source.name):
        asked = table.expression.select(**{ROW: table.expression[ROW]}, **chosen).order_by(ROW)
        rows = table.engine.fetch(asked)
    values = np.zeros((rows.num_rows, len(names)), dtype=np.float64, order="F")
    missing = np.zeros((rows.num_rows, len(names)), dtype=np.bool_, order="F")
    problems = Problems()
    for i, name in enumerate(names):
        column = rows[f"c{i}"]
        missing[:, i] = column.is_null().to_numpy()
        values[:, i] = column.fill_null(0.0).to_numpy()
        infinite = int(np.count_nonzero(~np.isfinite(values[:, i])))
        if infinite:
            problems.add(f"column `{name}`: {infinite:,} values are not finite numbers")
    problems.raise_as(DataError)
    return Matrix(columns=names, values=values, missing=missing, rows=rows[ROW].to_numpy().astype(np.int64))


def _check(table: Table, names: tuple[str, ...], chosen: dict[str, Any]) -> None:
    problems = Problems()
    if not names:
        problems.add("`columns` of `matrix` must name at least one column")
    for i, name in enumerate(names):
        if f"c{i}" not in chosen:
            problems.add(f"{table.source.name} has no column `{name}`")
        elif chosen[f"c{i}"] is None:
            problems.add(f"column `{name}` does not hold numbers or dates")
    problems.raise_as(ParameterError)


def _number(table: Table, name: str) -> Any:
    import ibis

    column = table.expression[name]
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int8").cast("float64")
    if kind.is_numeric():
        return column.cast("float64")
    if kind.is_timestamp():
        column, kind = column.date(), column.date().type()
    if kind.is_date():
        return column.delta(ibis.date("1970-01-01"), unit="day").cast("float64")
    return None
