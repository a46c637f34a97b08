"""Sites where files of a release are written and read: this machine, or the executors of a cluster.

A table on a cluster is released as a folder of parts. The executors sort the records, and each writes, flushes and
fingerprints the part that it holds; nothing but the names and fingerprints of parts comes to the driver, which gives
those that were reported their names and removes what lost or repeated tasks have left.
"""

from __future__ import annotations

import functools
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, OutputError, ParameterError
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import quiet, sorted_by_values
from shoal.tables._files import reread, write
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Source, Table
from shoal.tables.formats import note_formulas
from shoal.writing import digest

Look = Callable[[str], Mapping[str, Any]]
Digest = tuple[str, int]
"""The SHA-256 of a file, in hexadecimal, and its size in bytes."""

ROWS, BYTES = 1 << 17, 1 << 26
"""A group of rows of a part has at most so many records, and is written once its values take so many bytes."""

_ATTEMPTS, _TOKEN = "attempts", "token"


class Site(Protocol):
    """Where files are written and looked at."""

    @property
    def session(self) -> Any | None:
        """The Spark session whose executors do it; None for this machine."""

    def write(self, table: Table, path: Path, *, csv: bool) -> dict[str, Digest]:
        """Write a released table at ``path``, and beside it as CSV; return what is known of the files by then."""

    def open(self, path: Path) -> Table:
        """Read a released table."""

    def each(self, look: Look, paths: Sequence[Path]) -> list[Mapping[str, Any]]:
        """Return what ``look``, a function that is found by its name, says of each file."""


class Here:
    """The machine of this process."""

    session: None = None

    @functools.cached_property
    def _engine(self) -> DuckDBEngine:
        # one for all files of a folder: to start one takes longer than most of them
        return DuckDBEngine()

    def write(self, table: Table, path: Path, *, csv: bool) -> dict[str, Digest]:
        write(table, path)
        if csv:
            write(self.open(path), path.with_suffix(".csv"))
        return {}

    def open(self, path: Path) -> Table:
        return reread(path, engine=self._engine)

    def each(self, look: Look, paths: Sequence[Path]) -> list[Mapping[str, Any]]:
        return [look(str(path)) for path in paths]


@dataclass(frozen=True, slots=True, eq=False)
class Executors:
    """The executors of a Spark cluster, which see the same folders as this machine and can import Shoal."""

    engine: SparkEngine

    @property
    def session(self) -> Any:
        return self.engine.session

    def write(self, table: Table, path: Path, *, csv: bool) -> dict[str, Digest]:
        """Let each executor write its part of the records in their order, into the folder ``path``.

        Parts are named in the order of the records they hold. What was written is flushed to the disk there; a task
        that is run twice writes a file of its own each time, and the one that was reported counts.
        """
        engine = table.engine
        if not isinstance(engine, SparkEngine):
            return Here().write(table, path, csv=csv)
        with _attempts(path.parent) as (attempts, token), quiet(path.name, error=OutputError):
            frame = engine.frame(sorted_by_values(table.visible))
            made = _reports(frame, functools.partial(_write_part, str(attempts), token))
            if any("unshared" in each for each in made):
                raise OutputError(
                    "the Spark executors do not see the folder that the release is written to.",
                    hint="write to a folder that the driver and all executors share under one path, such as a mounted "
                    "NFS, HDFS or S3 one",
                )
            known = _name_files(path, made or [_write_groups(attempts, [frame.limit(0).toArrow()])], attempts)
            if csv:
                note_formulas(table, path.with_suffix(".csv").name)
                copies = self.each(_write_csv, [path.parent / name for name in known])
                known |= _name_files(path.with_suffix(".csv"), copies, attempts)
        return known

    def open(self, path: Path) -> Table:
        """Read the parts of a table where they lie; a table in one file, on this machine."""
        if not path.is_dir():
            return reread(path)
        parts = [_address(part) for part in sorted(path.glob("*.parquet"))]
        with quiet(path.name):
            expression = self.engine.view(self.engine.session.read.parquet(*parts))
        return Table(expression=expression, engine=self.engine, source=Source(kind="spark", name=path.name, path=path))

    def each(self, look: Look, paths: Sequence[Path]) -> list[Mapping[str, Any]]:
        """Let the executors look at the files, one task for each."""
        if not paths:
            return []
        names = [str(path.absolute()) for path in paths]
        tasks = self.engine.session.range(0, len(names), 1, len(names))
        with quiet(paths[0].parent.name):
            reports = _reports(tasks, functools.partial(_look_at, names, look))
        if any("unshared" in report for report in reports):
            raise InputError(
                "the Spark executors do not see the files of the release",
                hint="verify it in a folder that the driver and all executors share, or without `spark`",
            )
        return sorted(reports, key=lambda each: int(each["task"]))


def site_of(tables: Iterable[Table]) -> Site:
    """Return where these tables are written: by the executors, if one of them lies on a cluster."""
    engines = [table.engine for table in tables]
    return next((Executors(engine) for engine in engines if isinstance(engine, SparkEngine) and engine.spread), Here())


def site_of_session(session: Any | None) -> Site:
    """Return the executors of a Spark session; this machine where there is none."""
    if session is not None and not hasattr(session, "catalog"):
        raise ParameterError("`spark` must be a Spark session.")
    return Here() if session is None else Executors(SparkEngine(session))


def _address(path: Path) -> str:
    """Return the address of a file for Spark, which takes some signs for patterns, and percent signs as they are."""
    return "file://" + re.sub(r"([{}\[\]*?\\])", r"\\\1", str(path.absolute()))


def part_name(number: int, suffix: str) -> str:
    """Return the name of a part of a table.

    Examples
    --------
    >>> part_name(3, ".parquet")
    'part-00003.parquet'
    """
    return f"part-{number:05d}{suffix}"


def scan_path(path: Path) -> str:
    """Return the name, inside its folder, under which DuckDB finds a released table: of a file, or of its parts."""
    return f"{path.name}/*.parquet" if path.is_dir() else path.name


@contextmanager
def _attempts(parent: Path) -> Iterator[tuple[Path, str]]:
    """Make a folder for what tasks write, with a word in it that tells it from others; remove what is left in it."""
    folder, token = parent / _ATTEMPTS, secrets.token_hex(16)
    folder.mkdir()
    try:
        (folder / _TOKEN).write_text(token, encoding="ascii")
        yield folder, token
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _name_files(folder: Path, made: Sequence[Mapping[str, Any]], attempts: Path) -> dict[str, Digest]:
    """Give the files that were reported their names in ``folder``; return what is known of them."""
    folder.mkdir(exist_ok=True)
    known = {}
    for number, each in enumerate(sorted(made, key=lambda each: int(each["task"]))):
        name = part_name(number, folder.suffix)
        (attempts / str(each["file"])).rename(folder / name)
        known[f"{folder.name}/{name}"] = (str(each["sha256"]), int(each["bytes"]))
    return known


# -- what executors do


def _reports(frame: Any, task: Callable[[Iterator[pa.RecordBatch]], Mapping[str, Any] | None]) -> list[Any]:
    """Return what a task says of every partition of a frame, of which it gets the records."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        said = task(batches)
        if said is not None:
            yield pa.RecordBatch.from_pydict({"said": [json.dumps(said)]})

    return [json.loads(said) for said in frame.mapInArrow(run, "said string").toArrow()["said"].to_pylist()]


def _write_part(folder: str, token: str, batches: Iterator[pa.RecordBatch]) -> Mapping[str, Any] | None:
    """Write the records of a partition, which are in order, into a file of a new name; None if there is no record."""
    from pyspark import TaskContext

    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    attempts = Path(folder)
    if not _is_shared(attempts, token):
        return {"task": task, "unshared": True}
    groups = _groups(batches)
    first = next(groups, None)
    return None if first is None else {**_write_groups(attempts, chain([first], groups)), "task": task}


def _is_shared(attempts: Path, token: str) -> bool:
    """Return whether a folder is the driver's, not one of the same name."""
    with suppress(OSError):
        return (attempts / _TOKEN).read_text(encoding="ascii") == token
    return False


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Return records in groups of rows: memory holds one."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        held.append(batch)
        if sum(map(len, held)) >= ROWS or sum(each.nbytes for each in held) >= BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _write_groups(folder: Path, groups: Iterable[pa.Table]) -> dict[str, Any]:
    """Write groups of rows into one file and flush it to the disk."""
    path = folder / f"{secrets.token_hex(16)}.parquet"
    writer: pq.ParquetWriter | None = None
    try:
        for rows in groups:
            # names and types only: what else Spark says of columns is not released
            plain = pa.schema([pa.field(field.name, field.type) for field in rows.schema])
            if writer is None:
                writer = pq.ParquetWriter(path, plain, compression="zstd", store_schema=False)
            writer.write_table(pa.Table.from_arrays(rows.columns, schema=plain), row_group_size=len(rows) or 1)
    finally:
        if writer is not None:
            writer.close()
    return _flush_and_fingerprint(path)


def _flush_and_fingerprint(path: Path) -> dict[str, Any]:
    """Flush a file to the disk, and return its name and fingerprint."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
    sha256, size = digest(path)
    return {"task": 0, "file": path.name, "sha256": sha256, "bytes": size}


def _look_at(names: Sequence[str], look: Look, batches: Iterator[pa.RecordBatch]) -> Mapping[str, Any] | None:
    (task,) = [number for batch in batches for number in batch.column(0).to_pylist()]
    if not Path(names[task]).is_file():
        return {"task": task, "unshared": True}
    return {**look(names[task]), "task": task}


def _write_csv(part: str) -> Mapping[str, Any]:
    path = Path(part)
    made = path.parents[1] / _ATTEMPTS / f"{secrets.token_hex(16)}.csv"
    write(reread(path), made)
    return _flush_and_fingerprint(made)
