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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.errors import DataError, ParameterError, counted
from shoal.tables._conform import compute_figures
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import check_names, quiet
from shoal.tables._table import Source, Table
from shoal.tables.formats._cells import Header
from shoal.tables.formats._format import FileFormat, Format, Options, ending
from shoal.tables.formats._formulas import defuse_formulas, note_formulas
from shoal.tables.formats._layout import is_note, notes_below, read_header, told_of_notes
from shoal.tables.formats._legacy import name_encoding, try_encodings
from shoal.tables.formats._utf8 import Encoding, Utf8Stream, WrongEncoding, find_encoding, first_text

BLOCK = 1 << 23  # bytes; no record may be longer
_SAMPLE = 1 << 18
_TAIL = 100  # records at the end that may hold notes, with records above them
DELIMITERS = (",", ";", "\t", "|")
_ROWS = 1000  # looked at to find the delimiter and the decimal mark
_COMMA = re.compile(r"[+-]?\d*(,\d+)?([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*(\.\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,.])\d{3}(\1\d{3})*")


class Csv(FileFormat):
    """A CSV file: every field is text, in whatever encoding and with whatever delimiter."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV files"
    options: ClassVar[tuple[str, ...]] = ("delimiter", "encoding", "decimal", "skip_bad_rows")
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".tab", ".txt")
    written: ClassVar[tuple[str, ...]] = (".csv",)
    compressed: ClassVar[bool] = True

    def __init__(self, *, is_safe: bool = False) -> None:
        self._is_safe = is_safe

    def spreadsheet_safe(self) -> Format:
        return Csv(is_safe=True)

    def unfit(self, table: Table) -> Iterable[str]:
        records = table.expression
        texts = [name for name in table.columns if records[name].type().is_string()]
        asked = {name: records.count(where=records[name].re_search(r"\x00")) for name in texts}
        for name, number in compute_figures(table, asked).items():
            if number:
                yield f"column `{name}`: {counted(number, 'text')} with a zero byte, which CSV files cannot hold"

    def open(self, path: Path, options: Options) -> Table:
        """Read a file; text that is not in the encoding that its beginning shows is read again in one that fits."""
        if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in '"\r\n\0'):
            raise ParameterError("`delimiter` of `read` must be one character, not a quote or a line break.")
        if options.decimal not in (None, ".", ","):
            raise ParameterError("`decimal` of `read` must be `.` or `,`.")
        try:
            return self._open_text(path, options)
        except WrongEncoding:
            return self._open_text(path, options, legacy=try_encodings(path))

    def _open_text(self, path: Path, options: Options, *, legacy: Sequence[str] = ()) -> Table:
        text = open_csv(
            path,
            delimiter=options.delimiter,
            encoding=options.encoding,
            decimal=options.decimal,
            skip_bad_rows=bool(options.skip_bad_rows),
            legacy=legacy,
        )
        engine = DuckDBEngine()
        with quiet(path.name):
            expression = engine.ingest(text.records)
        text.check()
        details = (("encoding", text.encoding), ("delimiter", repr(text.delimiter)), ("decimal", text.decimal))
        first_row = None if text.bad else text.before + 1
        stated = ("decimal",) if options.decimal is not None else ()
        source = Source(kind=self.name, name=path.name, path=path, details=details, stated=stated, first_row=first_row)
        return Table(expression=expression, engine=engine, source=source, notes=text.notes, titles=text.titles)

    def write(self, table: Table, destination: str | Path, *, name: str | None, overwrite: bool) -> None:
        if not self._is_safe:
            note_formulas(table, Path(destination).name)
        super().write(table, destination, name=name, overwrite=overwrite)

    def save(self, table: Table, path: Path) -> None:
        table = defuse_formulas(table) if self._is_safe else table
        table.engine.write_csv(table.visible, path)


def open_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    skip_bad_rows: bool = False,
    legacy: Sequence[str] = (),
    names: bool = False,
) -> CsvText:
    """Open a CSV file; how it is written is detected where not given.

    ``legacy`` are the encodings other than Unicode that fit, the likeliest first: it is read in that one.
    With ``names`` the first row is known to hold the names of the columns, whatever it looks like, and nothing but
    records follows.

    Raises
    ------
    DataError
        If the file cannot be opened, is empty, or its header cannot be used.
    """
    chosen = Encoding(legacy[0], given=True) if legacy else find_encoding(path, encoding)
    sample = first_text(path, chosen, _SAMPLE)
    if not sample.strip("\r\n"):
        raise DataError(f"{path.name} is empty.")
    tabs = ending(path).removesuffix(".gz") in (".tsv", ".tab")
    delimiter = delimiter or ("\t" if tabs else detect_delimiter(sample))
    rows = rows_of(sample, delimiter)
    if not rows:
        raise DataError(f"{path.name}: the first row is too long to be a header.")
    head, before = (Header(columns=tuple(rows[0])), 1) if names else read_header(rows)
    above, rows = rows[:before], rows[before:]
    columns, token = head.columns, secrets.token_hex(16)
    if not names:
        check_names(columns, path.name)
    return CsvText(
        path=path,
        columns=columns,
        encoding=f"{name_encoding(legacy[0])} (it is not UTF-8)" if legacy else chosen.codec.upper(),
        delimiter=delimiter,
        decimal=decimal or detect_decimal(rows, delimiter),
        notes=tuple(f"{path.name}: {note}" for note in (*_told_of_encodings(legacy), *head.notes)),
        titles=head.titles,
        stream=Utf8Stream(path, chosen, end=f"\n{token}{delimiter * (len(columns) - 1)}\n".encode()),
        token=token,
        before=before,
        short=sum(len(row) != len(columns) for row in above),
        skip_bad_rows=skip_bad_rows,
        only_records=names,
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
    titles: Mapping[str, str]
    stream: Utf8Stream
    #: how the last record begins, which only we can have written: if a quote is still open, it never arrives
    token: str
    #: the rows before the first record, and those of them that are not as long as a record
    before: int
    short: int
    #: whether a blank line is a record
    blanks: bool
    skip_bad_rows: bool
    only_records: bool
    #: what was met while records were read: their number, rows of other lengths with whether they may be notes, notes
    #: as long as a record, the last record, one too long
    number: int = 0
    ragged: list[tuple[int, bool]] = field(default_factory=list)
    below: int = 0
    ended: bool = False
    broken: bool = False
    #: the rows of other lengths that were left out
    bad: tuple[int, ...] = ()

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
                    if not self.only_records:
                        self.below = notes_below(_cells(kept.slice(max(0, len(kept) - _TAIL))))
                        kept = kept.slice(0, len(kept) - self.below)
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
        cells = rows_of(row.text or "", self.delimiter)
        self.ragged.append((row.number, len(cells) == 1 and is_note(cells[0])))
        return "skip"

    def check(self) -> None:
        """Raise the first thing that was wrong, once records were read: what comes after it is not to be trusted."""
        name = self.path.name
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
        ragged = self.ragged[self.short :]
        notes = 0 if self.only_records else self._notes(ragged)
        self.bad = tuple(row for row, _ in ragged[: len(ragged) - notes])
        if self.bad and not (self.skip_bad_rows and self.number):
            raise DataError(f"{name}: {self._told_of_bad_rows()}.", hint=self._hint())
        if not self.number:
            raise DataError(f"{name} has a header but no records.")
        told = [f"{self._told_of_bad_rows()}; left out"] if self.bad else []
        self.notes += tuple(f"{name}: {note}" for note in (*told, *told_of_notes(notes + self.below)))

    def _notes(self, ragged: Sequence[tuple[int, bool]]) -> int:
        """Return how many of the rows of other lengths are notes below the last record."""
        last = self.before - self.short + self.number + self.below + len(self.ragged)
        notes = 0
        for position, (row, note) in enumerate(reversed(ragged), 1):
            # all that follows the last record are notes
            if not note or row <= last - self.below - position:
                break
            notes = position
        return notes if self.number else 0

    def _told_of_bad_rows(self) -> str:
        shown = ", ".join(f"{row:,}" for row in self.bad[:5])
        more = " and so on" if len(self.bad) > 5 else ""
        do, rows = ("do", "rows") if len(self.bad) > 1 else ("does", "row")
        of = f" of {self.number + len(self.bad):,}" if self.number else ""
        return (
            f"{len(self.bad):,}{of} rows {do} not have {counted(len(self.columns), 'field')} as the header does: "
            f"{rows} {shown}{more}"
        )

    def _hint(self) -> str:
        hint = f"fields are separated by {_name_delimiter(self.delimiter)}; if that is wrong, specify the delimiter"
        if not self.number:
            return hint + "; if every row ends in one more than the header, add it there" * (len(self.bad) > 1)
        return hint + "; `skip_bad_rows` leaves these rows out"


def _cells(records: pa.RecordBatch) -> list[list[str]]:
    columns = [column.to_pylist() for column in records.columns]
    return [[cell or "" for cell in row] for row in zip(*columns, strict=True)]


def _told_of_encodings(legacy: Sequence[str]) -> tuple[str, ...]:
    """Say which of several encodings was chosen."""
    if len(legacy) < 2:
        return ()
    others = " or ".join(map(name_encoding, legacy[1:]))
    return (f"read as {name_encoding(legacy[0])}; if letters look wrong, specify `encoding`: {others}",)


def _name_delimiter(delimiter: str) -> str:
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
        widths = [len(row) for row in rows[read_header(rows)[1] - 1 if rows else 0 :]]
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
