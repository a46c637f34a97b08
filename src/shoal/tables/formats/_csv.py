"""Read CSV: every field as text, typed later by the schema, so that ZIP codes keep their zeros.

The grammar is that of Python's ``csv`` module (and of spreadsheets): a quote opens a quoted field only at its start,
two quotes inside are one, a quoted field may hold line breaks; LF, CRLF and CR end a record; blank lines are
skipped, but in a file of one column, where they are missing values. An empty field, quoted or not, is a missing value.
Arrow parses; what it does not tell (bad encodings, zero bytes, a quote that never ends) is watched on the way in.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import check_names, quiet
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import Header, header_of, titles, told_of_titles
from shoal.tables.formats._format import FileFormat, Options, ending
from shoal.tables.formats._utf8 import Encoding, Utf8Stream, WrongEncoding, find_encoding, first_text

BLOCK = 1 << 23  # bytes; no record may be longer
_SAMPLE = 1 << 18
_FALL_BACK = "cp1252"
DELIMITERS = (",", ";", "\t", "|")
_ROWS = 1000  # looked at to find the delimiter and the decimal mark
_COMMA = re.compile(r"[+-]?\d*(,\d+)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*(\.\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,.])\d{3}(\1\d{3})*")


class Csv(FileFormat):
    """A CSV file: every field is text, in whatever encoding and with whatever delimiter."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV files"
    options: ClassVar[tuple[str, ...]] = ("delimiter", "encoding", "decimal")
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt")
    written: ClassVar[tuple[str, ...]] = (".csv",)
    compressed: ClassVar[bool] = True

    def open(self, path: Path, options: Options) -> Table:
        """Read a file; text that is not in the encoding that its beginning shows is read again as Windows-1252."""
        if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in '"\r\n\0'):
            raise ParameterError("`delimiter` of `read` must be one character, not a quote or a line break.")
        if options.decimal not in (None, ".", ","):
            raise ParameterError("`decimal` of `read` must be `.` or `,`.")
        try:
            return self._opened(path, options, fall_back=False)
        except WrongEncoding:
            return self._opened(path, options, fall_back=True)

    def _opened(self, path: Path, options: Options, *, fall_back: bool) -> Table:
        how = {name: getattr(options, name) for name in self.options}
        text = open_csv(path, **how, fall_back=fall_back)
        engine = DuckDBEngine()
        with quiet(path.name):
            expression = engine.ingest(text.records)
        text.check()
        details = (("encoding", text.encoding), ("delimiter", repr(text.delimiter)), ("decimal", text.decimal))
        source = Source(kind=self.name, name=path.name, path=path, details=details, first_row=text.before + 1)
        return Table(expression=expression, engine=engine, source=source, notes=text.notes)

    def save(self, table: Table, path: Path) -> None:
        table.engine.write_csv(table.visible, path)


def open_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    fall_back: bool = False,
    names: bool = False,
) -> CsvText:
    """Open a CSV file; how it is written is detected where not given, and ``fall_back`` reads it as Windows-1252.

    With ``names`` the first row is known to hold the names of the columns, whatever it looks like.

    Raises
    ------
    DataError
        If the file cannot be opened, is empty, or its header cannot be used.
    """
    chosen = Encoding(_FALL_BACK) if fall_back else find_encoding(path, encoding)
    sample = first_text(path, chosen, _SAMPLE)
    if not sample.strip("\r\n"):
        raise DataError(f"{path.name} is empty.")
    tabs = ending(path).removesuffix(".gz") in (".tsv", ".tab")
    delimiter = delimiter or ("\t" if tabs else detect_delimiter(sample))
    rows = rows_of(sample, delimiter)
    if not rows:
        raise DataError(f"{path.name}: the first row is too long to be a header.")
    above = [] if names else rows[: titles(rows)]
    head = Header(columns=tuple(rows[0])) if names else header_of(rows := rows[len(above) :])
    columns, token = head.columns, secrets.token_hex(16)
    if not names:
        check_names(columns, path.name)
    return CsvText(
        path=path,
        columns=columns,
        encoding="Windows-1252 (it is not UTF-8)" if fall_back else chosen.codec.upper(),
        delimiter=delimiter,
        decimal=decimal or detect_decimal(rows[1:], delimiter),
        notes=tuple(f"{path.name}: {note}" for note in (*told_of_titles(len(above)), *head.notes)),
        stream=Utf8Stream(path, chosen, end=f"\n{token}{delimiter * (len(columns) - 1)}\n".encode()),
        token=token,
        before=len(above) + head.present,
        short=sum(len(row) != len(columns) for row in above),
        # of one column, a blank line is a record without a value
        blanks=len(columns) == 1 and not sample.startswith(("\r", "\n")),
    )


@dataclass(slots=True, kw_only=True, eq=False)
class CsvText:
    """An opened CSV file: its columns, how it is written, its records as text, and what was wrong with them."""

    path: Path
    columns: tuple[str, ...]
    encoding: str
    delimiter: str
    decimal: str
    notes: tuple[str, ...]
    stream: Utf8Stream
    #: how the last record begins, which only we can have written: if a quote is still open, it never arrives
    token: str
    #: the rows before the first record, and those of them that are not as long as a record
    before: int
    short: int
    #: whether a blank line is a record
    blanks: bool
    #: what was met while records were read: their number, rows of other lengths, the last record, one too long
    number: int = 0
    ragged: list[int] = field(default_factory=list)
    ended: bool = False
    broken: bool = False

    @property
    def records(self) -> pa.RecordBatchReader:
        """The records after the header, which can be read once."""
        schema = pa.schema([(name, pa.string()) for name in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        before = self.before - self.short
        try:
            for batch in self._parse():
                kept, before = batch.slice(before), max(0, before - len(batch))
                if len(kept) and kept.column(0)[-1].as_py() == self.token:
                    self.ended, kept = True, kept.slice(0, len(kept) - 1)
                self.number += len(kept)
                if len(kept):
                    yield pa.RecordBatch.from_arrays(kept.columns, schema=schema)
        except pa.ArrowInvalid:
            self.broken = True
        finally:
            self.stream.close()

    def _parse(self) -> Iterator[pa.RecordBatch]:
        import pyarrow.csv

        names = [str(number) for number in range(len(self.columns))]
        yield from pyarrow.csv.open_csv(
            self.stream,
            # one thread: only then does Arrow number the rows, and it is as fast
            read_options=pyarrow.csv.ReadOptions(block_size=BLOCK, column_names=names, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                invalid_row_handler=self._note,
                ignore_empty_lines=not self.blanks,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )

    def _note(self, row: Any) -> str:
        self.ragged.append(row.number)
        return "skip"

    def check(self) -> None:
        """Raise the first thing that was wrong, once records were read: what comes after it is not to be trusted."""
        name, ragged = self.path.name, self.ragged[self.short :]
        if self.stream.failure is not None:
            raise self.stream.failure
        if self.broken:
            raise DataError(
                f"{name}: a record near row {self.number + 2:,} is longer than {BLOCK >> 20} MB.",
                hint="perhaps a quote is opened there and never closed",
            )
        if not self.ended:
            last = self.number + 1 + len(self.ragged)
            raise DataError(f"{name}: a quote opened in row {last:,} or earlier is never closed.")
        if ragged:
            shown = ", ".join(f"{row:,}" for row in ragged[:5])
            more = " and so on" if len(ragged) > 5 else ""
            several = len(ragged) > 1
            hint = f"fields are separated by {_spoken(self.delimiter)}; if that is wrong, specify the delimiter"
            if several and not self.number:
                hint += "; if every row ends in one more than the header, add it there"
            raise DataError(
                f"{name}: {len(ragged):,} {'rows do' if several else 'row does'} not have {len(self.columns)} "
                f"fields as the header does: {'rows' if several else 'row'} {shown}{more}.",
                hint=hint,
            )
        if not self.number:
            raise DataError(f"{name} has a header but no records.")


def _spoken(delimiter: str) -> str:
    names = dict(zip(DELIMITERS, ("commas", "semicolons", "tabs", "vertical bars"), strict=True))
    return names.get(delimiter, f"{delimiter!r}")


def detect_delimiter(sample: str) -> str:
    r"""Return the delimiter under which the most rows have as many fields as the header, title lines left out.

    Examples
    --------
    >>> detect_delimiter("age;pay\n39;1,5\n40;2,5\n")
    ';'
    """
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        rows = rows_of(sample, delimiter)
        widths = [len(row) for row in rows[titles(rows) if rows else 0 :]]
        if widths and widths[0] > 1:
            score = (widths.count(widths[0]) / len(widths), widths[0])
            if score > best_score:
                best, best_score = delimiter, score
    return best


def detect_decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return ``,`` where numbers are written with a decimal comma, else a point.

    A comma counts only where the delimiter is another character, some number cannot be one with thousands
    separators, and no column has points that can only be decimal ones.

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
        decimal = any("." in value and not _THOUSANDS.fullmatch(value) for value in values)
        if decimal and all(_POINT.fullmatch(value) for value in values):
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
