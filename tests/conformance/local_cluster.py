"""A release from a Spark cluster of two executors, each a process of its own; run by `test_local_cluster.py`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import shoal
from shoal.schema import Attribute, Role, Schema
from shoal.tables import _spark

ROWS = 30_000


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # 140 kilobytes come at a time, no more than 256 may, and all are 840
    _spark.PART = 5_000
    session = (
        SparkSession.builder.master("local-cluster[2,1,512]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.maxResultSize", "256k")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    # one town has nine records of ten, and every record a text of its own
    rows = pa.table(
        {
            "town": [f"town {i % 7 if i % 10 == 0 else 0}" for i in range(ROWS)],
            "age": [str(20 + i % 50) for i in range(ROWS)],
            "note": [f"{i * 2654435761 % 2**32:08x}" for i in range(ROWS)],
        }
    )
    roles = {"town": Role.QUASI_IDENTIFIER, "age": Role.QUASI_IDENTIFIER, "note": Role.SENSITIVE}
    schema = Schema(attributes=tuple(Attribute(name=name, role=role) for name, role in roles.items()))
    rows_path = folder / "rows.parquet"
    shoal.tables.write(shoal.read(rows), rows_path)
    for name, source in (("duckdb", rows), ("spark", session.read.parquet(rows_path.as_uri()))):
        table = shoal.read(source, schema=schema)
        shoal.anonymize(table, shoal.KAnonymity(100), method=shoal.Generalize()).write(folder / name)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
