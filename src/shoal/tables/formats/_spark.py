"""Spark: frames, and tables of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import DataError, OutputError, ParameterError
from shoal.tables._engine import check_names, quiet
from shoal.tables._spark import SparkEngine, plain_texts
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import Format, Options


class Spark(Format):
    """A Spark frame, or a table of a Spark session."""

    name: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark sessions"
    options: ClassVar[tuple[str, ...]] = ("table",)

    def takes(self, source: object) -> bool:
        """Return whether a source is an object of Spark."""
        return type(source).__module__.partition(".")[0] == "pyspark"

    def read(self, source: Any, options: Options) -> Table:
        """Read a Spark frame, or a table of a Spark session."""
        session = source if hasattr(source, "catalog") else getattr(source, "sparkSession", None)
        if session is None:
            raise DataError(
                f"Shoal cannot read a {type(source).__name__}.", hint="pass a Spark DataFrame or SparkSession"
            )
        engine = SparkEngine(session)
        frame, name = _of_session(session, options.table) if session is source else _given(source, options.table)
        check_names(frame.columns, name)
        with quiet(name):
            expression = engine.view(plain_texts(frame))
        return Table(expression=expression, engine=engine, source=Source(kind=self.name, name=name))

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        """Make a table of the Spark session."""
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


def _given(frame: Any, table: str | None) -> tuple[Any, str]:
    if table is not None:
        raise ParameterError("`table` of `read` applies only to databases and Spark sessions.")
    return frame, "Spark frame"
