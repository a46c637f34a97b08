"""Check that the files of a release agree: the plan, copies of the data in other formats, and nothing besides."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal import schema, tables
from shoal.errors import ShoalError
from shoal.exact import fraction
from shoal.guarantees import CERTIFICATE, Certificate, Check, Data, Evidence, PromiseEntry, Requirement
from shoal.hierarchies import text
from shoal.methods import promises
from shoal.models import Model
from shoal.schema import Role

__all__ = ["PLAN", "check_folder", "check_links"]

PLAN = "plan.toml"
_BATCH = 1_000_000


def check_folder(evidence: Evidence) -> list[Check]:
    """Check what the certificate says against the other files."""
    folder, certificate = evidence.folder, evidence.certificate
    return [
        *_unlisted(folder, certificate),
        *_copies(folder, certificate),
        _plan(evidence),
        *_sum(certificate),
    ]


def _unlisted(folder: Path, certificate: Certificate) -> list[Check]:
    """Fail for files that nothing is said about: they may hold anything."""
    known = {CERTIFICATE, *(entry.name for entry in certificate.files)}
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [
        Check(subject=name, passed=False, detail="not part of the release; keep it elsewhere")
        for name in found
        if name not in known
    ]


def _copies(folder: Path, certificate: Certificate) -> list[Check]:
    """Compare data files that are written in a second format, record by record."""
    listed = {entry.name for entry in certificate.files}
    checks = []
    for data in certificate.tables:
        copy = Path(data.file).with_suffix(".csv").name
        if copy == data.file or copy not in listed:
            continue
        try:
            same = _same(tables.read(folder / data.file).to_arrow(), tables.read(folder / copy).to_arrow())
        except ShoalError:
            same = False
        detail = f"the same records as {data.file}" if same else f"not the records of {data.file}"
        checks.append(Check(subject=copy, passed=same, detail=detail))
    return checks


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


def _plan(evidence: Evidence) -> Check:
    """Compare what the certificate says of columns with the schema of the plan."""
    certificate, described = evidence.certificate, evidence.plan.schema
    if evidence.plan.method.keeps.as_asked:  # other methods make promises of their own in place of those asked for
        asked = {(model.name, *_sensitive(model)) for model in evidence.plan.models}
        kept = {(model.name, *_sensitive(model)) for model in map(_model, certificate.promises)}
        if asked - kept:
            return Check(subject="schema", passed=False, detail=f"{PLAN} asks for more than the certificate promises")
    columns = [column for data in certificate.tables for column in data.columns if column.name in described]
    changed = [column.name for column in columns if column.role is not described[column.name].role]
    if changed:
        return Check(subject="schema", passed=False, detail=f"`{changed[0]}` has another role in {PLAN}")
    if hashlib.sha256(schema.dumps(described).encode()).hexdigest() != certificate.schema_sha256:
        return Check(subject="schema", passed=False, detail=f"the schema of {PLAN} is not the certified one")
    known = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
    detail = f"the quasi-identifiers are {', '.join(f'`{name}`' for name in known)}"
    return Check(subject="schema", passed=True, detail=detail)


def _sensitive(promise: Requirement) -> tuple[str, ...]:
    return promise.capabilities.sensitive if isinstance(promise, Model) else ()


def _model(entry: PromiseEntry) -> Requirement:
    return promises.from_parameters(entry.model, entry.parameters)


def _sum(certificate: Certificate) -> list[Check]:
    """Compare the budget with what the steps spend; say nothing where nothing is spent."""
    try:
        spent = [
            sum((fraction(str(step.get(f"{name}_spent", 0))) for step in certificate.steps), Fraction(0))
            for name in ("epsilon", "delta")
        ]
        stated = [Fraction(0)] * 2
        if certificate.budget is not None:
            stated = [Fraction(certificate.budget.epsilon), Fraction(certificate.budget.delta)]
    except (ValueError, ZeroDivisionError):
        return [Check(subject="budget", passed=False, detail="what the steps spend is not a number")]
    if stated == spent:
        return []
    return [Check(subject="budget", passed=False, detail="not what the steps spend in all")]


def check_links(evidence: Evidence) -> list[Check]:
    """Check that tables which a class column links have the same classes, and that others share no column."""
    certificate = evidence.certificate
    linked = [data for data in certificate.tables if data.class_column is not None]
    checks = []
    if linked:
        first, *others = (evidence.tallied(data, [str(data.class_column)]) for data in linked)
        same = all(sizes == first for sizes in others)
        detail = f"the same {len(first):,} classes in {len(linked)} tables" if same else "classes differ between tables"
        checks.append(Check(subject="class link", passed=same and len(linked) > 1, detail=detail))
    names = [name for data in certificate.tables for name in _unlinked(data)]
    if len(certificate.tables) > 1:
        shared = sorted({name for name in names if names.count(name) > 1})
        detail = f"`{shared[0]}` is in several tables" if shared else "the tables share no column"
        checks.append(Check(subject="columns of all tables", passed=not shared, detail=detail))
    return checks


def _unlinked(data: Data) -> list[str]:
    return [column.name for column in data.columns if column.name != data.class_column]
