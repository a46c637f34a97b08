"""Estimates from many truthful tables: counts, proportions, cross tables, and a pool for other tools."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import tables
from shoal.errors import InputError, ParameterError, Problems, quoted
from shoal.estimation._impossible import ImpossibleRules
from shoal.estimation._margins import read_margins
from shoal.estimation._records import draw_records
from shoal.estimation._spelling import SYNTHETIC, write_records
from shoal.estimation._weights import WEIGHT, certified_steps
from shoal.fitting import POOL, Margins, RakedPool, raked
from shoal.folder import ReleaseFolder, check_outside_releases
from shoal.guarantees import Event
from shoal.methods.truthful import HIDDEN, HiddenCounts, read_hidden
from shoal.plan import Plan
from shoal.schema import Schema
from shoal.tables import Table

_ABOUT = f"""{SYNTHETIC}, drawn from the tables of a release.
{{records:,}} records that Shoal drew so that they agree with the released tables. Nobody in them need exist.
Counts by few columns are close to the truth; rare combinations and single records mean nothing.
The release itself is what can be verified; this file carries no certificate of its own.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its standard error: what the noise of the tables does to it.

    The error does not cover that columns may go together in ways that no table shows.
    """

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Estimates:
    """All tables of a release, read together; made by `estimate`.

    Parameters
    ----------
    margins
        The tables.
    schema
        What the columns are.
    size, seed
        Of the pool of possible records that is weighted to agree with them.

    Examples
    --------
    ``shoal.estimate("release").count(sex="Female", age=["17", "18"])``
    """

    margins: Margins
    schema: Schema
    size: int = POOL
    seed: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return self.margins.names

    @cached_property
    def _pool(self) -> RakedPool:
        rules = ImpossibleRules.of(self.schema, self.columns)
        if not rules.conditions:
            return raked(self.margins, size=self.size, seed=self.seed)
        rules.check(self.margins)
        broken = rules.certainly_violated(self.margins)
        return raked(self.margins, size=self.size, seed=self.seed, is_impossible=broken)

    def total(self) -> Estimate:
        """Estimate the number of records of the original table."""
        return self.count()

    def records(self, number: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Return records drawn from the tables: in the columns and types of the schema, and of nobody.

        Columns that follow from others by a rule of the schema are computed, and combinations that the schema calls
        impossible do not occur.

        Parameters
        ----------
        number
            How many records; by default the estimated number of the original table, from the noisy tables.
        seed
            Draws the same records again; by default they are drawn from the system's randomness.
        """
        pool = self._pool
        number = round(float(pool.weights.sum())) if number is None else number
        generator = np.random.default_rng(seed)  # which the system seeds where none is given
        return draw_records(self.margins, pool.codes, pool.weights, self.schema, number, generator)

    def count(self, conditions: Mapping[str, object] | None = None, /, **more: object) -> Estimate:
        """Estimate how many records have these values.

        Parameters
        ----------
        conditions, more
            By column: a value of any level of its hierarchy, or a list of values, of which a record has one.
        """
        inside = self._selected({**(conditions or {}), **more})
        again = self._pool.replicates[:, inside].sum(axis=1)
        return Estimate(float(self._pool.weights[inside].sum()), float(np.std(again)))

    def proportion(self, conditions: Mapping[str, object] | None = None, /, **more: object) -> Estimate:
        """Estimate the share of the records that have these values."""
        inside = self._selected({**(conditions or {}), **more})
        pool = self._pool
        shares = pool.replicates[:, inside].sum(axis=1) / pool.replicates.sum(axis=1)
        return Estimate(float(pool.weights[inside].sum() / pool.weights.sum()), float(np.std(shares)))

    def table(self, *columns: str) -> pa.Table:
        """Return the cross table of some columns, every combination of values with its estimate and standard error."""
        places = [self._place(name) for name in columns]
        pool_size = len(self._pool.weights)
        keys, size = np.zeros(pool_size, dtype=np.int64), 1
        for j in places:
            keys = keys * self.margins.size(j) + self._pool.codes[:, j]
            size *= self.margins.size(j)
        if size > pool_size:
            raise ParameterError(
                f"the cross table of {quoted(columns)} has {size:,} cells, more than the "
                f"{pool_size:,} records of the pool",
                hint="ask for fewer columns",
            )
        values = np.bincount(keys, self._pool.weights, minlength=size)
        errors = np.std([np.bincount(keys, row, minlength=size) for row in self._pool.replicates], axis=0)
        labels = itertools.product(*(self._labels(j) for j in places))
        cells = list(zip(*labels, strict=True))
        return pa.table(
            {name: pa.array(cell, pa.string()) for name, cell in zip(columns, cells, strict=True)}
            | {tables.free_name("estimate", columns): values, tables.free_name("standard error", columns): errors}
        )

    def write_records(
        self, path: str | Path, number: int | None = None, *, seed: int | None = None, overwrite: bool = False
    ) -> int:
        """Write `records` to a file, in the format of its ending, and return how many there are."""
        rows = self.records(number, seed=seed)
        write_records(rows, self.schema, Path(path), about=_ABOUT.format(records=len(rows)), overwrite=overwrite)
        return len(rows)

    def pool(self) -> pa.Table:
        """Return possible records with weights, for tools that want one file. They are no records of anybody."""
        columns = {
            name: pa.array(self._labels(j), pa.string()).take(pa.array(self._pool.codes[:, j]))
            for j, name in enumerate(self.columns)
        }
        return pa.table(columns | {tables.free_name(WEIGHT, self.columns): self._pool.weights})

    def write_pool(self, path: str | Path) -> None:
        """Write the pool to a new file; its ending says which format."""
        check_outside_releases(path)
        tables.write(tables.read(self.pool()), path)

    def _labels(self, column: int) -> tuple[str | None, ...]:
        return self.margins.hierarchies[column].labels[self.margins.lows[column]]

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise ParameterError(f"the release has no column `{name}`; it has {quoted(self.columns)}")
        return self.columns.index(name)

    def _selected(self, conditions: Mapping[str, object]) -> npt.NDArray[np.bool_]:
        inside = np.ones(len(self._pool.weights), dtype=np.bool_)
        problems = Problems()
        for name, wanted in conditions.items():
            j = self._place(name)
            texts = [str(each) for each in (wanted if isinstance(wanted, list | tuple | set) else [wanted])]
            chosen = np.zeros(self.margins.size(j), dtype=np.bool_)
            for each in texts:
                found = self._values(j, each)
                if found is None:
                    problems.add(f"column `{name}` has no value `{each}` in its hierarchy, at the released levels")
                else:
                    chosen |= found
            inside &= chosen[self._pool.codes[:, j]]
        problems.raise_as(ParameterError)
        return inside

    def _values(self, column: int, label: str) -> npt.NDArray[np.bool_] | None:
        """Return which of the values of a column at its lowest level a label stands for, if it is one."""
        hierarchy = self.margins.hierarchies[column]
        for level in range(self.margins.lows[column], hierarchy.height + 1):
            if label in hierarchy.labels[level]:
                return np.asarray(self.margins.lift(column, level) == hierarchy.labels[level].index(label))
        return None


def estimate(folder: str | Path, *, size: int = POOL, seed: int = 0) -> Estimates:
    """Read the tables of a release of method ``truthful-tables`` together.

    Parameters
    ----------
    folder
        The release. Whether it keeps its promise, `verify` says.
    size, seed
        How many possible records are weighted, and which; more records, smaller sampling errors.

    Raises
    ------
    InputError, VerificationError
        If the folder is no release of that method, or has no certificate.
    """
    release = ReleaseFolder.inspected(folder)
    events, plan = certified_steps(release), release.plan
    released = {file: release.open(file) for file in plan.method.files(plan.schema)}
    hidden = release.read_text(HIDDEN)
    notes = {} if hidden is None else {HIDDEN: hidden}
    return estimates_of(plan, events, released, notes, size=size, seed=seed)


def estimates_of(
    plan: Plan,
    events: Sequence[Event],
    released: Mapping[str, Table],
    notes: Mapping[str, str],
    *,
    size: int = POOL,
    seed: int = 0,
) -> Estimates:
    """Read released tables together, by file and in the order of the steps that made them, with what is beside them."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1000:
        raise ParameterError(f"`size` of `estimate` must be at least 1,000; got {size!r}.")
    hidden: Mapping[str, HiddenCounts] = {}
    if HIDDEN in notes:
        try:
            hidden = read_hidden(notes[HIDDEN], {file: len(table.columns) for file, table in released.items()})
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{HIDDEN} is not in the form that releases use") from None
    return Estimates(read_margins(plan.schema, events, released, hidden), plan.schema, size, seed)
