"""The same records in another order are the same release, ties in every distance included."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import methods
from shoal.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="region", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORICAL),
        Attribute(name="income", role=Role.SENSITIVE, kind=Kind.NUMERIC),
        Attribute(name="note", role=Role.INSENSITIVE, kind=Kind.CATEGORICAL),
    )
)
CROWD, CLOSE = shoal.KAnonymity(5), shoal.TCloseness("income", 0.25)


@pytest.mark.parametrize(
    "name",
    ["mdav", "vmdav", "t-microaggregate", "generalize", "iterate", "mondrian", "subtree", "anatomy", "suppress"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_the_rows_does_not_matter(name: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    records = pa.table(
        {
            "age": generator.integers(20, 28, 120),  # few values: many ties
            "region": [f"r{number}" for number in generator.integers(0, 4, 120)],
            "income": generator.integers(1, 6, 120) * 100,
            "note": [f"n{number}" for number in generator.integers(0, 9, 120)],
        }
    )
    promises = (CROWD, CLOSE) if name == "t-microaggregate" else (CROWD,)

    def released(rows: pa.Table) -> pa.Table:
        table = shoal.read(rows).with_schema(SCHEMA)
        return shoal.anonymize(table, *promises, method=methods.from_parameters(name, {})).table.to_arrow()

    assert released(records).equals(released(records.take(pa.array(generator.permutation(120)))))
