"""Read CSV: every field as text, typed later by the schema, so that ZIP codes keep their zeros.

The grammar is that of Python's ``csv`` module (and of spreadsheets): a quote opens a quoted field only at its start,
two quotes inside are one, a quoted field may hold line breaks; LF, CRLF and CR end a record; blank lines are skipped.
An empty field, quoted or not, is a missing value. Arrow parses; what it does not tell (bad encodings, zero bytes,
a quote that never ends) is watched on the way in.
"""

from __future__ import annotations

import codecs
import gzip
import io
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from shoal.errors import DataError
from shoal.tables._dialect import (
    DELIMITERS,
    Encoding,
    detect_decimal,
    detect_delimiter,
    detect_encoding,
    rows_of,
)
from shoal.tables._names import check_names

__all__ = ["CsvText", "open_csv"]

BLOCK = 1 << 23  # bytes; no record may be longer
CHUNK = BLOCK  # bytes read from the file at a time
_SAMPLE = 1 << 18
_FALL_BACK = "cp1252"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvText:
    """An opened CSV file: its columns, how it is written, and its records as text."""

    columns: tuple[str, ...]
    encoding: str
    delimiter: str
    decimal: str
    records: pa.RecordBatchReader
    watched: _Watched

    def check(self) -> None:
        """Raise what was wrong with the file, once its records were read (or reading them broke off)."""
        self.watched.check()


class WrongEncoding(Exception):
    """The bytes are not UTF-8, and nothing before them speaks for UTF-8: perhaps another encoding."""


def open_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    fall_back: bool = False,
) -> CsvText:
    """Open a CSV file.

    Parameters
    ----------
    delimiter, encoding, decimal
        How the file is written; found out where not given.
    fall_back
        Read text that is not UTF-8 as Windows-1252.

    Raises
    ------
    DataError
        If the file cannot be opened, is empty, or its header cannot be used.
    """
    chosen = Encoding(_FALL_BACK) if fall_back else _encoding(path, encoding)
    sample = _sample(path, chosen)
    if not sample.strip("\r\n"):
        raise DataError(f"{path.name} is empty.")
    delimiter = delimiter or ("\t" if _stem(path).suffix.lower() == ".tsv" else detect_delimiter(sample))
    rows = rows_of(sample, delimiter)
    if not rows:
        raise DataError(f"{path.name}: the first row is too long to be a header.")
    columns = tuple(rows[0])
    check_names(columns, path.name)
    watched = _Watched(path, chosen, columns, delimiter)
    return CsvText(
        columns=columns,
        encoding="Windows-1252 (it is not UTF-8)" if fall_back else chosen.codec.upper(),
        delimiter=delimiter,
        decimal=decimal or detect_decimal(rows[1:], delimiter),
        records=pa.RecordBatchReader.from_batches(watched.schema, watched.batches()),
        watched=watched,
    )


class _Watched:
    """The records of a file, and what was wrong with them."""

    def __init__(self, path: Path, encoding: Encoding, columns: tuple[str, ...], delimiter: str) -> None:
        self.path, self.columns, self.delimiter = path, columns, delimiter
        self.stream = _Utf8(path, encoding, end=self._end(token := secrets.token_hex(16)))
        self.token = token
        self.ragged: list[int] = []
        self.schema = pa.schema([(name, pa.string()) for name in columns])
        self.records = 0
        self.ended = False
        self.broken = False

    def _end(self, token: str) -> bytes:
        # a last record that only we can have written: if a quote is still open, it is swallowed and never arrives
        return f"\n{token}{self.delimiter * (len(self.columns) - 1)}\n".encode()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records after the header."""
        header = True
        try:
            for batch in self._parse():
                kept = batch.slice(1) if header else batch
                header = False
                if len(kept) and kept.column(0)[-1].as_py() == self.token:
                    self.ended, kept = True, kept.slice(0, len(kept) - 1)
                self.records += len(kept)
                if len(kept):
                    yield pa.RecordBatch.from_arrays(kept.columns, schema=self.schema)
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
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=self._note
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
        """Raise the first thing that was wrong: what comes after it is not to be trusted."""
        name = self.path.name
        if self.stream.failure is not None:
            raise self.stream.failure
        if self.broken:
            raise DataError(
                f"{name}: near row {self.records + 2:,} a record is longer than {BLOCK >> 20} MB.",
                hint="perhaps a quote opens there and never closes",
            )
        if not self.ended:
            last = self.records + 1 + len(self.ragged)
            raise DataError(f"{name}: a quote opens in row {last:,} or before it and never closes.")
        if self.ragged:
            shown = ", ".join(f"{row:,}" for row in self.ragged[:5])
            more = ", ..." if len(self.ragged) > 5 else ""
            plural = "rows do" if len(self.ragged) > 1 else "row does"
            raise DataError(
                f"{name}: {len(self.ragged):,} {plural} not have {len(self.columns)} fields as the header has: "
                f"row {shown}{more}.",
                hint=f"fields are separated by {_spoken(self.delimiter)}; if that is wrong, give the delimiter",
            )
        if not self.records:
            raise DataError(f"{name} has a header but no records.")


class _Utf8(io.RawIOBase):
    """The text of a file as UTF-8 without byte order mark, then ``end``; breaks off where the text is not valid.

    Errors are kept, not raised: they would come back through two libraries that add words of their own.
    """

    def __init__(self, path: Path, encoding: Encoding, *, end: bytes) -> None:
        self._path, self._encoding, self._end = path, encoding, end
        self._decoder = codecs.getincrementaldecoder(encoding.codec)()
        self._source: BinaryIO | None = None
        self._buffer = b""
        self._lines = 0
        self._ascii = True
        self._done = False
        self.failure: Exception | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes."""
        while not self._done and (size < 0 or len(self._buffer) < size):
            self._buffer += self._next()
        size = len(self._buffer) if size < 0 else size
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def close(self) -> None:
        """Close the file."""
        if self._source is not None:
            self._source.close()
        super().close()

    def _next(self) -> bytes:
        try:
            if self._source is None:
                self._source = _open(self._path)
                self._source.read(self._encoding.mark)
            chunk = self._source.read(CHUNK)
            text = self._utf8(chunk)
        except UnicodeDecodeError as error:
            self.failure = self._wrong(error)
        except UnicodeError:  # characters that are none, such as half of a pair
            self.failure = DataError(f"{self._path.name}: the text is not {self._encoding.codec.upper()}.")
        except (OSError, EOFError, zlib.error) as error:
            self.failure = DataError(f"{self._path.name} cannot be read: {_reason(error)}.")
        else:
            if b"\0" in text:
                line = self._lines + text[: text.index(b"\0")].count(b"\n") + 1
                self.failure = DataError(
                    f"{self._path.name}: line {line:,} holds a zero byte; this is not a text file.",
                    hint="if it is UTF-16 text, give the encoding",
                )
            else:
                self._lines += text.count(b"\n")
                self._done = not chunk
                return text + self._end if self._done else text
        self._done = True
        return b""

    def _utf8(self, chunk: bytes) -> bytes:
        if self._encoding.codec == "utf-8" and self._ascii and chunk.isascii():
            return chunk
        text = self._decoder.decode(chunk, final=not chunk)
        if self._ascii and not text.isascii():
            self._ascii = False
        return text.encode()

    def _wrong(self, error: UnicodeDecodeError) -> Exception:
        valid = error.object[: error.start]
        if self._encoding == Encoding("utf-8") and self._ascii and valid.isascii():
            return WrongEncoding()
        line = self._lines + valid.count(b"\n") + 1
        return DataError(
            f"{self._path.name}: the text is not {self._encoding.codec.upper()}; line {line:,} is the first wrong.",
            hint="give the file's encoding, such as windows-1252 or utf-16",
        )


def _encoding(path: Path, given: str | None) -> Encoding:
    start = _start(path, 1 << 12)
    if given is None:
        return detect_encoding(start)
    try:
        codec = codecs.lookup(given).name
        io.TextIOWrapper(io.BytesIO(), encoding=given)  # refuses codecs that are not of text
    except (LookupError, ValueError):
        raise DataError(f"`encoding` must be the name of a text encoding, such as utf-8; got {given!r}.") from None
    found = detect_encoding(start)
    if found.mark and codec in (found.codec, found.codec[:6], "utf-8-sig"):
        return Encoding(found.codec, found.mark, given=True)
    return Encoding("utf-8" if codec == "utf-8-sig" else codec, given=True)


def _start(path: Path, size: int) -> bytes:
    try:
        with _open(path) as source:
            return source.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {_reason(error)}.") from None


def _sample(path: Path, encoding: Encoding) -> str:
    start = _start(path, encoding.mark + _SAMPLE)[encoding.mark :]
    text = codecs.getincrementaldecoder(encoding.codec)(errors="replace").decode(start)
    if len(start) == _SAMPLE:  # the last line is not complete
        text = text[: text.rfind("\n") + 1] or text
    return text


def _open(path: Path) -> BinaryIO:
    source = path.open("rb")
    if source.read(2) == b"\x1f\x8b":
        source.close()
        return cast("BinaryIO", gzip.open(path, "rb"))
    source.seek(0)
    return source


def _stem(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _reason(error: BaseException) -> str:
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        return "the compressed data is damaged or incomplete"
    return (getattr(error, "strerror", None) or "it is not readable").lower()


def _spoken(delimiter: str) -> str:
    names = dict(zip(DELIMITERS, ("commas", "semicolons", "tabs", "vertical bars"), strict=True))
    return names.get(delimiter, f"{delimiter!r}")
