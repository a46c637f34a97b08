"""Sessions of Spark Connect, as hosted Spark offers them: the same releases as from memory, over the network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

pytestmark = [pytest.mark.spark, pytest.mark.deep]
SCRIPT = """
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import shoal
from shoal.mechanisms import SeededSource

place = Path(sys.argv[1])
spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert "connect" in type(spark).__module__
rows = pa.table({
    "age": [20 + i % 40 for i in range(400)],
    "rowid": ["FM"[i % 2] for i in range(400)],
    "illness": ["abc"[i % 3] for i in range(400)],
    "who": [f"p{i // 2}" for i in range(400)],
})
Attribute = shoal.Attribute
COLUMNS = (
    Attribute(name="age", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=99),
              hierarchy=shoal.schema.Intervals(widths=(5, 10, 20, 100))),
    Attribute(name="rowid", role="quasi-identifier", domain=shoal.Domain(values=("F", "M"))),
    Attribute(name="illness", role="sensitive", domain=shoal.Domain(values=("a", "b", "c"))),
    Attribute(name="who", role="drop"),
)
PERSONS = (*COLUMNS[:3], Attribute(name="who", role="person"))
CASES = [
    (COLUMNS, shoal.KAnonymity(5), shoal.Generalize()),
    (COLUMNS, shoal.KAnonymity(5), shoal.methods.Specialize()),
    (PERSONS, shoal.KAnonymity(4), shoal.Generalize()),
    (COLUMNS, shoal.DifferentialPrivacy(epsilon=2, delta="1e-6"), shoal.methods.Truthful()),
]
for number, (columns, promise, method) in enumerate(CASES):
    plan = shoal.Plan(schema=shoal.Schema(attributes=columns), models=(promise,), method=method)
    released = []
    for table in (shoal.read(spark.createDataFrame(rows)), shoal.read(rows)):
        release = plan.run(table, source=SeededSource(1))
        folder = release.write(place / f"{number}-{len(released)}", csv=True)
        assert shoal.verify(folder).passed
        released.append(shoal.released(folder).to_arrow().to_pydict())
    assert released[0] == released[1], method
spark.createDataFrame(rows).createOrReplaceTempView("people")
assert shoal.read(spark, table="people").count() == 400
found = shoal.Session(shoal.read(spark.createDataFrame(rows)).with_schema(shoal.Schema(attributes=COLUMNS).total()),
                      budget=1).count(epsilon=1)
assert abs(found.value - 400) < 100
spark.stop()
print("done")
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]")
def test_a_session_of_spark_connect_is_a_session_like_any_other(tmp_path: Path) -> None:
    source = str(Path(shoal.__file__).parents[1])
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400, check=False)
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr[-3000:]
