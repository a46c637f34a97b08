"""Spark, for tables that one machine does not hold."""

from __future__ import annotations

import math
import re
import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import ROW, encoded_texts, sorted_by_values
from shoal.tables._expressions import Value, array, function, literal, text_literal
from shoal.tables._relations import Stored, TableQuery, compile_query
from shoal.tables._types import BINARY, INTEGER, STRING, Type

# records that come from a cluster at a time
PART = 500_000
_BINARY = "UTF8_BINARY"  # the collation that compares bytes


TIES = 2.0**53  # different numbers that settle ties: as many as there are whole numbers in floating point


def hash_numbers(numbers: Value, seed: int) -> Any:
    """Return a number in [0, 1) that looks random and depends on nothing but a whole number; seeds give others."""
    mixed = function("xxhash64", INTEGER, numbers, literal(seed, "int64"))
    return (mixed & (int(TIES) - 1)).cast("float64") / TIES


def plain_texts(frame: Any) -> Any:
    """Return a frame whose texts are compared byte by byte, whatever Spark 4 was told to take for equal."""
    from pyspark.sql import functions

    collated = [
        field.name
        for field in frame.schema.fields
        # texts before Spark 4 have no collation
        if getattr(field.dataType, "collation", _BINARY) != _BINARY
    ]
    if not collated:
        return frame
    # a point in a name would mean a field
    named = {name: frame["`" + name.replace("`", "``") + "`"] for name in collated}
    return frame.withColumns({name: functions.collate(column, _BINARY) for name, column in named.items()})


class SparkEngine:
    """A Spark session that the user started; its views are ours and go with the engine."""

    def __init__(self, session: Any) -> None:
        session.conf.set("spark.sql.session.timeZone", "UTC")  # points in time mean the same everywhere
        self.session = session
        self._views: list[str] = []
        self._closer = weakref.finalize(self, _drop, session, self._views)

    @property
    def name(self) -> str:
        return f"Spark {self.session.version}"

    @property
    def spread(self) -> bool:
        """Whether the executors run elsewhere, so that records would have to travel to this machine."""
        # of Spark Connect, only the server knows where it runs
        is_remote = type(self.session).__module__.startswith("pyspark.sql.connect.")
        return is_remote or re.fullmatch(r"local(\[.*\])?", self.session.conf.get("spark.master", "")) is None

    def view(self, frame: Any) -> Stored:
        """Return a frame as an expression."""
        name = f"shoal_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return Stored(
            name, {field.name: Type.read("spark", field.dataType.simpleString()) for field in frame.schema.fields}
        )

    def frame(self, expression: TableQuery) -> Any:
        """Return an expression as a frame."""
        return self.session.sql(compile_query(expression, "spark"))

    def stage(self, rows: pa.Table) -> TableQuery:
        return self.view(self.session.createDataFrame(rows))

    def fetch(self, expression: TableQuery) -> pa.Table:
        return self.frame(expression).toArrow()

    def fetch_encoded(self, expression: TableQuery) -> pa.Table:
        return encoded_texts(self.fetch(expression).to_reader())

    def batches(self, expression: TableQuery) -> pa.RecordBatchReader:
        engine, gathered = self._gather(expression)
        reader = engine.batches(gathered)

        def each() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            finally:
                engine.close()

        return pa.RecordBatchReader.from_batches(reader.schema, each())

    def keep(self, expression: TableQuery) -> Stored:
        return self.view(self._store_frame(self.frame(expression)))

    def _store_frame(self, frame: Any) -> Any:
        """Return a frame whose records are stored on the executors, on two each where they can die.

        A checkpoint, not a cache: records that were lost are an error, not computed once more with another result.
        """
        from pyspark import StorageLevel

        level = StorageLevel.MEMORY_AND_DISK_2 if self.spread else StorageLevel.MEMORY_AND_DISK
        return frame.localCheckpoint(eager=True, storageLevel=level)

    def forget(self, kept: Stored) -> None:
        """Leave it to Spark, which removes a checkpoint once nobody refers to it."""

    def by_group(
        self, expression: TableQuery, group: str, order: str, function: Callable[[pa.Table], pa.Table], types: str
    ) -> TableQuery:
        """Store on the executors what a function gives for the records of each group, which come in ``order``.

        The executors need Shoal, since they find the function by its name. ``types`` are the columns of the result, as
        Spark writes them.
        """

        # Spark counts the arguments of a plain function; those of an object would mislead it
        def apply(rows: pa.Table) -> pa.Table:
            return function(rows.sort_by(order))

        made = self.frame(expression).groupBy(group).applyInArrow(apply, types)
        return self.view(self._store_frame(made))

    def number_records(self, expression: TableQuery) -> TableQuery:
        """Return the records, stored, with distinct numbers (Spark's records have no order of their own)."""
        if ROW in expression.columns:
            return expression
        number = function("monotonically_increasing_id", INTEGER)
        return self.keep(expression.mutate(**{ROW: number}))

    def sha256(self, hexadecimal: Value) -> Value:
        return function("sha2", STRING, function("unhex", BINARY, hexadecimal), 256)

    def translate_values(self, column: Value, values: pa.Array, numbers: pa.Array) -> None:
        """Return None: Spark sends small tables to all executors."""

    def look_labels_up(self, code: Value, labels: pa.Array) -> Value:
        return function("element_at", STRING, array(labels.to_pylist()), code.cast("int32") + 1).cast("string")

    def write_csv(self, expression: TableQuery, path: Path) -> None:
        self._write(expression, path, DuckDBEngine.write_csv)

    def write_parquet(self, expression: TableQuery, path: Path) -> None:
        self._write(expression, path, DuckDBEngine.write_parquet)

    def _write(
        self, expression: TableQuery, path: Path, write: Callable[[DuckDBEngine, TableQuery, Path], None]
    ) -> None:
        engine, gathered = self._gather(expression)
        try:
            write(engine, sorted_by_values(gathered), path)
        finally:
            engine.close()

    def _gather(self, expression: TableQuery) -> tuple[DuckDBEngine, TableQuery]:
        """Bring the records to this machine, into an embedded engine.

        Where Spark runs on this machine it leaves its parts on the disk, in the engine's private folder. The machines
        of a cluster do not share our disk: their records come through the driver, a part at a time. Memory stays
        bounded either way.
        """
        engine = DuckDBEngine()
        try:
            parts = engine.folder / "parts"
            if self.spread:
                self._collect(expression, parts)
            else:
                self.frame(expression).write.parquet(parts.as_uri())
            return engine, engine.view(f"SELECT * FROM read_parquet({text_literal(str(parts / '*.parquet'))})")  # noqa: S608
        except BaseException:
            engine.close()
            raise

    def _collect(self, expression: TableQuery, parts: Path) -> None:
        """Write the records of an expression into a folder of this machine, so many at a time.

        They are stored on the executors first: what is lost there is an error, not computed once more.
        """
        import pyarrow.parquet as pq
        from pyspark.sql import functions

        stored = self._store_frame(self.frame(expression))
        number = max(1, math.ceil(stored.count() / PART))
        # evenly, whatever the partitions were
        spread = self._store_frame(stored.repartition(number))
        parts.mkdir()
        for part in range(number):
            records = spread.where(functions.spark_partition_id() == part)
            pq.write_table(records.toArrow(), parts / f"{part}.parquet")


def _drop(session: Any, views: list[str]) -> None:
    for name in views:
        try:
            session.catalog.dropTempView(name)
        except Exception:  # noqa: S112 - the session may have ended before us
            continue
