"""Find out how a CSV file is written: its encoding, delimiter and decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DELIMITERS", "Encoding", "detect_decimal", "detect_delimiter", "detect_encoding", "rows_of"]

DELIMITERS = (",", ";", "\t", "|")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ROWS = 1000  # looked at to find the delimiter and the decimal mark
_COMMA = re.compile(r"[+-]?\d*(,\d+)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*(\.\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec and the number of bytes of the byte order mark before the text."""

    codec: str
    mark: int = 0
    given: bool = False


def detect_encoding(start: bytes) -> Encoding:
    """Return the encoding that the first bytes of a file speak for; UTF-8 unless they speak for another.

    Whether the rest is UTF-8 is checked while it is read.

    Examples
    --------
    >>> detect_encoding("a;b".encode("utf-16"))
    Encoding(codec='utf-16-le', mark=2, given=False)
    """
    for mark, codec in _BOMS:
        if start.startswith(mark):
            return Encoding(codec, len(mark))
    # Latin letters in UTF-16 have a zero in every second byte, which no other text has
    even, odd = start[::2].count(0), start[1::2].count(0)
    if odd > len(start) // 4 and even * 10 < odd:
        return Encoding("utf-16-le")
    if even > len(start) // 4 and odd * 10 < even:
        return Encoding("utf-16-be")
    return Encoding("utf-8")


def detect_delimiter(sample: str) -> str:
    r"""Return the delimiter under which the most rows have as many fields as the header.

    Examples
    --------
    >>> detect_delimiter("age;pay\n39;1,5\n40;2,5\n")
    ';'
    """
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in rows_of(sample, delimiter)]
        if widths and widths[0] > 1:
            score = (widths.count(widths[0]) / len(widths), widths[0])
            if score > best_score:
                best, best_score = delimiter, score
    return best


def detect_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return ``,`` where numbers are written with a decimal comma, else a point.

    A comma counts only where the delimiter is another character, some number cannot be one with thousands
    separators, and no column has decimal points.

    Examples
    --------
    >>> detect_decimal([["39", "1,5"], ["40", "2,25"]], ";")
    ','
    """
    if delimiter == ",":
        return "."
    commas = False
    for column in zip(*rows, strict=False):
        values = [value for value in (value.strip() for value in column) if value]
        if all(_POINT.fullmatch(value) for value in values) and any("." in value for value in values):
            return "."
        if all(_COMMA.fullmatch(value) for value in values):
            commas |= any("," in value and not _THOUSANDS.fullmatch(value) for value in values)
    return "," if commas else "."


def rows_of(sample: str, delimiter: str) -> list[list[str]]:
    """Return the first rows of a sample that are not blank, header included; none if they cannot be parsed."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _ROWS:
                break
    except csv.Error:  # a field that is longer than any that we look at
        return rows
    return rows
