"""Encoding of records as distinct tuples of codes with counts, all that searches look at."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, quoted
from shoal.hierarchies import Hierarchy, leaf_codes
from shoal.kernels import Codes, Counts
from shoal.schema import Schema
from shoal.tables._apply import all_looked_up, with_parts, with_tuples
from shoal.tables._classes import Dictionary, Encoded, Finest, Frequencies, Persons
from shoal.tables._columns import (
    Packing,
    TupleColumn,
    by_value,
    check_columns,
    column_hierarchies,
    distinct_tuples,
    leaves_of,
    merge_tuples,
    schema_of,
    sensitive_codes,
)
from shoal.tables._duckdb import memory_limit
from shoal.tables._engine import OURS, compute, figures, quiet
from shoal.tables._holders import Holders, count_places
from shoal.tables._people import PLACE, PersonKeys, find_profiles, household_of, people, person_of
from shoal.tables._relations import Stored, TableQuery
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table
from shoal.tables._values import sizes_of

#: Bytes that a search holds for a tuple, and for each of its columns besides: measured, and rounded up.
_TUPLE, _COLUMN = 96, 16


def encode(
    table: Table,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    population: Table | None = None,
    households: bool = False,
    coarse: bool = False,
) -> Encoded:
    """Count the distinct tuples of the columns of a table with a schema, by default those that the schema names.

    Ask only for sensitive columns that a model needs: one with many distinct values makes about as many tuples as there
    are records. Of the ``population`` that the records were drawn from, which needs the quasi-identifiers only, records
    are counted per tuple of quasi-identifiers, at the first tuple that has them; its persons, where it has the person
    column and somebody has several records. ``households`` notes who lives where, if the schema names a household.

    ``coarse`` allows to count at the finest levels at which the tuples fit in memory, where they do not otherwise; a
    release is never checked so. Tuples with persons, households or a population are counted as they are.

    Raises
    ------
    HierarchyError
        If values are not in the hierarchy of their column; the message counts them.

    Notes
    -----
    The engine groups the records once, O(records); the rest is vectorised over the distinct tuples, and the few
    distinct values of every column are looked up in its hierarchy once. Values that are written differently but have
    the same leaf (``39`` and ``39.0``) end up in the same tuple.
    """
    schema = schema_of(table)
    names = tuple(schema.quasi_identifiers if quasi_identifiers is None else quasi_identifiers)
    others = tuple(schema.sensitive if sensitive is None else sensitive)
    check_columns(table, names, others)
    person, home = person_of(table), household_of(table) if households else None
    whose = tuple(name for name in (person, home) if name is not None)
    most = tuples_that_fit(len(names) + len(others))
    if coarse and not whose and population is None and table.count() > most:
        return encode_packed(table, names, others, most)
    ours = _CountedTuples.of(table, (*names, *others), whose)
    known = None if population is None else _population(population, schema, names)
    columns = ours.columns
    hierarchies = column_hierarchies(schema, columns[: len(names)], () if known is None else known.columns)
    leaves = [leaves_of(column, hierarchy) for column, hierarchy in zip(columns, hierarchies, strict=False)]
    attributes, secrets = sensitive_codes(schema, columns[len(names) :])
    codes, counts, positions = merge_tuples([*leaves, *secrets], ours.counts)
    holders, persons = ours.holders([*leaves, *secrets], (codes, counts, positions))
    frequencies = Frequencies(
        hierarchies=hierarchies,
        codes=codes[:, : len(names)],
        counts=counts,
        sensitive=attributes,
        sensitive_codes=codes[:, len(names) :],
        holders=holders if person else None,
        households=None if person else holders,
    )
    if known is not None:
        leaves = [leaves_of(column, hierarchy) for column, hierarchy in zip(known.columns, hierarchies, strict=True)]
        merged = merge_tuples(leaves, known.counts)
        residents, _ = known.holders(leaves, merged)
        people_there = merged[1] if residents is None else residents.crowds(np.arange(len(merged[1])), len(merged[1]))
        frequencies = with_population(frequencies, merged[0], people_there, residents)
    dictionaries = tuple(
        Dictionary(name=column.name, values=column.values, codes=leaf_codes(hierarchy, column.values))
        for column, hierarchy in zip(columns, hierarchies, strict=False)
    )
    return Encoded(frequencies=frequencies, dictionaries=dictionaries, persons=persons if person else None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CountedTuples:
    """The distinct tuples of some columns, and whose records they hold."""

    table: Table
    columns: list[TupleColumn]
    counts: Counts
    #: The columns that say whose a record is: of a person and where that person lives, or of one of both.
    whose: tuple[str, ...]
    #: These columns, where they were counted with the tuples; else the engine is asked for profiles.
    keys: list[TupleColumn]

    @classmethod
    def of(cls, table: Table, names: tuple[str, ...], whose: tuple[str, ...]) -> _CountedTuples:
        """Let the engine count; Spark keeps to itself whose the records are."""
        counted = names if isinstance(table.engine, SparkEngine) else (*names, *whose)
        columns, counts = distinct_tuples(table, counted)
        rest = len(names)
        return cls(table=table, columns=columns[:rest], counts=counts, whose=whose, keys=columns[rest:])

    def holders(
        self, coded: Sequence[tuple[Codes, int]], merged: tuple[Codes, Counts, Counts]
    ) -> tuple[Holders | None, Persons | None]:
        """Return who has records of which tuple, and how to find these persons; None where nobody is named.

        ``coded`` are the codes of the tuples as they were counted, and ``merged`` what has become of these.
        """
        if not self.whose:
            return None, None
        rows, counts, positions = merged
        if not self.keys:
            packing = Packing.of([size for _, size in coded])
            codes = [by_value(column, own) for column, (own, _) in zip(self.columns, coded, strict=True)]
            with quiet(self.table.source.name):
                records = with_parts(self.table, self.columns, [packing.part(i, own) for i, own in enumerate(codes)])
                parts = [records[f"{OURS}part{i}"] for i in range(len(codes))]
                numbers = {PLACE: pa.array(np.arange(len(rows)))}
                records = with_tuples(self.table, records, packing, parts, rows, **numbers)
            profiles = find_profiles(self.table, records, counts, *self.whose)
            return profiles.holders, profiles
        key, *homes = self.keys
        persons = key.indices.astype(np.int64)
        holders = Holders.of(positions, persons, self.counts, len(key.values))
        for home in homes:
            holders = holders.living(persons, home.indices.astype(np.int64))
        return holders, PersonKeys(column=key.name, keys=key.values)


def _population(population: Table, schema: Schema, names: tuple[str, ...]) -> _CountedTuples:
    """Count the distinct quasi-identifiers of the population, read as the table's schema says, and whose they are.

    Nobody is named where every record is of a person of its own.
    """
    absent = [name for name in names if name not in population.columns]
    if absent:
        raise DataError(f"the population {population.source.name} has no column {quoted(absent)}.")
    wanted = names
    if schema.person is not None and schema.person in population.columns:
        wanted = (*names, schema.person)
    read = Schema(attributes=tuple(schema[name] for name in wanted), folder=schema.folder)
    table = population.select(*wanted).with_schema(read)
    repeat = wanted != names and people(table).repeat
    return _CountedTuples.of(table, names, wanted[len(names) :] if repeat else ())


def with_population(
    frequencies: Frequencies, codes: Codes, counts: Counts, whose: Holders | None = None
) -> Frequencies:
    """Add the population's counts, and whose they are; a tuple that only the population holds gets no records."""
    sizes = [hierarchy.size for hierarchy in frequencies.hierarchies]
    width = len(sizes)
    ours = len(frequencies.counts)
    # ours first: where both hold a tuple, its group starts with one of ours
    every = np.concatenate([frequencies.codes, codes])
    order, new = Packing.of(sizes).order([every[:, j] for j in range(width)])
    first = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    owner = np.empty(len(order), dtype=np.int64)
    owner[order] = first
    population = np.zeros(len(every), dtype=np.int64)
    np.add.at(population, owner[ours:], counts)
    kept = np.concatenate([np.arange(ours), ours + np.flatnonzero(owner[ours:] >= ours)])
    added = len(kept) - ours
    sensitive = np.concatenate(
        [frequencies.sensitive_codes, np.zeros((added, len(frequencies.sensitive)), dtype=np.int32)]
    )
    residents = None
    if whose is not None:
        positions = np.zeros(len(every), dtype=np.int64)
        positions[kept] = np.arange(len(kept))
        gathered = Holders.of(positions[owner[ours:][whose.tuples]], whose.persons, whose.counts, whose.number)
        residents = replace(gathered, times=whose.times)
    return replace(
        frequencies,
        codes=np.asfortranarray(every[kept]),
        counts=np.concatenate([frequencies.counts, np.zeros(added, dtype=np.int64)]),
        sensitive_codes=np.asfortranarray(sensitive),
        population=population[kept],
        residents=residents,
    )


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
        tuples = _Tuples.count(table, hierarchies, columns, [*leaves, *secrets], [size for _, size in coded])
        finest = None
        if tuples.number > most:
            finest = Finest(tuples=tuples.number, sizes=tuples.class_sizes())
            # the records of every leaf
            marginals = [
                count_places(own, column.counts, hierarchy.size)
                for hierarchy, own, column in zip(hierarchies, leaves, columns, strict=False)
            ]
            while tuples.number > most and not tuples.at_top:
                tuples = tuples.raise_column(marginals, most)
        frequencies = replace(tuples.frequencies(), sensitive=attributes)
    dictionaries = tuple(
        Dictionary(name=column.name, values=column.values, codes=hierarchy.codes[level][codes])
        for column, hierarchy, level, codes in zip(columns, hierarchies, tuples.levels, leaves, strict=False)
    )
    return Encoded(frequencies=frequencies, dictionaries=dictionaries, finest=finest)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Tuples:
    """Distinct tuples that the engine holds: a word or more of leaf codes, one of sensitive codes, and the records.

    A value above the leaves is the first leaf below it, so that words keep their layout.
    """

    table: Table
    stored: Stored
    hierarchies: tuple[Hierarchy, ...]
    levels: tuple[int, ...]
    packing: Packing
    secrets: Packing

    @classmethod
    def count(
        cls,
        table: Table,
        hierarchies: tuple[Hierarchy, ...],
        columns: Sequence[TupleColumn],
        codes: Sequence[Codes],
        sizes: Sequence[int],
    ) -> _Tuples:
        """Let the engine count the tuples, given the code of every distinct value."""
        packing, secrets = Packing.of([hierarchy.size for hierarchy in hierarchies]), Packing.of(sizes)
        positions = [(packing, j) for j in range(len(hierarchies))] + [(secrets, j) for j in range(len(sizes))]
        own = [layout.part(j, each) for (layout, j), each in zip(positions, codes, strict=True)]
        records = with_parts(table, columns, own)
        parts = [records[f"{OURS}part{i}"] for i in range(len(columns))]
        words = {f"word{i}": word for i, word in enumerate(packing.add_to_words(parts[: len(hierarchies)]))}
        words |= {f"secret{i}": word for i, word in enumerate(secrets.add_to_words(parts[len(hierarchies) :]))}
        rows = records.select(**words)
        stored = table.engine.keep(rows.group_by(rows.columns).aggregate(records=rows.count()))
        levels = (0,) * len(hierarchies)
        return cls(table=table, stored=stored, hierarchies=hierarchies, levels=levels, packing=packing, secrets=secrets)

    @functools.cached_property
    def number(self) -> int:
        """How many tuples there are."""
        return int(figures(self.table, self.stored.aggregate(tuples=self.stored.count()))["tuples"])

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
        return sizes_of(self.table, self.stored.group_by(self.words).aggregate(records=self.stored.records.sum()))

    def raise_column(self, marginals: Sequence[Counts], most: int) -> _Tuples:
        """Return the tuples with one column a level higher, so that they come down to ``most`` in the end."""
        open_ = [j for j, hierarchy in enumerate(self.hierarchies) if self.levels[j] < hierarchy.height]
        rows = self._steps(open_)
        asked = {f"n{j}": _together(self._words(rows, j), self.keys).approx_nunique() for j in open_}
        totals = figures(self.table, rows.aggregate(**asked))
        losses = {j: _added_loss(self.hierarchies[j], self.levels[j], marginals[j]) for j in open_}
        chosen = _cheapest(self.number, {j: int(totals[f"n{j}"]) for j in open_}, losses, most)
        rows = self._steps([chosen])
        coarser = rows.select(**self._words(rows, chosen), records=rows.records)
        stored = self.table.engine.keep(coarser.group_by(self.keys).aggregate(records=coarser.records.sum()))
        self.table.engine.forget(self.stored)
        return replace(self, stored=stored, levels=tuple(level + (j == chosen) for j, level in enumerate(self.levels)))

    def _steps(self, columns: Sequence[int]) -> TableQuery:
        """Return the tuples with what raising each of some columns adds to its word."""
        codes, known = {}, {}
        for j in columns:
            hierarchy, level = self.hierarchies[j], self.levels[j]
            codes[f"code{j}"] = self.packing.code(j, self.stored[f"word{self.packing.words[j]}"])
            leaves = np.arange(hierarchy.size)
            parent = np.searchsorted(hierarchy.codes[level + 1], hierarchy.codes[level + 1])  # the first leaf below
            step = self.packing.part(j, parent) - self.packing.part(j, leaves)
            known[f"code{j}"] = {f"leaf{j}": pa.array(leaves), f"step{j}": pa.array(step)}
        return all_looked_up(replace(self.table, expression=self.stored.mutate(**codes)), known)

    def _words(self, rows: TableQuery, raised: int) -> dict[str, Any]:
        """Return the keys of the tuples with one column raised."""
        own = f"word{self.packing.words[raised]}"
        return {name: rows[name] + rows[f"step{raised}"] if name == own else rows[name] for name in self.keys}

    def frequencies(self) -> Frequencies:
        """Fetch the tuples, ascending, with hierarchies that begin at the levels reached; the engine forgets them."""
        rows = compute(self.table, self.stored.order_by(self.keys))
        self.table.engine.forget(self.stored)
        if any(rows[name].null_count for name in self.keys):
            raise DataError(f"{self.table.source.name} changed while it was being read.")
        maps = [hierarchy.codes[level] for hierarchy, level in zip(self.hierarchies, self.levels, strict=True)]
        return Frequencies(
            hierarchies=tuple(h.above(level) for h, level in zip(self.hierarchies, self.levels, strict=True)),
            codes=_unpack_codes(rows, "word", self.packing, maps),
            counts=rows["records"].to_numpy().astype(np.int64),
            sensitive_codes=_unpack_codes(rows, "secret", self.secrets, [None] * len(self.secrets.words)),
        )


def _unpack_codes(rows: pa.Table, name: str, packing: Packing, maps: Sequence[Codes | None]) -> Codes:
    """Return the codes of packed columns, each replaced by what its map says."""
    codes = np.empty((len(rows), len(packing.words)), dtype=np.int32, order="F")
    words = [rows[f"{name}{i}"].to_numpy() for i in range(packing.number)]
    for j, known in enumerate(maps):
        own = packing.code(j, words[packing.words[j]])
        codes[:, j] = own if known is None else known[own]
    return codes


def _together(columns: dict[str, Any], names: Sequence[str]) -> Any:
    """Return one value that differs where any of some whole numbers differs."""
    first, *others = [columns[name] for name in names]
    key = first.cast("string") if others else first
    for other in others:
        key = key + "," + other.cast("string")
    return key


def _added_loss(hierarchy: Hierarchy, level: int, marginal: Counts) -> float:
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
