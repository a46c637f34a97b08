"""A release: the table to publish, what it promises, what it cost, and how to write it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from shoal import notebook, schema, tables
from shoal.errors import ParameterError, RequirementError, ShoalError, VerificationError
from shoal.estimation import (
    CONCRETE,
    ConcreteRecords,
    Estimates,
    concrete_records,
    estimates_of,
    weighted,
    write_records,
)
from shoal.folder import REPORT, SUMMARY, ReleaseFolder, check_outside_releases
from shoal.guarantees import (
    CERTIFICATE,
    AccountEntry,
    Certificate,
    Data,
    File,
    Guarantee,
    certify,
    column,
    fingerprint,
)
from shoal.methods import Method, Result, finest_steps, policy_entry, rehearsal_entry, rehearse_release
from shoal.methods.base import DATA, Part, PrivateReport
from shoal.methods.recode import SearchResult
from shoal.plan import Plan
from shoal.policy import in_force
from shoal.rehearsal import HollowRelease, Rehearsal
from shoal.report import (
    Notices,
    Plots,
    attention,
    find_notices,
    gather,
    list_files,
    render_html,
    render_text,
    summary,
)
from shoal.risk import PeopleRisk, Reidentification
from shoal.series import Continuation
from shoal.tables import Site, Table, Values
from shoal.verification import read_key, verify, write_signature
from shoal.writing import staged

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["Payer", "Payment", "Release", "Released", "released", "staying_spent"]


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


class Payer(Protocol):
    """What a release can be paid from: a :class:`shoal.Account`."""

    def bill(self, plan: Plan, table: Table) -> Payment:
        """Return what a release by a plan costs, and refuse it now if that is not allowed."""


@contextmanager
def staying_spent(payment: Payment | None) -> Iterator[None]:
    """Let an error say that what was paid stays spent."""
    try:
        yield
    except ShoalError as error:
        if payment is not None:
            error.remember(f"{payment}, and stays spent: random numbers were drawn")
        raise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """What :func:`shoal.anonymize` gives: the result of a method, and what it cost the account of its table."""

    result: Result
    payment: Payment | None = field(default=None, repr=False)
    #: what the input was: ``pandas``, ``polars``, ``relation``, ``arrow``, ``csv``, ...
    origin: str = field(default="arrow", repr=False)
    #: where it was written: what its files show need not be computed again
    folders: list[Path] = field(default_factory=list, repr=False)
    #: what its table shows, once somebody has looked: each look takes several passes over the records
    notices: list[Notices] = field(default_factory=list, repr=False)
    #: what came of its rehearsals, by kind and risk
    rehearsals: dict[tuple[str, float | None], Rehearsal | None] = field(default_factory=dict, repr=False)

    @property
    def plan(self) -> Plan:
        """What was asked for, with everything spelt out."""
        return self.result.plan

    @property
    def table(self) -> Table:
        """The released records; lazy until it is written or looked at."""
        return self.result.table

    @property
    def parts(self) -> tuple[Part, ...]:
        """The released tables, where they are several or their columns are not those of the schema; else empty."""
        return self.result.parts

    @property
    def records(self) -> int:
        """The number of released records."""
        return self.result.records

    @property
    def guarantee(self) -> Guarantee:
        """What is promised and how it came about."""
        return self.result.guarantee

    @property
    def measures(self) -> Mapping[str, float | None]:
        """The quality measures that the plan asked for; under differential privacy, what the release alone tells."""
        return self.result.measures

    @property
    def before(self) -> Reidentification | None:
        """Re-identification risk of the input; None under differential privacy, which keeps it back."""
        return self.result.before

    @property
    def after(self) -> Reidentification:
        """Re-identification risk of the release."""
        return self.result.after

    @property
    def people(self) -> tuple[PeopleRisk, PeopleRisk] | None:
        """The risk of persons, of the input and of the release; None where nobody has several records."""
        return self.result.people

    @property
    def search(self) -> SearchResult | None:
        """What the search of the method looked at, if it searched."""
        return self.result.search

    @property
    def private(self) -> PrivateReport | None:
        """Under differential privacy, what must stay with the publisher; never written with the release."""
        return self.result.private

    @property
    def series(self) -> Continuation | None:
        """What a series keeps of the release, if it continues one."""
        return self.result.series

    def write(
        self,
        folder: str | Path,
        *,
        csv: bool = False,
        verifier: bool = False,
        sign: str | Path | Ed25519PrivateKey | None = None,
    ) -> Path:
        """Write the release to a new folder, which appears whole or not at all.

        The folder holds ``data.parquet``, or one file for each of :attr:`parts` (and CSV files beside them with
        ``csv=True``), ``certificate.json``, ``plan.toml`` with the hierarchy files that it names, ``summary.txt`` and
        ``report.html``. The summary and the report leave out what compares the release with the original table, such
        as the risk before. With ``verifier=True`` the page of the second verifier lies beside them; readers should
        rather fetch their own. ``sign`` names the file of a private key, or is one, with which ``signature.json`` is
        made: see :func:`shoal.sign`. Before anything is written, the release is attacked as :meth:`rehearse` does;
        before the folder appears, it is verified as anybody would.

        A table on a Spark cluster is written by the executors, which must see the folder: ``data.parquet`` is then a
        folder of parts, in the order of their names, and so is ``data.csv``.

        Raises
        ------
        HollowRelease
            If its rehearsal finds people whom the promise hides; see :meth:`rehearse`.
        OutputError
            If the folder exists or cannot be written; nothing is left behind. What an account paid stays spent.
        """
        with staying_spent(self.payment):
            key = read_key(sign) if isinstance(sign, str | Path) else sign
            rehearsed = self.rehearse()
            if rehearsed is not None and rehearsed.hollow:
                raise HollowRelease.of(rehearsed)
            self._write(Path(folder), csv=csv, verifier=verifier, key=key)
        if self.payment is not None:
            self.payment.written(Path(folder))
        self.folders.append(Path(folder))
        return Path(folder)

    def _write(self, path: Path, *, csv: bool, verifier: bool, key: Ed25519PrivateKey | None) -> None:
        site = tables.site_of(self._tables.values())
        with staged(path) as staging:
            folder = ReleaseFolder(staging, site=site)
            known = folder.write_tables(self._tables, csv=csv)
            for name, content in self.result.notes.items():
                folder.write_note(name, content, self._tables)
            opened = {name: folder.open(name) for name in self._tables}
            plan, placed = folder.write_plan(self.plan), self._write_hierarchies(folder, opened)
            if self.result.population is not None:
                folder.write_population(self.result.population)
            if verifier:
                folder.write_verifier()
            certificate = self._certificate(plan, folder.fingerprints(known), placed)
            steps = self.guarantee.events
            written = ReleaseFolder(staging, site=site, certificate=certificate, plan=plan, steps=steps, opened=opened)
            document = gather(written, self._look)
            folder.write_text(SUMMARY, render_text(document))
            certificate = _listing(certificate, folder)
            folder.write_text(REPORT, render_html(document.model_copy(update={"files": list_files(certificate)})))
            signed = _listing(certificate, folder).to_json()
            folder.write_text(CERTIFICATE, signed)
            _check(staging, site)
            if key is not None:
                write_signature(staging, key, checked=signed.encode())
            if self.series is not None:
                self.series.record(staging)

    @property
    def plot(self) -> Plots:
        """Pictures for notebooks; they show figures of the original table, as :meth:`explain` does."""
        return Plots(self.result)

    def explain(self) -> str:
        """Say why the chosen solution won over the others that were looked at."""
        if self.search is None:
            return "\n".join(event.describe() for event in self.guarantee.events)
        return self.search.explain()

    def rehearse(self, *, kind: str | None = None, risk: float | None = None) -> Rehearsal | None:
        """Attack the release as somebody would who knows the exact quasi-identifiers of everybody in the table.

        The figures come from the original table: they are for the publisher alone. Columns that the plan accepts do not
        count when it is decided whether the release is ``hollow``.

        Parameters
        ----------
        kind
            ``exact``: formulas, maps and nearest values; ``learned``: gradient boosting, too (the extra ``learn``). By
            default what the plan says.
        risk
            The highest risk that the promise states; by default that of its models.

        Returns
        -------
        Rehearsal or None
            None where there is nothing to rehearse: under differential privacy, where the records of a person stay
            linked, without columns that are released as they are, for fewer than 8 classes, and on a cluster.
        """
        asked = (kind or self.plan.rehearsal, risk)
        if asked not in self.rehearsals:
            self.rehearsals[asked] = rehearse_release(self.result, kind=asked[0], risk=risk)
        return self.rehearsals[asked]

    def finest_steps(self, *columns: str) -> dict[str, float]:
        """Return the finest 1-2-5 step for each of some columns at which the rehearsal passes once numbers are rounded.

        Give the steps to :meth:`shoal.Schema.with_rounding` and make the release again.
        """
        return finest_steps(self.result, columns, kind=self.plan.rehearsal)

    @property
    def attention(self) -> tuple[str, ...]:
        """What no promise covers and the holder should see first: columns erased, secrets that single people out."""
        return attention(self.result, lambda: self.notices[-1] if self.notices else self._find_notices())

    def _find_notices(self) -> Notices:
        files = [folder / DATA for folder in self.folders if (folder / DATA).is_file()]
        table = tables.reread(files[-1]) if files else self.table
        names = [name for name in self.plan.schema.names if name in table.columns]
        return self._look(tables.values_of(table, names), self.plan.schema, self.records, self.plan.method)

    def _look(self, values: Values, described: schema.Schema, records: int, method: Method) -> Notices:
        self.notices.append(find_notices(values, described, records, method))
        return self.notices[-1]

    @property
    def released(self) -> Released:
        """The released records for analysis: ordered labels, ends of intervals, other formats."""
        return Released(tables=self._tables, schema=self.plan.schema)

    @property
    def frame(self) -> Any:
        """The released records as the type that came in: a pandas or polars frame, a DuckDB relation, an Arrow table.

        Those of a file are an Arrow table. Raises :class:`~shoal.errors.ParameterError` for a release of
        several tables, which :attr:`released` has.
        """
        if len(self._tables) > 1:
            raise ParameterError("the release has several tables.", hint="release.released.to_pandas(part=...)")
        return tables.frame_of(next(iter(self._tables.values())), self.origin)

    @property
    def _tables(self) -> dict[str, Table]:
        """The released tables, by file."""
        return {part.file: part.table for part in self.parts} or {DATA: self.table}

    def estimate(self) -> Estimates:
        """Read the tables of a release of method ``truthful-tables`` together; see :func:`shoal.estimate`."""
        return estimates_of(self.plan, self.guarantee.events, self._tables, self.result.notes)

    def weighted(self) -> pa.Table:
        """Return the records of a release of method ``truthful`` with a weight each.

        See `shoal.estimation.weighted_records`.
        """
        return weighted(self.guarantee.events, self.table.to_arrow())

    def __str__(self) -> str:
        return summary(self.result)

    def __repr__(self) -> str:
        promised = "; ".join(promise.model for promise in self.guarantee.promises)
        return f"<Release of {self.records:,} records by method {self.plan.method.name}: {promised}>"

    def _repr_html_(self) -> str:
        return notebook.text("\n".join([str(self), *(f"Attention: {sentence}" for sentence in self.attention)]))

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
            domains=self.result.domains,
            schema_text=schema.dumps(described),
            guessed=described.guessed,
            account=None if self.payment is None else self.payment.entry,
            rehearsal=None if self.rehearse() is None else rehearsal_entry(self.plan),
            policy=policy_entry(self.plan),
            # without differential privacy they compare the release with the original: no promise covers what they tell
            measures={} if self.private is None else dict(self.measures),
        )

    def _write_hierarchies(self, folder: ReleaseFolder, opened: Mapping[str, Table]) -> dict[str, str]:
        """Write down the hierarchies that checkers need; return their files by column."""
        able = [each.capabilities for each in self.plan.class_models]
        needed = {name for each in able if each.hierarchy for name in each.sensitive}
        return {
            hierarchy.attribute: folder.write_hierarchy(hierarchy, number, opened.values())
            for number, hierarchy in enumerate(self.result.sensitive_hierarchies, start=1)
            if hierarchy.attribute in needed
        }


_CONCRETE = f"""{CONCRETE}: a release with one possible value in place of every label.
{{records:,}} records. Values of these columns were drawn below their released labels: {{drawn}}.
Use them with programs that read no labels. Counts by released label are those of the release; variances and
correlations of the drawn columns are not those of the original. For exact statements use the release itself.
The release is what can be verified; this file carries no certificate of its own.
"""


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
    plan
        How the release was made.
    """

    tables: Mapping[str, Table]
    schema: schema.Schema
    plan: Plan | None = None

    def to_arrow(self, *, bounds: bool = False, part: str | None = None) -> pa.Table:
        """Return the records of a part, the first where none is named, with ordered dictionaries."""
        return tables.for_analysis(self.tables[self._part(part)].to_arrow(), self.schema, bounds=bounds)

    def _part(self, part: str | None) -> str:
        if part is not None and part not in self.tables:
            raise ParameterError(f"the release has no part `{part}`.", hint=f"one of {', '.join(self.tables)}")
        return next(iter(self.tables)) if part is None else part

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
        spreadsheet_safe: bool = False,
    ) -> None:
        """Write the records to a file, in the format of its ending: ``.csv``, ``.xlsx``, ``.dta``, ``.sav``, ...

        ``like`` names the Stata or SPSS file that was anonymised: labels become its codes again, with these labels,
        and columns are described as there. ``spreadsheet_safe`` writes an apostrophe before texts of a CSV file that
        spreadsheet programs would run as formulas.
        """
        check_outside_releases(path)
        rows = _spelt(self.to_arrow(bounds=bounds, part=part))
        self._check_policy()
        tables.write(tables.read(rows), path, overwrite=overwrite, like=like, spreadsheet_safe=spreadsheet_safe)

    def _check_policy(self) -> None:
        """Refuse to copy what the policy in force would not have let leave."""
        policy = in_force()
        if policy is not None and self.plan is not None:
            user = self.plan.policy.user if self.plan.policy is not None else ""
            if against := self.plan.against(replace(policy, user=user)):
                raise RequirementError(against)

    def concrete(self, *, part: str | None = None, seed: int | None = None) -> ConcreteRecords:
        """Return the records of a part with one value in place of every label, drawn from what the release says.

        See :func:`shoal.estimation.concrete_records`.
        """
        return concrete_records(self.tables[self._part(part)].to_arrow(), self.schema, seed=seed)

    def write_concrete(
        self,
        path: str | Path,
        *,
        part: str | None = None,
        overwrite: bool = False,
        like: str | Path | None = None,
        seed: int | None = None,
    ) -> ConcreteRecords:
        """Write the records with one value in place of every label, spelt as the original is, and return them."""
        self._check_policy()
        concrete = self.concrete(part=part, seed=seed)
        about = _CONCRETE.format(records=len(concrete.rows), drawn=", ".join(concrete.drawn) or "none")
        write_records(concrete.rows, self.schema, Path(path), about=about, overwrite=overwrite, like=like)
        return concrete


def released(folder: str | Path) -> Released:
    """Open the release in ``folder`` for analysis; whether it keeps its promise, :func:`shoal.verify` says.

    Raises
    ------
    VerificationError, Undecided
        If there is no readable certificate, or a data file is not the one that it fingerprints.
    """
    release = ReleaseFolder.inspected(folder)
    listed = {file.name: file for file in release.certificate.files}
    for data in release.certificate.tables:
        for name in release.certificate.parts(data.file):
            if fingerprint(release.path / name, name) != listed[name]:
                problem = f"`{name}` is not the file that the certificate is about"
                raise VerificationError(problem, hint="fetch the release again; `shoal verify` says what else is wrong")
    return Released(tables=release.tables, schema=release.plan.schema, plan=release.plan)


def _spelt(rows: pa.Table) -> pa.Table:
    """Return ordered categories as the texts that they are."""
    plain = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in rows.columns]
    return pa.table(plain, names=rows.column_names)


def _check(folder: Path, site: Site) -> None:
    """Refuse to publish what would not verify; this never happens unless Shoal or the disk is broken."""
    verification = verify(folder, rendered=False, any_size=True, spark=site.session)
    if not verification.passed:
        failed = [f"{check.subject}: {check.detail}" for check in verification.checks if not check.passed]
        raise ShoalError(
            ["the release does not verify; nothing was written", *failed],
            hint="did the input change while it was read? Otherwise check the disk; if it is sound, this is a bug in "
            "Shoal: please report it",
        )


def _listing(certificate: Certificate, folder: ReleaseFolder) -> Certificate:
    """Return the certificate with the files that have come to the folder since."""
    return certificate.model_copy(update={"files": folder.fingerprints(certificate.files)})
