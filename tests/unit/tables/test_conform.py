from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import DataError, SchemaError
from shoal.schema import Attribute, Domain, Groups, Kind, Missing, Reading, Role, Schema
from shoal.schema.rules import text
from shoal.tables import Table, people, read


def schema(**kinds: Kind) -> Schema:
    return Schema(attributes=tuple(Attribute(name=name, kind=kind) for name, kind in kinds.items()))


def problems(table: Table, wanted: Schema) -> tuple[str, ...]:
    with pytest.raises(SchemaError) as caught:
        table.with_schema(wanted)
    return caught.value.problems


def test_absent_and_unknown_columns_are_all_named() -> None:
    found = problems(read(pa.table({"a": [1], "b": [1]})), schema(b=Kind.NUMERIC, c=Kind.NUMERIC, d=Kind.NUMERIC))
    assert found == (
        "column `c` of the schema is not in arrow frame",
        "column `d` of the schema is not in arrow frame",
        "column `a` of arrow frame is not in the schema",
    )


def test_columns_follow_the_order_of_the_schema() -> None:
    table = read(pa.table({"a": [1], "b": ["x"]})).with_schema(schema(b=Kind.CATEGORICAL, a=Kind.NUMERIC))
    assert table.columns == ("b", "a")


def test_rows_of_a_csv_file_are_numbered_with_its_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n2\nXq7canary\n4\nXq7canary\n")
    found = problems(read(tmp_path / "a.csv"), schema(n=Kind.NUMERIC))
    assert found == ("column `n`: 2 values are not numbers (first in row 4)",)


def test_rows_of_a_parquet_file_are_numbered_from_one(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"n": ["1", "x"]}), tmp_path / "a.parquet")
    assert problems(read(tmp_path / "a.parquet"), schema(n=Kind.NUMERIC)) == (
        "column `n`: 1 value is not a number (first in row 2)",
    )


def test_every_value_has_a_meaning_where_the_schema_says_so() -> None:
    columns = (
        Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99), outside="clamp"),
        Attribute(name="pay", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99), outside="missing"),
        Attribute(name="town", domain=Domain(values=("A", "other")), outside="other"),
        Attribute(name="who", role=Role.PERSON, outside="missing", missing=Missing.DROP),
        Attribute(name="sex", hierarchy=Groups(levels=((("x", ("F",)), ("y", ("M",))),)), outside="missing"),
        Attribute(name="note", role=Role.DROP),
    )
    rows = [
        ("-7", "-7", "B", "1", "F", "?"),
        ("100.5", "99", "A", "2", "D", "?"),
        ("x", "1e999", "other", None, "M", "?"),
        ("nan", "inf", None, "4", None, None),
    ]
    table = pa.table({each.name: pa.array([row[j] for row in rows], pa.string()) for j, each in enumerate(columns)})
    found = read(table).with_schema(Schema(attributes=columns))
    assert found.to_arrow().select(["age", "pay", "town", "sex"]).to_pylist() == [
        {"age": 0.0, "pay": None, "town": "other", "sex": "F"},
        {"age": 99.0, "pay": 99.0, "town": "A", "sex": None},
        {"age": None, "pay": None, "town": None, "sex": None},
    ]
    assert found.left_out == 1
    assert found.notes == (
        "column `age`: 2 values are outside the declared domain and became the nearest bound",
        "column `age`: 2 values are unreadable and counted as missing",
        "column `pay`: 1 value is outside the declared domain and counted as missing",
        "column `pay`: 2 values are unreadable and counted as missing",
        "column `town`: 1 value is outside the declared domain and became the declared value for all others",
        "column `sex`: 1 value is outside the declared domain and counted as missing",
    )


def test_a_total_schema_takes_tables_without_values_and_without_records_left() -> None:
    column = Attribute(name="a", domain=Domain(values=("x",)), missing=Missing.REFUSE)
    wanted = Schema(attributes=(column,)).total()
    assert wanted["a"].missing is Missing.DROP
    assert wanted.total() is wanted
    assert read(pa.table({"a": ["y", None]})).with_schema(wanted).count() == 0


TIMES = pa.array(["2020-01-01", "2020-01-02", "2020-01-01 10:00"])


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([1, 2, 3]),
        pa.array([1.0, 2.0, 3.5]),
        pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("3.25")]),
        TIMES.cast(pa.timestamp("us")),
        TIMES.cast(pa.timestamp("ns")),
        pa.array([dt.time(1), dt.time(2), dt.time(3)]),
        pa.array(["1", "2", "3"]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type).partition("<")[0],
)
@pytest.mark.parametrize("outside", ["missing", "other"])
def test_values_of_any_type_may_be_outside_the_declared_ones(cells: pa.Array, outside: str) -> None:
    """One cell must not make the reading fail, nor decide the type of all others."""
    declared = Domain(values=("1", "2", "2020-01-01", "2020-01-02", "other"))
    wanted = Schema(attributes=(Attribute(name="x", domain=declared, outside=outside),))
    whole, part = (read(pa.table({"x": each})).with_schema(wanted).to_arrow()["x"] for each in (cells, cells[:2]))
    other = None if outside == "missing" else "other"
    assert text(whole)[2].as_py() == other
    assert whole.type == part.type
    assert text(whole)[:2].to_pylist() == text(part).to_pylist()


def test_no_record_gives_the_numbers_of_others_another_decimal_mark(tmp_path: Path) -> None:
    """`3,5` shows that a file has decimal commas; `1,500` means the same without it."""
    number = Attribute(name="x", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=9999))
    wanted = Schema(attributes=(number, Attribute(name="y"))).total()
    found = []
    for name, extra in (("a.csv", ""), ("b.csv", "3,5;1\n")):
        (tmp_path / name).write_text("x;y\n1,500;1\n2,250;1\n" + extra)
        found.append(read(tmp_path / name).with_schema(wanted).to_arrow()["x"].to_pylist()[:2])
    assert found[0] == found[1] == [None, None]
    stated = read(tmp_path / "a.csv", decimal=",").with_schema(wanted).to_arrow()["x"].to_pylist()
    assert stated == [1.5, 2.25]


@pytest.mark.parametrize("outside", ["clamp", "others", "x"])
def test_what_stands_for_other_values_must_be_declared(outside: str) -> None:
    with pytest.raises(SchemaError, match="outside"):
        Attribute(name="a", kind=Kind.NUMERIC, domain=Domain(minimum=0), outside=outside)


def test_a_decimal_comma_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n;m\n1,5;7\n2,25;8\n")
    table = read(tmp_path / "a.csv", schema=schema(n=Kind.NUMERIC, m=Kind.NUMERIC))
    assert table.to_arrow().to_pydict() == {"n": [1.5, 2.25], "m": [7, 8]}


def test_a_point_beside_a_decimal_comma_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1.234,5\n")
    with pytest.raises(SchemaError, match="1 value is not a number") as caught:
        read(tmp_path / "a.csv", decimal=",", delimiter=";", schema=schema(n=Kind.NUMERIC))
    assert "decimal comma" in str(caught.value)


def test_one_number_with_a_decimal_comma_does_not_divide_the_others_by_a_thousand(tmp_path: Path) -> None:
    wanted = Schema(
        attributes=(Attribute(name="n", kind=Kind.NUMERIC, reading=Reading(thousands=",")), Attribute(name="m"))
    )
    for other in ("7", "5,5"):
        (tmp_path / "a.csv").write_text(f"n;m\n1,234;{other}\n")
        assert read(tmp_path / "a.csv", schema=wanted).to_arrow()["n"].to_pylist() == [1234]
    (tmp_path / "a.csv").write_text("n;m\n1,234;7\n5,5;7\n")
    assert problems(read(tmp_path / "a.csv"), wanted) == ("column `n`: 1 value is not a number (first in row 3)",)


def test_whole_numbers_stay_whole_and_large_ones_become_floating_point() -> None:
    rows = pa.table({"a": ["007", "+8"], "b": ["1", "12345678901234567890"], "c": ["1", "1.0"]})
    table = read(rows).with_schema(schema(a=Kind.NUMERIC, b=Kind.NUMERIC, c=Kind.NUMERIC))
    assert table.types == {"a": "int64", "b": "float64", "c": "float64"}
    assert table.to_arrow()["a"].to_pylist() == [7, 8]


def test_keys_of_persons_that_a_fraction_elsewhere_would_merge_are_refused() -> None:
    """Persons are told apart by their own keys, whatever another's looks like: differential privacy rests on it."""
    keys = [str(2**53), str(2**53 + 1)]
    numeric, text = (
        Schema(attributes=(Attribute(name="who", role=Role.PERSON, kind=kind),))
        for kind in (Kind.NUMERIC, Kind.CATEGORICAL)
    )
    for wanted in (numeric, text):
        assert people(read(pa.table({"who": keys})).with_schema(wanted)).persons == 2
    assert people(read(pa.table({"who": [*keys, "0.5"]})).with_schema(text)).persons == 3
    assert people(read(pa.table({"who": ["1", "0.5", "1.0"]})).with_schema(numeric)).persons == 2
    (found,) = problems(read(pa.table({"who": [keys[1], "0.5"]})), numeric)
    assert found.startswith("column `who`: 1 value is too large for floating point to tell it from others")
    assert problems(read(pa.table({"who": [2.0**60, 0.5]})), text) == (found,)


def test_a_column_of_another_type_is_refused_by_type() -> None:
    import datetime as dt

    rows = pa.table({"day": [dt.date(2024, 1, 1)], "n": [1], "list": [[1]], "bytes": [b"x"], "stay": [dt.timedelta(3)]})
    wanted = Schema(
        attributes=(
            Attribute(name="day", kind=Kind.NUMERIC),
            Attribute(name="n", kind=Kind.DATE),
            Attribute(name="list"),
            Attribute(name="bytes"),
            Attribute(name="stay", role=Role.SENSITIVE),
        )
    )
    assert problems(read(rows), wanted) == (
        "column `day` holds dates or times, not numbers",
        "column `n` holds numbers, not dates",
        "column `list` holds lists or structures",
        "column `bytes` holds bytes; turn them into text, or drop the column",
        "column `stay` holds durations; turn them into numbers, such as days",
    )


def test_moments_become_days_and_truth_values_numbers() -> None:
    import datetime as dt

    rows = pa.table({"at": [dt.datetime(2024, 1, 1, 23, 59)], "flag": [True]})  # noqa: DTZ001
    table = read(rows).with_schema(schema(at=Kind.DATE, flag=Kind.NUMERIC))
    assert table.to_arrow().to_pylist() == [{"at": dt.date(2024, 1, 1), "flag": 1}]


def test_declared_values_of_numbers_are_compared_as_numbers() -> None:
    attribute = Attribute(name="n", kind=Kind.NUMERIC, domain=Domain(values=("1", "2.50")))
    wanted = Schema(attributes=(attribute,))
    assert read(pa.table({"n": ["1.0", "2.5"]})).with_schema(wanted).count() == 2
    assert problems(read(pa.table({"n": ["1", "3", "3", "4"]})), wanted) == (
        "column `n`: 3 values are not among the declared values (2 distinct)",
    )


def test_nothing_left_is_an_error() -> None:
    wanted = Schema(attributes=(Attribute(name="a", missing=Missing.DROP), Attribute(name="b", missing=Missing.DROP)))
    with pytest.raises(DataError, match="none is left"):
        read(pa.table({"a": ["x", None], "b": [None, "y"]})).with_schema(wanted)


def test_a_schema_can_be_applied_twice() -> None:
    wanted = schema(n=Kind.NUMERIC)
    assert read(pa.table({"n": ["1"]})).with_schema(wanted).with_schema(wanted).types == {"n": "int64"}


@pytest.mark.parametrize("name", ['a "quoted" name', "semi;colon", "a/missing", "ünïcode", "a b", "select", "a.b"])
def test_any_name_of_a_column_works(name: str) -> None:
    wanted = Schema(attributes=(Attribute(name=name, kind=Kind.NUMERIC, domain=Domain(minimum=0)),))
    assert read(pa.table({name: ["1"]})).with_schema(wanted).to_arrow().to_pydict() == {name: [1]}


def test_a_weight_of_nobody_is_refused() -> None:
    weight = Attribute(name="w", role=Role.WEIGHT)
    with pytest.raises(
        SchemaError, match=r"column `w`: 2 values are not above 0, but every record stands for somebody"
    ):
        read(pa.table({"w": [1.5, 0.0, -2.0]})).with_schema(Schema(attributes=(weight,)))
    with pytest.raises(SchemaError, match=r"column `w`: 1 value is missing"):
        read(pa.table({"w": [1.5, None]})).with_schema(Schema(attributes=(weight,)))


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_values_that_the_hierarchy_does_not_list_are_refused_in_every_released_column(role: str) -> None:
    rule = Groups(levels=((("infection", ("cold", "flu")),),))
    schema = Schema(attributes=(Attribute(name="ill", role=role, hierarchy=rule),))
    read(pa.table({"ill": ["cold", "flu", None]})).with_schema(schema)
    with pytest.raises(SchemaError, match="column `ill`: 2 values are not in its hierarchy \\(1 distinct\\)"):
        read(pa.table({"ill": ["cold", "gout", "gout"]})).with_schema(schema)
