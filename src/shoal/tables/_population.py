"""The population that records were drawn from, counted at the tuples of the table."""

from __future__ import annotations

import numpy as np

from shoal.errors import DataError
from shoal.schema import Schema
from shoal.tables._classes import Frequencies
from shoal.tables._columns import Codes, Column, Counts, distinct_tuples
from shoal.tables._packing import Packing
from shoal.tables._table import Table

__all__ = ["population_tuples", "with_population"]


def population_tuples(population: Table, schema: Schema, names: tuple[str, ...]) -> tuple[list[Column], Counts]:
    """Count the distinct quasi-identifiers of the population, read as the table's schema says."""
    absent = [name for name in names if name not in population.columns]
    if absent:
        raise DataError(
            f"the population {population.source.name} has no column {', '.join(f'`{name}`' for name in absent)}."
        )
    wanted = Schema(attributes=tuple(schema[name] for name in names), folder=schema.folder)
    return distinct_tuples(population.select(*names).with_schema(wanted), names)


def with_population(frequencies: Frequencies, codes: Codes, counts: Counts) -> Frequencies:
    """Add the population's counts; a tuple that only the population holds gets no records."""
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
    return Frequencies(
        hierarchies=frequencies.hierarchies,
        codes=np.asfortranarray(every[kept]),
        counts=np.concatenate([frequencies.counts, np.zeros(added, dtype=np.int64)]),
        sensitive=frequencies.sensitive,
        sensitive_codes=np.asfortranarray(sensitive),
        population=population[kept],
    )
