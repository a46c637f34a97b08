"""The folder of a release: what its files are called, and how they are opened, read, listed and written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from shoal import hierarchies, tables
from shoal.copying import inspect_release
from shoal.errors import OutputError, VerificationError
from shoal.guarantees import CERTIFICATE, POPULATION, Certificate, Event, File, fingerprint, load
from shoal.hierarchies import Hierarchy
from shoal.methods.base import DATA
from shoal.methods.classes import VIEW
from shoal.methods.nested import DatasetPlan
from shoal.methods.steps import read_steps
from shoal.plan import Plan
from shoal.schema import Schema
from shoal.schema.rules import canonical_file, text
from shoal.tables import Site, Table
from shoal.writing import file_stem

__all__ = [
    "HIERARCHIES",
    "OUR_VERIFIER",
    "PLAN",
    "REPORT",
    "SIGNATURE",
    "SUMMARY",
    "VERIFIER",
    "ReleaseFolder",
    "check_outside_releases",
    "hierarchy_name",
    "neighbouring_releases",
]

PLAN, SUMMARY, REPORT, SIGNATURE = "plan.toml", "summary.txt", "report.html", "signature.json"
HIERARCHIES = "hierarchies"
#: the second verifier, as a release may carry it, and where ours lies
VERIFIER = "verify.html"
OUR_VERIFIER = Path(__file__).parent / "verification" / VERIFIER


def check_outside_releases(file: str | Path) -> None:
    """Raise :class:`OutputError` if a file would lie in the folder of a release, which would then no longer verify."""
    if any((folder / CERTIFICATE).is_file() for folder in Path(file).resolve().parents):
        raise OutputError(
            f"{file} lies in the folder of a release, which would no longer verify", hint="write elsewhere"
        )


#: how much of all their columns two tables share that are taken for versions of one
_ALIKE = 0.8
#: a plan is a few pages; of more neighbours the rest is not looked at
_LARGEST_PLAN, _MOST_NEIGHBOURS = 1 << 20, 1_000


def neighbouring_releases(release: Path, columns: Iterable[str]) -> list[str]:
    """Return the names of the folders beside ``release`` with releases of a table that has nearly the same columns.

    Only plans are read, and no records: whether the same people are in both tables is not known. Differentially private
    releases are left out: what they give away together adds up.
    """
    asked = set(columns)
    try:
        neighbours = sorted(release.absolute().parent.iterdir())[:_MOST_NEIGHBOURS]
    except OSError:
        return []
    plans = {folder.name: _neighbouring_plan(folder) for folder in neighbours if folder.name != release.name}
    described = {name: set(found) for name, plan in plans.items() if isinstance(found := plan.get("columns"), dict)}
    return [name for name, names in described.items() if len(asked & names) >= _ALIKE * len(asked | names) > 0]


def _neighbouring_plan(folder: Path) -> Mapping[str, object]:
    """Return the plan of a release as it stands in its file; empty where there is none, or a private one."""
    from shoal.methods.truthful import DifferentialPrivacy

    plan = folder / PLAN
    try:
        if folder.is_symlink() or plan.is_symlink() or not plan.is_file() or not (folder / CERTIFICATE).is_file():
            return {}
        if plan.stat().st_size > _LARGEST_PLAN:
            return {}
        content = tomllib.loads(plan.read_text(encoding="utf-8"))
        models = {promise["model"] for promise in content.get("promises", ())}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    return {} if models == {DifferentialPrivacy.name} else content


def hierarchy_name(number: int, column: str) -> str:
    """Return the name of the hierarchy file of a plan's column; the number keeps names apart that become the same."""
    return f"{number}-{file_stem(column)}".rstrip("-") + ".csv"


class ReleaseFolder:
    """The folder of a release. Each file is read once, when it is first asked for.

    What was read or written already is given, and not read again. Nothing is checked here: whether a release keeps its
    promise, :func:`shoal.verify` says.

    Parameters
    ----------
    path
        Where it is.
    site
        Who reads and writes its tables: this machine by default.
    certificate, plan, steps, opened
        What is known of it: the certificate, the plan, the steps of the certificate, the tables by file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        site: Site | None = None,
        certificate: Certificate | None = None,
        plan: Plan | None = None,
        steps: Sequence[Event] | None = None,
        opened: Mapping[str, Table] | None = None,
    ) -> None:
        self.path = Path(path)
        self.site = tables.site_of_session(None) if site is None else site
        self._opened = dict(opened or {})
        known = {"certificate": certificate, "plan": plan, "steps": steps}
        # in the place of what would be read
        vars(self).update({name: value for name, value in known.items() if value is not None})

    @classmethod
    def inspected(cls, path: str | Path) -> Self:
        """Open a folder that somebody else may have made; links, pipes, devices and huge texts in it are refused.

        Raises
        ------
        InputError
            If there is no such folder.
        VerificationError
            If it holds what no release holds.
        """
        with inspect_release(Path(path)) as copy:
            if copy.refused:
                raise VerificationError(
                    f"`{name}` in the release is {why}" for name, why in sorted(copy.refused.items())
                )
        return cls(path)

    @cached_property
    def certificate(self) -> Certificate:
        """What the release promises; raises Undecided where no certificate can be read."""
        return load(self.path / CERTIFICATE)

    @cached_property
    def plan(self) -> Plan:
        """The plan that made the release; raises PlanError where none can be read, or it names files elsewhere."""
        return Plan.load(self.path / PLAN, released=True)

    @cached_property
    def steps(self) -> tuple[Event, ...]:
        """The steps of the certificate; raises VerificationError where one is none of Shoal's."""
        return read_steps(self.certificate.steps)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The released tables, by file, in the order of the certificate."""
        return {data.file: self.open(data.file) for data in self.certificate.tables}

    @property
    def has_one_table(self) -> bool:
        """Whether all records are in one table, under the usual name."""
        return (self.path / DATA).exists()

    def open(self, file: str = DATA) -> Table:
        """Read a released table, which may have no record."""
        if file not in self._opened:
            self._opened[file] = self.site.open(self.path / file)
        return self._opened[file]

    def read_text(self, name: str) -> str | None:
        """Return a text of the release; None where there is no such file."""
        path = self.path / name
        return path.read_bytes().decode(errors="replace") if path.is_file() else None

    def file_names(self) -> list[str]:
        """Return the names of all files that are there, sorted, relative to the folder."""
        paths = sorted(path for path in self.path.rglob("*") if path.is_file())
        return [path.relative_to(self.path).as_posix() for path in paths]

    def fingerprints(self, known: Iterable[File] = ()) -> tuple[File, ...]:
        """Return the fingerprints of all files, but for those that are known already."""
        taken = {file.name: file for file in known}
        return tuple(taken.get(name) or fingerprint(self.path / name, name) for name in self.file_names())

    def allowed_files(self) -> set[str]:
        """Return the names of all files that a release of this plan and certificate may have.

        A table may lie in a folder of its name, in parts that are numbered one after the other, and its copy likewise.
        """
        plan, certificate = self.plan, self.certificate
        data = list(plan.method.files(plan.schema))
        data += [Path(name).with_suffix(".csv").name for name in data]
        parts = [
            f"{name}/{tables.part_name(number, Path(name).suffix)}"
            for name in data
            for number in range(len(certificate.parts(name)))
        ]
        named = [attribute.hierarchy.file for attribute in plan.schema if attribute.hierarchy is not None]
        placed = [column.hierarchy for table in certificate.tables for column in table.columns]
        return {
            PLAN,
            SUMMARY,
            REPORT,
            VERIFIER,
            *data,
            *parts,
            *plan.notes,
            *(str(name) for name in (*named, *placed) if name is not None),
            *([POPULATION] if any(model.capabilities.population for model in plan.class_models) else []),
            *([VIEW] if any(table.class_column is not None for table in certificate.tables) else []),
        }

    def allowed_dataset_files(self, plan: DatasetPlan) -> set[str]:
        """Return the names of all files that a release of a data set may have."""
        rules = [each.hierarchy for table in plan.schema for each in table.columns]
        placed = {rule.file for rule in rules if rule is not None and rule.file is not None}
        copies = {Path(name).with_suffix(".csv").name for name in plan.files}
        return {PLAN, SUMMARY, REPORT, *plan.files, *copies, *map(str, placed)}

    # -- writing

    def write_tables(self, released: Mapping[str, Table], *, csv: bool) -> list[File]:
        """Write the released tables, by file, and CSV copies; return the fingerprints that are known by then."""
        known = []
        for name, table in released.items():
            written = self.site.write(table, self.path / name, csv=csv)
            known += [File(name=file, sha256=sha256, bytes=size) for file, (sha256, size) in written.items()]
        return known

    def write_text(self, name: str, content: str) -> None:
        """Write a text as it is, its line ends included."""
        (self.path / name).write_text(content, encoding="utf-8", newline="")

    def write_note(self, name: str, content: str, tables_named: Iterable[str]) -> None:
        """Write a text that names released tables, with the names under which DuckDB finds them."""
        for file in tables_named:
            content = content.replace(f"'{file}'", f"'{tables.scan_path(self.path / file)}'")
        self.write_text(name, content)

    def write_plan(self, plan: Plan) -> Plan:
        """Write a plan and the hierarchy files that it names; return the plan as it can be run from this folder."""
        plan = replace(plan, schema=self._placed(plan.schema))
        self.write_text(PLAN, plan.dumps())
        return plan

    def write_dataset_plan(self, plan: DatasetPlan) -> DatasetPlan:
        """As `write_plan`, of a data set."""
        tables = tuple(
            replace(table, columns=self._placed(table.columns, before=f"{number}-"))
            for number, table in enumerate(plan.schema, start=1)
        )
        plan = replace(plan, schema=replace(plan.schema, tables=tables, folder=self.path))
        self.write_text(PLAN, plan.dumps())
        return plan

    def _placed(self, schema: Schema, *, before: str = "") -> Schema:
        """Return a schema whose hierarchy files lie in this folder."""
        attributes = []
        for number, attribute in enumerate(schema, start=1):
            rule = attribute.hierarchy
            if attribute.role.left_out or attribute.role.names_someone:
                attributes.append(replace(attribute, hierarchy=None))  # a hierarchy of what is not released tells of it
            elif rule is not None and rule.file is not None:
                name = self._hierarchy_file(f"{before}{hierarchy_name(number, attribute.name)}")
                (self.path / name).write_bytes(canonical_file(rule, schema.folder))
                attributes.append(replace(attribute, hierarchy=rule.with_path(name)))
            else:
                attributes.append(attribute)
        return replace(schema, attributes=tuple(attributes), folder=self.path)

    def write_hierarchy(self, hierarchy: Hierarchy, number: int, released: Iterable[Table]) -> str:
        """Write the hierarchy of a sensitive column for its released values, and return the name of the file.

        The leaves may have been read off the data, and then name values of suppressed records, too.
        """
        name = self._hierarchy_file(f"sensitive-{number}.csv")
        having = [table for table in released if hierarchy.attribute in table.columns]
        columns = [text(tables.distinct_values(table, hierarchy.attribute)) for table in having]
        only = {value for column in columns for value in column.to_pylist()}
        hierarchies.write_arx(hierarchy, self.path / name, only=only)
        return name

    def write_verifier(self) -> None:
        """Put the page of the second verifier beside the data."""
        (self.path / VERIFIER).write_bytes(OUR_VERIFIER.read_bytes())

    def write_population(self, counts: pa.Table) -> None:
        """Write the released classes with their number of people in the population."""
        pq.write_table(counts.replace_schema_metadata(None), self.path / POPULATION, store_schema=False)

    def _hierarchy_file(self, name: str) -> str:
        (self.path / HIERARCHIES).mkdir(exist_ok=True)
        return f"{HIERARCHIES}/{name}"
