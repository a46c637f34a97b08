"""Check a release against its certificate, from its own files alone."""

from __future__ import annotations

from pathlib import Path

from shoal import tables
from shoal.errors import ShoalError, VerificationError
from shoal.guarantees import (
    CERTIFICATE,
    Certificate,
    Check,
    Data,
    Evidence,
    File,
    PromiseEntry,
    Verification,
    fingerprint,
    load,
)
from shoal.methods import promises
from shoal.methods.brief import Brief
from shoal.tables import Table
from shoal.verification._folder import PLAN, check_folder, check_links

__all__ = ["verify"]


def verify(folder: str | Path) -> Verification:
    """Check every promise of the release in ``folder``.

    Fingerprints of all files are compared, the number of records and the columns are read off the data file, and every
    syntactic promise is decided again, exactly, on the equivalence classes of the data file. Of differential privacy
    the mathematics of the parameters, the budget and the least class size are computed again. Nothing but the folder is
    needed.

    Raises
    ------
    VerificationError
        If there is no readable certificate; a promise that fails is a failed :class:`Check`, not an error.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise VerificationError(f"there is no release folder `{folder.name}`")
    certificate = load(folder / CERTIFICATE)
    checks = [_check_file(folder, entry) for entry in certificate.files]
    opened: dict[str, Table] = {}
    for data in certificate.tables:
        checks.extend(_open(folder, data, certificate, opened))
    if len(opened) == len(certificate.tables):
        checks.extend(_check_content(folder, certificate, opened))
    return Verification(folder=folder, checks=tuple(checks))


def _check_content(folder: Path, certificate: Certificate, opened: dict[str, Table]) -> list[Check]:
    """Check what the files say, once they are there and can be read."""
    if PLAN not in {entry.name for entry in certificate.files}:
        return [Check(subject="schema", passed=False, detail=f"the certificate does not fingerprint {PLAN}")]
    try:
        plan = Brief.load(folder / PLAN)
    except ShoalError:
        return [Check(subject="schema", passed=False, detail=f"{PLAN} cannot be read")]
    evidence = Evidence(folder=folder, certificate=certificate, tables=opened, plan=plan)
    try:
        checks = [*check_folder(evidence), *check_links(evidence), *_check_wording(certificate)]
        return [*checks, *(check for entry in certificate.promises for check in _check_promise(entry, evidence))]
    except ShoalError as error:
        return [Check(subject=certificate.data.file, passed=False, detail="; ".join(error.problems))]


def _check_wording(certificate: Certificate) -> list[Check]:
    """Say so where another version of Shoal chose the sentences, which are then not compared."""
    if certificate.same_wording:
        return []
    detail = "written by another version of Shoal: the parameters are checked, the sentences are not compared with them"
    return [Check(subject="wording", passed=True, detail=detail, shown=False)]


def _check_promise(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    if entry.file not in (None, *evidence.tables):
        return [_unknown(entry)]
    try:
        return promises.check(entry, evidence)
    except KeyError:
        return [_unknown(entry)]


def _unknown(entry: PromiseEntry) -> Check:
    return Check(
        subject=f"{entry.model} ({entry.strength})",
        passed=False,
        detail="this version of Shoal cannot check this promise",
    )


def _open(folder: Path, data: Data, certificate: Certificate, opened: dict[str, Table]) -> list[Check]:
    """Read a data file, and add it to those opened if its columns are the certified ones."""
    checks = []
    if data.file in opened:
        return [Check(subject=data.file, passed=False, detail="the certificate lists it twice")]
    if data.file not in {entry.name for entry in certificate.files}:
        checks.append(Check(subject=data.file, passed=False, detail="the certificate does not fingerprint it"))
    suffix = "" if data is certificate.data else f" of {data.file}"
    try:
        table = tables.read(folder / data.file)
        checks.append(_check_columns(table, data, suffix))
        if checks[-1].passed:
            checks.append(_check_records(table, data, suffix))
            opened[data.file] = table
    except ShoalError as error:
        checks.append(Check(subject=data.file, passed=False, detail="; ".join(error.problems)))
    return checks


def _check_file(folder: Path, entry: File) -> Check:
    path = folder / entry.name
    if not path.is_file():
        return Check(subject=entry.name, passed=False, detail="the file is missing")
    if fingerprint(path, entry.name) != entry:
        return Check(subject=entry.name, passed=False, detail="the file was changed after the release was made")
    return Check(subject=entry.name, passed=True, detail="unchanged since the release was made")


def _check_columns(table: Table, data: Data, suffix: str) -> Check:
    expected = tuple(column.name for column in data.columns)
    same = tuple(table.columns) == expected
    return Check(
        subject=f"columns{suffix}",
        passed=same,
        detail=f"{len(expected)} columns as certified" if same else "the columns are not the certified ones",
    )


def _check_records(table: Table, data: Data, suffix: str) -> Check:
    found, expected = table.count(), data.records
    return Check(
        subject=f"records{suffix}",
        passed=found == expected,
        detail=f"{found:,} as certified" if found == expected else f"{found:,}; the certificate says {expected:,}",
    )
