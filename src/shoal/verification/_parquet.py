"""Look for what a Parquet file may hold besides records: bytes between its parts and values that no record has."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import lacking

__all__ = ["hidden"]

_WRITER = re.compile(r"(DuckDB|parquet-cpp-arrow|parquet-mr) version [\w.+-]{1,40}( \(build \w{1,40}\))?")
_MAGIC = b"PAR1"


def hidden(path: Path) -> str | None:
    """Return what a Parquet file holds besides its records and their types; None if that is nothing.

    What stands inside the compressed pages of a column of numbers, and no reader shows, is not looked at.
    """
    try:
        file = pq.ParquetFile(path)
        content = file.metadata
        if {*(content.metadata or {})} - {b"ARROW:schema"} or file.schema_arrow.metadata:
            return "metadata"
        if any(field.metadata for field in file.schema_arrow):
            return "metadata of a column"
        if not _WRITER.fullmatch(content.created_by or ""):
            return "the name of a program that does not write such files"
        if _unaccounted(path, content):
            return "bytes that belong to no column"
        if not all(_rightly_summed_up(file, group) for group in range(content.num_row_groups)):
            return "minima and maxima that are not those of the records"
        return "values that no record has" if _unused(path, file.schema_arrow) else None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if lacking(error) is not None:
            raise
        return None  # that it cannot be read is reported where it is read


def _unaccounted(path: Path, content: pq.FileMetaData) -> int:
    """Return how many bytes are neither of a column, nor of its Bloom filter, nor of the footer."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        (footer,) = struct.unpack("<I", file.read(4))
    columns = [
        content.row_group(group).column(number)
        for group in range(content.num_row_groups)
        for number in range(content.num_columns)
    ]
    used = sum(column.total_compressed_size + (column.bloom_filter_length or 0) for column in columns)
    return int(path.stat().st_size - used - footer - 4 - 2 * len(_MAGIC))


def _rightly_summed_up(file: pq.ParquetFile, group: int) -> bool:
    """Return whether the least and greatest values that a group of rows states are those of its records."""
    stated = [file.metadata.row_group(group).column(number).statistics for number in range(file.metadata.num_columns)]
    if not any(each is not None and each.has_min_max for each in stated):
        return True
    rows = file.read_row_group(group)
    for column, each in zip(rows.columns, stated, strict=True):
        if each is None or not each.has_min_max:
            continue
        found = pc.min_max(column.drop_null()).as_py()
        if not (_begins(found["min"], each.min) and _ends(found["max"], each.max)):
            return False
    return True


def _begins(least: object, stated: object) -> bool:
    """Return whether a value is the one that was stated, or a text of which the beginning was stated."""
    if isinstance(least, str) and isinstance(stated, str):
        return least.startswith(stated) and (least == stated or len(stated.encode()) > 60)
    return least == stated


def _ends(greatest: object, stated: object) -> bool:
    """Return likewise; the last letter of a beginning is the next one, so that no text is greater."""
    if isinstance(greatest, str) and isinstance(stated, str) and len(stated.encode()) > 60:
        return greatest.startswith(stated[:-1]) and greatest <= stated
    return greatest == stated


def _unused(path: Path, schema: pa.Schema) -> bool:
    """Return whether the dictionary of a column of texts has values that the column does not have."""
    names = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    if not names:
        return False
    rows = pq.ParquetFile(path, read_dictionary=names).read(columns=names)
    return any(_has_unused(chunk) for column in rows.columns for chunk in column.chunks)


def _has_unused(chunk: pa.Array) -> bool:
    if not pa.types.is_dictionary(chunk.type):
        return False
    used = pc.unique(chunk.indices.drop_null())
    return len(used) < len(chunk.dictionary)
