# ruff: noqa: RUF001 - letters of many languages
"""What stands around a table in a file, rows that are none, and encodings from before Unicode."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import DataError
from shoal.tables.formats._layout import notes_below, read_header

RECORDS = "".join(f"{20 + n},{'mf'[n % 2]},{30 + 7 * n % 40}\n" for n in range(12))


def read(folder, text, **options):
    path = folder / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return shoal.read(path, **options)


def test_a_row_of_units_below_the_names_is_no_record(tmp_path):
    table = read(tmp_path, "age,sex,weight\nyears,,kg\n" + RECORDS)
    assert (table.columns, table.count(), table.source.first_row) == (("age", "sex", "weight"), 12, 3)
    assert table.notes == ("a.csv: the second row names the columns, too, and is no record",)


def test_a_question_that_spans_several_columns_is_joined_with_its_parts(tmp_path):
    rows = "".join(f"{900 + n},Yes,{'A' * (n % 2)},{'B' * (n % 3 > 0)},C,{n % 5}\n" for n in range(12))
    table = read(tmp_path, "id,Seen it?,Which ones?,,,Age\n,Response,A,B,C,Response\n" + rows)
    assert table.columns == ("id", "Seen it?", "Which ones?: A", "Which ones?: B", "Which ones?: C", "Age")
    assert table.count() == 12


@pytest.mark.parametrize(
    "second",
    ["41,f,70", ",f,70", "?,f,-", "41,f,unknown", "NA,,NA", ",,"],
)
def test_a_record_with_gaps_is_no_row_of_names(tmp_path, second):
    assert read(tmp_path, f"age,sex,weight\n{second}\n{RECORDS}").count() in (12, 13)
    rows = [["age", "sex", "weight"], second.split(","), *(line.split(",") for line in RECORDS.splitlines())]
    assert read_header(rows)[1] == 1


@pytest.mark.parametrize("padding", [",,", ""])
def test_notes_below_a_table_are_left_out_and_said(tmp_path, padding):
    table = read(
        tmp_path, f"age,sex,weight\n{RECORDS}\nSource: the registry of SECRET{padding}\nAs of May 2024{padding}\n"
    )
    assert table.count() == 12
    assert table.notes[-1] == "a.csv: the last 2 lines are a note below the table and were left out"


def test_notes_below_records_that_are_not_as_long_as_the_header(tmp_path):
    with pytest.raises(DataError, match=r"1 of 13 rows does not have 3 fields as the header does: row 14\."):
        read(tmp_path, f"age,sex,weight\n{RECORDS}41,f\nSource: the registry\n")
    table = read(tmp_path, f"age,sex,weight\n{RECORDS}41,f\nSource: the registry\n", skip_bad_rows=True)
    assert table.count() == 12
    assert "row 14; left out" in table.notes[0]


def test_a_last_record_with_a_single_value_stays():
    rows = [line.split(",") for line in RECORDS.splitlines()]
    assert notes_below([*rows, ["", "", "77"]]) == 0
    assert notes_below([*rows, ["", "", ""]]) == 0
    assert notes_below([["Vienna", "", ""], ["New York", "", ""]]) == 0


def test_bad_rows_are_named_and_left_out_on_request(tmp_path):
    text = f"age,sex,weight\n41,f\n{RECORDS}42,m,70,SECRET\n{RECORDS}"
    with pytest.raises(DataError, match=r"2 of 26 rows do not have 3 fields as the header does: rows 2, 15") as raised:
        read(tmp_path, text)
    assert "skip_bad_rows" in str(raised.value)
    table = read(tmp_path, text, skip_bad_rows=True)
    assert table.count() == 24
    assert table.notes == ("a.csv: 2 of 26 rows do not have 3 fields as the header does: rows 2, 15; left out",)
    with pytest.raises(DataError, match="do not have 3 fields"):
        read(tmp_path, "age,sex,weight\n1,2\n3,4\n", skip_bad_rows=True)


SENTENCES = {
    "gb18030": "姓名,性别,城市\n王小明,男,北京市\n李华,女,上海市\n张伟,男,广州市\n刘洋,女,成都市\n",
    "big5": "姓名,性別,城市\n王小明,男,臺北市\n李華,女,高雄市\n張偉,男,臺中市\n劉洋,女,新竹縣\n",
    "shift_jis": "氏名,性別,都道府県\n山田さくら,女,東京都\n佐藤けん,男,大阪府\nスズキ,男,北海道\n",
    "euc_jp": "氏名,性別,都道府県\n山田さくら,女,東京都\n佐藤けん,男,大阪府\nスズキ,男,北海道\n",
    "euc_kr": "이름,성별,도시\n김민수,남,서울특별시\n이영희,여,부산광역시\n박철수,남,대구\n",
    "koi8-r": "имя,пол,город\nИван Петров,м,Москва\nАнна Смирнова,ж,Санкт-Петербург\n",
    "cp1251": "имя,пол,город\nИван Петров,м,Москва\nАнна Смирнова,ж,Санкт-Петербург\n",
    "cp1252": "Straße,Geschlecht,Ort\nMüllerstraße,weiblich,Köln\nGrünweg,männlich,Düsseldorf\n",
    "cp1250": "jméno,pohlaví,město\nŘehoř Dvořák,muž,Plzeň\nKateřina Šťastná,žena,Třebíč\n",
    "cp1253": "όνομα,φύλο,πόλη\nΓιώργος,άνδρας,Αθήνα\nΕλένη,γυναίκα,Θεσσαλονίκη\n",
}


def test_a_space_of_another_encoding_is_no_letter(tmp_path):
    table = read(
        tmp_path, ("film,note\nEpisode I\u00a0 The Menace,good\n" + "Episode\u00a0 V,good\n" * 9).encode("mac_roman")
    )
    assert table.to_arrow()["film"][0].as_py() == "Episode I\u00a0 The Menace"


@pytest.mark.parametrize("codec", SENTENCES)
def test_encodings_from_before_unicode_are_tried(tmp_path, codec):
    text = SENTENCES[codec]
    table = read(tmp_path, text.encode(codec))
    assert table.columns == tuple(text.splitlines()[0].split(","))
    assert "it is not UTF-8" in table.source.detail("encoding")


def test_a_wrong_encoding_is_refused_with_one_that_fits(tmp_path):
    with pytest.raises(DataError) as raised:
        read(tmp_path, SENTENCES["shift_jis"].encode("shift_jis"), encoding="utf-8")
    assert "Shift-JIS" in str(raised.value)


def test_a_first_sheet_of_text_is_not_taken_for_the_table(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Read me"
    for line in ("About this file", "It holds the records of a clinic.", "Contact: the registry"):
        book.active.append([line])
    sheet = book.create_sheet("Records")
    for row in (["age", "sex", "weight"], *([20 + n, "mf"[n % 2], 50 + n] for n in range(9)), ["Source: a clinic"]):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    table = shoal.read(tmp_path / "a.xlsx")
    assert (table.columns, table.count()) == (("age", "sex", "weight"), 9)
    assert "`Records`, the first with a table, was read" in table.notes[0]
    assert table.notes[-1].endswith("the last line is a note below the table and was left out")
    assert len(shoal.read(tmp_path / "a.xlsx", table="Read me").columns) == 1
