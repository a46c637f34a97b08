"""Generalised values spread over their leaves: how every figure of this package reads a release.

A released value that covers several leaves of its column (see :class:`shoal.risk.Pair`) is read as any of them with the
same chance: ``[20, 25)`` is one fifth each of the ages 20 to 24, ``*`` is every value of the domain alike. Columns of
one record are read independently of each other. The leaves are the values of the column's hierarchy: the declared ones
where the schema declares them, else those that the original table holds. This is what an analyst does who has nothing
but the release: the maximum of entropy given the released value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import MissingExtraError
from shoal.kernels import Codes, Floats
from shoal.risk import Boxes, ColumnAxis, Pair

#: values of a categorical column that get a column of their own
_CATEGORIES = 30


def leaf_shares(boxes: Boxes, column: int, axis: ColumnAxis) -> Floats:
    """Return the share of the records at every label of a column, after spreading; the sum is 1, or 0 without records.

    Cost: O(boxes + labels).
    """
    low, high = boxes.low[:, column], boxes.high[:, column]
    each = boxes.counts / (high - low + 1)
    change = np.bincount(low, weights=each, minlength=len(axis.labels) + 1)
    change -= np.bincount(high + 1, weights=each, minlength=len(axis.labels) + 1)
    total = boxes.records
    shares = np.maximum(np.cumsum(change[:-1]), 0.0)
    return np.asarray(shares / total) if total else shares


def overlaps(boxes: Boxes, column: int, first: int, last: int) -> Floats:
    """Return the chance that each box lies between two leaves of a column, both included."""
    low, high = boxes.low[:, column], boxes.high[:, column]
    inside = np.minimum(high, last) - np.maximum(low, first) + 1
    return np.asarray(np.maximum(inside, 0) / (high - low + 1))


class BoxMoments:
    """The mean place of every box in a column, and the mean of its square; not a number where it is missing."""

    __slots__ = ("first", "second")

    def __init__(self, first: Floats, second: Floats) -> None:
        self.first, self.second = first, second


def moments(boxes: Boxes, column: int, axis: ColumnAxis) -> BoxMoments | None:
    """Return the moments of an ordered column over the leaves that each box covers; None for other columns."""
    if axis.places is None:
        return None
    known = np.isfinite(axis.places)
    places = np.where(known, axis.places, 0.0)
    running = [np.concatenate([[0.0], np.cumsum(each)]) for each in (known.astype(np.float64), places, places**2)]
    low, end = boxes.low[:, column], boxes.high[:, column] + 1
    number, first, second = (total[end] - total[low] for total in running)
    # differences of running sums are inexact; single leaves, the common case, are not
    single = end - low == 1
    first[single], second[single] = places[low[single]], places[low[single]] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return BoxMoments(np.where(number > 0, first / number, np.nan), np.where(number > 0, second / number, np.nan))


def draw_leaves(boxes: Boxes, rows: npt.NDArray[np.int64], generator: np.random.Generator) -> Codes:
    """Return one leaf per column for each of the rows, drawn evenly from those that its box covers."""
    low, high = boxes.low[rows], boxes.high[rows]
    return np.asarray(low + (generator.random(low.shape) * (high - low + 1)).astype(np.int32), dtype=np.int32)


def require_learn() -> None:
    """Raise if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError("scikit-learn", extra="learn") from None


def fitted(learner: Any, features: Floats, target: Floats) -> Any:
    """Train a model on one processor: on tables of this size threads cost more than they save."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1):
        return learner.fit(features, target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """Turns leaves into numbers: ordered columns as their place, others as one indicator per common value.

    Missing values of ordered columns become the median of the original, with an indicator. What is common, the median
    and the scale come from the original, so that tables are encoded alike.
    """

    axes: tuple[ColumnAxis, ...]
    common: tuple[npt.NDArray[np.int64], ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    @classmethod
    def of(cls, pair: Pair, columns: tuple[int, ...]) -> Encoder:
        """Prepare the columns of a pair."""
        common, centres, scales = [], [], []
        for column in columns:
            axis, shares = pair.axes[column], leaf_shares(pair.original, column, pair.axes[column])
            common.append(np.sort(np.argsort(-shares, kind="stable")[: min(_CATEGORIES, axis.leaves)]))
            centre, scale = _location(axis, shares)
            centres.append(centre)
            scales.append(scale)
        return cls(
            axes=tuple(pair.axes[column] for column in columns),
            common=tuple(common),
            centres=tuple(centres),
            scales=tuple(scales),
        )

    def encode(self, codes: Codes, axes: tuple[ColumnAxis, ...]) -> Floats:
        """Return the matrix of features of leaves of ``axes``: those of the pair, with other foreign values."""
        parts: list[Floats] = []
        for column, axis in enumerate(axes):
            if axis.places is None:
                parts.append((codes[:, column, None] == self.common[column]).astype(np.float64))
                continue
            places = axis.places[codes[:, column]]
            missing = ~np.isfinite(places)
            scaled = (np.where(missing, self.centres[column], places) - self.centres[column]) / self.scales[column]
            parts += [scaled[:, None], missing[:, None].astype(np.float64)]
        return np.concatenate(parts, axis=1)


def _location(axis: ColumnAxis, shares: Floats) -> tuple[float, float]:
    if axis.places is None:
        return 0.0, 1.0
    known = np.flatnonzero(np.isfinite(axis.places) & (shares > 0))
    if not len(known):
        return 0.0, 1.0
    known = known[np.argsort(axis.places[known], kind="stable")]
    reached = np.cumsum(shares[known])
    places = axis.places[known]
    median = float(places[np.searchsorted(reached, reached[-1] / 2)])
    spread = float(np.sqrt((shares[known] * (places - median) ** 2).sum() / reached[-1]))
    return median, spread or 1.0


def sample_rows(boxes: Boxes, limit: int, generator: np.random.Generator) -> Codes:
    """Draw at most ``limit`` records, and one leaf for each of their values."""
    records = boxes.records
    chosen = np.arange(records) if records <= limit else np.sort(generator.choice(records, size=limit, replace=False))
    return draw_leaves(boxes, np.searchsorted(np.cumsum(boxes.counts), chosen, side="right"), generator)
