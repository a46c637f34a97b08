"""From records to distinct tuples of codes with counts: the one look that search needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.errors import DataError, quoted
from shoal.hierarchies import leaf_codes
from shoal.kernels import Codes, Counts
from shoal.schema import Schema
from shoal.tables._classes import Dictionary, Encoded, Frequencies
from shoal.tables._columns import (
    Packing,
    TupleColumn,
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
from shoal.tables._people import household_of, people, person_of
from shoal.tables._table import Table

__all__ = ["encode", "with_population"]


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
    columns, counts = distinct_tuples(table, (*names, *others, *whose))
    keys: dict[str | None, TupleColumn] = dict(zip(whose, columns[len(names) + len(others) :], strict=True))
    columns = columns[: len(names) + len(others)]
    known, known_counts, residents = _population(population, schema, names)
    hierarchies = column_hierarchies(schema, columns[: len(names)], known)
    coded = [leaves_of(column, hierarchy) for column, hierarchy in zip(columns, hierarchies, strict=False)]
    attributes, sensitive_columns = sensitive_codes(schema, columns[len(names) :])
    pairs = counts
    codes, counts, places = merged([*coded, *sensitive_columns], counts)
    frequencies = Frequencies(
        hierarchies=hierarchies,
        codes=codes[:, : len(names)],
        counts=counts,
        sensitive=attributes,
        sensitive_codes=codes[:, len(names) :],
        holders=_holders(places, keys.get(person), pairs, keys.get(home)),
        households=None if person else _holders(places, keys.get(home), pairs),
    )
    if known_counts is not None:
        other = [leaves_of(column, hierarchy) for column, hierarchy in zip(known, hierarchies, strict=True)]
        found, found_counts, found_places = merged(other, known_counts)
        whose_records = _holders(found_places, residents, known_counts)
        if whose_records is not None:
            found_counts = np.bincount(whose_records.tuples, minlength=len(found_counts)).astype(np.int64)
        frequencies = with_population(frequencies, found, found_counts, whose_records)
    dictionaries = tuple(
        Dictionary(name=column.name, values=column.values, codes=leaf_codes(hierarchy, column.values))
        for column, hierarchy in zip(columns, hierarchies, strict=False)
    )
    return Encoded(frequencies=frequencies, dictionaries=dictionaries, persons=keys[person].values if person else None)


def _holders(
    places: Counts, whose: TupleColumn | None, counts: Counts, homes: TupleColumn | None = None
) -> Holders | None:
    """Return who has records of which tuple, and who lives where if that is known; None where nobody is named."""
    if whose is None:
        return None
    persons = whose.indices.astype(np.int64)
    found = Holders.of(places, persons, counts, len(whose.values))
    return found if homes is None else found.living(persons, homes.indices.astype(np.int64))


def _population(
    population: Table | None, schema: Schema, names: tuple[str, ...]
) -> tuple[list[TupleColumn], Counts | None, TupleColumn | None]:
    """Count the distinct quasi-identifiers of the population, read as the table's schema says, and whose they are.

    Nobody is named where every record is of a person of its own.
    """
    if population is None:
        return [], None, None
    absent = [name for name in names if name not in population.columns]
    if absent:
        raise DataError(f"the population {population.source.name} has no column {quoted(absent)}.")
    wanted = names
    if schema.person is not None and schema.person in population.columns:
        wanted = (*names, schema.person)
    read = Schema(attributes=tuple(schema[name] for name in wanted), folder=schema.folder)
    table = population.select(*wanted).with_schema(read)
    if wanted == names or not people(table).repeat:
        return *distinct_tuples(table, names), None
    columns, counts = distinct_tuples(table, wanted)
    return columns[:-1], counts, columns[-1]


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
        residents = Holders.of(places[owner[ours:][whose.tuples]], whose.persons, whose.counts, whose.number)
    return replace(
        frequencies,
        codes=np.asfortranarray(every[kept]),
        counts=np.concatenate([frequencies.counts, np.zeros(added, dtype=np.int64)]),
        sensitive_codes=np.asfortranarray(sensitive),
        population=population[kept],
        residents=residents,
    )
