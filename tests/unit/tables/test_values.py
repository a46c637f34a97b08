"""Few records are counted here and many on their engine: both must say the same, of every type of column."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.tables import Values, values_of

DAY = datetime.date(1900, 1, 1)
KINDS = {
    "text": pa.array(["b", "a", None, "", "ä", "*"]),
    "whole": pa.array([3, -1, None, 10, 2, 0]),
    "real": pa.array([0.0, -0.0, float("nan"), 1e300, 0.1, None]),
    "day": pa.array([DAY, DAY + datetime.timedelta(9), None, None, DAY, datetime.date(2024, 2, 29)]),
    "time": pa.array([10**15, None, None, None, None, 10**14 + 1], pa.timestamp("us")),
    "yes": pa.array([True, False, None, True, False, None]),
    "money": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("0.05"), None, None, None], pa.decimal128(9, 2)),
    "erased": pa.array(["*", "*", None, "*", "*", "*"]),
}
SECRET = "text"


@pytest.fixture(scope="module")
def both() -> tuple[Values, Values]:
    """The same values, fetched and on the engine."""
    places = np.random.default_rng(7).integers(6, size=(len(KINDS), 80))
    rows = {name: values.take(pa.array(own)) for (name, values), own in zip(KINDS.items(), places, strict=True)}
    fetched = values_of(shoal.read(pa.table(rows)), [*KINDS])
    assert fetched.rows is not None
    return fetched, replace(fetched, rows=None, counted={})


@pytest.mark.parametrize("name", KINDS)
def test_a_column(both: tuple[Values, Values], name: str) -> None:
    few, many = (each.of(name) for each in both)
    assert (few.distinct, few.present, few.alone, few.numeric) == (
        many.distinct,
        many.present,
        many.alone,
        many.numeric,
    )
    assert few.commonest(4, length=6).equals(many.commonest(4, length=6))
    assert few.commonest(4, length=6)["records"].to_pylist() == sorted(few.every()["records"].to_pylist())[::-1][:4]


@pytest.mark.parametrize("by", [["whole"], ["real", "day"], ["time", "whole", "yes", "money"]])
def test_classes(both: tuple[Values, Values], by: list[str]) -> None:
    few, many = both
    assert [each.tolist() for each in few.class_sizes(by)] == [each.tolist() for each in many.class_sizes(by)]
    assert few.alike(by, SECRET) == many.alike(by, SECRET)


def test_columns_that_say_nothing(both: tuple[Values, Values]) -> None:
    assert [each.erased([*KINDS], "*") for each in both] == [["erased"], ["erased"]]


def test_many_values_and_many_records_stay_on_the_engine() -> None:
    numbers = values_of(shoal.read(pa.table({"x": np.r_[np.arange(150_000), np.arange(100_000)]})), ["x"])
    assert numbers.rows is None
    found = numbers.of("x")
    assert (found.distinct, found.present, found.alone, found.fetched) == (150_000, 250_000, 50_000, None)
    assert found.commonest(2, length=9).to_pydict() == {"value": ["0", "1"], "records": [2, 2]}
