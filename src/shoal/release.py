"""A release: the table to publish, what it promises, what it cost, and how to write it down."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal import hierarchies, schema, tables
from shoal._staging import staged
from shoal.errors import ShoalError
from shoal.guarantees import CERTIFICATE, Guarantee, certify, fingerprint, verify
from shoal.guarantees._certificate import POPULATION, Data, Domain, File, column
from shoal.hierarchies import Hierarchy
from shoal.plan import Plan
from shoal.recoding import SearchResult
from shoal.risk import Reidentification
from shoal.schema import FromFile, Taxonomy
from shoal.tables import Table

__all__ = ["Release"]

DATA, PLAN, SUMMARY, HIERARCHIES = "data.parquet", "plan.toml", "summary.txt", "hierarchies"


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
        The quality measures that the plan asked for.
    before, after
        Re-identification risk of the input and of the release.
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
    """

    plan: Plan
    table: Table
    guarantee: Guarantee
    measures: Mapping[str, float | None]
    before: Reidentification
    after: Reidentification
    records: int
    domains: tuple[Domain, ...]
    sensitive_hierarchies: tuple[Hierarchy, ...] = ()
    population: pa.Table | None = None
    search: SearchResult | None = None

    def write(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a new folder, which appears whole or not at all.

        The folder holds ``data.parquet`` (and ``data.csv`` with ``csv=True``), ``certificate.json``, ``plan.toml`` with
        the hierarchy files that it names, and ``summary.txt``. Before it appears, it is verified as anybody would.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written; nothing is left behind.
        """
        folder = Path(folder)
        with staged(folder) as staging:
            tables.write(self.table, staging / DATA)
            if csv:
                tables.write(tables.read(staging / DATA), staging / "data.csv")
            plan, placed = self._write_plan(staging), self._write_hierarchies(staging)
            (staging / SUMMARY).write_text(f"{self}\n", encoding="utf-8")
            if self.population is not None:
                pq.write_table(self.population, staging / POPULATION)
            files = tuple(_fingerprints(staging))
            (staging / CERTIFICATE).write_text(self._certificate(plan, files, placed), encoding="utf-8")
            _check(staging)
        return folder

    def explain(self) -> str:
        """Say why the chosen solution won over the others that were looked at."""
        return "No search was needed." if self.search is None else self.search.explain()

    def __str__(self) -> str:
        lines = ["Promised", *_bullets(promise.statement for promise in self.guarantee.promises)]
        assumptions = dict.fromkeys(text for promise in self.guarantee.promises for text in promise.assumptions)
        if assumptions:
            lines += ["Assuming", *_bullets(assumptions)]
        if self.plan.schema.guessed:
            lines += ["Note", *_bullets(["The roles of the columns were guessed and not confirmed by a person."])]
        lines += ["Done", *_bullets(event.describe() for event in self.guarantee.events)]
        lines += ["Quality", *(f"  {name:<24}{_figure(value)}" for name, value in self.measures.items())]
        lines += ["Risk                      before      after", *self._risk_lines()]
        return "\n".join(lines)

    def _risk_lines(self) -> list[str]:
        before, after = self.before, self.after
        rows = [
            ("records", f"{before.records:,}", f"{after.records:,}"),
            ("equivalence classes", f"{before.classes:,}", f"{after.classes:,}"),
            ("smallest class", f"{before.smallest:,}", f"{after.smallest:,}"),
            ("unique records", f"{before.unique:,}", f"{after.unique:,}"),
            ("highest risk", f"{before.prosecutor:.1%}", f"{after.prosecutor:.1%}"),
            ("average risk", f"{before.marketer:.2%}", f"{after.marketer:.2%}"),
        ]
        return [f"  {name:<20}{left:>10} {right:>10}" for name, left, right in rows]

    def _certificate(self, plan: Plan, files: tuple[File, ...], placed: Mapping[str, str]) -> str:
        described = plan.schema
        columns = tuple(column(described[name], hierarchy=placed.get(name)) for name in self.table.columns)
        return certify(
            self.guarantee,
            data=Data(file=DATA, records=self.records, columns=columns),
            files=files,
            domains=self.domains,
            schema_text=schema.dumps(described),
            guessed=described.guessed,
            measures=dict(self.measures),
        ).to_json()

    def _write_plan(self, staging: Path) -> Plan:
        """Write the plan and the hierarchy files that it names, so that it can be run from the release folder."""
        attributes = []
        for number, attribute in enumerate(self.plan.schema, start=1):
            rule = attribute.hierarchy
            if isinstance(rule, FromFile | Taxonomy) and rule.path is not None:
                # a column's name is not always a file's name
                name = f"{HIERARCHIES}/{number}.csv"
                (staging / HIERARCHIES).mkdir(exist_ok=True)
                shutil.copyfile(self.plan.schema.folder / rule.path, staging / name)
                attributes.append(replace(attribute, hierarchy=replace(rule, path=name)))
            else:
                attributes.append(attribute)
        plan = replace(self.plan, schema=replace(self.plan.schema, attributes=tuple(attributes), folder=staging))
        (staging / PLAN).write_text(plan.dumps(), encoding="utf-8")
        return plan

    def _write_hierarchies(self, staging: Path) -> dict[str, str]:
        placed = {}
        for number, hierarchy in enumerate(self.sensitive_hierarchies, start=1):
            name = f"{HIERARCHIES}/sensitive-{number}.csv"
            (staging / HIERARCHIES).mkdir(exist_ok=True)
            hierarchies.write_arx(hierarchy, staging / name)
            placed[hierarchy.attribute] = name
        return placed


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


def _bullets(sentences: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for sentence in sentences:
        lines += textwrap.wrap(sentence, width=96, initial_indent="  - ", subsequent_indent="    ")
    return lines


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:,.6g}"
