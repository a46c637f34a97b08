"""Releases from a Spark cluster of two executors, each a process of its own; run by `test_local_cluster.py`.

Executors are killed in every phase, by their own tasks: whatever reads a table passes through :func:`_deadly`, and the
first task that finds the word of the phase takes it and kills the process of its executor.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from shoal import release
from shoal.errors import ShoalError
from shoal.methods.classes import _bucketize, _by_block, _microaggregation
from shoal.schema import Attribute, Groups, Kind, Role, Schema
from shoal.tables import _columns, _encode, _sites, _values
from shoal.tables._spark import SparkEngine

ROWS = 40_000
RELEASE = "spark, 1 % [ü] y=1"  # a name that Spark would read otherwise
PHASES = ("encode", "sort", "write", "copy", "figures", "verify", "persons", "blocks")


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    _values.FETCHED = 1_000
    session = _session(folder)
    try:
        told = _released(session, folder)
    finally:
        session.stop()
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


def _released(session: Any, folder: Path) -> dict[str, Any]:
    rows, schema = _rows(), _schema()
    (folder / "rows").mkdir()
    for part in range(2):
        shoal.tables.write(shoal.read(rows.slice(part * ROWS // 2, ROWS // 2)), folder / "rows" / f"{part}.parquet")
    source = session.read.parquet((folder / "rows").as_uri())
    asked = shoal.KAnonymity(100)
    release_here = shoal.anonymize(shoal.read(rows, schema=schema), asked, method=shoal.Generalize())
    release_here.write(folder / "duckdb")
    told: dict[str, Any] = {
        "clustered": _clustered(session, source, folder),
        "diverse": _diverse(session, source, folder),
        "parted": _parted(session, source, folder),
        "peopled": _peopled(session, source, folder),
        "bucketized": _bucketized(session, source, folder),
    }
    told["records through the driver"] = _collected(source)
    deaths = _Deaths(folder / "deaths")
    deaths.arm("encode")
    made = shoal.anonymize(shoal.read(source, schema=schema), asked, method=shoal.Generalize())
    told["through the driver"] = _error(made.table.to_arrow)
    told["unshared"] = _error(lambda: _unshared(made, folder / "unshared"))
    made.write(folder / RELEASE, csv=True)
    deaths.arm("verify")
    told["verified"] = shoal.verify(folder / RELEASE, spark=session).passed
    told |= _of_persons(session, source, rows, folder)
    told["exchanged"] = _exchanged(session, source, folder / "twice")
    told["deaths"] = deaths.happened()
    deaths.again("blocks")
    SparkEngine._store_frame = lambda self, frame: frame.localCheckpoint(eager=True)
    told["stored once"] = _error(lambda: _exchanged(session, source, folder / "once"))
    return told


def _of_persons(session: Any, source: Any, rows: pa.Table, folder: Path) -> dict[str, Any]:
    """Release records of which everybody has two, here and on the cluster; an executor dies while it counts persons."""
    person = Attribute(name="who", role=Role.PERSON)
    town, pay = Attribute(name="town", role=Role.QUASI_IDENTIFIER), Attribute(name="pay", kind=Kind.NUMERIC)
    schema, asked = Schema(attributes=(person, town, pay)), shoal.KAnonymity(100)
    whose = pa.array([f"a person with the number {int(pay * 8) // 2}" for pay in rows["pay"].to_pylist()])
    here = shoal.read(rows.select(["town", "pay"]).append_column("who", whose), schema=schema)
    shoal.anonymize(here, asked, method=shoal.Generalize()).write(folder / "persons here")
    named = source.selectExpr("town", "pay", "concat('a person with the number ', cast(floor(pay * 4) as int)) as who")
    table = shoal.read(named, schema=schema)
    through = _error(lambda: _columns.distinct_tuples(table, ("town", "who")))
    made = shoal.anonymize(table, asked, method=shoal.Generalize())
    verified = shoal.verify(made.write(folder / "persons"), spark=session).passed
    return {"persons": verified, "pairs through the driver": through}


def _clustered(session: Any, source: Any, folder: Path) -> bool:
    """Microaggregate towns and pay block by block, and return whether the release verifies; blocks may be small."""
    _by_block.SAMPLE, _microaggregation.LEAST_BLOCK = 2_000, 1
    regions = (("even", ("town 0", "town 2", "town 4", "town 6")), ("odd", ("town 1", "town 3", "town 5")))
    town = Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(regions,)))
    pay = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    share = Attribute(name="share", kind=Kind.NUMERIC)
    table = shoal.read(source.drop("note"), schema=Schema(attributes=(town, pay, share)))
    made = shoal.anonymize(table, shoal.KAnonymity(10), method=shoal.methods.Mdav(block=12_000))
    return shoal.verify(made.write(folder / "clustered"), spark=session).passed


def _diverse(session: Any, source: Any, folder: Path) -> bool:
    """Microaggregate pay block by block, so that towns are diverse in every class; nine of ten have one town."""
    pay = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    town, share = Attribute(name="town", role=Role.SENSITIVE), Attribute(name="share", kind=Kind.NUMERIC)
    table = shoal.read(source.drop("note"), schema=Schema(attributes=(pay, town, share)))
    asked = (shoal.KAnonymity(20), shoal.DistinctLDiversity("town", 2), shoal.TCloseness("town", 0.2))
    made = shoal.anonymize(table, *asked, method=shoal.methods.Mdav(block=12_000))
    return shoal.verify(made.write(folder / "diverse"), spark=session).passed


def _exchanged(session: Any, source: Any, folder: Path) -> bool:
    """Exchange notes and shares between people of near pay, block by block."""
    folder.mkdir(exist_ok=True)
    pay, note = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC), Attribute(name="note")
    table = shoal.read(source.drop("town", "share"), schema=Schema(attributes=(pay, note)))
    made = shoal.anonymize(table, shoal.models.ProbabilisticKAnonymity(10), method=shoal.methods.Swap(block=12_000))
    return shoal.verify(made.write(folder / "exchanged"), spark=session).passed


def _parted(session: Any, source: Any, folder: Path) -> bool:
    """Release pay and towns as two tables, whose classes are so close that blocks are samples of the whole table."""
    _microaggregation.BLOCK = 9_000  # so that all of the table is too large for a block
    pay = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    side = Attribute(name="side", role=Role.SENSITIVE)
    frame = source.selectExpr("pay", "if(pay > 2500, 'rich', 'poor') as side")
    table = shoal.read(frame, schema=Schema(attributes=(pay, side)))
    asked = shoal.KAnonymity(20), shoal.TCloseness("side", 0.05)
    made = shoal.anonymize(
        table, *asked, method=shoal.methods.TMicroaggregate(form="anatomy", strategy="closeness-first")
    )
    return shoal.verify(made.write(folder / "parted"), spark=session).passed


def _bucketized(session: Any, source: Any, folder: Path) -> bool:
    """Give every class its share of every town, of which one has nine records of ten."""
    _bucketize.BLOCK = 12_000
    table = _pay_and_towns(source)
    asked = shoal.KAnonymity(10), shoal.models.MultiplicativeCloseness("town", 2)
    made = shoal.anonymize(table, *asked, method=shoal.methods.Bucketize())
    return shoal.verify(made.write(folder / "bucketized"), spark=session).passed


def _collected(source: Any) -> str | None:
    """Try to collect the records."""
    return _error(lambda: shoal.tables.encode_records(_pay_and_towns(source), sensitive=("town",)))


def _pay_and_towns(source: Any) -> shoal.tables.Table:
    pay = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    town = Attribute(name="town", role=Role.SENSITIVE)
    return shoal.read(source.select("pay", "town"), schema=Schema(attributes=(pay, town)))


def _peopled(session: Any, source: Any, folder: Path) -> bool:
    """Microaggregate pay so that every class has ten persons, each of whom has two records of near pay."""
    person, note = Attribute(name="who", role=Role.PERSON), Attribute(name="note")
    pay = Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    named = source.selectExpr("pay", "note", "cast(floor(pay * 4) as int) as who")
    table = shoal.read(named, schema=Schema(attributes=(person, pay, note)))
    made = shoal.anonymize(table, shoal.KAnonymity(10), method=shoal.methods.Mdav(block=12_000))
    return shoal.verify(made.write(folder / "peopled"), spark=session).passed


def _session(folder: Path) -> Any:
    from pyspark.sql import SparkSession  # only here: every worker of pytest loads this file

    plain = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": plain,
        "spark.executor.extraJavaOptions": plain,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # small queries end before code that is made for them has paid for itself
        "spark.sql.codegen.wholeStage": "false",
        # parts stay apart, however small, and a query is one job
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.files.openCostInBytes": "128m",
        "spark.driver.maxResultSize": "512k",
        "spark.executor.memory": "512m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,512]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _rows() -> pa.Table:
    """Return records of which nine in ten have one town; each has a text and a number of its own."""
    return pa.table(
        {
            "town": [f"town {i % 7 if i % 10 == 0 else 0}" for i in range(ROWS)],
            "note": [f"{i * 2654435761 % 2**32:08x}" for i in range(ROWS)],
            "pay": [(i * 7919 % ROWS) / 8 for i in range(ROWS)],
            "share": [(i % 6) * 1e-5 for i in range(ROWS)],
        }
    )


def _schema() -> Schema:
    known, secret = Role.QUASI_IDENTIFIER, Role.SENSITIVE
    return Schema(
        attributes=(
            Attribute(name="town", role=known),
            Attribute(name="note", role=secret),
            Attribute(name="pay", role=secret, kind=Kind.NUMERIC),
            Attribute(name="share", role=Role.INSENSITIVE, kind=Kind.NUMERIC),
        )
    )


def _error(ask: Callable[[], object]) -> str | None:
    try:
        ask()
    except ShoalError as error:
        return str(error)
    return None


def _unshared(made: Any, folder: Path) -> None:
    """Write where executors find a folder of the same name that is another one."""
    attempts = _sites._attempts

    @contextmanager
    def elsewhere(parent: Path) -> Iterator[tuple[Path, str]]:
        with attempts(parent) as (place, _):
            yield place, "the word of another folder"

    _sites._attempts = elsewhere
    try:
        made.write(folder)
    finally:
        _sites._attempts = attempts


class _Deaths:
    """Arm phases one after the other, and see which took their victim."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        place, kill, arm = str(self.folder), _kill, self.arm
        by_group = SparkEngine.by_group
        view, write_part, copy = SparkEngine.view, _sites._write_part, _sites._write_csv
        gather, write, profiled = release.gather, _sites.Executors.write, _encode.find_profiles

        def deadly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number, batch in enumerate(batches):
                if not number:
                    kill(place, *PHASES[:2], *PHASES[4:7])
                yield batch

        def written(attempts: str, token: str, batches: Iterator[pa.RecordBatch]) -> Any:
            said = write_part(attempts, token, batches)
            kill(place, "write")
            return said

        def copied(part: str) -> Any:
            said = copy(part)
            kill(place, "copy")
            return said

        def sorting(self: Any, table: Any, path: Path, *, csv: bool) -> Any:
            for phase in ("sort", "write", "copy") if csv else ():
                arm(phase)
            return write(self, table, path, csv=csv)

        def figures(*given: Any) -> Any:
            arm("figures")
            return gather(*given)

        def persons(*given: Any) -> Any:
            arm("persons")
            return profiled(*given)

        def dividing(self: Any, rows: Any, group: str, order: str, function: Any, types: str) -> Any:
            def dying(block: pa.Table) -> pa.Table:
                kill(place, "blocks")
                return function(block)

            arm("blocks")
            return by_group(self, rows, group, order, dying, types)

        SparkEngine.by_group = dividing
        _encode.find_profiles = persons
        SparkEngine.view = lambda self, frame: view(self, frame.mapInArrow(deadly, frame.schema))
        _sites._write_part, _sites._write_csv = written, copied
        _sites.Executors.write, release.gather = sorting, figures

    def arm(self, phase: str) -> None:
        """Let an executor die, unless one has died in this phase."""
        if phase not in self.happened():
            (self.folder / phase).touch()

    def again(self, phase: str) -> None:
        """Let another executor die in this phase."""
        (self.folder / f"{phase}.done").unlink()

    def happened(self) -> list[str]:
        return [phase for phase in PHASES if (self.folder / f"{phase}.done").exists()]


def _kill(place: str, *phases: str) -> None:
    """Kill the executor of this task if nobody has died in a phase that is armed."""
    for phase in phases:
        try:
            Path(place, phase).rename(Path(place, f"{phase}.done"))
        except FileNotFoundError:
            continue
        # the worker's parent is a daemon of Python, and its parent the executor
        told = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="ascii")
        os.kill(int(told.rpartition(")")[2].split()[1]), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
