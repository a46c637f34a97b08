"""Check a release against its certificate, from its own files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from shoal import models, tables
from shoal.errors import ShoalError, VerificationError
from shoal.guarantees import _certificate
from shoal.guarantees._certificate import CERTIFICATE, POPULATION, Certificate, Column, Data, PromiseEntry
from shoal.guarantees._check import Check, Verification
from shoal.guarantees._promise import Strength
from shoal.guarantees._verify_closeness import CLOSENESS, check_closeness, check_links
from shoal.guarantees._verify_folder import check_folder, rightly_worded
from shoal.guarantees._verify_microaggregation import ATTRIBUTE_SET, MICROAGGREGATION, check_microaggregation
from shoal.guarantees._verify_noise import NOISE, check_noise
from shoal.guarantees._verify_privacy import NAME, check_privacy
from shoal.models import Classes, Model
from shoal.schema import Attribute, Domain, Flat, FromFile, HierarchyRule, Kind, Role, Schema
from shoal.tables import Frequencies, Table

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
    certificate = _certificate.load(folder / CERTIFICATE)
    checks = [_check_file(folder, entry) for entry in certificate.files]
    opened: dict[str, Table] = {}
    for data in certificate.tables:
        checks.extend(_open(folder, data, certificate, opened))
    if len(opened) == len(certificate.tables):
        try:
            checks.extend(check_folder(folder, certificate))
            checks.extend(check_links(certificate, opened))
            checks.extend(_check_promises(folder, opened, certificate))
        except ShoalError as error:
            checks.append(Check(subject=certificate.data.file, passed=False, detail="; ".join(error.problems)))
    return Verification(folder=folder, checks=tuple(checks))


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


def _check_file(folder: Path, entry: _certificate.File) -> Check:
    path = folder / entry.name
    if not path.is_file():
        return Check(subject=entry.name, passed=False, detail="the file is missing")
    if _certificate.fingerprint(path, entry.name) != entry:
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


def _check_promises(folder: Path, opened: Mapping[str, Table], certificate: Certificate) -> list[Check]:
    checks = []
    syntactic = [entry for entry in certificate.promises if _is_model(entry)]
    for data in certificate.tables:
        mine = [entry for entry in syntactic if (entry.file or certificate.data.file) == data.file]
        decided = [_model(entry) for entry in mine]
        if decided:
            classes = _classes(folder, opened[data.file], data.columns, decided)
            checks += [_check_model(entry, model, classes) for entry, model in zip(mine, decided, strict=True)]
    astray = [entry for entry in syntactic if entry.file not in (None, *opened)]
    checks += [_check_other(entry) for entry in astray]
    for entry in certificate.promises:
        if _is_model(entry):
            continue
        if entry.model == NAME:
            checks.extend(check_privacy(entry, certificate, opened[certificate.data.file]))
        elif entry.model in NOISE:
            checks.extend(check_noise(entry, certificate, opened, folder))
        elif entry.model in CLOSENESS:
            checks.append(check_closeness(entry, certificate, opened))
        elif entry.model in MICROAGGREGATION:
            checks.append(check_microaggregation(entry, certificate, opened, partial(_classes, folder)))
        else:
            checks.append(_check_other(entry))
    return checks


def _is_model(entry: PromiseEntry) -> bool:
    """Say whether a promise is a model that the whole table decides."""
    return entry.strength is Strength.SYNTACTIC and entry.model != ATTRIBUTE_SET


def _model(entry: PromiseEntry) -> Model:
    return models.from_parameters(entry.model, entry.parameters)


def _check_model(entry: PromiseEntry, model: Model, classes: Classes) -> Check:
    everything = np.ones(len(classes), dtype=np.bool_)
    failing = int(np.count_nonzero(~model.keep(classes, everything)))
    detail = f"{failing:,} of {len(classes):,} classes fail" if failing else f"holds for all {len(classes):,} classes"
    subject = f"{model.name} {_parameters(model)}".strip() + (f" of {entry.file}" if entry.file else "")
    if not rightly_worded(entry, model):
        return Check(subject=subject, passed=False, detail="the certificate says it in other words than it means")
    return Check(subject=subject, passed=not failing, detail=f"{detail}; the release has {model.achieved(classes)}")


def _check_other(entry: PromiseEntry) -> Check:
    return Check(
        subject=f"{entry.model} ({entry.strength})",
        passed=False,
        detail="this version of Shoal cannot check this promise",
    )


def _classes(folder: Path, table: Table, columns: Sequence[Column], decided: Sequence[Model]) -> Classes:
    """Group the released records on the released quasi-identifiers, whatever they look like."""
    wanted = tuple(dict.fromkeys(name for model in decided for name in model.capabilities.sensitive))
    schema = Schema(attributes=tuple(_attribute(column, wanted) for column in columns), folder=folder)
    frequencies = tables.encode(table.with_schema(schema, allow_empty=True), sensitive=wanted).frequencies
    classes = Classes.grouped(frequencies)
    if any(model.capabilities.population for model in decided):
        return replace(classes, population=_population(folder / POPULATION, frequencies, classes))
    return classes


def _population(path: Path, frequencies: Frequencies, classes: Classes) -> npt.NDArray[np.int64]:
    """Look the released classes up in the population's counts, which the release holds as a file of its own."""
    if not path.is_file():
        raise VerificationError(f"{POPULATION} is missing, which holds the counts of the population")
    rows = pq.read_table(path)
    *names, count = rows.column_names
    if tuple(names) != frequencies.attributes:
        raise VerificationError(f"{POPULATION} does not have the released quasi-identifiers")
    counts = dict(
        zip(
            zip(*(rows[name].to_pylist() for name in names), strict=True),
            rows[count].to_pylist(),
            strict=True,
        )
    )
    assert classes.codes is not None  # noqa: S101 - grouped() sets it
    labels = [hierarchy.labels[0] for hierarchy in frequencies.hierarchies]
    found = [
        counts.get(tuple(texts[code] for texts, code in zip(labels, row, strict=True)), 0)
        for row in classes.codes.tolist()
    ]
    return np.array(found, dtype=np.int64)


def _attribute(column: Column, wanted: Sequence[str]) -> Attribute:
    if column.name not in wanted:
        # Released quasi-identifiers are compared as they stand: equal text, equal class.
        return Attribute(name=column.name, role=column.role, kind=Kind.CATEGORICAL, hierarchy=Flat())
    rule: HierarchyRule | None = FromFile(path=column.hierarchy) if column.hierarchy else None
    domain = Domain(values=column.values) if column.values is not None else None
    return Attribute(name=column.name, role=Role.SENSITIVE, kind=column.kind, domain=domain, hierarchy=rule)


def _parameters(model: Model) -> str:
    return ", ".join(f"{name} = {value}" for name, value in model.parameters().items())
