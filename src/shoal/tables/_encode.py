"""From records to distinct tuples of codes with counts: the one look that search needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.errors import DataError, quoted
from shoal.hierarchies import leaf_codes
from shoal.kernels import Codes, Counts
from shoal.schema import Schema
from shoal.tables._classes import Dictionary, Encoded, Frequencies, Persons
from shoal.tables._columns import (
    Packing,
    TupleColumn,
    by_value,
    check_columns,
    column_hierarchies,
    distinct_tuples,
    leaves_of,
    merged,
    schema_of,
    sensitive_codes,
)
from shoal.tables._holders import Holders
from shoal.tables._packed import encode_packed, tuples_that_fit
from shoal.tables._people import PersonKeys, household_of, people, person_of
from shoal.tables._profiles import TupleFinder, profiled
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table


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
    codes, counts, places = merged([*leaves, *secrets], ours.counts)
    holders, persons = ours.holders([*leaves, *secrets], (codes, counts, places))
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
        found = merged(leaves, known.counts)
        residents, _ = known.holders(leaves, found)
        people_there = found[1] if residents is None else residents.crowds(np.arange(len(found[1])), len(found[1]))
        frequencies = with_population(frequencies, found[0], people_there, residents)
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
        rows, counts, places = merged
        if not self.keys:
            codes = [by_value(column, own) for column, (own, _) in zip(self.columns, coded, strict=True)]
            tuples = TupleFinder(
                columns=self.columns, codes=codes, sizes=[size for _, size in coded], rows=rows, counts=counts
            )
            profiles = profiled(self.table, tuples, *self.whose)
            return profiles.holders, profiles
        key, *homes = self.keys
        persons = key.indices.astype(np.int64)
        found = Holders.of(places, persons, self.counts, len(key.values))
        for home in homes:
            found = found.living(persons, home.indices.astype(np.int64))
        return found, PersonKeys(column=key.name, keys=key.values)


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
        places = np.zeros(len(every), dtype=np.int64)
        places[kept] = np.arange(len(kept))
        gathered = Holders.of(places[owner[ours:][whose.tuples]], whose.persons, whose.counts, whose.number)
        residents = replace(gathered, times=whose.times)
    return replace(
        frequencies,
        codes=np.asfortranarray(every[kept]),
        counts=np.concatenate([frequencies.counts, np.zeros(added, dtype=np.int64)]),
        sensitive_codes=np.asfortranarray(sensitive),
        population=population[kept],
        residents=residents,
    )
