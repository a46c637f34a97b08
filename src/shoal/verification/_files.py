"""Check the files of a release: none but those a release has, unchanged, and nothing hidden in them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from shoal import tables
from shoal.errors import ShoalError, says_nothing
from shoal.guarantees import CERTIFICATE, POPULATION, Certificate, Check, Evidence, File, fingerprint
from shoal.methods.brief import Brief
from shoal.schema.rules import text
from shoal.verification._parquet import hidden

__all__ = [
    "JOINED",
    "PLAN",
    "REPORT",
    "SIGNATURE",
    "SUMMARY",
    "allowed_files",
    "check_copies",
    "check_files",
]

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
