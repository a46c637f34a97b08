"""Check that the files of a release agree: the plan, copies of the data in other formats, and nothing besides."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal import models, schema, tables
from shoal.errors import ShoalError
from shoal.guarantees._certificate import CERTIFICATE, Certificate, PromiseEntry
from shoal.guarantees._check import Check
from shoal.guarantees._promise import syntactic
from shoal.hierarchies import text
from shoal.models import Model
from shoal.schema import Role

__all__ = ["PLAN", "check_folder", "rightly_worded"]

PLAN = "plan.toml"
_BATCH = 1_000_000


def check_folder(folder: Path, certificate: Certificate) -> list[Check]:
    """Check what the certificate says against the other files."""
    return [
        *_unlisted(folder, certificate),
        *_copies(folder, certificate),
        _plan(folder, certificate),
        *_sum(certificate),
    ]


def rightly_worded(entry: PromiseEntry, model: Model) -> bool:
    """Return whether a promise is in the words that belong to its model, for the form of the release."""
    from shoal.methods.classes import in_classes

    expected = syntactic(model)
    prefix = f"In {entry.file}: "
    said = entry.statement.removeprefix(prefix) if entry.file else entry.statement
    allowed = {expected.statement, in_classes(model, expected)}
    if entry.file:
        allowed |= {words[:1].lower() + words[1:] for words in allowed}
    return (
        said in allowed
        and set(expected.assumptions) <= set(entry.assumptions)
        and entry.neighbours is None
        and entry.unit == expected.unit
    )


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


def _plan(folder: Path, certificate: Certificate) -> Check:
    """Compare what the certificate says of columns with the schema of the plan."""
    # plans are made of promises, so that they lie above them
    from shoal.methods.recode import Method
    from shoal.plan import Plan

    if PLAN not in {entry.name for entry in certificate.files}:
        return Check(subject="schema", passed=False, detail=f"the certificate does not fingerprint {PLAN}")
    try:
        plan = Plan.load(folder / PLAN)
    except ShoalError:
        return Check(subject="schema", passed=False, detail=f"{PLAN} cannot be read")
    described = plan.schema
    if isinstance(plan.method, Method):  # other methods make promises of their own in place of those asked for
        asked = {(model.name, *model.capabilities.sensitive) for model in plan.class_models}
        kept = {(model.name, *model.capabilities.sensitive) for model in map(_model, certificate.promises)}
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


def _model(entry: PromiseEntry) -> Model:
    return models.from_parameters(entry.model, entry.parameters)


def _sum(certificate: Certificate) -> list[Check]:
    """Compare the budget with what the steps spend; say nothing where nothing is spent."""
    try:
        spent = [
            sum((Fraction(str(step.get(f"{name}_spent", 0))) for step in certificate.steps), Fraction(0))
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
