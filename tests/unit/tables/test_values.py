"""What values occur and how numbers are spread: here or on an engine, both say the same as plain Python."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.tables import (
    Values,
    _values,
    class_sizes,
    count_values,
    distinct_values,
    numbers_of,
    read,
    records_from,
    values_of,
)
from shoal.tables._duckdb import DuckDBEngine

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
    assert [each.find_erased([*KINDS], "*") for each in both] == [["erased"], ["erased"]]


def test_many_values_and_many_records_stay_on_the_engine() -> None:
    numbers = values_of(shoal.read(pa.table({"x": np.r_[np.arange(150_000), np.arange(100_000)]})), ["x"])
    assert numbers.rows is None
    found = numbers.of("x")
    assert (found.distinct, found.present, found.alone, found.fetched) == (150_000, 250_000, 50_000, None)
    assert found.commonest(2, length=9).to_pydict() == {"value": ["0", "1"], "records": [2, 2]}


def test_many_columns_are_fetched_in_blocks_and_say_the_same() -> None:
    rng = np.random.default_rng(3)
    kinds = [*KINDS.items()] * 8
    rows = {f"{name}{i}": values.take(pa.array(rng.integers(6, size=4_000))) for i, (name, values) in enumerate(kinds)}
    rows["bytes"] = pa.array([b"a", b"b", None, b"b"] * 1_000)
    table = shoal.read(pa.table(rows))
    here = values_of(table, [*rows])
    assert here.rows is None
    assert [len(block) for block in here.blocks] == [50, 15]
    with patch.object(DuckDBEngine, "fetch", autospec=True, side_effect=DuckDBEngine.fetch) as asked:
        counts = [here.of(name) for name in rows]
    assert asked.call_count == 3  # one for the type that is counted on its engine
    for name, count in zip(rows, counts, strict=True):
        alone = count_values(table, name)
        assert (count.distinct, count.present, count.alone) == (alone.distinct, alone.present, alone.alone)
        assert count.commonest(4, length=6).equals(alone.commonest(4, length=6))


def test_numbers_are_spelt_as_duckdb_spells_them() -> None:
    rng = np.random.default_rng(5)
    numbers = np.concatenate(
        [
            np.frombuffer(rng.bytes(8 * 20_000)),
            rng.normal(size=5_000) * 10.0 ** rng.integers(-20, 25, 5_000),
            [0.0, -0.0, np.inf, -np.inf, 1e15, 1e16, 1e17, 1e-4, 1e-5],
        ]
    )
    values = pa.chunked_array([pa.array(numbers[~np.isnan(numbers)])])
    engine = DuckDBEngine()
    try:
        staged = engine.stage(pa.table({"value": values}))
        spelt = engine.fetch(staged.select(text=staged["value"].cast("string")))["text"]
        assert _values._spelt(values, engine).to_pylist() == spelt.to_pylist()
    finally:
        engine.close()


TOWNS = shoal.read(pa.table({"town": ["Ulm", "Ulm", "Bonn", None], "age": [3, 3, 4, None]}))


def test_distinct_values_hold_the_missing_one() -> None:
    assert set(distinct_values(TOWNS, "town").to_pylist()) == {"Ulm", "Bonn", None}


def test_records_from_a_place_on() -> None:
    rows = records_from(TOWNS, 1, 2)
    assert rows.column_names == ["town", "age"]
    assert rows["town"].to_pylist() == ["Ulm", "Bonn"]


def test_class_sizes_with_how_often_each_occurs() -> None:
    sizes, times = class_sizes(TOWNS, ["town", "age"])
    assert (sizes.tolist(), times.tolist()) == ([1, 2], [2, 1])


def test_counts_leave_missing_values_out() -> None:
    counted = count_values(TOWNS, "age")
    assert (counted.distinct, counted.present, counted.numeric) == (2, 3, True)
    assert sorted(zip(*counted.every().to_pydict().values(), strict=True)) == [(3, 2), (4, 1)]


def test_the_commonest_values_come_first_and_are_cut() -> None:
    counted = count_values(TOWNS, "town")
    assert not counted.numeric
    assert counted.commonest(1, length=2).to_pydict() == {"value": ["Ul"], "records": [2]}


def test_a_column_without_values_has_none_to_count() -> None:
    counted = count_values(shoal.read(pa.table({"a": pa.array([None], pa.string())})), "a")
    assert (counted.distinct, counted.present) == (0, 0)


SPREADS = {
    "even": lambda draw: draw.uniform(-3, 5),
    "skewed": lambda draw: math.exp(draw.gauss(0, 12)),
    "huge": lambda draw: draw.choice([-1, 1]) * 10.0 ** draw.uniform(290, 308),
    "tiny": lambda draw: draw.uniform(0, 1e-308),
    "close": lambda draw: 1e15 + draw.randrange(400) / 8,
    "whole": lambda draw: draw.randrange(-500, 10**6),
    "repeated": lambda draw: float(draw.choice([0.0, -0.0, 1.5, *range(40)])),
}


@pytest.mark.parametrize("engine_counts", [True, False])
@pytest.mark.parametrize("spread", SPREADS)
def test_numbers_are_counted_as_in_plain_python(
    spread: str, engine_counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine_counts:
        monkeypatch.setattr(_values, "FETCHED", 7)
    draw = random.Random(5)
    values = sorted(SPREADS[spread](draw) for _ in range(700))
    others = [] if spread == "whole" else [math.nan, math.inf, -math.inf]
    found = numbers_of(count_values(read(pa.table({"value": [*values, *others, None]})), "value"))
    extent = found.extent()
    assert (extent.least, extent.greatest) == (values[0], values[-1])
    assert (extent.records, extent.aside) == (len(values), len(others))
    assert extent.whole == all(float(value).is_integer() for value in values)
    most = found.reaching(0.99, extent)
    assert most == next(v for i, v in enumerate(values, start=1) if i >= 0.99 * len(values))
    step = (most / 12 - values[0] / 12) or 1.0
    assert found.count_bins(step, most) == Counter(math.floor(min(value, most) / step) for value in values)
