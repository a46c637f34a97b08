"""Truthful releases on every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal.mechanisms import SeededSource
from shoal.schema import Attribute, Domain, Intervals, Kind, Role, Schema
from shoal.tables import Table, repeat, write

Load = Callable[[pa.Table], Table]


def test_rows_are_repeated_in_the_order_of_their_values(load: Load, tmp_path: Path) -> None:
    rows = pa.table({"a name": ["x", None, "it's", "x"], "number": [1, 2, 3, 4]})
    repeated = repeat(load(pa.table({"any": [1, 2]})), rows, np.array([2, 1, 3, 1]))
    assert repeated.columns == ("a name", "number")
    expected = [("it's", 3)] * 3 + [("x", 1)] * 2 + [("x", 4)] + [(None, 2)]
    assert [tuple(row.values()) for row in repeated.to_arrow().to_pylist()] == expected
    write(repeated, tmp_path / "rows.parquet")
    assert [tuple(row.values()) for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()] == expected


def test_the_same_random_bits_give_the_same_release(load: Load) -> None:
    schema = Schema(
        attributes=(
            Attribute(
                name="age",
                role=Role.QUASI_IDENTIFIER,
                kind=Kind.NUMERIC,
                domain=Domain(minimum=0, maximum=100),
                hierarchy=Intervals(widths=(10, 50)),
            ),
            Attribute(name="sex", domain=Domain(values=("f", "m"))),
        )
    )
    rows = pa.table({"age": [20 + i % 7 for i in range(900)], "sex": ["f" if i % 5 else "m" for i in range(900)]})
    plan = shoal.Plan(
        schema=schema, models=(shoal.DifferentialPrivacy(epsilon=1, delta=1e-3),), method=shoal.methods.Truthful()
    )
    found = plan.run(load(rows), source=SeededSource(8)).table.to_arrow().to_pylist()
    expected = plan.run(shoal.read(rows), source=SeededSource(8)).table.to_arrow().to_pylist()
    assert found == expected
    assert min(Counter(tuple(row.items()) for row in found).values()) >= 20
