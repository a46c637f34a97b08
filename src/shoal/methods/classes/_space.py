"""Records as points, and how far apart they are: numbers on a common scale, concepts by their semantic distance.

Points only decide which records are grouped. No promise rests on them, so approximations are free of risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError
from shoal.hierarchies import Concepts
from shoal.kernels import Floats

DIMENSIONS = 6
"""Coordinates kept for one categorical attribute: those in which the records differ most."""
SHARE = 0.04
"""A coordinate is kept if it has this part of the variance; an attribute of very many values that have nothing in
common has none, and nothing would be gained by grouping along it."""
VALUES = 400
"""Values placed on their own; rarer ones lie at the mean of all. Placing v values costs O(v^3)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """Records made ready for distances.

    The squared distance of two records is the sum over the attributes of the squares of [SC13 (6.7)]

        dist(a_1, a_2) / dist(a_b, a_t),

    a_b and a_t the boundaries of the attribute's domain: for concepts the semantic distance (6.6) over the distance of
    the most marginal value and the value farthest from it; numbers are given on a scale of their own already.
    """

    #: The scaled numbers.
    numeric: Floats
    #: The codes of the concepts.
    codes: NDArray[np.int32]
    #: The taxonomy of each categorical attribute.
    concepts: tuple[Concepts, ...]
    #: For each categorical attribute the scaled squared distances of all pairs of concepts.
    tables: tuple[Floats, ...]

    @classmethod
    def of(
        cls, numeric: Floats, codes: NDArray[np.int32], concepts: Sequence[Concepts], weights: Sequence[float] = ()
    ) -> Space:
        """Return the space of scaled numbers and of concepts, whose squared distances count ``weights`` times."""
        times = weights or (1.0,) * len(concepts)
        tables = (np.square(each.distances / each.width) * weight for each, weight in zip(concepts, times, strict=True))
        return cls(numeric=numeric, codes=codes, concepts=tuple(concepts), tables=tuple(tables))

    def __len__(self) -> int:
        return len(self.numeric)

    def distances(self, numeric: Floats, codes: NDArray[np.int32], rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the squared distances from one record, given by its scaled numbers and codes, to rows of the space.

        The terms are added attribute by attribute, numbers first: O(rows * attributes).
        """
        mine, own = (self.numeric, self.codes) if rows is None else (self.numeric[rows], self.codes[rows])
        total = np.zeros(len(mine))
        for column, value in zip(mine.T, numeric, strict=True):
            total += np.square(column - value)
        for column, code, table in zip(own.T, codes, self.tables, strict=True):
            total += table[code][column]
        return total


def as_points(values: ArrayLike) -> Floats:
    """Return a matrix (or one column) of finite numbers as points, one row per record."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim not in (1, 2):
        raise DataError(f"records are rows of numbers; got shape {matrix.shape}.")
    points = np.ascontiguousarray(matrix[:, None] if matrix.ndim == 1 else matrix)
    if not np.isfinite(points).all():
        rows = int((~np.isfinite(points)).any(axis=1).sum())
        raise DataError(f"records hold values that are not finite numbers, in {rows} rows.")
    return points


def as_column(values: ArrayLike) -> Floats:
    """Return one column of finite numbers."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"one attribute is one column of numbers; got shape {column.shape}.")
    if not np.isfinite(column).all():
        raise DataError(f"{int((~np.isfinite(column)).sum())} values are not finite numbers.")
    return column


def standardize(values: Floats) -> Floats:
    """Return z-scores: each column with mean 0 and standard deviation 1 (of the population); constants become 0.

    >>> standardize(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    data = np.ascontiguousarray(values, dtype=np.float64)
    if len(data) == 0:
        return data
    # Powers of two change no ratio and keep the squares of very large or small numbers in range.
    largest = np.abs(data).max(axis=0)
    data = np.ldexp(data, -np.frexp(largest)[1])
    centred = data - data.mean(axis=0)
    deviation = np.sqrt(np.square(centred).mean(axis=0))
    constant = data.max(axis=0) == data.min(axis=0)
    result: Floats = np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))
    return result


def embedding(
    squared: Floats, weights: NDArray[np.integer], dimensions: int = DIMENSIONS, share: float = SHARE
) -> Floats:
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
    placed: Floats = axes * np.sqrt(values[best]) / roots[:, None]
    return placed
