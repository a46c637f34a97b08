"""Releases of data sets of several tables: made, written, and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import datasets, tables
from shoal.datasets import Dataset, DatasetSchema
from shoal.errors import ParameterError, RequirementError, ShoalError
from shoal.exact import Number
from shoal.folder import REPORT, SUMMARY, ReleaseFolder
from shoal.guarantees import CERTIFICATE, Certificate, Event, File, Guarantee, certify
from shoal.mechanisms import RandomSource
from shoal.methods import Progress
from shoal.methods.base import Watch
from shoal.methods.nested import (
    DatasetPlan,
    DatasetResult,
    KnownItems,
    RecodeItems,
    SecretAmongKnownItems,
    count_support,
    culprit_columns,
    dataset_columns,
    dataset_domains,
    forest_of_release,
    policy_problems,
    recode_dataset,
    rehearse_dataset,
)
from shoal.policy import in_force
from shoal.rehearsal import HollowRelease, Rehearsal
from shoal.report import DatasetFigures, dataset_report, dataset_summary
from shoal.verification import verify
from shoal.writing import staged

__all__ = ["DatasetRelease", "anonymize_dataset"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetRelease:
    """The tables of a data set as they leave together, with what is promised of them."""

    result: DatasetResult

    @property
    def plan(self) -> DatasetPlan:
        """What was asked for."""
        return self.result.plan

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The released tables, by name."""
        return self.result.tables

    @property
    def guarantee(self) -> Guarantee:
        """What is promised and how it came about."""
        return self.result.guarantee

    @property
    def loss(self) -> float:
        """The mean share of its domain that a known value covers; what was left out counts as lost."""
        return self.result.found.loss

    @property
    def bound(self) -> float:
        """What every recoding loses at least, whatever it leaves out: the loss of the release where that was proved."""
        return self.result.found.bound

    def rehearse(self) -> Rehearsal | None:
        """Attack the release as somebody would who knows the exact known columns of everybody; see `shoal.rehearsal`.

        None where nothing is released as it is. The figures are for the publisher alone.
        """
        result = self.result
        return rehearse_dataset(result.encoded, result.found, self.plan.promise.k, self.plan.accepted)

    def write(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a new folder, which appears whole or not at all, once it verifies.

        It holds a Parquet file per table (and a CSV file beside it with ``csv=True``), ``certificate.json``,
        ``plan.toml``, ``summary.txt`` and ``report.html``. Before anything is written, the release is attacked.

        Raises
        ------
        HollowRelease
            If columns that are released as they are tell whose rows are whose.
        """
        rehearsed = self.rehearse()
        if rehearsed is not None and rehearsed.hollow:
            raise HollowRelease.of(replace(rehearsed, culprits=culprit_columns(rehearsed)))
        with staged(Path(folder)) as staging:
            place = ReleaseFolder(staging)
            files = {f"{name}.parquet": rows for name, rows in self.tables.items()}
            known = place.write_tables({name: tables.reread(rows) for name, rows in files.items()}, csv=csv)
            plan = place.write_dataset_plan(self.plan)
            figures = figures_of(plan, self.tables, self.guarantee.events)
            certificate = self._certificate(plan, place.fingerprints(known))
            place.write_text(SUMMARY, dataset_summary(certificate, plan, figures))
            place.write_text(REPORT, dataset_report(certificate, plan, figures))
            certificate = certificate.model_copy(update={"files": place.fingerprints(certificate.files)})
            place.write_text(CERTIFICATE, certificate.to_json())
            found = verify(staging, any_size=True)
            if not found.passed:
                failed = [f"{check.subject}: {check.detail}" for check in found.checks if not check.passed]
                raise ShoalError(
                    ["the release does not verify; nothing was written", *failed],
                    hint="if the disk is sound, this is a bug in Shoal: please report it",
                )
        return Path(folder)

    def _certificate(self, plan: DatasetPlan, files: tuple[File, ...]) -> Certificate:
        first, *others = dataset_columns(plan, {name: len(rows) for name, rows in self.tables.items()})
        return certify(
            self.guarantee,
            data=first,
            further_data=tuple(others),
            files=files,
            domains=dataset_domains(plan),
            schema_text=datasets.dumps(plan.schema),
            guessed=plan.schema.guessed,
            measures={},
        )

    def __str__(self) -> str:
        lines = [str(self.guarantee), *(step.describe() for step in self.guarantee.events)]
        found = self.result.found
        proved = "the least possible" if found.complete else f"at least {found.bound:.4f} for any choice"
        return "\n".join([*lines, f"Loss {found.loss:.4f}, {proved}; {found.looked_at:,} recodings looked at."])


def figures_of(plan: DatasetPlan, released: Mapping[str, pa.Table], steps: Sequence[Event]) -> DatasetFigures:
    """Return what the released tables show."""
    forest = forest_of_release(plan.schema, released)
    least = [int(count_support(forest, size).persons.min(initial=forest.size)) for size in range(plan.promise.m + 1)]
    rarest = tuple(np.minimum.accumulate(least).tolist())
    return DatasetFigures(rarest=rarest, bags=bags_of(plan.schema, released), steps=steps)


def bags_of(described: DatasetSchema, released: Mapping[str, pa.Table]) -> dict[str, Sequence[tuple[int, int]]]:
    """Return how many rows of the parent of each table have how many rows."""
    found: dict[str, Sequence[tuple[int, int]]] = {}
    for table in described.items:
        owners = released[table.name][described.parent_column(table.name) or ""].to_numpy()
        numbers = np.bincount(owners - 1, minlength=len(released[table.parent or ""]))
        sizes, counts = np.unique(numbers, return_counts=True)
        found[table.name] = [*zip(sizes.tolist(), counts.tolist(), strict=True)]
    return found


def anonymize_dataset(
    source: Any,
    *,
    k: int | None = None,
    known_items: int | None = None,
    secrets: Mapping[str, Sequence[str]] | None = None,
    confidence: Number | None = None,
    schema: DatasetSchema | str | Path | None = None,
    plan: DatasetPlan | None = None,
    method: RecodeItems | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    source_of_randomness: RandomSource | None = None,
    accept: Sequence[str] = (),
) -> DatasetRelease:
    """Turn a data set of several tables into a release in which everybody hides among k persons.

    Parameters
    ----------
    source
        A folder, an Excel or DuckDB file, frames by name, or what :func:`read_dataset` returned.
    k, known_items
        Whoever knows up to ``known_items`` rows that belong to a person finds at least k persons who fit.
    secrets, confidence
        Values by ``table.column`` of which no such knowledge may be more certain than ``confidence``.
    schema
        What tables and columns mean; by default ``dataset.toml`` in the folder.
    plan
        All of it as one value, in place of the others.
    method
        How; see :class:`RecodeItems`.
    progress, cancelled
        As in :meth:`shoal.Plan.run`.
    source_of_randomness
        Where random numbers come from, if the plan asks for any; by default the operating system's generator.
    accept
        Columns, as ``table.column``, that are released although they tell whose rows are whose.
    """
    described = plan.schema if plan is not None else schema
    data = source if isinstance(source, Dataset) else datasets.read_dataset(source, described)
    if plan is None:
        if k is None or known_items is None:
            raise ParameterError("`k` and `known_items` say what to promise of a data set; give both.")
        if (secrets is None) != (confidence is None):
            raise ParameterError("`secrets` and `confidence` go together.")
        named = [(column, value) for column, values in (secrets or {}).items() for value in values]
        plan = DatasetPlan(
            schema=data.schema,
            promise=KnownItems(k=k, m=known_items),
            secrets=tuple(
                SecretAmongKnownItems(column=column, value=value, c=confidence or 1, m=known_items)
                for column, value in named
            ),
            method=method or RecodeItems(),
            accepted=tuple(accept),
        )
    policy = in_force()
    if policy is not None and (problems := policy_problems(plan, policy)):
        raise RequirementError(problems)
    return DatasetRelease(result=recode_dataset(data, plan, Watch(progress, cancelled), source_of_randomness))
