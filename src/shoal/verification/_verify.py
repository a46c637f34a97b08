"""Check a release against its certificate, or a masked file against its record, from its own files alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal import tables
from shoal.copying import PrivateCopy, inspect_release, private_copy
from shoal.errors import InputError, ShoalError, Undecided, VerificationError, counted, lacking, quoted, says_nothing
from shoal.estimation import refuse_drawn_records
from shoal.folder import PLAN, REPORT, SUMMARY, ReleaseFolder
from shoal.guarantees import (
    CERTIFICATE,
    CRYPTOGRAPHIC,
    NO_RANDOMNESS,
    Certificate,
    Check,
    Counted,
    Data,
    Evidence,
    LeftOut,
    PromiseEntry,
    Strength,
    Verification,
    run_check,
)
from shoal.masking import RECORD, MaskingRecord, MaskingStep, StepEntry
from shoal.methods import promises
from shoal.methods.nested import is_dataset_plan
from shoal.methods.recode import Aggregated, Suppressed
from shoal.plan import Plan
from shoal.schema import Missing
from shoal.series import UNCHECKED
from shoal.tables import Site, Table
from shoal.verification._dataset import check_dataset
from shoal.verification._files import (
    LONG_TEXTS,
    check_copies,
    check_files,
    check_footers,
    check_hierarchies,
    check_links,
    check_rendered,
)
from shoal.verification._plan import check_plan
from shoal.verification._series import check_series
from shoal.verification._signature import check_signature, read_key, read_signer, write_signature
from shoal.verification._steps import check_steps
from shoal.verification._values import check_values
from shoal.writing import digest


def verify(
    folder: str | Path,
    *,
    signer: str | Path | None = None,
    after: Sequence[str | Path] = (),
    rendered: bool = True,
    any_size: bool = False,
    spark: Any | None = None,
) -> Verification:
    """Check every promise of the release in ``folder``; or a masked file against its record.

    A certificate is rebuilt, not read: from plan.toml and the data follow the columns, roles, kinds, orders of values,
    domains, the promises asked for, their words, and the figures of the steps; any difference fails. Every syntactic
    promise is decided again, exactly, on the equivalence classes of the data file. Of differential privacy the
    mathematics of the parameters, the budget and the least class size are computed again. What rests on the publisher's
    word is said in one line each. Nothing but the folder is needed, and nothing outside of it is read: the files are
    copied first, links, pipes and devices among them are refused, and so is what no release has the size of.

    Parameters
    ----------
    folder
        The release; or a file that :func:`shoal.mask` wrote, or its record (see
        :class:`~shoal.masking.MaskingRecord`), of which nothing is promised beyond what its steps say.
    signer
        The file with the public key that must have signed the release. Without it, anybody may have made the folder,
        and a check says so.
    after
        Earlier releases of the same series, in any order: all of them are then checked together, where they show their
        joint crowds. Without, a line says that the series was not checked.
    rendered
        Whether to make the summary and the report again and to compare them; False saves that time where they were made
        a moment ago.
    any_size
        Whether to read tables that unpack to far more than their files hold. Large releases whose records are nearly
        all alike do so, and folders that are meant to fill the memory of whoever looks at them.
    spark
        A Spark session: its executors, which must see the folder, then read, fingerprint and count tables that a
        cluster wrote in parts. Without, this machine does.

    Raises
    ------
    VerificationError
        If the certificate is none as Shoal writes it; a promise that fails is a failed :class:`Check`, not an error.
    Undecided
        If the check cannot be completed: too little memory, a full disk, no certificate, one that is damaged, or one of
        another version.
    InputError
        If there is no such folder, ``signer`` is no public key, or the executors of ``spark`` do not see the folder.
    """
    folder, public = Path(folder), None if signer is None else read_signer(signer)
    with _completed():
        if folder.is_file() and public is None:
            return verify_masked(folder)
        if not folder.is_dir():
            raise InputError(f"there is no release folder `{folder.name}`")
        site = tables.site_of_session(spark)
        # what lies on a cluster is read there, by its name
        with (private_copy if site.session is None else inspect_release)(folder) as copy:
            checks = [
                *_checks(copy, rendered=rendered, any_size=any_size, site=site),
                check_signature(copy.folder, public),
            ]
            # what its own check refused may be a trap for whoever reads on
            if after and all(check.passed or check.subject in (SUMMARY, REPORT) for check in checks):
                told = "checked together with the releases given; that newcomers are new rests on the publisher's word"
                checks = [replace(check, detail=told) if check.detail == UNCHECKED else check for check in checks]
                checks += _check_series(copy.folder, [Path(each) for each in after], any_size=any_size)
        return Verification(folder=folder, checks=tuple(checks))


def _check_series(folder: Path, after: Sequence[Path], *, any_size: bool) -> list[Check]:
    """Check earlier releases each by itself, and all of them together."""
    checks, copies = [], []
    if is_dataset_plan(ReleaseFolder(folder).read_text(PLAN) or ""):
        raise InputError("releases of several tables cannot be checked as a series")
    with ExitStack() as opened:
        for path in after:
            if not path.is_dir():
                raise InputError(f"there is no release folder `{path.name}`")
            copy = opened.enter_context(private_copy(path))
            found = _checks(copy, rendered=False, any_size=any_size, site=tables.site_of_session(None))
            failed = [check for check in found if not check.passed]
            detail = f"{counted(len(failed), 'check')} failed" if failed else "keeps its promises by itself"
            checks.append(Check(subject=f"earlier release {path.name}", passed=not failed, detail=detail))
            copies.append(copy.folder)
        if all(check.passed for check in checks):
            checks += check_series(folder, copies)
    return checks


def sign(folder: str | Path, key: str | Path, *, passphrase: str | Callable[[], str | None] | None = None) -> str:
    """Sign the release in ``folder``, once it verifies, and return the fingerprint of the key.

    The signature, ``signature.json``, covers the certificate, which fingerprints every other file. One that is there
    already is replaced. Nothing else changes. ``shoal sign --new-key NAME`` makes keys.

    Parameters
    ----------
    folder
        The release.
    key
        The file with the private Ed25519 key, in PEM.
    passphrase
        What protects the key, or a function that returns it; not used for a key without one.

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
    folder, secret = Path(folder), read_key(key, passphrase)
    if Path(key).resolve().is_relative_to(folder.resolve()):
        raise InputError("the private key must not be inside the release folder")
    if not folder.is_dir():
        raise InputError(f"there is no release folder `{folder.name}`")
    with _completed(), private_copy(folder) as copy:
        checks = _checks(copy, rendered=True, any_size=True, site=tables.site_of_session(None))
        failed = [f"{check.subject}: {check.detail}" for check in checks if not check.passed]
        if failed:
            raise VerificationError(["the release does not verify; it was not signed", *failed])
        return write_signature(folder, secret, checked=(copy.folder / CERTIFICATE).read_bytes())


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


def _checks(copy: PrivateCopy, *, rendered: bool, any_size: bool, site: Site) -> list[Check]:
    """Check all but the signature."""
    folder = copy.folder
    if CERTIFICATE in copy.refused:
        raise VerificationError(f"{CERTIFICATE} in the release is {copy.refused[CERTIFICATE]}")
    release = ReleaseFolder(folder, site=site)
    certificate = release.certificate
    checks = [_check_text(folder, certificate)]
    checks += [Check(subject=name, passed=False, detail=why) for name, why in sorted(copy.refused.items())]
    if is_dataset_plan(release.read_text(PLAN) or ""):
        return [*checks, *check_dataset(release, rendered=rendered, any_size=any_size, site=site)]
    plan = _plan(release)
    if plan is None:
        checks.append(Check(subject=PLAN, passed=False, detail="it is missing, or not a plan as Shoal writes it"))
        return checks
    unsafe = check_footers(folder, certificate, site, any_size=any_size)
    if unsafe:
        return [*checks, *unsafe]
    checks += check_files(folder, certificate, release.allowed_files(), site)
    if any(check.detail == LONG_TEXTS for check in checks):
        return checks
    opened: dict[str, Table] = {}
    for data in certificate.tables:
        checks.extend(_open(release, data, opened))
    if len(opened) == len(certificate.tables):
        try:
            taken = release.steps
        except VerificationError as error:
            return [*checks, Check(subject="steps", passed=False, detail="; ".join(error.problems))]
        evidence = Evidence(folder=folder, certificate=certificate, tables=opened, plan=plan, all_steps=taken)
        checks.extend(_check_content(evidence, release, rendered=rendered))
    return checks


def _check_text(folder: Path, certificate: Certificate) -> Check:
    """Refuse a certificate whose bytes are not those that Shoal writes: other readers might take it for another one."""
    same = (folder / CERTIFICATE).read_bytes() == certificate.to_json().encode()
    detail = "a certificate as Shoal writes it" if same else "not written as Shoal writes certificates"
    return Check(subject=CERTIFICATE, passed=same, detail=detail)


def _plan(release: ReleaseFolder) -> Plan | None:
    """Read the plan; None where it is not there, is not fingerprinted, or says more than a plan."""
    listed = {entry.name for entry in release.certificate.files}
    if PLAN not in listed:
        return None
    try:
        plan = release.plan
    except ShoalError as error:
        if says_nothing(error):
            raise
        return None
    named = [each.hierarchy.file for each in plan.schema if each.hierarchy is not None]
    if not all(name in listed and (release.path / name).is_file() for name in named if name is not None):
        return None  # a path may lead anywhere
    return plan if plan.dumps() == release.read_text(PLAN) else None


def _check_content(evidence: Evidence, release: ReleaseFolder, *, rendered: bool) -> list[Check]:
    """Check what the files say, once they are there and can be read."""
    try:
        checks = [
            *check_copies(evidence, release.site),
            *check_plan(evidence),
            *check_steps(evidence),
            *check_links(evidence),
            *check_hierarchies(evidence),
            *check_values(evidence),
        ]
        for entry in evidence.certificate.promises:
            checks += _check_promise(entry, evidence)
        checks += check_rendered(release) if rendered else []
    except ShoalError as error:
        if says_nothing(error):
            raise
        return [Check(subject=evidence.certificate.data.file, passed=False, detail="; ".join(error.problems))]
    return [*checks, *_on_trust(evidence)]


def _check_promise(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Check a promise; one of several parts is told by a check of the whole, too."""
    checks: list[Check] = []
    if entry.file in (None, *evidence.tables):
        with suppress(KeyError):
            checks = promises.check(entry, evidence)
    if not checks:
        detail = "this version of Shoal cannot check this promise"
        return [Check(subject=f"{entry.model} ({entry.strength})", passed=False, detail=detail, promise=True)]
    shown = all(check.shown for check in checks) and not _rests_on_word(entry, evidence)
    if len(checks) == 1:
        return [replace(checks[0], shown=shown, promise=True)]
    if all(check.passed for check in checks):
        parameters = ", ".join(f"{name} = {value}" for name, value in entry.parameters.items() if value is not None)
        detail = f"its {len(checks)} parts are as they must be"
        detail += "" if shown else "; that values were drawn as the steps say, no file can show"
        checks.append(
            Check(subject=f"{entry.model} {parameters}", passed=True, detail=detail, shown=shown, promise=True)
        )
    return [*checks[-1:], *(replace(check, shown=True) for check in checks[:-1])]


def _rests_on_word(entry: PromiseEntry, evidence: Evidence) -> bool:
    """Return whether a promise depends on random numbers, or on persons whom the release does not show."""
    drawn = entry.strength is not Strength.SYNTACTIC and any(step.draws for step in evidence.all_steps)
    return drawn or (entry.unit == "person" and not evidence.plan.method.linked)


def _open(release: ReleaseFolder, data: Data, opened: dict[str, Table]) -> list[Check]:
    """Read a data file, and add it to those opened if its columns are the certified ones."""
    checks, certificate = [], release.certificate
    if data.file in opened:
        return [Check(subject=data.file, passed=False, detail="the certificate lists it twice")]
    if not certificate.parts(data.file):
        checks.append(Check(subject=data.file, passed=False, detail="the certificate does not fingerprint it"))
    suffix = "" if data is certificate.data else f" of {data.file}"
    try:
        table = release.open(data.file)
        expected = tuple(column.name for column in data.columns)
        same = tuple(table.columns) == expected
        detail = (
            f"{counted(len(expected), 'column')} as certified" if same else "the columns are not the certified ones"
        )
        checks.append(Check(subject=f"columns{suffix}", passed=same, detail=detail))
        if same:
            records = table.count()
            same = records == data.records
            detail = f"{records:,} as certified" if same else f"{records:,}; the certificate says {data.records:,}"
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
    subjects = {"records": "that they were made from the publisher's table by this plan"}
    if evidence.steps(Suppressed):
        subjects["suppressed records"] = "their number"
    dropped = (
        any(each.missing is Missing.DROP for each in plan.schema) and plan.method.capabilities.private_promise is None
    )
    if evidence.steps(LeftOut) or dropped:
        subjects["records left out"] = "their number"
    if evidence.steps(Aggregated):
        subjects["levels"] = "at which level columns were before their values became aggregates"
    if any(step.hides_classes for step in evidence.all_steps):
        subjects["classes"] = "how many there are and how large, as far as the release does not show them"
    if not certificate.randomness.startswith(NO_RANDOMNESS):
        source = "the operating system" if certificate.randomness == CRYPTOGRAPHIC else "a seed"
        subjects["random numbers"] = f"that they were drawn as the steps say, and from {source}"
    if certificate.rehearsal is not None:
        subjects["rehearsal"] = "that the release was attacked before it left, and not found hollow"
    if certificate.measures:
        subjects["measures"] = "how much the release loses"
    if certificate.budget is not None:
        subjects["other releases"] = "that epsilon and delta of all releases of these people are added up"
        if certificate.account is not None:
            subjects["other releases"] = "that the account counts everything that was released about these people"
    if evidence.steps(Counted):
        subjects["persons"] = "that the person column says whose record it is"
        if not plan.method.linked:
            subjects["persons"] = "how many there are in each class, since the release does not show them"
    if copies := _copies(evidence):
        subjects["copies"] = (
            f"whether they are people: every different record is there {copies:,} times, or a multiple of that, and "
            "copies of a record hide nobody"
        )
    known = quoted(plan.schema.quasi_identifiers) or "none"
    subjects["roles"] = f"that these are all columns that somebody may know of others: {known}"
    if plan.method.capabilities.private_promise is not None:
        del subjects["roles"]
        subjects["domains"] = "that they and all parameters were declared without looking at the data"
    return [Check(subject=name, passed=True, detail=what, shown=False) for name, what in subjects.items()]


def _copies(evidence: Evidence) -> int:
    """Return how often every different record is there at least, if all are there a multiple of that; else 0."""
    if len(evidence.tables) > 1 or evidence.plan.method.capabilities.private_promise is not None:
        return 0
    table = evidence.tables[evidence.certificate.data.file]
    copies = tables.common_copies(*tables.class_sizes(table, table.columns)) if table.count() else 1
    return copies if copies > 1 else 0


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
        refuse_drawn_records(path)
        raise VerificationError(
            f"there is no record `{place.name}`", hint="`shoal mask` writes one beside every masked file"
        )
    try:
        record = MaskingRecord.loads(place.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise VerificationError("this is not a record of a masked file as Shoal writes it") from None
    checks = [Check(subject=place.name, passed=True, detail="a record as Shoal writes it")]
    checks.append(run_check(record.file, lambda: _file(place, record)))
    if checks[-1].passed:
        checks += _content(place.with_name(record.file), record)
    return Verification(folder=path, checks=tuple(checks), masked=True)


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
    checks = [Check(subject="table", passed=True, detail=shown)]
    if not record.steps:
        return [*checks, Check(subject="steps", passed=False, detail="there are none")]
    for number, entry in enumerate(record.steps):
        later = record.steps[number + 1 :]
        checks.append(run_check(f"step {number + 1}, {entry.step}", lambda e=entry, s=later: _step(table, e, s)))  # type: ignore[misc]
    word = "that they were made from the original ones as the steps say"
    return [*checks, Check(subject="values", passed=True, detail=word, shown=False)]


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
