"""All utility figures of one release, as one value for reports."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import MissingExtraError
from shoal.risk import UNIT, Pair
from shoal.tables import Table
from shoal.utility._associations import Associations, associations
from shoal.utility._distributions import Distribution, distributions
from shoal.utility._learning import Propensity, propensity
from shoal.utility._queries import QueryError, query_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """All measures of utility of one release.

    Parameters
    ----------
    records, released
        The records of the table and of the release.
    distributions
        How far the distribution of each column moved.
    associations
        How far the associations of pairs of columns moved.
    queries
        How wrong random counts are.
    propensity
        How well the records can be told from originals; None where scikit-learn is not installed.
    """

    records: int
    released: int
    distributions: tuple[Distribution, ...]
    associations: Associations
    queries: QueryError
    propensity: Propensity | None


def usefulness(original: Table, released: Table, *, weights: str | None = None, seed: int = 0) -> Usefulness:
    """Measure what a release is still good for, against the table that it was made of.

    The figures are computed from the original: they are for the holder of the data, not for publication, unless a
    guarantee covers them.

    Parameters
    ----------
    original
        The table as it was, with its schema.
    released
        What was made of it.
    weights
        The column of ``released`` that says how much each record counts (see :meth:`shoal.risk.Pair.with_release`).
    seed
        Of the draws of queries and of leaves.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = shoal.read(pyarrow.table({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}))
    >>> table = people.with_schema(shoal.draft(people).schema)
    >>> usefulness(table, table).queries.mean
    0.0
    """
    pair = Pair.of(original, released)
    if weights is not None:
        pair = pair.with_release(released, weights=weights)
    return Usefulness(
        records=pair.original.records,
        released=pair.released.records if weights is None else round(pair.released.records / UNIT),
        distributions=distributions(pair),
        associations=associations(pair),
        queries=query_error(pair, seed=seed),
        propensity=_propensity(pair, seed),
    )


def _propensity(pair: Pair, seed: int) -> Propensity | None:
    try:
        return propensity(pair, seed=seed)
    except MissingExtraError:
        return None
