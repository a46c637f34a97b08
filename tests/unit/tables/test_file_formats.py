"""Files of spreadsheets, statistics packages and Arrow: what was written is read back, damage is one clear error."""

from __future__ import annotations

import csv
import datetime as dt
import sys

import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, MissingExtraError, OutputError, ParameterError
from shoal.tables import write
from shoal.tables.formats import files

ROWS = pa.table(
    {
        "age": [34, 61, None],
        "pay": [1.5, 2.25, 3.0],
        "city": ["Bonn", None, "Köln"],
        "born": [dt.date(1990, 1, 31), dt.date(1963, 12, 1), None],
    }
)
WRITTEN = [".xlsx", ".dta", ".sav", ".xpt", ".jsonl", ".feather", ".arrow"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", WRITTEN)
def test_what_was_written_is_read_back(ending, tmp_path):
    write(shoal.read(ROWS), tmp_path / f"a{ending}")
    table = shoal.read(tmp_path / f"a{ending}")
    read = table.to_arrow().to_pydict()
    assert read["age"] == [34, 61, None]
    assert read["pay"] == [1.5, 2.25, 3.0]
    assert read["city"] == ["Bonn", None, "Köln"]
    born = [str(each)[:10] if each is not None else None for each in read["born"]]
    assert born == ["1990-01-31", "1963-12-01", None]


@pytest.mark.parametrize("ending", sorted({each for one in files() for each in one.endings} - {".csv", ".tsv", ".txt"}))
def test_a_damaged_file_is_one_clear_error(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"\x00secret nonsense\xff" * 20)
    with pytest.raises((DataError, ParameterError)) as raised:
        shoal.read(path)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 51 + "1" + "}" * 51,
        '{"a":' + "[" * 30000 + "]" * 30000 + "}",
        '{"a":\n' * 30000 + "1" + "}\n" * 30000,
        '{"x": "}}]\\\\", "a":\n' * 30000 + "1" + "}\n" * 30000,
    ],
    ids=["little", "line", "lines", "hidden"],
)
def test_deeply_nested_json_is_refused(text, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n' + text + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl: values are nested more than 50 levels deep"):
        shoal.read(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    "text", ['"\n' + "[" * 30000 + '\n"', '"\\\n' + "[" * 30000 + '"', "]" * 30000 + "\n" + "[" * 30000]
)
def test_json_that_hides_its_depth_is_damaged(text, tmp_path):
    (tmp_path / "a.jsonl").write_text(text + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl is not a file of JSON lines, or it is damaged"):
        shoal.read(tmp_path / "a.jsonl")


def test_brackets_in_texts_and_levels_that_are_few_are_read(tmp_path):
    text = "[{" * 100 + '\\"' + "\\\\"
    (tmp_path / "a.jsonl").write_text(f'{{"a": "{text}",\n "b": {"[" * 49}1{"]" * 49}}}\n' * 3)
    assert shoal.read(tmp_path / "a.jsonl").to_arrow()["a"].to_pylist() == ["[{" * 100 + '"\\'] * 3


def test_value_labels_and_declared_missing_values_are_understood(tmp_path):
    import pandas
    import pyreadstat

    frame = pandas.DataFrame({"sex": [1.0, 2.0, 2.0, 9.0], "weeks": [3.0, 99.0, 5.0, 12.0]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "a.sav"),
        variable_value_labels={"sex": {1: "man", 2: "woman"}},
        missing_ranges={"weeks": [99], "sex": [9]},
    )
    table = shoal.read(tmp_path / "a.sav")
    assert table.to_arrow().to_pydict() == {"sex": ["man", "woman", "woman", None], "weeks": [3, None, 5, 12]}
    assert table.notes == ("a.sav: the value labels of 1 column are read as values",)


def test_sheets_are_chosen_by_name_and_cells_of_several_kinds_are_text(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["x"])
    book.active.append([1])
    sheet = book.create_sheet("people")
    for row in (["age", "age", None], [34, "many", 1.5], [None, None, None], [61, 7, 2]):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    table = shoal.read(tmp_path / "a.xlsx", table="people")
    assert table.to_arrow().to_pydict() == {"age": [34, 61], "age_2": ["many", "7"], "column_3": [1.5, 2.0]}
    assert shoal.read(tmp_path / "a.xlsx").columns == ("x",)
    with pytest.raises(ParameterError, match="no sheet `other`"):
        shoal.read(tmp_path / "a.xlsx", table="other")


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", ' =HYPERLINK("http://example.org")', "\uff1d1"]
NO_FORMULAS = ["-", "+3", "-3.5", "1-2", "a=1", "", None]


def test_formulas_are_texts_in_excel_files(tmp_path):
    import openpyxl

    rows = pa.table({"=name": FORMULAS + NO_FORMULAS, "b": ["x"] * 14})
    write(shoal.read(rows), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    cells = [row[0] for row in sheet.iter_rows()]
    assert [cell.value for cell in cells[:8]] == ["=name", *FORMULAS]
    assert {(cell.data_type, cell.quotePrefix) for cell in cells[:8]} == {("s", True)}
    assert all(cell.data_type != "f" and not cell.quotePrefix for cell in cells[8:])


def test_formulas_in_csv_files_are_noted_or_defused(tmp_path, caplog):
    table = shoal.read(pa.table({"=name": ["x"] * 14, "b": FORMULAS + NO_FORMULAS, "c": ["x"] * 14}))
    write(table, tmp_path / "a.csv")
    assert "`=name`, `b` as formulas" in caplog.text
    assert "HYPERLINK" not in caplog.text
    assert list(csv.reader((tmp_path / "a.csv").open(newline="")))[1:8] == [["x", one, "x"] for one in FORMULAS]
    caplog.clear()
    write(table, tmp_path / "b.csv", spreadsheet_safe=True)
    assert not caplog.text
    header, *rows = csv.reader((tmp_path / "b.csv").open(newline=""))
    assert header == ["'=name", "b", "c"]
    assert [row[1] for row in rows] == [f"'{one}" for one in FORMULAS] + [one or "" for one in NO_FORMULAS]
    with pytest.raises(ParameterError, match="need no `spreadsheet_safe`"):
        write(table, tmp_path / "b.parquet", spreadsheet_safe=True)


def test_an_excel_file_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    with pytest.raises(OutputError, match="control characters"):
        write(shoal.read(pa.table({"a": ["x", "\x01"]})), tmp_path / "a.xlsx")
    assert [path.name for path in tmp_path.rglob("*") if "shoal-scratch" not in str(path)] == ["t"]


def test_a_csv_file_without_formulas_needs_no_note(tmp_path, caplog):
    write(shoal.read(pa.table({"a": NO_FORMULAS, "b": [-1] * 7})), tmp_path / "a.csv")
    assert not caplog.text


def test_names_that_a_format_does_not_know_are_refused(tmp_path):
    with pytest.raises(OutputError, match="at most 32 letters"):
        write(shoal.read(pa.table({"date of birth": [1]})), tmp_path / "a.sav")


def test_the_first_record_of_a_sheet_without_names_stays_a_record(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in ([34, "Ada", 2.5], [27, "Grace", 3], [51, "Alan", 4.5]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = shoal.read(tmp_path / "a.xlsx")
    assert table.columns == ("column_1", "column_2", "column_3")
    assert table.count() == 3
    assert "looks like a record" in table.notes[0]


def test_new_names_of_the_columns_of_a_sheet_are_said(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["age", "age\n(years)", None, 2019, 2020], ["a", "b", "c", 1, 2], ["d", "e", "f", 3, 4]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = shoal.read(tmp_path / "a.xlsx")
    assert table.columns == ("age", "age (years)", "column_3", "2019", "2020")
    assert len(table.notes) == 2


@pytest.mark.parametrize(("module", "ending"), [("python_calamine", ".xlsx"), ("pyreadstat", ".dta")])
def test_a_reader_that_is_not_installed_is_named(module, ending, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"a{ending}").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match="not installed") as raised:
        shoal.read(tmp_path / f"a{ending}")
    assert "shoal[files]" in str(raised.value)


@pytest.fixture
def survey(tmp_path):
    """Return an SPSS file with codes, of which one label is of nobody who is left."""
    pyreadstat = pytest.importorskip("pyreadstat")
    import pandas

    path = tmp_path / "survey.sav"
    frame = pandas.DataFrame({"job": [1.0, 1.0, 3.0, 3.0], "sex": ["f", "f", "m", "m"], "age": [30.0, 31, 32, 33]})
    labels = {"job": {1.0: "Clerk", 3.0: "Chief", 7.0: "Queen"}, "sex": {"f": "Female", "m": "Male"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, column_labels={"job": "Employment category"})
    return path


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_labels_become_the_codes_of_the_original_again(survey, tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat")
    rows = {"job": ["Chief", "Clerk", "*", None], "sex": ["Female", "Female", "Male", "*"], "age": ["[30, 35)"] * 4}
    path = tmp_path / f"back{ending}"
    write(shoal.read(pa.table(rows)), path, like=survey)
    read = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    frame, told = read(str(path), user_missing=False)
    assert frame["job"].tolist()[:2] == [3, 1]
    assert frame["job"].isna().tolist() == [False, False, True, True]
    assert frame["age"].tolist() == rows["age"]
    assert told.column_names_to_labels["job"] == "Employment category"
    star = 8 if ending == ".sav" else "a"
    assert told.variable_value_labels["job"] == {1: "Clerk", 3: "Chief", star: "*"}, "nothing that was not released"
    kept, _ = read(str(path), user_missing=True)
    assert kept["job"].tolist()[2] == star
    assert kept["sex"].tolist() == (["f", "f", "m", "*"] if ending == ".sav" else rows["sex"])


def test_values_that_are_no_labels_stay_as_they_are(survey, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    write(shoal.read(pa.table({"job": ["Clerk", "Clerk or Chief"]})), tmp_path / "back.sav", like=survey)
    frame, told = pyreadstat.read_sav(str(tmp_path / "back.sav"))
    assert frame["job"].tolist() == ["Clerk", "Clerk or Chief"]
    assert not told.variable_value_labels


def test_codes_go_only_from_and_into_files_that_have_them(survey, tmp_path):
    table = shoal.read(pa.table({"job": ["Clerk"]}))
    for path, like in (("back.csv", survey), ("back.sav", "survey.csv")):
        with pytest.raises(ParameterError, match="`like` cannot be used"):
            write(table, tmp_path / path, like=like)
    with pytest.raises(ParameterError, match="can be read, but not written"):
        write(table, tmp_path / "back.xls")


def test_texts_with_a_zero_byte_are_refused_in_csv_files(tmp_path):
    rows = pa.table({"a": ["secret\0", "b", None], "c": ["x", "y", "z"], "n": [1, 2, 3]})
    with pytest.raises(OutputError, match="column `a`: 1 text with a zero byte") as raised:
        write(shoal.read(rows), tmp_path / "a.csv")
    assert "secret" not in str(raised.value)
    assert not list(tmp_path.iterdir())
    write(shoal.read(rows), tmp_path / "a.parquet")
    write(shoal.read(rows.drop_columns(["a"])), tmp_path / "a.csv")
