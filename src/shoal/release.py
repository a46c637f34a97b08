"""A release: the table to publish, what it promises, what it cost, and how to write it down."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal import hierarchies, schema, tables
from shoal._staging import staged
from shoal.errors import ShoalError
from shoal.guarantees import CERTIFICATE, Certificate, Guarantee, certify, fingerprint, verify
from shoal.guarantees._certificate import POPULATION, Column, Data, Domain, File, column
from shoal.hierarchies import Hierarchy
from shoal.methods.recode import SearchResult
from shoal.plan import Plan
from shoal.report import REPORT, Plots, gather, render_html, summary
from shoal.risk import Reidentification
from shoal.schema import Role
from shoal.tables import Table

__all__ = ["Part", "PrivateReport", "Release"]

DATA, PLAN, SUMMARY, HIERARCHIES = "data.parquet", "plan.toml", "summary.txt", "hierarchies"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateReport:
    """What the publisher may want to know of a differentially private run, and nobody else may see.

    It was computed from the input without any protection: publishing it, or any figure of it, breaks the promise.

    Parameters
    ----------
    records, left_out
        Records of the input, and those that a missing value left out before.
    released
        Records of the release.
    loss
        The loss of the release with respect to the input, records that were not released counted as lost.
    before
        Re-identification risk of the input.
    """

    records: int
    left_out: int
    released: int
    loss: float
    before: Reidentification

    def to_json(self) -> str:
        """Return the report as JSON, under a notice."""
        notice = "NOT FOR PUBLICATION: figures of the input without protection; publishing any breaks the promise."
        return json.dumps({"notice": notice, **asdict(self)}, indent=2) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One released table of several, or one whose columns are not those of the schema.

    Parameters
    ----------
    file, table, records
        Its file in the release folder, what it holds, and how many records.
    columns
        What a checker must know of its columns.
    class_column
        The column that numbers the classes and links it with other parts, if any.
    """

    file: str
    table: Table
    records: int
    columns: tuple[Column, ...]
    class_column: str | None = None

    def data(self, placed: Mapping[str, str]) -> Data:
        """Return what the certificate says of it; ``placed`` are the files of hierarchies by column."""
        columns = tuple(
            entry.model_copy(update={"hierarchy": placed.get(entry.name)}) if entry.role is Role.SENSITIVE else entry
            for entry in self.columns
        )
        return Data(file=self.file, records=self.records, columns=columns, class_column=self.class_column)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """What :func:`shoal.anonymize` gives.

    Parameters
    ----------
    plan
        What was asked for.
    table
        The released records; lazy until it is written or looked at.
    guarantee
        What is promised and how it came about.
    measures
        The quality measures that the plan asked for; under differential privacy, what the release alone tells.
    before, after
        Re-identification risk of the input (None under differential privacy, which keeps it back) and of the release.
    records
        The number of released records.
    domains
        Where the domains of the quasi-identifiers came from.
    sensitive_hierarchies
        Hierarchies of sensitive attributes that a checker needs to decide a promise again.
    population
        The released classes with their number of people in the population, where one was given.
    search
        What the search found; :meth:`explain` tells it.
    private
        Under differential privacy, what must stay with the publisher; never written by :meth:`write`.
    parts
        The released tables, where they are several or their columns are not those of the schema; else empty.
    notes
        Texts that are written beside the data, by file name.
    """

    plan: Plan
    table: Table
    guarantee: Guarantee
    measures: Mapping[str, float | None]
    before: Reidentification | None = None
    after: Reidentification
    records: int
    domains: tuple[Domain, ...]
    sensitive_hierarchies: tuple[Hierarchy, ...] = ()
    population: pa.Table | None = None
    search: SearchResult | None = None
    private: PrivateReport | None = field(default=None, repr=False)
    parts: tuple[Part, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a new folder, which appears whole or not at all.

        The folder holds ``data.parquet``, or one file for each of :attr:`parts` (and CSV files beside them with
        ``csv=True``), ``certificate.json``, ``plan.toml`` with the hierarchy files that it names, ``summary.txt`` and
        ``report.html``. The summary and the report leave out what compares the release with the original table, such
        as the risk before. Before the folder appears, it is verified as anybody would.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written; nothing is left behind.
        """
        folder = Path(folder)
        with staged(folder) as staging:
            written = {part.file: part.table for part in self.parts} or {DATA: self.table}
            for name, table in written.items():
                tables.write(table, staging / name)
                if csv:
                    tables.write(tables.read(staging / name), (staging / name).with_suffix(".csv"))
            for name, text in self.notes.items():
                (staging / name).write_text(text, encoding="utf-8")
            plan, placed = self._write_plan(staging), self._write_hierarchies(staging)
            (staging / SUMMARY).write_text(f"{summary(self, public=True)}\n", encoding="utf-8")
            if self.population is not None:
                pq.write_table(self.population, staging / POPULATION)
            certificate = self._certificate(plan, tuple(_fingerprints(staging)), placed)
            (staging / REPORT).write_text(render_html(gather(staging, certificate)), encoding="utf-8")
            certificate = certificate.model_copy(update={"files": tuple(_fingerprints(staging))})
            (staging / CERTIFICATE).write_text(certificate.to_json(), encoding="utf-8")
            _check(staging)
        return folder

    @property
    def plot(self) -> Plots:
        """Pictures for notebooks; they show figures of the original table, as :meth:`explain` does."""
        return Plots(self)

    def explain(self) -> str:
        """Say why the chosen solution won over the others that were looked at."""
        if self.search is None:
            return "\n".join(event.describe() for event in self.guarantee.events)
        return self.search.explain()

    def __str__(self) -> str:
        return summary(self, public=False)

    def _certificate(self, plan: Plan, files: tuple[File, ...], placed: Mapping[str, str]) -> Certificate:
        described = plan.schema
        parts = [part.data(placed) for part in self.parts]
        if not parts:
            columns = tuple(column(described[name], hierarchy=placed.get(name)) for name in self.table.columns)
            parts = [Data(file=DATA, records=self.records, columns=columns)]
        return certify(
            self.guarantee,
            data=parts[0],
            further_data=tuple(parts[1:]),
            files=files,
            domains=self.domains,
            schema_text=schema.dumps(described),
            guessed=described.guessed,
            # without differential privacy they compare the release with the original: no promise covers what they tell
            measures={} if self.private is None else dict(self.measures),
        )

    def _write_plan(self, staging: Path) -> Plan:
        """Write the plan and the hierarchy files that it names, so that it can be run from the release folder."""
        attributes = []
        for number, attribute in enumerate(self.plan.schema, start=1):
            rule = attribute.hierarchy
            if rule is not None and rule.file is not None:
                name = f"{HIERARCHIES}/{_file_stem(attribute.name, number)}.csv"
                (staging / HIERARCHIES).mkdir(exist_ok=True)
                shutil.copyfile(self.plan.schema.folder / rule.file, staging / name)
                attributes.append(replace(attribute, hierarchy=rule.moved(name)))
            else:
                attributes.append(attribute)
        plan = replace(self.plan, schema=replace(self.plan.schema, attributes=tuple(attributes), folder=staging))
        (staging / PLAN).write_text(plan.dumps(), encoding="utf-8")
        return plan

    def _write_hierarchies(self, staging: Path) -> dict[str, str]:
        """Write down the hierarchies that checkers need."""
        needed = {
            name
            for each in self.plan.class_models
            if each.capabilities.hierarchy
            for name in each.capabilities.sensitive
        }
        placed = {}
        for number, hierarchy in enumerate(self.sensitive_hierarchies, start=1):
            if hierarchy.attribute not in needed:
                continue
            name = f"{HIERARCHIES}/sensitive-{number}.csv"
            (staging / HIERARCHIES).mkdir(exist_ok=True)
            # the leaves may have been read off the data, and then name values of suppressed records, too
            only = self._released_values(staging, hierarchy.attribute)
            hierarchies.write_arx(hierarchy, staging / name, only=only)
            placed[hierarchy.attribute] = name
        return placed

    def _released_values(self, staging: Path, column: str) -> set[str | None]:
        found: set[str | None] = set()
        for file in [part.file for part in self.parts] or [DATA]:
            table = tables.read(staging / file)
            if column in table.columns:
                found |= set(hierarchies.text(tables.distinct_values(table, column)).to_pylist())
        return found


def _file_stem(column: str, number: int) -> str:
    """Return a file's name for a column; the number keeps columns apart whose names a file system cannot."""
    return f"{number}-{re.sub('[^a-z0-9_]+', '-', column.casefold())[:60]}".rstrip("-")


def _check(folder: Path) -> None:
    """Refuse to publish what would not verify; this never happens unless Shoal or the disk is broken."""
    found = verify(folder)
    if not found.passed:
        failed = [f"{check.subject}: {check.detail}" for check in found.checks if not check.passed]
        raise ShoalError(
            ["the release does not verify; nothing was written", *failed],
            hint="this is a defect of Shoal: please report it",
        )


def _fingerprints(folder: Path) -> list[File]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [fingerprint(path, path.relative_to(folder).as_posix()) for path in paths]
