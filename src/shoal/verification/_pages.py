"""Read a Parquet file byte by byte: every byte is one that its records need, in a way that Shoal's engines write."""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.verification._parquet import DATA_PAGE, DICTIONARY_PAGE, MAGIC, Damaged, first_byte, open_footer, read_pages

Indices = npt.NDArray[np.int64]

_ROOTS = (b"duckdb_schema", b"schema", b"spark_schema")

# fields by their numbers, with what they hold; no writer of releases states others
_STATISTICS = dict.fromkeys((3, 4, 7, 8, 9), int) | dict.fromkeys((1, 2, 5, 6), bytes)
_TIME = {1: int, 2: {1: {}, 2: {}, 3: {}}}
_LOGICAL = {1: {}, 4: {}, 5: {1: int, 2: int}, 6: {}, 7: _TIME, 8: _TIME, 10: {1: int, 2: int}, 11: {}, 12: {}, 14: {}}
_ELEMENT = dict.fromkeys((1, 2, 3, 5, 6, 7, 8), int) | {4: bytes, 10: _LOGICAL}
_SIZES = {1: int, 2: [int], 3: [int]}
_ENCODED = {1: int, 2: int, 3: int}
_META = dict.fromkeys((1, 4, 5, 6, 7, 9, 11), int) | {2: [int], 3: [bytes], 12: _STATISTICS, 13: [_ENCODED], 16: _SIZES}
_GROUP = {1: [{2: int, 3: _META}]} | dict.fromkeys((2, 3, 5, 6, 7), int)
_FOOTER = {1: int, 2: [_ELEMENT], 3: int, 4: [_GROUP], 6: bytes, 7: [{1: {}}]}
_DATA = dict.fromkeys(range(1, 5), int) | {5: _STATISTICS}
_DATA_2 = dict.fromkeys(range(1, 8), int) | {8: _STATISTICS}
_PAGE = dict.fromkeys(range(1, 5), int) | {5: _DATA, 7: _ENCODED, 8: _DATA_2}

_PLAIN, _PLAIN_DICTIONARY, _RUNS, _DICTIONARY = 0, 2, 3, 8
_CODECS = {0: None, 1: "snappy", 6: "zstd"}
_BOOLEAN, _TEXT, _FIXED = 0, 6, 7
#: bytes of a value, and how numbers are read whose least and greatest may be zeros of another sign
_WIDTHS = {1: 4, 2: 8, 4: 4, 5: 8}
_FLOATS = {4: "<f", 5: "<d"}
_OPTIONAL = 1
#: values that DuckDB packs together; the last ones of a column it fills up with those of the block before
_BLOCK = 256
_ZSTD = bytes.fromhex("28b52ffd")

MORE = "bytes that its records do not need"


class Hidden(Exception):
    """What a Parquet file holds besides its records; the text completes *it holds*."""


def check_bytes(path: Path) -> None:
    """Walk through all bytes of a Parquet file; raise `Hidden` or `Damaged` where one is not accounted for."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            footer, start = open_footer(content)
            _check_shape(footer, _FOOTER)
            _check_layout(footer, content, start)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, struct.error, pa.ArrowException):
            raise Damaged("its pages cannot be read") from None


def _check_shape(found: Any, shape: Any) -> None:
    """Refuse fields that are not expected, in structures within structures."""
    if isinstance(shape, dict):
        if not isinstance(found, dict) or not found.keys() <= shape.keys():
            raise Hidden("fields that Parquet files of releases do not have")
        for number, value in found.items():
            _check_shape(value, shape[number])
    elif isinstance(shape, list):
        for value in found:
            _check_shape(value, shape[0])
    elif not isinstance(found, shape):
        raise Hidden("fields that Parquet files of releases do not have")


def _check_layout(footer: Mapping[int, Any], content: mmap.mmap, start: int) -> None:
    """Let columns lie one after the other, each as long as its pages, and sizes be those that are stated."""
    root, *leaves = footer[2]
    if root[4] not in _ROOTS:
        raise Hidden("a name that no writer of releases gives")
    place = len(MAGIC)
    for number, group in enumerate(footer[4]):
        metas = [chunk[3] for chunk in group[1]]
        packed, plain = sum(meta[7] for meta in metas), sum(meta[6] for meta in metas)
        if group.get(5, place) not in (0, place) or group.get(6, packed) != packed or group.get(7, number) != number:
            raise Hidden("sizes and places that are not those of its columns")
        if group[2] not in (plain, packed):
            raise Hidden("sizes and places that are not those of its columns")
        for leaf, chunk, meta in zip(leaves, group[1], metas, strict=True):
            end = place + meta[7]
            if (
                (meta[7] and first_byte(meta) != place)
                or chunk.get(2, 0) not in (0, place, end, meta[9])
                or meta[3] != [leaf[4]]
            ):
                raise Hidden("columns that do not lie one after the other")
            if len(meta[2]) > 4 or len(meta.get(13, ())) > 4 or any(len(each) > 2 for each in _counts(meta)):
                raise Hidden(MORE)
            _Column.of(leaf, meta).check(content, place, end)
            place = end
    if place != start:
        raise Hidden("bytes that belong to no column")


def _counts(meta: Mapping[int, Any]) -> Iterator[list[int]]:
    sizes = meta.get(16, {})
    yield from (sizes.get(number, []) for number in (2, 3))


@dataclass
class _Column:
    """The pages of one column in one group of records."""

    kind: int
    width: int
    optional: bool
    codec: str | None
    values: int
    unpacked: int
    statistics: Mapping[int, Any]
    words: list[bytes] | None = None
    used: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    missing: int = 0

    @classmethod
    def of(cls, leaf: Mapping[int, Any], meta: Mapping[int, Any]) -> _Column:
        kind = int(meta[1])
        if meta[4] not in _CODECS:
            raise Hidden("pages that are compressed in a way that Shoal does not use")
        width = int(leaf[2]) if kind == _FIXED else _WIDTHS.get(kind, 0)
        if kind not in (_BOOLEAN, _TEXT) and width < 1:
            raise Hidden("values of a type that releases do not have")
        optional, codec = leaf.get(3, 0) == _OPTIONAL, _CODECS[meta[4]]
        return cls(kind, width, optional, codec, int(meta[5]), int(meta[6]), meta.get(12, {}))

    def check(self, content: mmap.mmap, place: int, end: int) -> None:
        unpacked, seen = 0, 0
        for header, begin, start, stop in read_pages(content, place, end):
            _check_shape(header, _PAGE)
            packed = content[start:stop]
            if 4 in header and header[4] & 0xFFFFFFFF != zlib.crc32(packed):
                raise Hidden("a checksum that is not that of its page")
            unpacked += start - begin + header[2]
            seen += self._page(header, packed)
        if seen != self.values or unpacked != self.unpacked:
            raise Hidden("sizes and places that are not those of its columns")
        if self.words is not None and (self.used == 0).any():
            raise Hidden("values that no record has")
        self._check_statistics()

    def _page(self, header: Mapping[int, Any], packed: bytes) -> int:
        """Check one page; return how many records it is of."""
        if header[1] == DICTIONARY_PAGE:
            return self._dictionary(header[7], _unpacked(packed, header[2], self.codec))
        if header[1] == DATA_PAGE:
            about, body = header[5], _unpacked(packed, header[2], self.codec)
            present, encoding, statistics = about[1], about[2], about.get(5, {})
            if self.optional:
                (length,) = struct.unpack_from("<I", body)
                present = int(_read_runs(body[4 : 4 + length], 1, about[1]).sum())
                body = body[4 + length :]
        else:
            about, length = header[8], header[8][5]
            present, encoding, statistics = about[1] - about[2], about[4], about.get(8, {})
            if about[6] or about[3] != about[1] or (length and not self.optional):
                raise Hidden(MORE)
            if self.optional and int(_read_runs(packed[:length], 1, about[1]).sum()) != present:
                raise Hidden(MORE)
            body = _unpacked(packed[length:], header[2] - length, self.codec if about.get(7, True) else None)
        self.missing += about[1] - present
        self._values(body, present, int(about[1]) - present, encoding, statistics)
        return int(about[1])

    def _dictionary(self, about: Mapping[int, Any], body: bytes) -> int:
        if self.words is not None or self.kind == _BOOLEAN:
            raise Hidden("a second dictionary")
        self.words = _read_plain(body, about[1], self.kind, self.width)
        if len({*self.words}) < len(self.words):
            raise Hidden("a value twice in a dictionary")
        self.used = np.zeros(len(self.words), np.int64)
        return 0

    def _values(self, body: bytes, present: int, absent: int, encoding: int, statistics: Mapping[int, Any]) -> None:
        """Read the values of a page to its last byte."""
        wanted = {statistics[number] for number in (1, 2, 5, 6) if number in statistics}
        if encoding in (_PLAIN_DICTIONARY, _DICTIONARY):
            if self.words is None or (present and not body) or (body and body[0] > 32):
                raise Hidden(MORE)
            indices = _read_runs(body[1:], body[0], present) if body else np.zeros(0, np.int64)
            counts = np.bincount(indices, minlength=len(self.words))
            self.used += counts  # an index beyond the dictionary does not fit
            occurring: set[bytes] = {self.words[index] for index in np.flatnonzero(counts)} if wanted else set()
            if absent and len(occurring) == len(self.words) - 1:
                # Arrow counts the missing value too when it asks whether a page has all values of the dictionary
                occurring = {*self.words}
        elif encoding == _RUNS and self.kind == _BOOLEAN:
            (length,) = struct.unpack_from("<I", body)
            if length != len(body) - 4:
                raise Hidden(MORE)
            occurring = {bytes([value]) for value in _read_runs(body[4:], 1, present)}
        elif encoding == _PLAIN:
            occurring = {*_read_plain(body, present, self.kind, self.width)}
        else:
            raise Hidden("values that are encoded in a way that Shoal does not use")
        if self.kind in _FLOATS:
            numbers = {struct.unpack(_FLOATS[self.kind], each)[0] for each in occurring}
            fits = all(struct.unpack(_FLOATS[self.kind], each)[0] in numbers for each in wanted)
        else:
            fits = wanted <= occurring
        if not fits:
            raise Hidden("minima and maxima that are not those of the records")

    def _check_statistics(self) -> None:
        """Let counts be right, and older names of minima and maxima say the same as the newer ones."""
        stated = self.statistics
        same = all(stated[old] == stated.get(new) for old, new in ((1, 5), (2, 6)) if old in stated)
        if not same or stated.get(3, self.missing) != self.missing or stated.get(4, 0) > self.values:
            raise Hidden("minima and maxima that are not those of the records")


def _unpacked(packed: bytes, size: int, codec: str | None) -> bytes:
    if codec is None or (size == 0 and not packed):
        body = packed
    else:
        if codec == "zstd" and _end_of_frame(packed) != len(packed):
            raise Hidden(MORE)
        body = pa.Codec(codec).decompress(packed, decompressed_size=size, asbytes=True) if size else b""
    if len(body) != size:
        raise Hidden(MORE)
    return bytes(body)


def _end_of_frame(packed: bytes) -> int:
    """Return where the one frame of Zstandard ends: what stands behind it, or is skipped, no reader shows."""
    if packed[:4] != _ZSTD or packed[4] & 0b1011:  # reserved, or a dictionary of its own
        raise Hidden(MORE)
    single, size = packed[4] >> 5 & 1, packed[4] >> 6
    place = 5 + (not single) + ((1 if single else 0), 2, 4, 8)[size]
    while True:
        head = int.from_bytes(packed[place : place + 3], "little")
        place += 3 + (1 if head >> 1 & 3 == 1 else head >> 3)
        if head & 1 or place >= len(packed):
            return place + 4 * (packed[4] >> 2 & 1)


def _read_plain(body: bytes, count: int, kind: int, width: int) -> list[bytes]:
    """Return the different values of a page of plain values, or all of a dictionary; nothing may stand behind them."""
    if kind == _BOOLEAN:
        bits = np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little")
        if len(body) != -(-count // 8) or bits[count:].any():
            raise Hidden(MORE)
        return [bytes([bit]) for bit in np.unique(bits[:count])]
    if kind != _TEXT:
        if len(body) != count * width:
            raise Hidden(MORE)
        return [body[start : start + width] for start in range(0, len(body), width)]
    place, texts = 0, []
    for _ in range(count):
        length = int.from_bytes(body[place : place + 4], "little")
        texts.append(body[place + 4 : place + 4 + length])
        place += 4 + length
    if place != len(body):
        raise Hidden(MORE)
    return texts


def _read_runs(body: bytes, width: int, count: int) -> Indices:
    """Return whole numbers of ``width`` bits that stand as runs of one value and as packed groups of eight."""
    parts, place, left, size = [], 0, count, -(-width // 8)
    block = np.zeros(_BLOCK, np.int64)
    powers = 1 << np.arange(width, dtype=np.int64)
    while place < len(body):
        head = shift = 0
        while True:
            byte = body[place]
            place += 1
            head |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if head & 1:
            numbers = (head >> 1) * 8
            packed = body[place : place + numbers // 8 * width]
            if left <= 0 or numbers - left >= _BLOCK or len(packed) != numbers // 8 * width:
                raise Hidden(MORE)
            bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little").reshape(numbers, width)
            values = bits @ powers if width else np.zeros(numbers, np.int64)
            if values[left:].any() and not np.array_equal(values[left:], block[left:numbers]):
                raise Hidden(MORE)
            block[:numbers] = values[:_BLOCK]
            parts.append(values[:left])
            place += len(packed)
        else:
            numbers = head >> 1
            value = int.from_bytes(body[place : place + size], "little")
            if not 0 < numbers <= left or value >> width:
                raise Hidden(MORE)
            parts.append(np.full(numbers, value, np.int64))
            place += size
        left -= numbers
    if left > 0 or place != len(body):
        raise Hidden(MORE)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
