"""Distinct tuples of large tables: counted on the engine as packed words, at the finest levels that fit in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.hierarchies import Hierarchy, leaf_codes
from shoal.kernels import Codes, Counts
from shoal.tables._apply import all_looked_up
from shoal.tables._classes import Dictionary, Encoded, Finest, Frequencies
from shoal.tables._columns import (
    Packing,
    TupleColumn,
    by_value,
    column_hierarchies,
    distinct_tuples,
    schema_of,
    sensitive_codes,
)
from shoal.tables._duckdb import memory_limit
from shoal.tables._engine import quiet
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir


#: Bytes that a search holds for a tuple, and for each of its columns besides: measured, and rounded up.
_TUPLE, _COLUMN = 96, 16


def tuples_that_fit(columns: int) -> int:
    """Return how many distinct tuples of so many columns are searched: as many as the engine's memory would hold."""
    return memory_limit() // (_TUPLE + _COLUMN * columns)


def encode_packed(table: Table, names: tuple[str, ...], others: tuple[str, ...], most: int) -> Encoded:
    """Count the distinct tuples of quasi-identifiers and sensitive columns, at most ``most`` of them.

    The distinct values of every column are counted first, so that the engine groups the records by a word of bits in
    place of their texts. Where the tuples are too many, values are replaced by those of the next level, one column
    after the other, each time the column that saves most tuples for what it loses (:func:`_cheapest`). Counts at the
    levels that are reached are exact.
    """
    schema = schema_of(table)
    columns = [distinct_tuples(table, (name,))[0][0] for name in (*names, *others)]
    hierarchies = column_hierarchies(schema, columns[: len(names)])
    leaves = [leaf_codes(hierarchy, column.values) for hierarchy, column in zip(hierarchies, columns, strict=False)]
    attributes, coded = sensitive_codes(schema, columns[len(names) :])
    secrets = [by_value(column, codes) for column, (codes, _) in zip(columns[len(names) :], coded, strict=True)]
    with quiet(table.source.name):
        tuples = _Tuples.counted(table, hierarchies, columns, [*leaves, *secrets], [size for _, size in coded])
        finest = None
        if tuples.number > most:
            finest = Finest(tuples=tuples.number, sizes=tuples.class_sizes())
            marginals = [_marginal(*each) for each in zip(hierarchies, leaves, columns, strict=False)]
            while tuples.number > most and not tuples.at_top:
                tuples = tuples.raised(marginals, most)
        frequencies = replace(tuples.frequencies(), sensitive=attributes)
    dictionaries = tuple(
        Dictionary(name=column.name, values=column.values, codes=hierarchy.codes[level][codes])
        for column, hierarchy, level, codes in zip(columns, hierarchies, tuples.levels, leaves, strict=False)
    )
    return Encoded(frequencies=frequencies, dictionaries=dictionaries, finest=finest)


def _marginal(hierarchy: Hierarchy, leaves: Codes, column: TupleColumn) -> Counts:
    """Return the records of every leaf."""
    return np.bincount(leaves, weights=column.counts, minlength=hierarchy.size).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tuples:
    """Distinct tuples that the engine holds: a word or more of leaf codes, one of sensitive codes, and the records.

    A value above the leaves is the first leaf below it, so that words keep their layout.
    """

    table: Table
    stored: ir.Table
    number: int
    hierarchies: tuple[Hierarchy, ...]
    levels: tuple[int, ...]
    packing: Packing
    secrets: Packing

    @classmethod
    def counted(
        cls,
        table: Table,
        hierarchies: tuple[Hierarchy, ...],
        columns: Sequence[TupleColumn],
        codes: Sequence[Codes],
        sizes: Sequence[int],
    ) -> _Tuples:
        """Let the engine count the tuples, given the code of every distinct value."""
        packing, secrets = Packing.of([hierarchy.size for hierarchy in hierarchies]), Packing.of(sizes)
        places = [(packing, j) for j in range(len(hierarchies))] + [(secrets, j) for j in range(len(sizes))]
        known: dict[str, dict[str, Any]] = {
            column.name: {f"value{i}": column.values, f"part{i}": pa.array(layout.part(j, own))}
            for i, (column, own, (layout, j)) in enumerate(zip(columns, codes, places, strict=True))
        }
        records = all_looked_up(table, known)
        words: dict[str, Any] = {}
        for i, (layout, j) in enumerate(places):
            name = f"{'word' if layout is packing else 'secret'}{layout.words[j]}"
            part = records[f"part{i}"]
            words[name] = words[name] + part if name in words else part
        rows = records.select(**words)
        return cls._of(
            table,
            rows.group_by(rows.columns).aggregate(records=rows.count()),
            hierarchies=hierarchies,
            levels=(0,) * len(hierarchies),
            packing=packing,
            secrets=secrets,
        )

    @classmethod
    def _of(cls, table: Table, counted: ir.Table, **known: Any) -> _Tuples:
        stored = table.engine.keep(counted)
        number = int(table.engine.fetch(stored.aggregate(tuples=stored.count()))["tuples"][0].as_py())
        return cls(table=table, stored=stored, number=number, **known)

    @property
    def words(self) -> list[str]:
        """The columns that hold quasi-identifiers."""
        return [f"word{i}" for i in range(self.packing.number)]

    @property
    def keys(self) -> list[str]:
        """All columns but the number of records."""
        return [*self.words, *(f"secret{i}" for i in range(self.secrets.number))]

    @property
    def at_top(self) -> bool:
        """Whether no column has a level above its own."""
        return all(level == hierarchy.height for level, hierarchy in zip(self.levels, self.hierarchies, strict=True))

    def class_sizes(self) -> tuple[Counts, Counts]:
        """Return the different sizes of the classes of the quasi-identifiers, and how many classes have each."""
        classes = self.stored.group_by(self.words).aggregate(size=self.stored.records.sum())
        rows = self.table.engine.fetch(classes.group_by("size").aggregate(classes=classes.count()).order_by("size"))
        return rows["size"].to_numpy().astype(np.int64), rows["classes"].to_numpy().astype(np.int64)

    def raised(self, marginals: Sequence[Counts], most: int) -> _Tuples:
        """Return the tuples with one column a level higher, so that they come down to ``most`` in the end."""
        open_ = [j for j, hierarchy in enumerate(self.hierarchies) if self.levels[j] < hierarchy.height]
        rows = self._steps(open_)
        asked = {f"n{j}": _together(self._words(rows, j), self.keys).approx_nunique() for j in open_}
        (found,) = self.table.engine.fetch(rows.aggregate(**asked)).to_pylist()
        losses = {j: _added(self.hierarchies[j], self.levels[j], marginals[j]) for j in open_}
        chosen = _cheapest(self.number, {j: int(found[f"n{j}"]) for j in open_}, losses, most)
        rows = self._steps([chosen])
        coarser = rows.select(**self._words(rows, chosen), records=rows.records)
        made = self._of(
            self.table,
            coarser.group_by(self.keys).aggregate(records=coarser.records.sum()),
            hierarchies=self.hierarchies,
            levels=tuple(level + (j == chosen) for j, level in enumerate(self.levels)),
            packing=self.packing,
            secrets=self.secrets,
        )
        self.table.engine.forget(self.stored)
        return made

    def _steps(self, columns: Sequence[int]) -> ir.Table:
        """Return the tuples with what raising each of some columns adds to its word."""
        codes, known = {}, {}
        for j in columns:
            hierarchy, level = self.hierarchies[j], self.levels[j]
            word = self.stored[f"word{self.packing.words[j]}"]
            codes[f"code{j}"] = (word >> self.packing.shifts[j]) & ((1 << self.packing.bits[j]) - 1)
            leaves = np.arange(hierarchy.size)
            parent = np.searchsorted(hierarchy.codes[level + 1], hierarchy.codes[level + 1])  # the first leaf below
            step = self.packing.part(j, parent) - self.packing.part(j, leaves)
            known[f"code{j}"] = {f"leaf{j}": pa.array(leaves), f"step{j}": pa.array(step)}
        return all_looked_up(replace(self.table, expression=self.stored.mutate(**codes)), known)

    def _words(self, rows: ir.Table, raised: int) -> dict[str, Any]:
        """Return the keys of the tuples with one column raised."""
        own = f"word{self.packing.words[raised]}"
        return {name: rows[name] + rows[f"step{raised}"] if name == own else rows[name] for name in self.keys}

    def frequencies(self) -> Frequencies:
        """Fetch the tuples, ascending, with hierarchies that begin at the levels reached; the engine forgets them."""
        rows = self.table.engine.fetch(self.stored.order_by(self.keys))
        self.table.engine.forget(self.stored)
        if any(rows[name].null_count for name in self.keys):
            raise DataError(f"{self.table.source.name} changed while it was read.")
        maps = [hierarchy.codes[level] for hierarchy, level in zip(self.hierarchies, self.levels, strict=True)]
        return Frequencies(
            hierarchies=tuple(h.above(level) for h, level in zip(self.hierarchies, self.levels, strict=True)),
            codes=_unpacked(rows, "word", self.packing, maps),
            counts=rows["records"].to_numpy().astype(np.int64),
            sensitive_codes=_unpacked(rows, "secret", self.secrets, [None] * len(self.secrets.words)),
        )


def _unpacked(rows: pa.Table, name: str, packing: Packing, maps: Sequence[Codes | None]) -> Codes:
    """Return the codes of packed columns, each replaced by what its map says."""
    codes = np.empty((len(rows), len(packing.words)), dtype=np.int32, order="F")
    words = [rows[f"{name}{i}"].to_numpy() for i in range(packing.number)]
    for j, known in enumerate(maps):
        own = (words[packing.words[j]] >> packing.shifts[j]) & ((1 << packing.bits[j]) - 1)
        codes[:, j] = own if known is None else known[own]
    return codes


def _together(columns: dict[str, Any], names: Sequence[str]) -> Any:
    """Return one value that differs where any of some whole numbers differs."""
    first, *others = [columns[name] for name in names]
    found = first.cast("string") if others else first
    for other in others:
        found = found + "," + other.cast("string")
    return found


def _added(hierarchy: Hierarchy, level: int, marginal: Counts) -> float:
    """Return the loss that the next level adds to a record of the column on average."""
    fine, coarse = (hierarchy.shares[each][hierarchy.codes[each]] for each in (level, level + 1))
    return float(marginal @ (coarse - fine)) / max(int(marginal.sum()), 1)


def _cheapest(number: int, left: dict[int, int], losses: dict[int, float], most: int) -> int:
    """Return the column to raise: the one that saves most tuples, by their logarithm, for the loss that it adds.

    A column of two values loses all of itself to halve the tuples at best; a year of age that becomes five years
    divides them by up to five and loses little. More than is needed is not worth more: of the columns after which the
    tuples fit, the one that loses least is raised.
    """
    return max(left, key=lambda j: math.log(max(number, 1) / max(left[j], most, 1)) / max(losses[j], 1e-9))
