"""Check the files of a release: none but those a release has, unchanged, and nothing hidden in them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from shoal import tables
from shoal.errors import ShoalError, lacking, says_nothing
from shoal.guarantees import CERTIFICATE, POPULATION, Certificate, Check, Evidence, File, fingerprint
from shoal.methods.brief import Brief
from shoal.schema.rules import text

__all__ = ["JOINED", "PLAN", "REPORT", "SIGNATURE", "SUMMARY", "allowed_files", "check_copies", "check_files", "hidden"]


PLAN, SUMMARY, REPORT, JOINED, SIGNATURE = "plan.toml", "summary.txt", "report.html", "joined.sql", "signature.json"
_BATCH = 1_000_000


def check_files(folder: Path, certificate: Certificate, allowed: set[str]) -> list[Check]:
    """Compare every file with its fingerprint, and refuse whatever a release does not have."""
    checks = [_check_file(folder, entry, allowed) for entry in certificate.files]
    names = [entry.name for entry in certificate.files]
    checks += [_failed(name, "the certificate lists it twice") for name in sorted({*names}) if names.count(name) > 1]
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            checks.append(_failed(name, "a link to somewhere else; a release holds its files itself"))
        elif not path.is_dir() and name not in {CERTIFICATE, SIGNATURE, *names}:
            checks.append(_failed(name, "not part of the release; keep it elsewhere"))
        elif path.is_dir() and name != "hierarchies":
            checks.append(_failed(name, "not a folder of a release"))
    return checks


def allowed_files(plan: Brief, certificate: Certificate) -> set[str]:
    """Return the names of all files that the release of a plan may have."""
    data = plan.method.files(plan.schema)
    named = [each.hierarchy.file for each in plan.schema if each.hierarchy is not None]
    placed = [column.hierarchy for table in certificate.tables for column in table.columns]
    return {
        PLAN,
        SUMMARY,
        REPORT,
        *data,
        *(Path(name).with_suffix(".csv").name for name in data),
        *(str(name) for name in (*named, *placed) if name is not None),
        *([POPULATION] if any(model.capabilities.population for model in plan.class_models) else []),
        *([JOINED] if any(table.class_column is not None for table in certificate.tables) else []),
    }


def check_copies(evidence: Evidence) -> list[Check]:
    """Compare data files that are written in a second format, record by record."""
    listed = {entry.name for entry in evidence.certificate.files}
    checks = []
    for data in evidence.certificate.tables:
        copy = Path(data.file).with_suffix(".csv").name
        if copy == data.file or copy not in listed:
            continue
        try:
            original = evidence.tables[data.file].to_arrow()
            same = _same(original, (tables.reread_csv if len(original) else csv.read_csv)(evidence.folder / copy))
        except (ShoalError, pa.ArrowInvalid) as error:
            if says_nothing(error):
                raise
            same = False
        detail = f"the same records as {data.file}" if same else f"not the records of {data.file}"
        checks.append(Check(subject=copy, passed=same, detail=detail))
    return checks


def _check_file(folder: Path, entry: File, allowed: set[str]) -> Check:
    path = folder / entry.name
    if entry.name not in allowed:
        return _failed(entry.name, "not a file that the release of such a plan has")
    if not path.is_file():
        return _failed(entry.name, "the file is missing")
    if fingerprint(path, entry.name) != entry:
        return _failed(entry.name, "the file was changed after the release was made")
    if path.suffix == ".parquet" and (found := hidden(path)):
        return _failed(entry.name, f"it holds more than records: {found}")
    return Check(subject=entry.name, passed=True, detail="unchanged since the release was made")


def _same(original: pa.Table, copy: pa.Table) -> bool:
    if original.column_names != copy.column_names or len(original) != len(copy):
        return False
    return all(
        _same_values(original[name].slice(start, _BATCH), copy[name].slice(start, _BATCH))
        for name in original.column_names
        for start in range(0, len(original), _BATCH)
    )


def _same_values(original: pa.ChunkedArray, copy: pa.ChunkedArray) -> bool:
    """Compare values with their copies as text, in which an empty text is a missing value."""
    written, copied = text(original), text(copy)
    written = pc.if_else(pc.equal(written, ""), pa.scalar(None, written.type), written)
    if written.equals(copied):
        return True
    try:  # numbers and days have more than one notation
        return bool(copied.cast(original.type).equals(original.combine_chunks()))
    except pa.ArrowInvalid:
        return False


def _failed(subject: str, detail: str) -> Check:
    return Check(subject=subject, passed=False, detail=detail)


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
        file = pq.ParquetFile(path, read_dictionary=_texts(file.schema_arrow))
        unused = False
        for group in range(content.num_row_groups):
            rows = file.read_row_group(group)
            if not _rightly_summed_up(rows, content.row_group(group)):
                return "minima and maxima that are not those of the records"
            unused = unused or any(_has_unused(chunk) for column in rows.columns for chunk in column.chunks)
        return "values that no record has" if unused else None
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


def _texts(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]


def _rightly_summed_up(rows: pa.Table, group: pq.RowGroupMetaData) -> bool:
    """Return whether the least and greatest values that a group of rows states are those of its records."""
    if rows.num_columns != group.num_columns:  # columns within columns, which no release has
        return False
    for number, column in enumerate(rows.columns):
        stated = group.column(number).statistics
        if stated is None or not stated.has_min_max:
            continue
        found = pc.min_max(_occurring(column)).as_py()
        if not (_begins(found["min"], stated.min) and _ends(found["max"], stated.max)):
            return False
    return True


def _occurring(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return the values that a column has, those of a dictionary once each."""
    if not pa.types.is_dictionary(column.type):
        return column.drop_null()
    used = [chunk.dictionary.take(pc.unique(chunk.indices.drop_null())) for chunk in column.chunks]
    return pa.chunked_array(used, type=column.type.value_type)


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


def _has_unused(chunk: pa.Array) -> bool:
    if not pa.types.is_dictionary(chunk.type):
        return False
    used = pc.unique(chunk.indices.drop_null())
    return len(used) < len(chunk.dictionary)
