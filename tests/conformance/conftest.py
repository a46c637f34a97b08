"""Engines to run the same checks on: DuckDB, a local Spark session, a PostgreSQL server started for the tests."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from shoal.tables import Table, read

Load = Callable[[pa.Table], Table]

#: an engine of somebody's own, as ``module:function``: the function takes Arrow records and returns a table on it
OWN = os.environ.get("SHOAL_ENGINE")

SPARK = pytest.param("spark", marks=[pytest.mark.spark])


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Return a Spark session on this machine."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs a Java runtime")
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    # Spark would start whatever `python3` is on the path, which may be one without Shoal
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        session = (
            sql.SparkSession.builder.master("local[2]")
            .appName("shoal-tests")
            .config("spark.ui.enabled", "false")
            # small queries end before code that is made for them, or compiled best, has paid for itself
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        yield session
        session.stop()


@pytest.fixture(params=[OWN] if OWN else ["duckdb", SPARK])
def load(request: pytest.FixtureRequest) -> Load:
    """Return a function that puts an Arrow table onto the engine."""
    if OWN:
        module, _, name = OWN.partition(":")
        return cast("Load", getattr(importlib.import_module(module), name))
    if request.param == "duckdb":
        return read
    session = request.getfixturevalue("spark")
    # two partitions, so that nothing can rely on one
    return lambda rows: read(session.createDataFrame(rows).repartition(2))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of an empty database on a real server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not found:
        pytest.skip("needs the programs of a PostgreSQL server")
    pytest.importorskip("adbc_driver_postgresql", reason="needs adbc-driver-postgresql")
    programs = found[-1].parent
    with tempfile.TemporaryDirectory(prefix="shoal-postgres-") as name:
        folder = Path(name)
        run = _runner(folder)
        run(programs / "initdb", "-D", folder / "data", "-U", "shoal", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(programs / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=shoal"
        finally:
            run(programs / "pg_ctl", "-D", folder / "data", "-w", "-m", "immediate", "stop")


def _runner(folder: Path) -> Callable[..., None]:
    """Return a function that runs a server's program; the server refuses to run as root."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("needs a user `postgres`, as root cannot run the server")
        shutil.chown(folder, "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]

    def run(*command: object) -> None:
        words = [*prefix, *map(str, command)]
        # the server inherits our output otherwise, and waiting for its end would never end
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode:
            pytest.skip(f"the PostgreSQL server's {Path(str(command[0])).name} failed")

    return run
