"""Decide from its footer and page headers whether a Parquet file is safe to read, before a library reads it.

A footer may state more records than memory holds, row groups that share their bytes, or pages that unpack to
gigabytes. The Thrift structures are read here, with limits, and compared with the certificate.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import counted

#: a table has at most so many cells, and so many more for each byte of its file
CELLS, CELLS_PER_BYTE = 20_000_000, 12
#: pages unpack to at most so many bytes, and so many more for each byte of their file
UNPACKED, UNPACKED_PER_BYTE = 1 << 27, 64
#: records of one row group; no writer of releases makes larger ones
GROUP = 1 << 20
MAGIC, _TAIL = b"PAR1", 8
_DEPTH, _VALUES = 12, 4_000_000
DATA_PAGE, _INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = range(4)

# fields of Parquet's Thrift structures, by their number
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_CHILDREN, _NAME = 5, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_META, _VALUES_OF, _SIZE, _DATA_AT, _DICTIONARY_AT = 3, 5, 7, 9, 11


class Damaged(Exception):
    """A Parquet file that no writer of ours made."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a Parquet file states."""

    columns: tuple[str, ...]
    records: int
    #: bytes of all pages once they are unpacked, by their headers
    unpacked: int
    size: int

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Footer:
        """Return a footer that came back from another machine as JSON."""
        numbers = {name: int(found[name]) for name in ("records", "unpacked", "size")}
        return cls(columns=tuple(map(str, found["columns"])), **numbers)


def read_footer(path: Path) -> Footer:
    """Read the footer and all page headers of a file, and decide that they fit together; else raise `Damaged`."""
    size = path.stat().st_size
    if size < _TAIL + len(MAGIC):
        raise Damaged("it is no Parquet file")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            footer, _ = open_footer(content)
            return _checked(footer, content, size)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise Damaged("its footer cannot be read") from None


def open_footer(content: mmap.mmap) -> tuple[dict[int, Any], int]:
    """Return the structure that a Parquet file ends with, and where it begins; nothing stands behind it."""
    size = len(content)
    length = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != MAGIC or content[:4] != MAGIC or length > size - _TAIL - len(MAGIC):
        raise Damaged("it is no Parquet file")
    reader = _Thrift(content, size - _TAIL - length, size - _TAIL)
    footer = reader.structure()
    if reader.place != size - _TAIL:
        raise Damaged("its footer cannot be read")
    return footer, size - _TAIL - length


def excess(footers: Sequence[Footer]) -> str | None:
    """Say so if a table unpacks to far more than its files hold, as a trap does."""
    size = sum(footer.size for footer in footers)
    cells = sum(footer.records * len(footer.columns) for footer in footers)
    unpacked = sum(footer.unpacked for footer in footers)
    if cells > CELLS + CELLS_PER_BYTE * size or unpacked > UNPACKED + UNPACKED_PER_BYTE * size:
        return f"{counted(size, 'byte')} would become {counted(cells, 'cell')} and {counted(unpacked, 'byte')}"
    return None


def _checked(footer: dict[int, Any], content: mmap.mmap, size: int) -> Footer:
    root, *leaves = footer[_SCHEMA]
    if root.get(_CHILDREN) != len(leaves) or any(_CHILDREN in leaf for leaf in leaves):
        raise Damaged("it has columns inside columns")
    columns = tuple(leaf[_NAME].decode() for leaf in leaves)
    records = packed = unpacked = 0
    for group in footer[_GROUPS]:
        if not 0 <= group[_GROUP_ROWS] <= GROUP:
            raise Damaged("its records are not grouped as Shoal groups them")
        if len(group[_COLUMNS]) != len(columns):
            raise Damaged("a group of its records has other columns")
        records += group[_GROUP_ROWS]
        for chunk in group[_COLUMNS]:
            if _META not in chunk or chunk[_META][_VALUES_OF] != group[_GROUP_ROWS]:
                raise Damaged("a column has more or fewer values than there are records")
            packed += chunk[_META][_SIZE]
            if packed > size:
                raise Damaged("its columns share bytes")
            unpacked += _pages(chunk[_META], content, size)
    if footer[_ROWS] != records:
        raise Damaged("its footer states another number of records than its parts")
    return Footer(columns=columns, records=records, unpacked=unpacked, size=size)


def _pages(meta: dict[int, Any], content: mmap.mmap, size: int) -> int:
    """Walk the pages of a column; return the bytes that they unpack to."""
    place, values, unpacked = first_byte(meta), 0, 0
    end = place + meta[_SIZE]
    if not (len(MAGIC) <= place <= end <= size):
        raise Damaged("a column lies outside of the file")
    for header, *_ in read_pages(content, place, end):
        kind, plain = header[1], header[2]
        if kind in (DATA_PAGE, DATA_PAGE_2):
            values += header[5 if kind == DATA_PAGE else 8][1]
        elif kind != DICTIONARY_PAGE:
            raise Damaged("it has pages of an unknown kind")
        unpacked += plain
    if values != meta[_VALUES_OF]:
        raise Damaged("its pages hold more or fewer values than the footer states")
    return unpacked


def first_byte(meta: Mapping[int, Any]) -> int:
    """Return where the pages of a column begin: Arrow writes 0 for pages that are not there."""
    return int(min(filter(None, (meta[_DATA_AT], meta.get(_DICTIONARY_AT))), default=len(MAGIC)))


def read_pages(content: mmap.mmap, place: int, end: int) -> Iterator[tuple[dict[int, Any], int, int, int]]:
    """Yield the header of each page of a column, where the header begins, and where the page begins and ends."""
    while place < end:
        reader = _Thrift(content, place, end)
        header = reader.structure()
        plain, packed = header[2], header[3]
        if plain < 0 or packed < 0 or packed > end - reader.place:
            raise Damaged("a page lies outside of its column")
        yield header, place, reader.place, reader.place + packed
        place = reader.place + packed


class _Thrift:
    """Read structures in Thrift's compact encoding as dictionaries by field number, with limits."""

    def __init__(self, content: mmap.mmap, start: int, end: int) -> None:
        self._content, self.place, self._end = content, start, end
        self._values = 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEPTH:
            raise Damaged("its footer is too deeply nested")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            if number in fields:
                raise Damaged("its footer states something twice")
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._values += 1
        if self._values > _VALUES or depth > _DEPTH:
            raise Damaged("its footer is too large")
        match kind:
            case 1 | 2 | 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._bytes(8)
            case 8:
                return self._bytes(self._unsigned())
            case 9 | 10:
                head = self._byte()
                length = head >> 4 if head >> 4 < 15 else self._unsigned()
                if length > self._end - self.place:
                    raise Damaged("its footer cannot be read")
                return [
                    self.structure(depth + 1) if head & 15 == 12 else self._value(head & 15, depth + 1)
                    for _ in range(length)
                ]
            case 12:
                return self.structure(depth + 1)
        raise Damaged("its footer cannot be read")

    def _byte(self) -> int:
        if self.place >= self._end:
            raise Damaged("its footer cannot be read")
        self.place += 1
        return self._content[self.place - 1]

    def _bytes(self, length: int) -> bytes:
        if length > self._end - self.place:
            raise Damaged("its footer cannot be read")
        self.place += length
        return self._content[self.place - length : self.place]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                if not byte and shift:
                    raise Damaged("its footer cannot be read")  # one number, written longer than it is
                return value
            shift += 7
            if shift > 63:
                raise Damaged("its footer cannot be read")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
