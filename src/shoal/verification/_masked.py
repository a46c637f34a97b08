"""Check a masked file against its record: as far as a file can show what was done to it, and no further."""

from __future__ import annotations

from pathlib import Path

from shoal import tables
from shoal.errors import ShoalError, VerificationError, says_nothing
from shoal.guarantees import Check, Verification, checked
from shoal.masking import RECORD, MaskingRecord, MaskingStep, StepEntry
from shoal.tables import Table
from shoal.writing import digest

#: a record beyond this is no record
_LARGEST = 1 << 26


def verify_masked(path: str | Path) -> Verification:
    """Check a masked file, or its record, which lies beside it.

    The fingerprint, the columns and the number of records are compared, every step is read and said again, and what a
    file shows of a step is looked at: no number beyond a limit, multiples where it rounds, values that a matrix has.
    That values were drawn as the steps say rests on the publisher's word. No record makes a file anonymous.

    Raises
    ------
    VerificationError
        If there is no record, or none as Shoal writes it.
    """
    path = Path(path)
    place = path if path.name.endswith(RECORD) else path.with_name(path.name + RECORD)
    if not place.is_file() or place.is_symlink() or place.stat().st_size > _LARGEST:
        raise VerificationError(
            f"there is no record `{place.name}`", hint="`shoal mask` writes one beside every masked file"
        )
    try:
        record = MaskingRecord.loads(place.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise VerificationError("this is not a record of a masked file as Shoal writes it") from None
    checks = [Check(subject=place.name, passed=True, detail="a record as Shoal writes it")]
    checks.append(checked(record.file, lambda: _file(place, record)))
    if checks[-1].passed:
        checks += _content(place.with_name(record.file), record)
    return Verification(folder=path, checks=tuple(checks))


def _file(place: Path, record: MaskingRecord) -> tuple[bool, str]:
    if place.name != record.file + RECORD or Path(record.file).name != record.file:
        return False, "the record is of another file"
    file = place.with_name(record.file)
    if not file.is_file() or file.is_symlink():
        return False, "it is missing"
    same = digest(file) == (record.sha256, record.bytes)
    return same, "unchanged since it was masked" if same else "not the file that was masked"


def _content(file: Path, record: MaskingRecord) -> list[Check]:
    try:
        table = tables.read(file)
        if tuple(table.columns) != record.columns or table.count() != record.records:
            return [Check(subject="table", passed=False, detail="not the columns or the records that the record says")]
    except ShoalError as error:
        if says_nothing(error):
            raise
        return [Check(subject="table", passed=False, detail="; ".join(error.problems))]
    shown = f"{record.records:,} records, {len(record.columns)} columns, as recorded"
    found = [Check(subject="table", passed=True, detail=shown)]
    if not record.steps:
        return [*found, Check(subject="steps", passed=False, detail="there are none")]
    for number, entry in enumerate(record.steps):
        later = record.steps[number + 1 :]
        found.append(checked(f"step {number + 1}, {entry.step}", lambda e=entry, s=later: _step(table, e, s)))  # type: ignore[misc]
    word = "on the publisher's word: that the values were made from the original ones as the steps say"
    return [*found, Check(subject="values", passed=True, detail=word, shown=False)]


def _step(table: Table, entry: StepEntry, later: tuple[StepEntry, ...]) -> tuple[bool, str]:
    step = entry.read()
    if StepEntry.of(step, entry.detail) != entry:
        return False, "its words are not those of its parameters"
    if not {*step.columns} <= {*table.columns}:
        return False, "it names columns that are not there"
    if _disturbed(step, [each.read() for each in later]):
        return True, "said as it is; later steps changed its columns"
    rows = table.to_arrow()
    problem = step.contradiction({name: rows[name].combine_chunks() for name in rows.column_names}, entry.detail)
    return problem is None, problem or "said as it is, and nothing in the file contradicts it"


def _disturbed(step: MaskingStep, later: list[MaskingStep]) -> bool:
    """Return whether a later step may hide what this one did; coding at an end leaves the other values alone."""
    return any({*each.columns} & {*step.columns} and not each.name.endswith("-code") for each in later)
