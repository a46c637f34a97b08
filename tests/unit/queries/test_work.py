"""The work of an answer does not depend on how many records match."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.queries._cubes import Scale
from shoal.queries._records import MemoryRecords
from shoal.schema import Attribute, Domain, Kind, Role, Schema
from shoal.schema.conditions import Condition
from shoal.schema.filters import parse

SCHEMA = Schema(
    attributes=(
        Attribute(name="x", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=1)),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M"))),
    )
)
SCALE = Scale.between(Fraction(0), Fraction(1), origin=Fraction(0), step=Fraction(1, 1000))
RECORDS = 50_000
ASKED: dict[str, Callable[[MemoryRecords, Condition | None], object]] = {
    "count": lambda records, where: records.count(where),
    "total": lambda records, where: records.total(where, "x", SCALE),
    "tally": lambda records, where: records.tally(where, "x", SCALE),
    "tally_between": lambda records, where: records.tally_between(where, "x", [0, 0.5, 1]),
    "tally_texts": lambda records, where: records.tally_texts(where, "sex", ["F", "M", None]),
}


@pytest.fixture(scope="module")
def table() -> shoal.Table:
    chosen = np.random.default_rng(1)
    numbers = chosen.random(RECORDS)
    sexes = chosen.choice(["F", "M"], RECORDS)
    rows = {"x": pa.array(numbers, mask=chosen.random(RECORDS) < 0.1), "sex": pa.array(sexes)}
    return shoal.read(pa.table(rows), schema=SCHEMA)


@pytest.mark.parametrize("cells", [1 << 17, 0], ids=["cube", "records"])
@pytest.mark.parametrize("kind", ASKED)
def test_arrays_have_the_same_sizes_whatever_matches(kind: str, cells: int, table: shoal.Table) -> None:
    records, peaks = MemoryRecords(table, most_cells=cells), []
    for where in ("x >= 0", "x < 0.5", "x < 0.001", "x > 2"):
        condition = parse(where, SCHEMA)
        ASKED[kind](records, condition)
        tracemalloc.start()
        ASKED[kind](records, condition)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # a bit per record would be a quarter of the tolerance and more
    assert max(peaks) - min(peaks) < RECORDS // 2, peaks
