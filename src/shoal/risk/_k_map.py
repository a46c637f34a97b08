"""k-map: how many people of a population each released record may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import SchemaError
from shoal.models import Classes
from shoal.risk._boxes import totals_in
from shoal.risk._pair import Pair
from shoal.risk._reidentification import Reidentification, reidentification
from shoal.schema import Schema
from shoal.tables import Table

__all__ = ["PopulationMap", "k_map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationMap:
    """A release against the population that its people come from.

    Parameters
    ----------
    k
        Every released record that fits anybody fits at least k people of the population; 0 for an empty release.
    people
        The number of people in the population.
    unmatched
        Released records that fit nobody of the population: it is not complete, or the values were perturbed.
    reidentification
        The risk, with the journalist's and the marketer's figures against the population.
    """

    k: int
    people: int
    unmatched: int
    reidentification: Reidentification


def k_map(released: Table, population: Table, schema: Schema) -> PopulationMap:
    """Count how many people of ``population`` every released record may be.

    Parameters
    ----------
    released
        A release; its quasi-identifiers may be generalised, locally or not.
    population
        Everybody whom an intruder may think of, with the quasi-identifiers as they are.
    schema
        What the quasi-identifiers mean; other columns are not looked at.

    Notes
    -----
    A class counts the people whose values it covers, so that overlapping classes of a local recoding are counted
    as an intruder would. Cost: O((people + classes) log people) where classes do not overlap.
    """
    names = [name for name in schema.quasi_identifiers if name in released.columns]
    if not names:
        raise SchemaError("the release has no quasi-identifier of the schema")
    wanted = Schema(attributes=tuple(schema[name] for name in names), folder=schema.folder)
    pair = Pair.of(population.select(*names).with_schema(wanted), released, columns=names)
    people = totals_in(pair.released, pair.original.low, pair.original.counts)
    met = people > 0
    return PopulationMap(
        k=int(people[met].min(initial=np.iinfo(np.int64).max)) if met.any() else 0,
        people=pair.original.records,
        unmatched=int(pair.released.counts[~met].sum()),
        reidentification=reidentification(Classes(sizes=pair.released.counts, population=people)),
    )
