"""Records as numbers for learning: one drawn leaf per value, and the same columns whatever table they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import MissingExtraError
from shoal.risk import Axis, Boxes, Pair
from shoal.utility._spread import draw_leaves, leaf_shares

__all__ = ["Encoder", "fitted", "require_learn", "sample_rows"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

#: values of a categorical column that get a column of their own
_CATEGORIES = 30


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

    axes: tuple[Axis, ...]
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

    def encode(self, codes: Codes, axes: tuple[Axis, ...]) -> Floats:
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


def _location(axis: Axis, shares: Floats) -> tuple[float, float]:
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
