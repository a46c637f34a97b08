"""Risk by combination of columns: what an intruder needs to know to find people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal import tables
from shoal.errors import ParameterError
from shoal.risk._population_uniqueness import individual_risk
from shoal.risk._sample import Sample, sample
from shoal.tables import Table

__all__ = ["CombinationRisk", "combination_risk", "combination_risk_of"]

#: combinations that are counted at most: a table of them must still be read
_MOST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationRisk:
    """What an intruder who knows some columns of everybody can do.

    Parameters
    ----------
    columns
        The columns that are known.
    unique
        The records that are alone with their values of these columns.
    below
        The records in classes of fewer than ``k``.
    k
        The size that ``below`` counts against.
    linked
        The expected number of records that are linked correctly: with the table itself, one of each class; with the
        population where the schema names a sampling weight, the sum of the individual risks.
    """

    columns: tuple[str, ...]
    unique: int
    below: int
    k: int
    linked: float


def combination_risk(table: Table, *, largest: int = 3, k: int = 3) -> tuple[CombinationRisk, ...]:
    """Measure the risk of every combination of at most ``largest`` quasi-identifiers, the most telling first.

    A missing value counts as a value of its own. Cost: O(records log records) per combination.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["Ulm", "Rome", "Rome", "Rome"]})
    >>> columns = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in people.column_names)
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=columns))
    >>> [(each.columns, each.unique) for each in shoal.combination_risk(table, largest=2)]
    [(('sex', 'town'), 2), (('town',), 1), (('sex',), 0)]
    """
    return combination_risk_of(sample(table), largest=largest, k=k)


def combination_risk_of(data: Sample, *, largest: int, k: int) -> tuple[CombinationRisk, ...]:
    """Measure the risk of combinations of keys; see :func:`combination_risk`."""
    keys = len(data.keys)
    if largest < 1 or k < 1:
        raise ParameterError("`largest` and `k` of `combination_risk` must be at least 1.")
    number = sum(math.comb(keys, size) for size in range(1, min(largest, keys) + 1))
    if number > _MOST:
        raise ParameterError(
            f"{keys} columns have {number:,} combinations of at most {largest}; at most {_MOST:,} can be looked at.",
            hint="look at combinations of fewer columns",
        )
    chosen = (each for size in range(1, min(largest, keys) + 1) for each in combinations(range(keys), size))
    found = [_risk(data, each, k) for each in chosen]
    return tuple(sorted(found, key=lambda each: (-each.unique, -each.linked, len(each.columns), each.columns)))


def _risk(data: Sample, chosen: tuple[int, ...], k: int) -> CombinationRisk:
    labels, firsts = tables.group(data.codes[:, list(chosen)] + 1)
    sizes = np.bincount(labels, minlength=len(firsts))
    linked = float(len(sizes))
    if data.weights is not None:
        linked = float(sizes @ individual_risk(sizes, data.people(labels, sizes)))
    return CombinationRisk(
        columns=tuple(data.keys[column] for column in chosen),
        unique=int(np.count_nonzero(sizes == 1)),
        below=int(sizes[sizes < k].sum()),
        k=k,
        linked=linked,
    )
