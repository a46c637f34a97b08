"""Whom an intruder takes a target for: the released records that fit what is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.risk._axes import Axis
from shoal.risk._boxes import Boxes, Codes, Counts, Rows, pairs, totals_at
from shoal.risk._pair import Pair

__all__ = ["affordable", "candidates", "fitting"]

Floats = npt.NDArray[np.float64]

#: distances held at a time, and the relative difference up to which two are the same
_CELLS, _TIE = 1 << 22, 1e-9
#: distances per set of columns that are worth computing
_MANY = 20_000_000


def candidates(pair: Pair, targets: Codes) -> Counts:
    """Return the number of released records that each target may be; 0 where none fits.

    ``pair`` has only the columns that the intruder knows. Where a column was perturbed nothing fits exactly, and the
    nearest records are taken instead.
    """
    if not _perturbed(pair):
        return totals_at(pair.released, targets)
    result = np.zeros(len(targets), dtype=np.int64)
    rows, boxes = _nearest(pair, targets)
    np.add.at(result, rows, pair.released.counts[boxes])
    return result


def affordable(pair: Pair, targets: int) -> int:
    """Return how many targets can be looked for many times over."""
    return min(targets, max(50, _MANY // max(len(pair.released), 1))) if _perturbed(pair) else targets


def fitting(pair: Pair, targets: Codes) -> tuple[Rows, Rows]:
    """Return all pairs of a target and a released box that it may be: rows of both."""
    return _nearest(pair, targets) if _perturbed(pair) else pairs(pair.released, targets)


def _perturbed(pair: Pair) -> bool:
    return any(axis.perturbed for axis in pair.axes)


def _nearest(pair: Pair, targets: Codes) -> tuple[Rows, Rows]:
    """Return the boxes nearest to each target.

    The distance is Euclidean over the columns: in an ordered column the gap to the box over the width of the column, in
    another one 0 if the box holds the value and 1 if not. Cost: O(targets * boxes * columns).
    """
    boxes = pair.released
    rows, found = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    if not len(boxes):
        return rows[0], found[0]
    step = max(1, _CELLS // len(boxes))
    for first in range(0, len(targets), step):
        block = np.zeros((len(targets[first : first + step]), len(boxes)))
        for column, axis in enumerate(pair.axes):
            block += _gaps(axis, boxes, column, targets[first : first + step, column]) ** 2
        least = block.min(axis=1, keepdims=True)
        near = np.nonzero(block <= least * (1 + _TIE) + _TIE**2)
        rows.append(near[0] + first)
        found.append(near[1])
    return np.concatenate(rows), np.concatenate(found)


def _gaps(axis: Axis, boxes: Boxes, column: int, values: Codes) -> Floats:
    low, high = boxes.low[:, column], boxes.high[:, column]
    outside = ~((low <= values[:, None]) & (values[:, None] <= high))
    if axis.places is None:
        return outside.astype(np.float64)
    width = np.nanmax(axis.places) - np.nanmin(axis.places) if np.isfinite(axis.places).any() else 0.0
    start, end = np.fmin(axis.places[low], axis.places[high]), np.fmax(axis.places[low], axis.places[high])
    place = axis.places[values][:, None]
    gap = np.maximum(np.maximum(start - place, place - end), 0.0) / (width or 1.0)
    # a missing value is as far as can be from any other
    return np.where(outside, np.nan_to_num(gap, nan=1.0), 0.0)
