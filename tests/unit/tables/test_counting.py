"""What is asked of the values of a table."""

from __future__ import annotations

import pyarrow as pa

import shoal
from shoal.tables import class_sizes, count_values, distinct_values, records_from

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
