"""Errors of random range-count queries ("how many people are between ... and ...") on a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Floats
from shoal.risk import Boxes, Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryError:
    """The errors of random counts on a release."""

    #: How many were asked.
    queries: int
    #: The median, the mean and the 90 % quantile of the error |estimate - count| / max(estimate, count, 0.1 % of the
    #: records), in [0, 1]: 0.5 is half or twice the count.
    median: float
    mean: float
    ninth: float


#: counts below this share of the records are compared with it instead of themselves
_SANITY = 0.001


def query_error(
    pair: Pair, *, number: int = 500, columns: int = 3, selectivity: float = 0.1, seed: int = 0
) -> QueryError:
    """Ask random counts of a table and of its release.

    A query asks for the records within a range of leaves in each of 1 to ``columns`` random columns: ages 30 to 44,
    admitted in spring, from neighbouring towns. On the release every record counts with the chance that it lies in all
    ranges, generalised values spread over their leaves, and the sum is scaled to the size of the table, which is public
    for most releases. A query covers ``selectivity`` of the domain, in (0, 1): each of its c ranges covers the c-th
    root. The workload of LeFevre et al. (2006) and Xiao and Tao (2006). Cost: O(number * boxes).
    """
    if number < 1 or columns < 1 or not 0 < selectivity < 1:
        raise ParameterError("`number` and `columns` of `query_error` must be at least 1, and `selectivity` in (0, 1).")
    generator = np.random.default_rng(seed)
    before, after = _Counter(pair.original), _Counter(pair.released)
    records = pair.original.records
    scale = records / pair.released.records if len(pair.released) else 0.0
    errors = np.empty(number)
    for query in range(number):
        size = int(generator.integers(1, min(columns, len(pair.axes)) + 1))
        chosen = generator.choice(len(pair.axes), size=size, replace=False).tolist()
        ranges = [_range(pair.axes[column].leaves, selectivity ** (1 / size), generator) for column in chosen]
        count, estimate = before.count(chosen, ranges), after.count(chosen, ranges) * scale
        errors[query] = abs(estimate - count) / max(estimate, count, _SANITY * records)
    return QueryError(
        queries=number,
        median=float(np.median(errors)),
        mean=float(errors.mean()),
        ninth=float(np.quantile(errors, 0.9)),
    )


def _range(leaves: int, share: float, generator: np.random.Generator) -> tuple[int, int]:
    width = max(1, round(leaves * share))
    first = int(generator.integers(leaves - width + 1))
    return first, first + width - 1


class _Counter:
    """Counts the records of one table in ranges of some columns.

    There are far fewer distinct ranges than boxes, so every query looks the distinct ones up. Types are small, since
    this reads memory and does little else; sums are taken in double precision.
    """

    def __init__(self, boxes: Boxes) -> None:
        self._counts = boxes.counts.astype(np.float32)
        self._columns = []
        for column in range(boxes.low.shape[1]):
            distinct, of = boxes.group_by_columns([column])
            self._columns.append((distinct, of.astype(np.int32)))

    def count(self, columns: list[int], ranges: list[tuple[int, int]]) -> float:
        """Return the expected number of records."""
        weights = self._counts
        for column, (first, last) in zip(columns, ranges, strict=True):
            distinct, of = self._columns[column]
            weights = weights * overlaps(distinct, 0, first, last).astype(np.float32)[of]
        return float(weights.sum(dtype=np.float64))


def overlaps(boxes: Boxes, column: int, first: int, last: int) -> Floats:
    """Return the chance that each box lies between two leaves of a column, both included."""
    low, high = boxes.low[:, column], boxes.high[:, column]
    inside = np.minimum(high, last) - np.maximum(low, first) + 1
    return np.asarray(np.maximum(inside, 0) / (high - low + 1))
