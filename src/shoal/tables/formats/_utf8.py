"""The text of a file as UTF-8, whatever it is written in; what is wrong with it is found on the way."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from shoal.errors import DataError, Exhausted, ParameterError, lacking

CHUNK = 1 << 23  # bytes read from the file at a time
_CARRIAGE_RETURN = ord("\r")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec and the number of bytes of the byte order mark before the text."""

    codec: str
    mark: int = 0
    given: bool = False


class WrongEncoding(Exception):
    """The bytes are not UTF-8, and nothing before them speaks for UTF-8."""


class Utf8Stream(io.RawIOBase):
    """The text of a file as UTF-8 without byte order mark, then ``end``; breaks off where the text is not valid.

    Errors are kept, not raised: they would come back through two libraries that add words of their own.
    """

    def __init__(self, path: Path, encoding: Encoding, *, end: bytes) -> None:
        self._path, self._encoding, self._end = path, encoding, end
        self._decoder = codecs.getincrementaldecoder(encoding.codec)()
        self._source: BinaryIO | None = None
        self._buffer = b""
        self._last = b""
        self._lines = 0
        self._ascii = True
        self._done = False
        self.failure: Exception | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while not self._done and (size < 0 or len(self._buffer) <= size):
            self._buffer += self._next()
        size = len(self._buffer) if size < 0 else size
        # Arrow takes a line feed at the start of a block for the second half of a line end, also inside quotes
        if 1 < size < len(self._buffer) and self._buffer[size - 1] == _CARRIAGE_RETURN:
            size -= 1
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def close(self) -> None:
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
            self.failure = DataError(f"{self._path.name}: the text is not valid {self._encoding.codec.upper()}.")
        except (OSError, EOFError, zlib.error) as error:
            kind = DataError if lacking(error) is None else Exhausted
            self.failure = kind(f"{self._path.name} cannot be read: {_reason(error)}.")
        else:
            if b"\0" in text:
                line = self._lines + text[: text.index(b"\0")].count(b"\n") + 1
                self.failure = DataError(
                    f"{self._path.name}: line {line:,} contains a zero byte, so it is not a text file.",
                    hint="if it is UTF-16 text, specify the encoding",
                )
            else:
                self._lines += text.count(b"\n")
                self._done = not chunk
                self._last = text[-1:] or self._last
                return text + self._ending if self._done else text
        self._done = True
        return b""

    @property
    def _ending(self) -> bytes:
        # a line end of ours after one of the file's would be a blank line, which is a record in a file of one column
        return self._end.removeprefix(b"\n") if self._last in (b"\n", b"\r") else self._end

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
        from shoal.tables.formats._legacy import name_encoding, try_encodings

        line = self._lines + valid.count(b"\n") + 1
        fitting = [name_encoding(codec) for codec in try_encodings(self._path) if codec != self._encoding.codec]
        expected = name_encoding(self._encoding.codec)
        return DataError(
            f"{self._path.name}: the text is not valid {expected} (first error in line {line:,}).",
            hint=f"specify the file's encoding; {' or '.join(fitting) or 'none that Shoal knows'} fits",
        )


def find_encoding(path: Path, given: str | None) -> Encoding:
    """Return the encoding of a file: the given one, or the one that its first bytes speak for."""
    start = beginning(path, 1 << 12)
    if given is None:
        return detect_encoding(start)
    try:
        codec = codecs.lookup(given).name
        io.TextIOWrapper(io.BytesIO(), encoding=given)  # refuses codecs that are not of text
    except (LookupError, ValueError):
        raise ParameterError(f"`encoding` of `read` must name a text encoding such as utf-8; got {given!r}.") from None
    encoding = detect_encoding(start)
    if encoding.mark and codec in (encoding.codec, encoding.codec[:6], "utf-8-sig"):
        return Encoding(encoding.codec, encoding.mark, given=True)
    return Encoding("utf-8" if codec == "utf-8-sig" else codec, given=True)


def first_text(path: Path, encoding: Encoding, size: int) -> str:
    """Return the complete lines among the first ``size`` bytes of a file, as far as they can be read."""
    start = beginning(path, encoding.mark + size)[encoding.mark :]
    text = codecs.getincrementaldecoder(encoding.codec)(errors="replace").decode(start)
    if len(start) == size:  # the last line is not complete
        text = text[: text.rfind("\n") + 1] or text
    return text


def beginning(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, as they are after it was unpacked."""
    try:
        with _open(path) as source:
            return source.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {_reason(error)}.") from None


def _open(path: Path) -> BinaryIO:
    source = path.open("rb")
    if source.read(2) == b"\x1f\x8b":
        source.close()
        return cast("BinaryIO", gzip.open(path, "rb"))
    source.seek(0)
    return source


def _reason(error: BaseException) -> str:
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        return "the compressed data is damaged or incomplete"
    return (getattr(error, "strerror", None) or "it is not readable").lower()


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
