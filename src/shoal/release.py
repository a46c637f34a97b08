"""A release: the table to publish, what it promises, what it cost, and how to write it down."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from shoal import hierarchies, notebook, schema, tables
from shoal.errors import ParameterError, ShoalError
from shoal.estimation import Estimates, estimates_of, weighted
from shoal.guarantees import (
    CERTIFICATE,
    POPULATION,
    AccountEntry,
    Certificate,
    Data,
    File,
    certify,
    column,
    fingerprint,
)
from shoal.guarantees import load as load_certificate
from shoal.methods.base import DATA, Made
from shoal.methods.brief import Brief
from shoal.report import (
    REPORT,
    Notices,
    Plots,
    attention,
    gather,
    listed,
    noticed,
    render_html,
    render_text,
    summary,
)
from shoal.schema.rules import text
from shoal.tables import Site, Table, Values
from shoal.verification import read_key, verify, write_signature
from shoal.writing import file_stem, staged

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Payment", "Release", "Released", "released", "staying_spent"]

PLAN, SUMMARY, HIERARCHIES = "plan.toml", "summary.txt", "hierarchies"


class Payment(Protocol):
    """What a release costs an account; see :class:`shoal.queries.account.Bill`."""

    @property
    def entry(self) -> AccountEntry:
        """What the certificate says of it, once it is paid."""

    @property
    def left(self) -> str:
        """What the account has left."""

    def pay(self) -> None:
        """Spend durably, or raise."""

    def written(self, folder: Path) -> None:
        """Note in the account that the release is there."""


@contextmanager
def staying_spent(bill: Payment | None) -> Iterator[None]:
    """Let an error say that what was paid stays spent."""
    try:
        yield
    except ShoalError as error:
        if bill is not None:
            error.remember(f"{bill}, and stays spent: random numbers were drawn")
        raise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release(Made):
    """What :func:`shoal.anonymize` gives.

    See :class:`shoal.methods.Made` for what it holds. ``bill`` is what it cost the account of its table, if it has one.
    """

    bill: Payment | None = field(default=None, repr=False)
    #: where it was written: what its files show need not be computed again
    folders: list[Path] = field(default_factory=list, repr=False)
    #: what its table shows, once somebody has looked: each look takes several passes over the records
    notices: list[Notices] = field(default_factory=list, repr=False)

    def write(self, folder: str | Path, *, csv: bool = False, sign: str | Path | None = None) -> Path:
        """Write the release to a new folder, which appears whole or not at all.

        The folder holds ``data.parquet``, or one file for each of :attr:`parts` (and CSV files beside them with
        ``csv=True``), ``certificate.json``, ``plan.toml`` with the hierarchy files that it names, ``summary.txt`` and
        ``report.html``. The summary and the report leave out what compares the release with the original table, such
        as the risk before. ``sign`` names the file of a private key, with which ``signature.json`` is made: see
        :func:`shoal.sign`. Before the folder appears, it is verified as anybody would.

        A table on a Spark cluster is written by the executors, which must see the folder: ``data.parquet`` is then a
        folder of parts, in the order of their names, and so is ``data.csv``.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written; nothing is left behind. What an account paid stays spent.
        """
        with staying_spent(self.bill):
            self._write(Path(folder), csv=csv, key=None if sign is None else read_key(sign))
        if self.bill is not None:
            self.bill.written(Path(folder))
        self.folders.append(Path(folder))
        return Path(folder)

    def _write(self, folder: Path, *, csv: bool, key: Ed25519PrivateKey | None) -> None:
        site = tables.site_of(self._tables.values())
        with staged(folder) as staging:
            known: dict[str, File] = {}
            for name, table in self._tables.items():
                found = site.write(table, staging / name, csv=csv)
                known |= {file: File(name=file, sha256=sha256, bytes=size) for file, (sha256, size) in found.items()}
            for name, text in self.notes.items():
                (staging / name).write_text(self._naming(text, staging), encoding="utf-8", newline="")
            opened = {name: site.open(staging / name) for name in self._tables}
            plan, placed = self._write_plan(staging), self._write_hierarchies(staging, opened)
            if self.population is not None:
                pq.write_table(self.population.replace_schema_metadata(None), staging / POPULATION, store_schema=False)
            certificate = self._certificate(plan, _fingerprints(staging, known), placed)
            document = gather(staging, certificate, opened, self._look)
            (staging / SUMMARY).write_text(render_text(document), encoding="utf-8")
            certificate = _listing(certificate, staging)
            page = render_html(document.model_copy(update={"files": listed(certificate)}))
            (staging / REPORT).write_text(page, encoding="utf-8")
            (staging / CERTIFICATE).write_text(_listing(certificate, staging).to_json(), encoding="utf-8")
            _check(staging, site)
            if key is not None:
                write_signature(staging, key)

    @property
    def plot(self) -> Plots:
        """Pictures for notebooks; they show figures of the original table, as :meth:`explain` does."""
        return Plots(self)

    def explain(self) -> str:
        """Say why the chosen solution won over the others that were looked at."""
        if self.search is None:
            return "\n".join(event.describe() for event in self.guarantee.events)
        return self.search.explain()

    @property
    def attention(self) -> tuple[str, ...]:
        """What no promise covers and the holder should see first: columns erased, secrets that single people out."""
        return attention(self, lambda: self.notices[-1] if self.notices else self._noticed())

    def _noticed(self) -> Notices:
        files = [folder / DATA for folder in self.folders if (folder / DATA).is_file()]
        table = tables.reread(files[-1]) if files else self.table
        names = [name for name in self.plan.schema.names if name in table.columns]
        return self._look(tables.values_of(table, names), self.plan.schema, self.records)

    def _look(self, values: Values, described: schema.Schema, records: int) -> Notices:
        self.notices.append(noticed(values, described, records))
        return self.notices[-1]

    @property
    def released(self) -> Released:
        """The released records for analysis: ordered labels, ends of intervals, other formats."""
        return Released(tables=self._tables, schema=self.plan.schema)

    @property
    def _tables(self) -> dict[str, Table]:
        """The released tables, by file."""
        return {part.file: part.table for part in self.parts} or {DATA: self.table}

    def estimate(self) -> Estimates:
        """Read the tables of a release of method ``truthful-tables`` together; see :func:`shoal.estimate`."""
        return estimates_of(self.plan, self.guarantee.events, self._tables, self.notes)

    def weighted(self) -> pa.Table:
        """Return the records of a release of method ``truthful`` with a weight each; see `shoal.weighted_records`."""
        return weighted(self.guarantee.events, self.table.to_arrow())

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        promised = "; ".join(promise.model for promise in self.guarantee.promises)
        return f"<Release of {self.records:,} records by method {self.plan.method.name}: {promised}>"

    def _repr_html_(self) -> str:
        return notebook.text("\n".join([str(self), *(f"Attention: {sentence}" for sentence in self.attention)]))

    def _certificate(self, plan: Brief, files: tuple[File, ...], placed: Mapping[str, str]) -> Certificate:
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
            account=None if self.bill is None else self.bill.entry,
            # without differential privacy they compare the release with the original: no promise covers what they tell
            measures={} if self.private is None else dict(self.measures),
        )

    def _naming(self, text: str, staging: Path) -> str:
        """Return a text that names released tables, with the names under which DuckDB finds them."""
        for name in self._tables:
            text = text.replace(f"'{name}'", f"'{tables.scanned(staging / name)}'")
        return text

    def _write_plan(self, staging: Path) -> Brief:
        """Write the plan and the hierarchy files that it names, so that it can be run from the release folder."""
        attributes = []
        for number, attribute in enumerate(self.plan.schema, start=1):
            rule = attribute.hierarchy
            if rule is not None and rule.file is not None:
                # the number keeps columns apart whose names a file system cannot
                stem = f"{number}-{file_stem(attribute.name)}".rstrip("-")
                name = f"{HIERARCHIES}/{stem}.csv"
                (staging / HIERARCHIES).mkdir(exist_ok=True)
                shutil.copyfile(self.plan.schema.folder / rule.file, staging / name)
                attributes.append(replace(attribute, hierarchy=rule.moved(name)))
            else:
                attributes.append(attribute)
        plan = replace(self.plan, schema=replace(self.plan.schema, attributes=tuple(attributes), folder=staging))
        (staging / PLAN).write_text(plan.dumps(), encoding="utf-8")
        return plan

    def _write_hierarchies(self, staging: Path, opened: Mapping[str, Table]) -> dict[str, str]:
        """Write down the hierarchies that checkers need."""
        able = [each.capabilities for each in self.plan.class_models]
        needed = {name for each in able if each.hierarchy for name in each.sensitive}
        placed = {}
        for number, hierarchy in enumerate(self.sensitive_hierarchies, start=1):
            if hierarchy.attribute not in needed:
                continue
            name = f"{HIERARCHIES}/sensitive-{number}.csv"
            (staging / HIERARCHIES).mkdir(exist_ok=True)
            # the leaves may have been read off the data, and then name values of suppressed records, too
            only = _values(opened.values(), hierarchy.attribute)
            hierarchies.write_arx(hierarchy, staging / name, only=only)
            placed[hierarchy.attribute] = name
        return placed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Released:
    """The records of a release for those who analyse them.

    Labels of numbers, days and ordinal values are ordered categories: ``[5, 10)`` comes before ``[10, 20)``. With
    ``bounds``, columns ``..._lower`` and ``..._upper`` hold the least and the greatest value that a label may stand
    for, as numbers or days. All of it follows from the release: it tells nothing more.

    Parameters
    ----------
    tables
        The released tables, by file; most releases have one.
    schema
        What the columns mean.
    """

    tables: Mapping[str, Table]
    schema: schema.Schema

    def to_arrow(self, *, bounds: bool = False, part: str | None = None) -> pa.Table:
        """Return the records of a part, the first where none is named, with ordered dictionaries."""
        if part is not None and part not in self.tables:
            raise ParameterError(f"the release has no part `{part}`.", hint=f"one of {', '.join(self.tables)}")
        chosen = next(iter(self.tables)) if part is None else part
        return tables.for_analysis(self.tables[chosen].to_arrow(), self.schema, bounds=bounds)

    def to_pandas(self, *, bounds: bool = False, part: str | None = None) -> Any:
        """Return the records as a pandas frame with ordered categories."""
        return self.to_arrow(bounds=bounds, part=part).to_pandas()

    def to_polars(self, *, bounds: bool = False, part: str | None = None) -> Any:
        """Return the records as a polars frame, ordered categories as ``Enum``."""
        import polars

        rows = self.to_arrow(bounds=bounds, part=part)
        ordered = [name for name in rows.column_names if pa.types.is_dictionary(rows[name].type)]
        enums = {name: polars.Enum(rows[name].combine_chunks().dictionary.to_pylist()) for name in ordered}
        return polars.from_arrow(_spelt(rows)).cast(enums)

    def write(
        self,
        path: str | Path,
        *,
        bounds: bool = False,
        part: str | None = None,
        overwrite: bool = False,
        like: str | Path | None = None,
    ) -> None:
        """Write the records to a file, in the format of its ending: ``.csv``, ``.xlsx``, ``.dta``, ``.sav``, ...

        ``like`` names the Stata or SPSS file that was anonymised: labels become its codes again, with these labels,
        and columns are described as there.
        """
        rows = _spelt(self.to_arrow(bounds=bounds, part=part))
        tables.write(tables.read(rows), path, overwrite=overwrite, like=like)


def released(folder: str | Path) -> Released:
    """Open the release in ``folder`` for analysis; whether it keeps its promise, :func:`shoal.verify` says.

    Raises
    ------
    VerificationError
        If there is no readable certificate.
    """
    folder = Path(folder)
    certificate = load_certificate(folder / CERTIFICATE)
    opened = {data.file: tables.reread(folder / data.file) for data in certificate.tables}
    return Released(tables=opened, schema=Brief.load(folder / PLAN).schema)


def _spelt(rows: pa.Table) -> pa.Table:
    """Return ordered categories as the texts that they are."""
    plain = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in rows.columns]
    return pa.table(plain, names=rows.column_names)


def _values(released: Iterable[Table], name: str) -> set[str | None]:
    """Return the values of a column in all tables that have it."""
    having = [table for table in released if name in table.columns]
    return {value for table in having for value in text(tables.distinct_values(table, name)).to_pylist()}


def _check(folder: Path, site: Site) -> None:
    """Refuse to publish what would not verify; this never happens unless Shoal or the disk is broken."""
    found = verify(folder, rendered=False, spark=site.session)
    if not found.passed:
        failed = [f"{check.subject}: {check.detail}" for check in found.checks if not check.passed]
        raise ShoalError(
            ["the release does not verify; nothing was written", *failed],
            hint="did the input change while it was read? Otherwise check the disk; if it is sound, this is a bug in "
            "Shoal: please report it",
        )


def _listing(certificate: Certificate, folder: Path) -> Certificate:
    """Return the certificate with the files that have come to the folder since."""
    known = {file.name: file for file in certificate.files}
    return certificate.model_copy(update={"files": _fingerprints(folder, known)})


def _fingerprints(folder: Path, known: Mapping[str, File]) -> tuple[File, ...]:
    """Return the fingerprints of all files, each taken once."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [(path, path.relative_to(folder).as_posix()) for path in paths]
    return tuple(known.get(name) or fingerprint(path, name) for path, name in names)
