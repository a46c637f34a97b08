"""Kinds of values by source: how each is put there, and what Shoal reads.

``python tests/reference/kinds.py > docs/reference/types.md`` writes the page; `tests/conformance/test_kinds.py` walks
through every line on real servers and files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

NAN, INFINITY = float("nan"), float("inf")
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13, 5, 7, 123456)  # noqa: DTZ001 - without a zone
BIG, TEXTS = 2**53 + 1, ["Köln", " a ", "😀", "\u202e"]
_NO_DAY = "infinite, 24:00, or not in the years 1 to 9999"
_LABELS = {"variable_value_labels": {"v": {1: "man", 2: "woman"}}}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of values in one source.

    Parameters
    ----------
    name
        What the source calls them.
    given
        How they are put there: values in SQL, an Arrow array, cells.
    read
        What is read, in order; None where they are refused.
    note
        What changes, or what the refusal says; empty where they are kept exactly.
    type
        The type of the column in SQL, or how cells are shown.
    options
        What else the file says of the column.
    described
        Whether they are refused only where a schema describes them, as it does before anything is released.
    """

    name: str
    given: Any
    read: Sequence[object] | None
    note: str = ""
    type: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    described: bool = False

    @property
    def outcome(self) -> str:
        """The cell of the page."""
        if self.read is None:
            return f"refused: {self.note}"
        return f"converted: {self.note}" if self.note else "kept exactly"


def kept(name: str, given: Any, read: Sequence[object] | None = None, **more: Any) -> Kind:
    """Return a kind whose values stay as they are."""
    return Kind(name=name, given=given, read=given if read is None else read, **more)


def changed(name: str, given: Any, read: Sequence[object], note: str, **more: Any) -> Kind:
    """Return a kind whose values become others."""
    return Kind(name=name, given=given, read=read, note=note, **more)


def refused(name: str, given: Any, note: str, **more: Any) -> Kind:
    """Return a kind that is refused."""
    return Kind(name=name, given=given, read=None, note=note, **more)


def _sql(kind: str, values: str, read: Sequence[object] | None, note: str = "", name: str = "") -> Kind:
    return Kind(name=name or f"`{kind}`", given=values, read=read, note=note, type=kind)


def _arrow(values: Sequence[object], kind: pa.DataType, as_: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, kind) if as_ is None else pa.array(values, kind).cast(as_)


POSTGRES = [
    _sql("boolean", "(true), (false), (NULL)", [True, False, None]),
    _sql("smallint", "(-32768), (32767)", [-32768, 32767]),
    _sql("integer", "(2147483647)", [2147483647]),
    _sql("bigint", f"({BIG}), ({-(2**63)})", [BIG, -(2**63)]),
    _sql("real", "(0.5), ('NaN'), ('-Infinity')", [0.5, NAN, -INFINITY]),
    _sql("double precision", "(0.1), (1e308), ('Infinity')", [0.1, 1e308, INFINITY]),
    _sql("numeric(8,2)", "(123456.78)", [Decimal("123456.78")], name="`numeric(p,s)` of up to 38 digits"),
    _sql("numeric(6,1)", "('NaN')", None, "NaN", name="`numeric(p,s)`, NaN"),
    _sql("numeric(40,1)", "(5.5)", [5.5], "floating point", name="`numeric(p,s)` of more digits"),
    _sql("numeric", "(0.1), ('NaN')", [0.1, NAN], "floating point"),
    _sql(
        "numeric",
        "(12345678901234567890)",
        [12345678901234567000.0],
        "floating point; a note counts the values that are rounded",
        name="`numeric`, more than 15 digits",
    ),
    _sql("money", "(1234.5)", ["$1,234.50"], "text, in the way of the server"),
    _sql("text", "('Köln'), (' a '), ('😀')", ["Köln", " a ", "😀"]),
    _sql("character(4)", "('ab')", ["ab  "], name="`character(n)`, with its spaces"),
    _sql("varchar(9)", "('Köln')", ["Köln"]),
    _sql("date", "('0001-01-01'), ('2024-02-29'), ('9999-12-31')", [dt.date(1, 1, 1), DAY, dt.date(9999, 12, 31)]),
    _sql("date", "('infinity')", None, _NO_DAY, name="`date`, `infinity`"),
    _sql("date", "('0044-03-15 BC')", None, _NO_DAY, name="`date`, before Christ"),
    _sql("timestamp", "('2024-02-29 13:05:07.123456')", [MOMENT], name="`timestamp`, to the microsecond"),
    _sql("timestamp", "('-infinity')", None, _NO_DAY, name="`timestamp`, `infinity`"),
    _sql(
        "timestamptz",
        "('2024-02-29 15:05:07.123456+02')",
        [MOMENT.replace(tzinfo=dt.UTC)],
        "the same moment in UTC",
    ),
    _sql("timestamptz", "('infinity')", None, _NO_DAY, name="`timestamptz`, `infinity`"),
    _sql("time", "('13:05:07.123456')", [MOMENT.time()]),
    _sql("time", "('24:00')", None, _NO_DAY, name="`time`, 24:00"),
    _sql("timetz", "('13:05:07+02')", ["13:05:07+02"], "text"),
    _sql("interval", "('1 mon 2 days')", ["1 mon 2 days"], "text"),
    _sql("uuid", "('00000000-0000-0000-0000-000000000001')", ["00000000-0000-0000-0000-000000000001"], "text"),
    _sql("jsonb", """('{"a":1}')""", ['{"a": 1}'], "text", name="`json`, `jsonb`, `xml`"),
    _sql("bytea", r"('\x00ff')", [b"\x00\xff"], name="`bytea`; cannot be released"),
    _sql("integer[]", "('{1,NULL}')", ["{1,NULL}"], "text", name="arrays"),
    _sql("numeric(5,1)[]", "('{1.5,NaN}')", ["{1.5,NaN}"], "text", name="arrays of `numeric(p,s)`"),
    _sql("date[]", "('{infinity}')", ["{infinity}"], "text", name="arrays of days"),
    _sql("daterange", "('[2024-01-01,infinity)')", ["[2024-01-01,infinity)"], "text", name="ranges"),
    _sql("inet", "('10.0.0.1')", ["10.0.0.1/32"], "text, with the length of the mask"),
    _sql("bit(3)", "(B'101')", ["101"], "text"),
    _sql("point", "('(1,2)')", ["(1,2)"], "text", name="points and other shapes"),
    _sql("date_of_mood", "('sad')", ["sad"], "text", name="enumerations"),
    _sql("pair", "(ROW(1, 'x')::pair)", ["(1,x)"], "text", name="composite types"),
    _sql("whole", "(5)", [5], name="domains, as what they stand for"),
    _sql("day", "('infinity')", None, _NO_DAY, name="domains of days, `infinity`"),
    _sql("amount", "('NaN')", None, "NaN", name="domains of `numeric(p,s)`, NaN"),
]
#: types that the server is told of first
POSTGRES_TYPES = (
    "CREATE TYPE date_of_mood AS ENUM ('sad', 'glad')",
    "CREATE TYPE pair AS (a integer, b text)",
    "CREATE DOMAIN small AS smallint",
    "CREATE DOMAIN whole AS small CHECK (VALUE > 0)",
    "CREATE DOMAIN day AS date",
    "CREATE DOMAIN amount AS numeric(6, 2)",
)

ARROW = [
    kept("booleans", pa.array([True, None]), [True, None]),
    kept("whole numbers of 8 to 64 bits", pa.array([BIG, -(2**63)]), [BIG, -(2**63)]),
    kept("whole numbers without a sign", _arrow([2**64 - 1], pa.uint64()), [2**64 - 1]),
    changed("half floats", pa.array([np.float16(0.5)], pa.float16()), [0.5], "floats of 32 bits"),
    kept("floats of 32 and 64 bits, NaN, infinities", pa.array([0.1, NAN, INFINITY]), [0.1, NAN, INFINITY]),
    kept("decimals of up to 38 digits", _arrow([Decimal("1.50")], pa.decimal128(38, 2)), [Decimal("1.50")]),
    refused("decimals of 256 bits", _arrow([Decimal("1")], pa.decimal256(50, 2)), "not supported"),
    refused("decimals with a negative scale", _arrow([Decimal("1200")], pa.decimal128(5, -2)), "not supported"),
    kept("texts, also large and viewed ones", pa.array(TEXTS, pa.large_string()), TEXTS),
    kept("dictionaries, as their values", pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
    kept("days of the years 1 to 9999", pa.array([dt.date(1, 1, 1), DAY]), [dt.date(1, 1, 1), DAY]),
    refused("other days", _arrow([10**7], pa.int32(), pa.date32()), _NO_DAY, described=True),
    kept("moments to the nanosecond", pa.array([MOMENT], pa.timestamp("us")), [MOMENT]),
    refused("moments of other years", _arrow([2**60], pa.int64(), pa.timestamp("us")), _NO_DAY, described=True),
    changed(
        "moments with a zone",
        pa.array([MOMENT.replace(tzinfo=dt.UTC)], pa.timestamp("us", tz="Europe/Berlin")),
        [MOMENT.replace(tzinfo=dt.UTC)],
        "the same moment in UTC",
    ),
    kept("times of the day", pa.array([MOMENT.time()]), [MOMENT.time()]),
    refused("24:00", _arrow([86_400_000_000], pa.int64(), pa.time64("us")), _NO_DAY, described=True),
    refused("durations", pa.array([dt.timedelta(1)]), "durations", described=True),
    refused("bytes", pa.array([b"\x00\xff"]), "bytes", described=True),
    refused("lists, structures, maps", pa.array([[1]]), "lists or structures", described=True),
]

SPARK = [
    _sql("boolean", "(true), (NULL)", [True, None]),
    _sql("bigint", f"({BIG})", [BIG], name="`tinyint` to `bigint`"),
    _sql("double", "(0.1), (double('NaN')), (double('Infinity'))", [0.1, NAN, INFINITY], name="`float`, `double`"),
    _sql("decimal(38,2)", "(1.5)", [Decimal("1.50")]),
    _sql("string", "('Köln'), (' a ')", ["Köln", " a "]),
    _sql("date", "(date'2024-02-29')", [DAY]),
    _sql("date", "(date'+10000-01-01')", None, _NO_DAY, name="`date`, beyond the year 9999"),
    _sql(
        "timestamp",
        "(timestamp'2024-02-29 15:05:07.123456+02:00')",
        [MOMENT.replace(tzinfo=dt.UTC)],
        "the same moment in UTC",
    ),
    _sql("timestamp_ntz", "(timestamp_ntz'2024-02-29 13:05:07.123456')", [MOMENT]),
    _sql("interval day", "(interval '1' day)", None, "durations", name="intervals"),
    _sql("binary", "(X'00ff')", None, "bytes"),
    _sql("array<int>", "(array(1))", None, "lists or structures", name="arrays, maps, structures"),
]

_CODED = [
    kept("whole numbers", [1.0, -2.0, None], [1, -2, None]),
    changed("whole numbers beyond 2^53", [float(BIG)], [float(BIG)], "what the file holds: floating point"),
    kept("texts", TEXTS[:3:2]),
    changed("empty texts", ["", "a"], [None, "a"], "missing, as these packages have it"),
    kept("days", [DAY, dt.date(1500, 1, 1)]),
    changed("times of the day", [MOMENT.time().replace(microsecond=0)], ["13:05:07"], "text"),
    changed("booleans", [True, False], [1, 0], "1 and 0: the file has no other"),
]
_LABELLED = [
    changed("values with labels", [1.0, 2.0], ["man", "woman"], "the labels; a note says so", options=_LABELS),
    changed("values beside labelled ones", [1.0, 3.0], ["man", "3"], "text", options=_LABELS),
]
STATA = [
    *_CODED,
    kept("floating point", [0.1, 1e300]),
    kept("moments to the millisecond", [MOMENT.replace(microsecond=123000)]),
    *_LABELLED,
    changed(
        "extended missing values, `.a` to `.z`",
        [1.0, "a"],
        [1, None],
        "missing",
        options={"missing_user_values": {"v": ["a"]}},
    ),
]
SPSS = [
    *_CODED,
    kept("floating point", [0.1, 1e300]),
    changed(
        "infinite numbers",
        [INFINITY, 1.0],
        ["inf", "1"],
        "the column is text",
    ),
    kept("moments to the millisecond", [MOMENT.replace(microsecond=0)]),
    *_LABELLED,
    changed("values declared missing", [1.0, 99.0], [1, None], "missing", options={"missing_ranges": {"v": [99]}}),
]
SAS = [
    *_CODED,
    kept("floating point of ordinary size", [0.1, 1e30]),
    kept("moments", [MOMENT]),
]

EXCEL = [
    kept("numbers", [0.1, 1e300]),
    kept("whole numbers", [1, -2, 2**53 - 1]),
    changed("numbers of more than 15 digits", [123456789012345678], [1.234567890123457e17], "what Excel holds"),
    kept("texts", TEXTS[:3]),
    kept("texts of digits", ["007", "1"]),
    changed("numbers and words in one column", [1, "a"], ["1", "a"], "text"),
    kept("true and false", [True, False]),
    kept("days from March 1900", [DAY, dt.date(1900, 3, 1)]),
    changed("29 February 1900, which never was", [60], [dt.date(1900, 2, 28)], "the day before", type="yyyy-mm-dd"),
    kept("moments to the millisecond", [MOMENT.replace(microsecond=123000)]),
    changed("times of the day", [MOMENT.time().replace(microsecond=0)], ["13:05:07"], "text"),
    changed("durations", [dt.timedelta(days=1, hours=2)], ["1 day, 2:00:00"], "text", type="[h]:mm"),
    changed("errors such as #N/A", ["#N/A", 1], [None, 1], "missing"),
    changed("formulas that were never computed", ["=1+1", "a"], [None, "a"], "missing"),
    kept("percentages, as the number", [0.25], type="0%"),
]

SOURCES = {
    "PostgreSQL": POSTGRES,
    "Arrow": ARROW,
    "Spark": SPARK,
    "Stata": STATA,
    "SPSS": SPSS,
    "SAS": SAS,
    "Excel": EXCEL,
}
_NOTES = {
    "PostgreSQL": "Databases in any encoding are read; texts arrive in UTF-8. Days, times and intervals that become "
    "text are written in ISO style whatever the server's settings.",
    "Arrow": "The same holds for Parquet and Feather files, tables of DuckDB, and frames of pandas and polars, which "
    "become Arrow tables first.",
    "Spark": "The same holds for Spark Connect.",
    "Stata": "`.dta`, with the encoding that the file states.",
    "SPSS": "`.sav`, with the encoding that the file states. Moments are seconds since 1582 in floating point: exact "
    "to about a microsecond.",
    "SAS": "`.sas7bdat` and `.xpt`. Labels lie in a catalogue of their own, which is not read.",
    "Excel": "`.xlsx`, and with the same reader `.xls`, `.xlsb`, `.xlsm` and `.ods`. Excel holds numbers in floating "
    "point.",
}
_HEAD = """\
# Types by source

What becomes of each kind of value that a source can hold: kept exactly, converted, or refused with the column's name
and the number of values. A value that cannot be held is never replaced by a placeholder. Tests read every line of this
page from a real server or file; `python tests/reference/kinds.py` writes it.

What is refused of Arrow and Spark is refused when a schema describes the column, before anything is computed; a column
with a role that is left out may hold anything. Numbers that are not finite are refused where a schema says that the
column is numeric. CSV files and JSON lines hold texts: [how they are read](../how-to/declare-a-schema.md).
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for source, kinds in SOURCES.items():
        lines = [f"| {kind.name} | {kind.outcome} |" for kind in kinds]
        parts.append(
            "\n".join(
                [f"## {source}", "", _NOTES[source], "", "| kind | what becomes of it |", "|---|---|", *lines, ""]
            )
        )
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
