"""What the CSV reader refuses, and how it says so."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import DataError, ParameterError
from shoal.tables import read
from shoal.tables.formats import _csv as module
from shoal.tables.formats import _utf8
from shoal.tables.formats._csv import open_csv

SECRET = "Xq7canary"


def refused(path: Path, **written: str) -> str:
    with pytest.raises(DataError) as caught:
        read(path, **written)
    assert SECRET not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.csv"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none.csv")


def test_a_folder_is_not_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").mkdir()
    assert "folder" in refused(tmp_path / "people.csv")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"\r\n"])
def test_an_empty_file_is_refused(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    assert refused(file) == "people.csv is empty."


def test_a_header_alone_is_refused(file: Path) -> None:
    file.write_text("age,city\n")
    assert refused(file) == "people.csv has a header but no records."


def test_rows_of_another_length_are_counted_and_numbered(file: Path) -> None:
    file.write_text(f"age,city\n1,a\n2\n3,b\n4,c,{SECRET}\n")
    assert "2 of 4 rows do not have 2 fields as the header does: rows 3, 5." in refused(file)
    file.write_text("age,city\n" + f"1,{SECRET},\n" * 7)
    said = refused(file)
    assert "rows 2, 3, 4, 5, 6 and so on." in said
    assert "ends in one more than the header" in said


def test_a_quote_that_never_closes_is_refused(file: Path) -> None:
    file.write_text(f'age,city\n1,a\n2,"{SECRET}\n3,c\n')
    assert "a quote opened in row 3 or earlier is never closed" in refused(file)


def test_a_quote_that_never_closes_in_a_large_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 1000)
    file.write_text('age,city\n1,a\n2,"b\n' + "3,c\n" * 1000)
    assert "a record near row 3 is longer than" in refused(file)


def test_a_quote_that_never_closes_in_the_header_shows_no_data(file: Path) -> None:
    file.write_text('age,"city\n' + f"1,{SECRET}\n" * 100)
    assert "the name of column 2 is longer than 200 characters" in refused(file)


def test_a_zero_byte_is_refused(file: Path) -> None:
    file.write_bytes(b"age,city\n1,a\n2,b\0\n")
    assert "line 3 contains a zero byte" in refused(file)


def test_bytes_that_are_not_utf8_after_some_that_are_get_a_line_number(file: Path) -> None:
    file.write_bytes("age,city\n1,é\n".encode() + b"2,\xff\n")
    assert "first error in line 3" in refused(file)


def test_a_wrong_encoding_that_was_given_is_refused(file: Path) -> None:
    file.write_bytes(b"age,city\n1,\xe9\n")
    assert "the text is not valid UTF-8" in refused(file, encoding="utf-8")


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", ""])
def test_an_encoding_must_be_one_of_text(file: Path, encoding: str) -> None:
    file.write_text("age,city\n1,a\n")
    with pytest.raises(ParameterError, match="`encoding` of `read` must name a text encoding"):
        read(file, encoding=encoding)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("__shoal_row__,b", "is reserved"),
        ("a,__SHOAL_other", "is reserved"),
    ],
)
def test_column_names_are_checked(file: Path, header: str, said: str) -> None:
    file.write_text(f"{header}\n{',' * header.count(',')}1\n")
    assert said in refused(file, delimiter=",")


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"age,city\n" + b"1,abcdef\n" * 10_000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "damaged or incomplete" in refused(tmp_path / "cut.csv.gz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(file: Path) -> None:
    file.write_text("age\n1\n")
    file.chmod(0)
    assert "permission denied" in refused(file)


def test_no_permission_is_said_without_being_root(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("age\n1\n")

    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(_utf8, "_open", denied)
    assert refused(file) == "people.csv cannot be read: permission denied."


@pytest.mark.parametrize(
    ("option", "value"), [("delimiter", '"'), ("delimiter", ",,"), ("delimiter", "\n"), ("decimal", ";")]
)
def test_impossible_dialects_are_refused(file: Path, option: str, value: str) -> None:
    file.write_text("age\n1\n")
    with pytest.raises(ParameterError, match=f"`{option}` of `read`"):
        read(file, **{option: value})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_is_found_out(file: Path, encoding: str) -> None:
    file.write_bytes("name,city of residence\nÅsa,Ålesund\n".encode(encoding))
    assert read(file).to_arrow().to_pydict() == {"name": ["Åsa"], "city of residence": ["Ålesund"]}


def test_text_that_is_not_unicode_is_read_as_windows_1252_and_said_so(file: Path) -> None:
    file.write_bytes("name,price\nZoë,5 €\n".encode("cp1252"))
    table = read(file)
    assert table.to_arrow().to_pydict() == {"name": ["Zoë"], "price": ["5 €"]}
    assert "Windows-1252" in str(table.source)


def test_an_encoding_can_be_given(file: Path) -> None:
    file.write_bytes("имя;n\nИля;1\n".encode("cp1251"))
    assert read(file, encoding="windows-1251").to_arrow()["имя"].to_pylist() == ["Иля"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(file: Path, delimiter: str) -> None:
    file.write_text(delimiter.join(["a", "b", "c"]) + "\n" + delimiter.join(["1.5", "x y", "2"]) + "\n")
    assert read(file).columns == ("a", "b", "c")


def test_codes_keep_their_zeros_and_empty_fields_are_missing(file: Path) -> None:
    file.write_text('zip,n,q\n01234,,""\n')
    assert read(file).to_arrow().to_pylist() == [{"zip": "01234", "n": None, "q": None}]


def test_a_quoted_field_may_hold_anything(file: Path) -> None:
    file.write_text('a,b\n"x, ""y""\nz",2\n')
    assert read(file).to_arrow().to_pylist() == [{"a": 'x, "y"\nz', "b": "2"}]


def test_one_column_is_a_table_too(file: Path) -> None:
    file.write_text("age\n39\n\n40\n")
    assert read(file).to_arrow()["age"].to_pylist() == ["39", None, "40"]


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"a,b\tc\n1\t2\n"))
    assert read(tmp_path / "a.tsv.gz").columns == ("a,b", "c")


def test_records_keep_their_numbers(file: Path) -> None:
    rows = 300_000
    file.write_text("n\n" + "\n".join(map(str, range(rows))) + "\n")
    table = read(file)
    found = table.engine.fetch(table.expression)
    assert found["n"].cast("int64").equals(found["__shoal_row__"])


def test_a_line_break_inside_quotes_survives_the_end_of_a_block(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 100)
    for padding in range(100):
        file.write_bytes(b"a,b\n" + b"x" * padding + b',"1\r\n2"\n' + b"y,z\n" * 20)
        records = pa.Table.from_batches(open_csv(file).records)
        assert records["b"][0].as_py() == "1\r\n2", padding
