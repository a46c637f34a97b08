"""Read frames that are in memory already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, Problems
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import ROW, quiet
from shoal.tables._names import check_names
from shoal.tables._table import Source, Table

__all__ = ["read_frame"]


def read_frame(source: Any, kind: str) -> Table:
    """Read an Arrow, pandas or polars frame; ``kind`` is the library it comes from."""
    rows = _arrow(source, kind)
    check_names(rows.column_names, f"the {kind} frame")
    rows = _supported(rows)
    numbers = pa.array(np.arange(rows.num_rows, dtype=np.int64))
    engine = DuckDBEngine()
    name = {"pyarrow": "arrow"}.get(kind, kind)
    with quiet(f"the {name} frame"):
        expression = engine.stage(rows.append_column(ROW, numbers))
    source = Source(kind=name, name=f"{name} frame", first_row=1)
    return Table(expression=expression, engine=engine, source=source)


def _arrow(source: Any, kind: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if kind == "pandas":
        _check_pandas(source)
        try:
            return pa.Table.from_pandas(source, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError):
            raise DataError(
                "the pandas frame cannot be read: a column holds values of more than one type.",
                hint="convert the column with astype",
            ) from None
    if kind == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow()
    raise DataError(
        f"Shoal cannot read a {type(source).__name__}.",
        hint="give a path, a postgresql:// address, or an Arrow, pandas, polars or Spark frame",
    )


def _check_pandas(frame: Any) -> None:
    if not hasattr(frame, "columns"):
        raise DataError(f"Shoal cannot read a pandas {type(frame).__name__}.", hint="give a DataFrame")
    check_names(list(frame.columns), "the pandas frame")


def _supported(rows: pa.Table) -> pa.Table:
    """Cast the types that the engine does not know but can hold, and say which it cannot."""
    problems = Problems()
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        elif pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        elif pa.types.is_decimal256(column.type):
            problems.add(f"column `{name}`: the type {column.type} is not supported")
        columns.append(column)
    problems.raise_as(DataError, hint="cast it to a number with fewer digits, or to text")
    return pa.table(columns, names=rows.column_names)
