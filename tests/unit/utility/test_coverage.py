"""How much of their domain released values cover."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.risk import Pair
from shoal.utility import coverage

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=10)
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


def _table(rows: list[tuple[object, object]]) -> pa.Table:
    ages, towns = zip(*rows, strict=True)
    return pa.table({"age": list(ages), "town": list(towns), "illness": ["flu"] * len(rows)})


def _coverage(rows: list[tuple[object, object]]) -> float | None:
    people = shoal.read(_table([(0, "a"), (5, "b"), (10, "c"), (10, "c")])).with_schema(SCHEMA)
    return coverage(Pair.of(people, shoal.read(_table(rows))))


def test_exact_values_cover_nothing() -> None:
    assert _coverage([(0, "a"), (5, "b"), (10, "c"), (10, "c")]) == 0


def test_hidden_values_and_records_left_out_count_whole() -> None:
    assert _coverage([("*", "*")] * 4) == 1
    assert _coverage([("*", "*")]) == 1
    assert _coverage([(0, "a"), (5, "b")]) == pytest.approx(0.5)


def test_columns_count_alike_and_sensitive_ones_not_at_all() -> None:
    assert _coverage([("*", "a"), ("*", "b"), ("*", "c"), ("*", "c")]) == pytest.approx(0.5)
