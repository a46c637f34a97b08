"""Frames: Arrow, pandas and polars in memory, and those and the tables of a Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import DataError, OutputError, ParameterError
from shoal.tables._engine import check_names, quiet
from shoal.tables._spark import SparkEngine, plain_texts
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import Format, Options, table_in_memory


class Frames(Format):
    """An Arrow table, a pandas or polars frame, or a relation of DuckDB."""

    name: ClassVar[str] = "frame"
    title: ClassVar[str] = "frames in memory"
    writable: ClassVar[bool] = False

    def takes(self, source: object) -> bool:
        return _library(source) in ("pyarrow", "pandas", "polars") or _is_relation(source)

    def read(self, source: Any, options: Options) -> Table:
        kind = "relation" if _is_relation(source) else _library(source)
        name = {"pyarrow": "arrow"}.get(kind, kind)
        return table_in_memory(_arrow(source, kind), Source(kind=name, name=f"{name} frame", first_row=1))


def _library(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation"


def _arrow(source: Any, kind: str) -> pa.Table:
    if kind == "relation":
        check_names(list(source.columns), "the relation")
        with quiet("the relation"):
            return source.to_arrow_table()
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
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError(
            "the pandas frame cannot be read: a column mixes values of several types.",
            hint="convert the column with astype",
        ) from None


def unreadable(source: object) -> DataError:
    """Return the error for a source that no format takes."""
    return DataError(
        f"Shoal cannot read a value of type `{type(source).__name__}`.",
        hint="pass a path, a postgresql:// address, an Arrow, pandas, polars or Spark frame, or a DuckDB relation",
    )


class Spark(Format):
    """A Spark frame, or a table of a Spark session."""

    name: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark sessions"
    options: ClassVar[tuple[str, ...]] = ("table",)

    def takes(self, source: object) -> bool:
        return type(source).__module__.partition(".")[0] == "pyspark"

    def read(self, source: Any, options: Options) -> Table:
        # frames of Spark Connect answer to any name, as if it were a column
        session = source if type(source).__name__ == "SparkSession" else getattr(source, "sparkSession", None)
        if session is None:
            raise DataError(
                f"Shoal cannot read a value of type `{type(source).__name__}`.",
                hint="pass a Spark DataFrame or SparkSession",
            )
        engine = SparkEngine(session)
        frame, name = _of_session(session, options.table) if session is source else _split_source(source, options.table)
        check_names(frame.columns, name)
        with quiet(name):
            expression = engine.view(plain_texts(frame))
        return Table(expression=expression, engine=engine, source=Source(kind=self.name, name=name))

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        if not isinstance(table.engine, SparkEngine):
            raise ParameterError("the format `spark` works only for tables on Spark.", hint="write a `parquet` file")
        session, made = table.engine.session, str(destination)
        with quiet(made, error=OutputError):
            if session.catalog.tableExists(made) and not overwrite:
                raise OutputError(
                    f"the Spark table `{made}` already exists.", hint="choose another name, or overwrite it"
                )
            table.engine.frame(table.visible).write.mode("overwrite" if overwrite else "error").saveAsTable(made)


def _of_session(session: Any, table: str | None) -> tuple[Any, str]:
    if table is None:
        raise ParameterError("reading from a Spark session requires `table`.")
    try:
        return session.table(table), table
    except Exception:
        raise DataError(f"the Spark session has no table `{table}`.") from None


def _split_source(frame: Any, table: str | None) -> tuple[Any, str]:
    if table is not None:
        raise ParameterError("`table` of `read` applies only to databases and Spark sessions.")
    return frame, "Spark frame"
