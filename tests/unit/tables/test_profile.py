from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.tables import profile, read


def test_numbers_that_are_not_finite_do_not_count_as_numbers() -> None:
    (column,) = profile(read(pa.table({"n": [1.0, 2.5, float("nan"), float("inf")]})))
    assert (column.type, column.missing, column.distinct, column.numbers) == ("number", 1, 3, 2 / 3)
    assert (column.minimum, column.maximum) == (1.0, 2.5)


def test_lists_are_counted_and_nothing_else() -> None:
    (column,) = profile(read(pa.table({"n": [[1], None, [1]]})))
    assert (column.type, column.records, column.missing) == ("other", 3, 1)


def test_a_column_without_values_has_a_profile() -> None:
    (column,) = profile(read(pa.table({"n": pa.nulls(3)})))
    assert (column.missing, column.distinct, column.separation, column.lengths) == (3, 0, 0.0, ())


def test_one_record_has_a_profile() -> None:
    (column,) = profile(read(pa.table({"n": [7]})))
    assert (column.distinct, column.separation, column.distinction) == (1, 0.0, 1.0)


def test_moments_count_as_days() -> None:
    (column,) = profile(read(pa.table({"at": [dt.datetime(2024, 1, 2, 3)]})))  # noqa: DTZ001
    assert (column.type, column.dates, column.minimum) == ("timestamp", 1, dt.date(2024, 1, 2))


def test_dates_that_no_calendar_of_ours_has_are_one_error_that_names_the_column() -> None:
    days = pa.array([-800_000, 0], pa.int32()).cast(pa.date32())
    with pytest.raises(DataError, match="column `born`: 1 value is infinite, 24:00, or not in the years"):
        profile(read(pa.table({"born": days, "town": ["Ulm", "Bern"]})))


def test_a_decimal_comma_is_understood(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n;x\n1,5;a\n2,25;b\n")
    assert profile(read(tmp_path / "a.csv"))[0].numbers == 1


def test_a_repr_shows_no_value() -> None:
    assert "Xq7canary" not in repr(profile(read(pa.table({"n": ["Xq7canary"]}))))
