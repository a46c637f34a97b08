from __future__ import annotations

import datetime as dt

import pytest

import shoal
from shoal.tables.formats._cells import column_of, distinct_names, header_of
from shoal.tables.formats._layout import read_header


@pytest.mark.parametrize(
    ("names", "distinct"),
    [
        (["age", "age"], ("age", "age_2")),
        (["age", "", "city"], ("age", "column_2", "city")),
        (["age", "  "], ("age", "column_2")),
        (["Age", "age", "AGE"], ("Age", "age_2", "AGE_3")),
        (["a", "a", "a_2"], ("a", "a_3", "a_2")),
        (["column_2", ""], ("column_2", "column_2_2")),
    ],
)
def test_names_are_made_distinct(names, distinct):
    assert distinct_names(names) == distinct


@pytest.mark.parametrize(
    "rows",
    [
        [["34", "Ada"], ["27", "Grace"], ["51", "Emmy"]],
        [["1912-06-23", "x"], ["1906-12-09", "y"], ["1882-03-23", "y"]],
        [["Ada", "3,5"], ["Grace", "2,25"], ["Emmy", "1"]],
    ],
)
def test_a_record_is_not_taken_for_names(rows):
    assert not header_of(rows).present


@pytest.mark.parametrize(
    "rows",
    [
        [["name", "age"], ["Ada", "36"], ["Grace", "85"]],
        [["country", "2019", "2020", "2021"], ["AT", "1", "2", "3"], ["DE", "4", "5", "6"]],
        [["a", "b"], ["x", "y"], ["z", "w"]],
        [["x1", "age"], ["1", "2"], ["3", "4"]],
        [["12"], ["x"], ["y"]],
        [["1"]],
    ],
)
def test_names_are_taken_for_names(rows):
    assert header_of(rows).present


def test_a_file_without_header_keeps_its_first_record_out_of_messages(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("4711,Lovelace,36\n4712,Hopper,85\n4713,Noether,53\n")
    table = shoal.read(path)
    assert table.columns == ("column_1", "column_2", "column_3")
    assert table.count() == 3
    assert "column_1" in table.notes[0]
    assert not any(value in f"{table!r}{table.notes}" for value in ("4711", "Lovelace", "36"))


def test_columns_with_the_same_name_are_said(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,age,\n1,2,3\n4,5,6\n")
    table = shoal.read(path)
    assert table.columns == ("age", "age_2", "column_3")
    assert table.notes == (
        "people.csv: 2 columns have no name or a duplicate one and were renamed: `age_2`, `column_3`",
    )


def test_words_that_come_again_below_them_are_a_record():
    rows = [["Jane", "London", "f"], ["Ada", "London", "f"], ["Eve", "Paris", "m"], ["Bob", "London", "f"]]
    rows += [["Zoe", "Paris", "m"], ["Max", "London", "f"]]
    assert header_of(rows).present is False
    assert header_of([["name", "town", "sex"], *rows]).present
    # concatenated files repeat their header once or twice, and one column may be called as one of its values
    assert header_of([["name", "town", "sex"], *rows, ["name", "town", "sex"]]).present
    assert header_of([["name", "London", "sex"], *rows]).columns[0] in ("name", "column_1")


COLUMNS = ("Name", "Alter", "Lohn", "Ort", "Jahr")


def test_questions_as_names_are_cut_and_said(tmp_path):
    question = "How often in the last four weeks did you feel that " + "very " * 40 + "tired?"
    path = tmp_path / "a.csv"
    path.write_text(f"age,{question},{question}\n36,1,2\n85,2,1\n41,3,1\n")
    table = shoal.read(path)
    assert max(map(len, table.columns)) < 90
    assert len(set(table.columns)) == 3
    assert "2 columns have a very long name and were renamed" in table.notes[0]


def test_a_name_that_may_be_all_the_data_is_not_shown(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('age,"CANARY\n' + "36,1\n" * 100 + '"\n36,1\n')
    with pytest.raises(shoal.errors.DataError, match="longer than 200") as raised:
        shoal.read(path)
    assert "CANARY" not in str(raised.value)


HEAD, BODY = ";".join(COLUMNS), "Ada;36;1,5;Wien;1\nGrace;85;2;Graz;2\nEmmy;41;3,25;Linz;3"


@pytest.mark.parametrize("title", ["Liste\n\n", "Liste;;;;\n;;;;\n", "Liste\nStand;12.03.2024\n", "\n\nListe;;;;\n"])
def test_a_title_above_the_table_is_left_out_and_said(tmp_path, title):
    path = tmp_path / "a.csv"
    path.write_text(title + f"{HEAD}\n{BODY}\n", encoding="utf-8-sig")
    table = shoal.read(path)
    assert table.columns == COLUMNS
    assert table.to_arrow()["Name"].to_pylist() == ["Ada", "Grace", "Emmy"]
    assert table.notes[0].endswith(
        ("is a title above the table and was left out", "are a title above the table and were left out")
    )
    assert "Liste" not in "".join(table.notes)


def test_a_title_above_a_long_table_is_left_out_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Liste\n" + HEAD + "\n" + f"{BODY}\n" * 20_000)
    table = shoal.read(path)
    assert (table.columns, table.count()) == (COLUMNS, 60_000)


def test_a_title_above_a_sheet_is_left_out_and_said(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    records = ["Ada", 36, 1.5, "Wien", 1], ["Emmy", 41, 3, "Linz", 2]
    for row in (["Liste"], [], ["Stand", "12.03.2024"], COLUMNS, *records):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = shoal.read(tmp_path / "a.xlsx")
    assert (table.columns, table.count()) == (COLUMNS, 2)
    assert "the first 2 lines are a title above the table" in table.notes[0]


@pytest.mark.parametrize(
    "rows",
    [
        [["name"], ["Doe", "John"], ["Roe", "Jane"], ["Poe", "Ann"]],  # nothing says that Doe and John are names
        [["a", "", ""], ["Ada", "36", "2"], ["Emmy", "41", "3"], ["Grace", "85", "4"]],
        [["id", "age"], ["1", "36"], ["2", "41"], ["3", "50"]],
        [["a", "b", "c"], ["x", "", ""], ["name", "age", "pay"], ["y", "1", "2"], ["z", "3", "4"]],
    ],
)
def test_a_record_is_never_taken_for_names_below_a_title(rows):
    assert read_header(rows)[1] <= 1


@pytest.mark.parametrize("other", [dt.datetime(2024, 5, 2, 18), dt.datetime(2024, 5, 2), dt.date(2024, 5, 2)])  # noqa: DTZ001
def test_a_time_of_day_is_never_lost(other: dt.date) -> None:
    found = column_of([dt.datetime(2024, 5, 1, 7, 30), other])  # noqa: DTZ001
    assert found[0].as_py() == dt.datetime(2024, 5, 1, 7, 30)  # noqa: DTZ001


def test_a_number_of_thousands_of_digits_in_the_first_row_is_a_value_like_others() -> None:
    assert not header_of([["1" * 5000, "2"], ["3", "4"], ["5", "6"]]).present


def test_line_breaks_in_names_become_spaces():
    found = header_of([["age\nin years", "sex"], ["34", "f"], ["27", "m"]])
    assert found.columns == ("age in years", "sex")
    assert found.notes == ("1 column has a line break in the name and was renamed: `age in years`",)
