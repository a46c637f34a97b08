"""Spark with executors that are processes of their own and share nothing but the input with the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import shoal

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_release_larger_than_what_the_driver_may_hold_is_the_same_as_on_one_machine(tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs a Java runtime")
    # a process of its own: a process has one Spark session, which the other tests share
    script = Path(__file__).with_name("local_cluster.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    spark, duckdb = (pq.read_table(tmp_path / engine / "data.parquet").to_pydict() for engine in ("spark", "duckdb"))
    assert spark == duckdb
    assert shoal.verify(tmp_path / "spark").passed
