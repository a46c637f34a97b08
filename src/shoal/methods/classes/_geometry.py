"""Records as points: numbers on a common scale, categories placed by their semantic distance.

Points only decide which records are grouped. No promise rests on them, so approximations are free of risk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.methods.classes._distance import Scaling, Space
from shoal.methods.classes._records import Records

__all__ = ["embedding", "points"]

Points = NDArray[np.float64]

DIMENSIONS = 6
"""Coordinates kept for one categorical attribute: those in which the records differ most."""
SHARE = 0.04
"""A coordinate is kept if it has this part of the variance; an attribute of very many values that have nothing in
common has none, and nothing would be gained by grouping along it."""
VALUES = 400
"""Values placed on their own; rarer ones lie at the mean of all. Placing v values costs O(v^3)."""


def points(records: Records, scaling: Scaling = "z-score") -> Points:
    """Return one point per record; squared distances are close to those of `Space`, attribute by attribute.

    Examples
    --------
    >>> from shoal.methods.classes import Taxonomy
    >>> people = Records(codes=[[0], [1], [1]], taxonomies=[Taxonomy.flat(2)])
    >>> float(np.square(points(people)[0] - points(people)[1]).sum().round(6))
    1.0
    """
    space = Space.of(records, scaling)
    columns = [space.numeric]
    for codes, table in zip(space.codes.T, space.tables, strict=True):
        present, places, weights = np.unique(codes, return_inverse=True, return_counts=True)
        columns.append(embedding(table[np.ix_(present, present)], weights)[places])
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def embedding(
    squared: Points, weights: NDArray[np.integer], dimensions: int = DIMENSIONS, share: float = SHARE
) -> Points:
    """Return points whose squared distances are nearly ``squared``, best where the weights are great.

    Classical scaling (Torgerson 1952), weighted: with D the squared distances, w the weights as shares, and C = I - 1
    w^T, the matrix -1/2 sqrt(w) C D C^T sqrt(w) has the principal axes of the weighted points. Axes with a negative
    eigenvalue, where the distances are not Euclidean, are left out, and so are those with less than ``share`` of the
    variance.

    Examples
    --------
    >>> embedding(np.array([[0.0, 4.0], [4.0, 0.0]]), np.array([1, 1])).round(6).tolist()
    [[1.0], [-1.0]]
    """
    if len(weights) > VALUES:
        kept = np.sort(np.argsort(-weights, kind="stable")[:VALUES])
        result = np.zeros((len(weights), dimensions))
        inner = embedding(squared[np.ix_(kept, kept)], weights[kept], dimensions, share)
        result[kept, : inner.shape[1]] = inner
        return result
    shares = weights / weights.sum()
    centred = squared - shares @ squared
    centred = centred - (centred @ shares)[:, None]
    roots = np.sqrt(shares)
    values, vectors = np.linalg.eigh(-0.5 * roots[:, None] * centred * roots)
    best = np.argsort(-values, kind="stable")[:dimensions]
    best = best[values[best] > max(share * values[values > 0].sum(), 1e-12 * values.max(initial=0.0))]
    # an eigenvector has no sign of its own: its greatest entry is made positive
    axes = vectors[:, best]
    greatest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[greatest, np.arange(len(best))] < 0, -1.0, 1.0)
    placed: Points = axes * np.sqrt(values[best]) / roots[:, None]
    return placed
