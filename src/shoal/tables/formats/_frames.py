"""Frames that are in memory: Arrow, pandas and polars."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import DataError
from shoal.tables._engine import check_names
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import Format, Options, staged


class Frames(Format):
    """An Arrow table, or a pandas or polars frame."""

    name: ClassVar[str] = "frame"
    title: ClassVar[str] = "frames in memory"
    writable: ClassVar[bool] = False

    def takes(self, source: object) -> bool:
        """Return whether a source is an object of one of the libraries."""
        return _library(source) in ("pyarrow", "pandas", "polars")

    def read(self, source: Any, options: Options) -> Table:
        """Read a frame."""
        kind = _library(source)
        name = {"pyarrow": "arrow"}.get(kind, kind)
        return staged(_arrow(source, kind), Source(kind=name, name=f"{name} frame", first_row=1))


def _library(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def _arrow(source: Any, kind: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if kind == "pandas":
        return _from_pandas(source)
    if kind == "polars" and (hasattr(source, "collect") or hasattr(source, "to_arrow")):
        return (source.collect() if hasattr(source, "collect") else source).to_arrow()
    raise unreadable(source)


def _from_pandas(frame: Any) -> pa.Table:
    if not hasattr(frame, "columns"):
        raise DataError(f"Shoal cannot read a pandas {type(frame).__name__}.", hint="pass a DataFrame")
    check_names(list(frame.columns), "the pandas frame")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            "the pandas frame cannot be read: a column mixes values of several types.",
            hint="convert the column with astype",
        ) from None


def unreadable(source: object) -> DataError:
    """Return the error for a source that no format takes."""
    return DataError(
        f"Shoal cannot read a {type(source).__name__}.",
        hint="pass a path, a postgresql:// address, or an Arrow, pandas, polars or Spark frame",
    )
