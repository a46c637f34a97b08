from __future__ import annotations

import pytest

from shoal.tables.formats._csv import detect_decimal, detect_delimiter
from shoal.tables.formats._utf8 import Encoding, detect_encoding


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a;b\n1,5;2,5\n", ";"),
        ("a,b\n1;2,3\n", ","),
        ("a\tb\n1, 2\t3\n", "\t"),
        ("a|b|c\n1|2,2|3\n", "|"),
        ("name\nDoe, Jane\n", ","),
        ('"a;b",c\n"1;2;3",4\n', ","),
        ("a,b;c\n1,2;3\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_the_one_that_fits_every_row(sample: str, delimiter: str) -> None:
    assert detect_delimiter(sample) == delimiter


@pytest.mark.parametrize(
    ("values", "delimiter", "decimal"),
    [
        (["1,5", "2,25"], ";", ","),
        (["1,5", "2,25"], ",", "."),  # the comma is taken
        (["1,234", "5,678"], ";", "."),  # perhaps thousands: not guessed
        (["1,234", "5,67"], ";", ","),
        (["1.5", "2"], ";", "."),
        (["1", "2"], ";", "."),
        (["a,b", "c"], ";", "."),
        ([], ";", "."),
    ],
)
def test_a_decimal_comma_is_found_only_where_nothing_else_is_possible(
    values: list[str], delimiter: str, decimal: str
) -> None:
    assert detect_decimal([[value] for value in values], delimiter) == decimal


def test_a_column_with_decimal_points_speaks_against_a_decimal_comma() -> None:
    assert detect_decimal([["1,5", "2.5"]], ";") == "."
    assert detect_decimal([["1,5", "2.500"]], ";") == ","  # thousands


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        (b"abc", Encoding("utf-8")),
        (b"\xef\xbb\xbfabc", Encoding("utf-8", 3)),
        ("abcd".encode("utf-16-le"), Encoding("utf-16-le")),
        ("abcd".encode("utf-16-be"), Encoding("utf-16-be")),
        (b"\xff\xfea\0", Encoding("utf-16-le", 2)),
        (b"\xff\xfe\0\0a\0\0\0", Encoding("utf-32-le", 4)),
        (b"", Encoding("utf-8")),
        (bytes(100), Encoding("utf-8")),
    ],
)
def test_encodings_show_in_the_first_bytes(start: bytes, encoding: Encoding) -> None:
    assert detect_encoding(start) == encoding
