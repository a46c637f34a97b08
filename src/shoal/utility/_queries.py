"""Random range-count queries: how wrong is "how many people are between ... and ..." on the release?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.risk import Boxes, Pair
from shoal.utility._spread import overlaps

__all__ = ["QueryError", "query_error"]

Floats = npt.NDArray[np.float64]

#: counts below this share of the records are compared with it instead of themselves
_SANITY = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryError:
    """How wrong random counts are on a release.

    Parameters
    ----------
    queries
        How many were asked.
    median, mean, ninth
        The median, the mean and the 90 % quantile of the error |estimate - count| / max(estimate, count, 0.1 % of the
        records), in [0, 1]: 0.5 is half or twice the count.
    """

    queries: int
    median: float
    mean: float
    ninth: float


def query_error(
    pair: Pair, *, number: int = 1000, columns: int = 3, selectivity: float = 0.1, subsets: int = 20, seed: int = 0
) -> QueryError:
    """Ask random counts of a table and of its release.

    A query asks for the records within a range of leaves in each of 1 to ``columns`` random columns: ages 30 to 44,
    admitted in spring, from neighbouring towns. On the release every record counts with the chance that it lies in all
    ranges, generalised values spread over their leaves, and the sum is scaled to the size of the table, which is public
    for most releases. The workload of LeFevre et al. (2006) and Xiao and Tao (2006).

    Parameters
    ----------
    number
        The number of queries.
    columns
        The largest number of columns in a query.
    selectivity
        The share of the domain that a query covers, in (0, 1): each of its c ranges covers the c-th root.
    subsets
        The number of random sets of columns that the queries are spread over.
    seed
        Of the draws.

    Notes
    -----
    Cost: O(number * boxes).
    """
    if number < 1 or columns < 1 or subsets < 1 or not 0 < selectivity < 1:
        raise ParameterError(
            "`number`, `columns` and `subsets` of `query_error` must be at least 1, and `selectivity` in (0, 1)."
        )
    generator = np.random.default_rng(seed)
    errors: list[Floats] = []
    asked = 0
    for left in range(min(subsets, number), 0, -1):
        size = int(generator.integers(1, min(columns, len(pair.axes)) + 1))
        chosen = sorted(generator.choice(len(pair.axes), size=size, replace=False).tolist())
        batch = -(-(number - asked) // left)
        errors.append(_errors(pair.only(chosen), batch, selectivity ** (1 / size), generator))
        asked += batch
    every = np.concatenate(errors)
    return QueryError(
        queries=len(every),
        median=float(np.median(every)),
        mean=float(every.mean()),
        ninth=float(np.quantile(every, 0.9)),
    )


def _errors(pair: Pair, number: int, share: float, generator: np.random.Generator) -> Floats:
    sizes = np.array([axis.leaves for axis in pair.axes])
    widths = np.maximum(1, np.rint(sizes * share).astype(np.int64))
    first = (generator.random((number, len(sizes))) * (sizes - widths + 1)).astype(np.int64)
    last = first + widths - 1
    before, after = (_counts(boxes, first, last) for boxes in (pair.original, pair.released))
    records = pair.original.records
    scale = records / pair.released.records if len(pair.released) else 0.0
    estimate = after * scale
    return np.asarray(np.abs(estimate - before) / np.maximum(np.maximum(estimate, before), _SANITY * records))


def _counts(boxes: Boxes, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> Floats:
    """Return the expected number of records in every query."""
    ranges = [boxes.grouped([column]) for column in range(boxes.low.shape[1])]
    result = np.empty(len(first))
    for query in range(len(first)):
        weights = boxes.counts.astype(np.float64)
        for column, (distinct, of) in enumerate(ranges):
            # there are far fewer distinct ranges than boxes
            weights *= overlaps(distinct, 0, int(first[query, column]), int(last[query, column]))[of]
        result[query] = weights.sum()
    return result
