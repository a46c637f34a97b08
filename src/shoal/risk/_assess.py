"""The risk of a table as it is: who stands out, and which columns make them stand out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal import tables
from shoal.errors import SchemaError
from shoal.models import Classes
from shoal.risk._reidentification import Reidentification, reidentification
from shoal.schema import Attribute, Flat, Kind, Schema
from shoal.tables import Frequencies, Table

__all__ = ["Assessment", "Separation", "assess", "separations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How well one quasi-identifier tells records apart.

    Parameters
    ----------
    column
        Its name.
    distinct
        Its number of distinct values (a missing value counts as one).
    distinction
        Distinct values over records, in (0, 1].
    separation
        The share of pairs of records that differ in it, in [0, 1].
    unique_without
        The records that would still be unique if the column were removed.
    """

    column: str
    distinct: int
    distinction: float
    separation: float
    unique_without: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The re-identification risk of a table and what drives it, the most separating column first."""

    reidentification: Reidentification
    columns: tuple[Separation, ...]


def assess(table: Table, *, population: Table | None = None) -> Assessment:
    """Measure the risk of ``table`` as it is.

    Parameters
    ----------
    table
        A table with a schema that names at least one quasi-identifier.
    population
        The table of the population that the records were drawn from, for the journalist's risk.
    """
    frequencies = _frequencies(table, population)
    return Assessment(
        reidentification=reidentification(Classes.grouped(frequencies)),
        columns=separations(frequencies),
    )


def separations(frequencies: Frequencies) -> tuple[Separation, ...]:
    """Return how well each quasi-identifier separates records, best first."""
    records = frequencies.records
    found = []
    for column, name in enumerate(frequencies.attributes):
        counts = np.bincount(frequencies.codes[:, column], weights=frequencies.counts)
        counts = counts[counts > 0]
        alike = float((counts * (counts - 1)).sum())
        others = replace(frequencies, codes=np.delete(frequencies.codes, column, axis=1))
        found.append(
            Separation(
                column=name,
                distinct=len(counts),
                distinction=len(counts) / records if records else 0.0,
                separation=1 - alike / (records * (records - 1)) if records > 1 else 0.0,
                unique_without=int(np.count_nonzero(Classes.grouped(others).sizes == 1)),
            )
        )
    return tuple(sorted(found, key=lambda each: (-each.separation, each.column)))


def _frequencies(table: Table, population: Table | None) -> Frequencies:
    schema = table.schema
    if schema is None or not schema.quasi_identifiers:
        raise SchemaError(
            "the schema names no quasi-identifier",
            hint='give at least one column `role = "quasi-identifier"`, or let `shoal draft` propose roles',
        )
    flat = flattened(schema)
    return tables.encode(
        table.with_schema(flat), sensitive=(), population=population.with_schema(flat) if population else None
    ).frequencies


def flattened(schema: Schema) -> Schema:
    """Return the schema with every quasi-identifier as it is: no hierarchy but ``value -> *``."""
    return replace(schema, attributes=tuple(_flat(attribute) for attribute in schema))


def _flat(attribute: Attribute) -> Attribute:
    if attribute.kind is Kind.ORDINAL:
        return replace(attribute, kind=Kind.CATEGORICAL, domain=None, hierarchy=Flat())
    return replace(attribute, domain=None, hierarchy=Flat())
