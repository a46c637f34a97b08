"""Messy values: read as the schema says, counted, and never shown."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import shoal
from shoal.errors import SchemaError


def read(values, *, kind="numeric", table_missing=(), missing="category", **reading):
    attribute = shoal.Attribute(
        name="x", role="quasi-identifier", kind=kind, missing=missing, reading=shoal.schema.Reading(**reading)
    )
    schema = shoal.Schema(attributes=(attribute,), missing_values=table_missing)
    return shoal.read(pa.table({"x": values}), schema=schema)


def values(*args, **more):
    return read(*args, **more).to_arrow()["x"].to_pylist()


def test_values_that_stand_for_missing_ones():
    assert values(["1", " ? ", "NA", "3"], missing_values=("?",), table_missing=("NA",)) == [1, None, None, 3]
    assert values(["a", "?", "b"], kind="categorical", missing_values=("?",)) == ["a", None, "b"]
    assert values([1, 999, 3], missing_values=("999",)) == [1, None, 3]
    assert values([1.5, -9.0, 3.0], missing_values=("-9",)) == [1.5, None, 3.0]
    assert values([1.5, float("nan"), 3.0], missing_values=("nan",)) == [1.5, None, 3.0]


@pytest.mark.parametrize(
    ("written", "date_format"),
    [
        (["31.12.2024", "1.6.2023"], "dd.mm.yyyy"),
        (["31/12/2024 10:15", "01/06/2023"], "dd/mm/yyyy"),
        (["12/31/2024", "6/1/2023"], "mm/dd/yyyy"),
        (["20241231", "20230601"], "yyyymmdd"),
    ],
)
def test_dates_in_other_formats(written, date_format):
    assert values(written, kind="date", date_format=date_format) == [dt.date(2024, 12, 31), dt.date(2023, 6, 1)]


def test_dates_are_never_mixed():
    for wrong in ("2025-12-31", "31.02.2024", "12/31/2024"):
        with pytest.raises(SchemaError, match=r"1 value is not a date \(first in row 2\)") as raised:
            read(["31.12.2024", wrong], kind="date", date_format="dd.mm.yyyy")
        assert wrong not in str(raised.value)


def test_decimal_commas_and_signs_between_thousands():
    assert values(["1.234,5", "-12", "1.000.000"], decimal=",", thousands=".") == [1234.5, -12, 1_000_000]
    assert values(["1,234.5", "12"], thousands=",") == [1234.5, 12]
    assert values(["1 234", "12"], thousands=" ") == [1234, 12]
    assert values(["3,5", "2"], decimal=",") == [3.5, 2]
    with pytest.raises(SchemaError, match="1 value is not a number"):
        read(["1.23,5", "12"], decimal=",", thousands=".")


def test_a_share_of_unreadable_values_counts_as_missing_and_is_said():
    rows = [*map(str, range(99)), "abc"]
    table = read(rows, unreadable=0.01)
    assert table.to_arrow()["x"].to_pylist() == [*range(99), None]
    assert table.notes == ("column `x`: 1 value is not a number and counts as missing (the schema allows 1.00%)",)
    with pytest.raises(SchemaError, match="2 values are not numbers"):
        read([*rows[1:], "def"], unreadable=0.01)
    assert read(rows, unreadable=0.01, missing="drop").left_out == 1
    with pytest.raises(SchemaError, match="not a number"):
        read(rows, unreadable=0.01, missing="refuse")


def test_lists_and_structures_stop_nothing_where_they_are_dropped():
    rows = pa.table({"age": [1, 2], "visits": [[1], [2, 3]], "home": [{"town": "Ulm"}, None]})
    schema = shoal.draft(shoal.read(rows)).schema
    assert schema.having(shoal.Role.DROP) == ("visits", "home")
    assert shoal.read(rows, schema=schema).count() == 2
    with pytest.raises(SchemaError, match="column `visits` holds lists or structures"):
        shoal.read(rows, schema=schema.with_role("visits", "sensitive"))


def test_an_empty_column_stops_nothing_where_it_is_dropped():
    rows = pa.table({"age": [1, 2], "empty": pa.array([None, None], pa.string())})
    schema = shoal.draft(shoal.read(rows)).schema
    assert schema["empty"].role == "drop"
    assert shoal.read(rows, schema=schema).count() == 2
    with pytest.raises(SchemaError, match='set `role = "drop"` to leave it out'):
        shoal.read(rows, schema=schema.with_role("empty", "sensitive"))


@pytest.mark.slow
def test_a_messy_table_is_drafted_so_that_it_can_be_read(tmp_path):
    rows = [
        f"{20 + n % 60};{n % 28 + 1:02d}.{n % 12 + 1:02d}.2023;{n % 3},{n % 10}0;"
        f"{'?' if n % 9 == 0 else 'mw'[n // 3 % 2]};"
        f"{999 if n % 25 == 0 else n % 40};{'oops' if n == 7 else n * 7 % 100}"
        for n in range(200)
    ]
    path = tmp_path / "messy.csv"
    path.write_text("Alter;Datum;Menge;Geschlecht;wochen;wert\n" + "\n".join(rows) + "\n")
    drafted = shoal.draft(shoal.read(path), also=["wochen", "wert"])
    schema = drafted.schema
    assert schema["Datum"].reading.date_format == "dd.mm.yyyy"
    assert schema["Geschlecht"].reading.missing_values == ("?",)
    assert schema["wochen"].reading.missing_values == ("999",)
    assert (schema["wert"].kind, schema["wert"].reading.unreadable) == ("numeric", 0.01)
    assert "wert" in drafted.schema.quasi_identifiers
    table = shoal.read(path, schema=schema)
    assert [note for note in table.notes if "wert" in note]
    assert table.to_arrow()["Datum"].type == pa.date32()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_blank_lines_of_a_file_of_one_column_are_missing_values(end, last, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes((end.join(["age", "31", "", "45", "", "", "52"]) + end * last).encode())
    assert shoal.read(path).to_arrow()["age"].to_pylist() == ["31", None, "45", None, None, "52"]
    path.write_bytes((end.join(["age,sex", "31,f", "", "45,m"]) + end * last).encode())
    assert shoal.read(path).to_arrow()["age"].to_pylist() == ["31", "45"]
