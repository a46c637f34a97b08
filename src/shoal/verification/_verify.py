"""Check a release against its certificate, or a masked file against its record, from its own files alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shoal import tables
from shoal.errors import InputError, ShoalError, Undecided, VerificationError, counted, lacking, says_nothing
from shoal.guarantees import (
    CERTIFICATE,
    CRYPTOGRAPHIC,
    NO_RANDOMNESS,
    WORDING,
    Certificate,
    Check,
    Data,
    Evidence,
    PromiseEntry,
    Verification,
    checked,
    load,
)
from shoal.masking import RECORD, MaskingRecord, MaskingStep, StepEntry
from shoal.methods import promises
from shoal.methods.brief import Brief
from shoal.schema import Missing
from shoal.tables import Site, Table
from shoal.verification._files import (
    PLAN,
    allowed_files,
    check_copies,
    check_files,
    check_hierarchies,
    check_links,
    check_rendered,
)
from shoal.verification._plan import check_plan
from shoal.verification._signature import check_signature, read_key, read_signer, write_signature
from shoal.writing import digest


def verify(
    folder: str | Path, *, signer: str | Path | None = None, rendered: bool = True, spark: Any | None = None
) -> Verification:
    """Check every promise of the release in ``folder``; or a masked file against its record.

    A certificate is rebuilt, not read: from plan.toml and the data follow the columns, roles, kinds, orders of values,
    domains, the promises asked for, their words, and the figures of the steps; any difference fails. Every syntactic
    promise is decided again, exactly, on the equivalence classes of the data file. Of differential privacy the
    mathematics of the parameters, the budget and the least class size are computed again. What rests on the publisher's
    word is said in one line each. Nothing but the folder is needed.

    Parameters
    ----------
    folder
        The release; or a file that :func:`shoal.mask` wrote, or its record (see
        :class:`~shoal.masking.MaskingRecord`), of which nothing is promised beyond what its steps say.
    signer
        The file with the public key that must have signed the release. Without it, anybody may have made the folder,
        and a check says so.
    rendered
        Whether to make the summary and the report again and to compare them; False saves that time where they were made
        a moment ago.
    spark
        A Spark session: its executors, which must see the folder, then read, fingerprint and count tables that a
        cluster wrote in parts. Without, this machine does.

    Raises
    ------
    VerificationError
        If there is no readable certificate; a promise that fails is a failed :class:`Check`, not an error.
    Undecided
        If the machine does not let the check be completed: too little memory, a full disk, a disk that cannot be read.
    InputError
        If ``signer`` is no public key, or the executors of ``spark`` do not see the folder.
    """
    folder, public = Path(folder), None if signer is None else read_signer(signer)
    with _completed():
        if folder.is_file() and public is None:
            return verify_masked(folder)
        if not folder.is_dir():
            raise VerificationError(f"there is no release folder `{folder.name}`")
        checks = [
            *_checks(folder, rendered=rendered, site=tables.site_of_session(spark)),
            check_signature(folder, public),
        ]
        return Verification(folder=folder, checks=tuple(checks))


def sign(folder: str | Path, key: str | Path) -> str:
    """Sign the release in ``folder``, once it verifies, and return the fingerprint of the key.

    The signature, ``signature.json``, covers the certificate, which fingerprints every other file. One that is there
    already is replaced. Nothing else changes. ``shoal sign --new-key NAME`` makes keys.

    Parameters
    ----------
    folder
        The release.
    key
        The file with the private Ed25519 key, in PEM.

    Raises
    ------
    VerificationError
        If the release does not verify; it is not signed then.
    Undecided
        If the machine does not let the check be completed.
    InputError
        If ``key`` is no private key, or lies in the folder that is to be published.
    MissingExtraError
        If ``cryptography`` is not installed.
    """
    folder, secret = Path(folder), read_key(key)
    if Path(key).resolve().is_relative_to(folder.resolve()):
        raise InputError("the private key must not be inside the release folder")
    if not folder.is_dir():
        raise VerificationError(f"there is no release folder `{folder.name}`")
    with _completed():
        found = _checks(folder, rendered=True, site=tables.site_of_session(None))
    failed = [f"{check.subject}: {check.detail}" for check in found if not check.passed]
    if failed:
        raise VerificationError(["the release does not verify; it was not signed", *failed])
    return write_signature(folder, secret)


@contextmanager
def _completed() -> Iterator[None]:
    """Say so where the machine does not let a check be completed."""
    try:
        yield
    except (ShoalError, OSError, MemoryError) as error:
        if (why := lacking(error)) is None:
            raise
        about = "this says nothing about the release"
        hint = error.hint if isinstance(error, ShoalError) else None
        raise Undecided(
            f"the check could not be completed: {why}", hint=about if hint is None else f"{about}; {hint}"
        ) from None


def _checks(folder: Path, *, rendered: bool, site: Site) -> list[Check]:
    """Check all but the signature."""
    strange = [path for path in folder.rglob("*") if path.exists() and not (path.is_file() or path.is_dir())]
    if strange:  # a pipe or a device may have no end
        raise VerificationError(f"`{strange[0].name}` in the release is neither a file nor a folder")
    certificate = load(folder / CERTIFICATE)
    checks = [_check_text(folder, certificate)]
    plan = _plan(folder, certificate)
    if plan is None:
        checks.append(Check(subject=PLAN, passed=False, detail="it is missing, or not a plan as Shoal writes it"))
        return checks
    checks += check_files(folder, certificate, allowed_files(plan, certificate), site)
    opened: dict[str, Table] = {}
    for data in certificate.tables:
        checks.extend(_open(folder, data, certificate, opened, site))
    if len(opened) == len(certificate.tables):
        evidence = Evidence(folder=folder, certificate=certificate, tables=opened, plan=plan)
        checks.extend(_check_content(evidence, rendered=rendered, site=site))
    return checks


def _check_text(folder: Path, certificate: Certificate) -> Check:
    """Refuse a certificate that other programs might read otherwise: with doubled keys, or values of another type."""
    path = folder / CERTIFICATE
    try:
        said = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except ValueError:
        return Check(subject=CERTIFICATE, passed=False, detail="it says something twice")
    meant = certificate.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    same = json.dumps(said, sort_keys=True) == json.dumps(meant, sort_keys=True) and not path.is_symlink()
    detail = "a certificate as Shoal writes it" if same else "not written as Shoal writes certificates"
    return Check(subject=CERTIFICATE, passed=same, detail=detail)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _plan(folder: Path, certificate: Certificate) -> Brief | None:
    """Read the plan; None where it is not there, is not fingerprinted, or says more than a plan."""
    if PLAN not in {entry.name for entry in certificate.files}:
        return None
    try:
        plan = Brief.load(folder / PLAN)
    except ShoalError as error:
        if says_nothing(error):
            raise
        return None
    return plan if plan.dumps() == (folder / PLAN).read_text(encoding="utf-8") else None


def _check_content(evidence: Evidence, *, rendered: bool, site: Site) -> list[Check]:
    """Check what the files say, once they are there and can be read."""
    try:
        checks = [
            *check_copies(evidence, site),
            *check_plan(evidence),
            *check_links(evidence),
            *check_hierarchies(evidence),
            *_check_wording(evidence.certificate),
        ]
        for entry in evidence.certificate.promises:
            checks += _check_promise(entry, evidence)
        checks += check_rendered(evidence) if rendered else []
    except ShoalError as error:
        if says_nothing(error):
            raise
        return [Check(subject=evidence.certificate.data.file, passed=False, detail="; ".join(error.problems))]
    return [*checks, *_on_trust(evidence)]


def _check_wording(certificate: Certificate) -> list[Check]:
    """Say so where an older version of Shoal chose the sentences, which are then not compared; refuse newer ones."""
    if certificate.same_wording:
        return []
    if certificate.wording > WORDING:
        detail = "from a newer version of Shoal, whose sentences this one does not know; verify with that version"
        return [Check(subject="wording", passed=False, detail=detail)]
    detail = (
        "from an older version of Shoal: not compared with the parameters, which are checked; trust only the parameters"
    )
    return [Check(subject="wording", passed=True, detail=detail, shown=False)]


def _check_promise(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    if entry.file in (None, *evidence.tables):
        with suppress(KeyError):
            return promises.check(entry, evidence)
    detail = "this version of Shoal cannot check this promise"
    return [Check(subject=f"{entry.model} ({entry.strength})", passed=False, detail=detail)]


def _open(folder: Path, data: Data, certificate: Certificate, opened: dict[str, Table], site: Site) -> list[Check]:
    """Read a data file, and add it to those opened if its columns are the certified ones."""
    checks = []
    if data.file in opened:
        return [Check(subject=data.file, passed=False, detail="the certificate lists it twice")]
    if not certificate.parts(data.file):
        checks.append(Check(subject=data.file, passed=False, detail="the certificate does not fingerprint it"))
    suffix = "" if data is certificate.data else f" of {data.file}"
    try:
        table = site.open(folder / data.file)
        expected = tuple(column.name for column in data.columns)
        same = tuple(table.columns) == expected
        detail = (
            f"{counted(len(expected), 'column')} as certified" if same else "the columns are not the certified ones"
        )
        checks.append(Check(subject=f"columns{suffix}", passed=same, detail=detail))
        if same:
            found = table.count()
            same = found == data.records
            detail = f"{found:,} as certified" if same else f"{found:,}; the certificate says {data.records:,}"
            checks.append(Check(subject=f"records{suffix}", passed=same, detail=detail))
            opened[data.file] = table
    except ShoalError as error:
        if says_nothing(error):
            raise
        checks.append(Check(subject=data.file, passed=False, detail="; ".join(error.problems)))
    return checks


def _on_trust(evidence: Evidence) -> list[Check]:
    """Return what a reader must believe, given that all else was checked."""
    plan, certificate = evidence.plan, evidence.certificate
    found = {"records": "that they were made from the publisher's table by this plan"}
    if evidence.steps("suppressed"):
        found["suppressed records"] = "their number"
    dropped = any(each.missing is Missing.DROP for each in plan.schema) and plan.method.keeps.private is None
    if evidence.steps("left-out") or dropped:
        found["records left out"] = "their number"
    if plan.method.keeps.private is None and any(step.get("levels") for step in evidence.steps("generalized")):
        found["levels"] = "at which level of its hierarchy each column is"
    if evidence.steps("permuted", "ranked", "blocked"):
        found["classes"] = "how many there are and how large, as far as the release does not show them"
    if not certificate.randomness.startswith(NO_RANDOMNESS):
        source = "the operating system" if certificate.randomness == CRYPTOGRAPHIC else "a seed"
        found["random numbers"] = f"that they were drawn as the steps say, and from {source}"
    if certificate.measures:
        found["measures"] = "how much the release loses"
    if certificate.budget is not None:
        found["other releases"] = "that epsilon and delta of all releases of these people are added up"
        if certificate.account is not None:
            found["other releases"] = "that the account counts everything that was released about these people"
    if evidence.steps("counted"):
        found["persons"] = "that the person column says whose record it is"
        if not plan.method.linked:
            found["persons"] = "how many there are in each class, since the release does not show them"
    found["roles"] = "that nobody can know columns other than the quasi-identifiers"
    if plan.method.keeps.private is not None:
        del found["roles"]
        found["domains"] = "that they and all parameters were declared without looking at the data"
    detail = "on the publisher's word: {}"
    return [Check(subject=name, passed=True, detail=detail.format(what), shown=False) for name, what in found.items()]


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
        return False, "its wording does not match its parameters"
    if not {*step.columns} <= {*table.columns}:
        return False, "it names columns that are not there"
    if _disturbed(step, [each.read() for each in later]):
        return True, "its wording matches its parameters; later steps changed its columns"
    rows = table.to_arrow()
    problem = step.contradiction({name: rows[name].combine_chunks() for name in rows.column_names}, entry.detail)
    return problem is None, problem or "its wording matches its parameters, and nothing in the file contradicts it"


def _disturbed(step: MaskingStep, later: list[MaskingStep]) -> bool:
    """Return whether a later step may hide what this one did; coding at an end leaves the other values alone."""
    return any({*each.columns} & {*step.columns} and not each.name.endswith("-code") for each in later)
