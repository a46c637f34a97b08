from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.schema.rules import text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(["a", "", "5.0", None, "é", " x "]), ["a", "", "5.0", None, "é", " x "]),
        (pa.array([5, -7, None, 2**62]), ["5", "-7", None, str(2**62)]),
        (pa.array([2**64 - 1], pa.uint64()), [str(2**64 - 1)]),
        (pa.array([5.0, 0.1, -0.0, None, 1e15, 123456.789]), ["5", "0.1", "0", None, "1000000000000000", "123456.789"]),
        (pa.array([0.1, 5.0], pa.float32()), ["0.1", "5"]),
        (pa.array(np.array([0.5, 2.0], np.float16)), ["0.5", "2"]),
        (pa.array([float("nan"), float("inf"), 1e300]), ["nan", "inf", "1e+300"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([dt.date(2024, 2, 29), dt.date(9, 1, 1)]), ["2024-02-29", "0009-01-01"]),
        (pa.array([Decimal("5.00"), Decimal("0.10"), Decimal("-0.00")]), ["5", "0.1", "0"]),
        (
            pa.array([Decimal("0.0000000001"), Decimal("100"), None], pa.decimal128(20, 10)),
            ["0.0000000001", "100", None],
        ),
        (pa.array([dt.time(10, 30)]), ["10:30:00"]),
        (pa.nulls(2), [None, None]),
        (pa.array([], pa.string()), []),
    ],
)
def test_each_type_has_one_canonical_text(values, expected):
    assert text(values).to_pylist() == expected
    assert text(values).type == pa.string()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_stamp_at_midnight_is_a_day(unit):
    stamps = pa.array(["2024-05-06T00:00:00", "2024-05-06T07:08:09", None]).cast(pa.timestamp(unit))
    assert text(stamps).to_pylist() == ["2024-05-06", "2024-05-06T07:08:09", None]


def test_fractions_of_a_second_have_no_needless_zeros():
    stamps = pa.array([dt.datetime(2024, 5, 6, 7, 8, 9, 120000)], pa.timestamp("ns"))  # noqa: DTZ001
    assert text(stamps).to_pylist() == ["2024-05-06T07:08:09.12"]


def test_time_zones_are_read_by_the_clock_of_the_column():
    stamps = pa.array([dt.datetime(2024, 5, 5, 22, tzinfo=dt.UTC)], pa.timestamp("us", "Europe/Vienna"))
    assert text(stamps).to_pylist() == ["2024-05-06"]


def test_chunks_and_dictionaries_are_taken_apart():
    chunked = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()])
    assert text(chunked).to_pylist() == ["a", "b"]
    assert text(pa.chunked_array([], pa.int64())).to_pylist() == []


@pytest.mark.parametrize("values", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"x"])])
def test_values_without_a_text_are_refused_by_type(values):
    with pytest.raises(DataError, match="cannot be written as text"):
        text(values)
