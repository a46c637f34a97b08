"""Two tables that a class links, as records."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal import tables
from shoal.comparison._evaluate import join_by_class
from shoal.methods.base import Part
from shoal.risk import UNIT, Pair, linkage


def _parts(people: int, classes: int) -> tuple[Part, Part]:
    numbers = np.arange(people) % classes + 1
    values = ["flu" if i % 10 < 3 else f"other {i % 7}" for i in range(people)]
    made = []
    for name, column in (("age", pa.array(range(people))), ("illness", pa.array(values))):
        table = tables.read(pa.table({"class": numbers, name: column}))
        made.append(Part(file=f"{name}.parquet", table=table, records=people, columns=(), class_column="class"))
    return made[0], made[1]


def test_small_classes_are_joined_whole() -> None:
    found = join_by_class(*_parts(40, 10))
    rows = found.table.to_arrow()
    assert found.separated
    assert rows.num_rows == 40 * 4
    assert set(rows["shoal: probability"].to_pylist()) == {0.25}
    assert set(rows["shoal: stands for"].to_pylist()) == {1.0}
    assert Counter(rows["age"].to_pylist()) == dict.fromkeys(range(40), 4)


def test_everybody_of_a_large_class_gets_values_in_their_shares() -> None:
    rows = join_by_class(*_parts(1000, 2), rows=20_000).table.to_arrow()
    assert rows.num_rows == 20_000
    assert Counter(rows["age"].to_pylist()) == dict.fromkeys(range(1000), 20)
    assert set(rows["shoal: stands for"].to_pylist()) == {25.0}
    # two in five of the even ones have a flu, and one in five of the odd ones
    for person, expected in ((0, 8), (1, 4), (500, 8)):
        mine = rows.filter(pc.equal(rows["age"], person))["illness"].to_pylist()
        assert abs(mine.count("flu") - expected) <= 1


@pytest.mark.parametrize("rows", [10**6, 8_000])
def test_candidates_are_as_many_as_the_class_whether_or_not_all_are_drawn(rows: int) -> None:
    parts = _parts(400, 4)
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="illness", role="sensitive"),
        )
    )
    people, values = (part.table.to_arrow() for part in parts)
    original = shoal.read(pa.table({"age": people["age"], "illness": values["illness"]})).with_schema(schema)
    candidates, shares = join_by_class(*parts, rows=rows).pairs(Pair.of(original, original))
    assert linkage(candidates)[-1].linked == pytest.approx(1 / 100)
    assert candidates.released.records == pytest.approx(400 * 100)
    assert shares.released.only([0]).counts == pytest.approx(UNIT, rel=1e-5), "everybody counts once"
