"""Errors between original and masked records, and what masking did to means, variances and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def sse(original: ArrayLike, masked: ArrayLike) -> float:
    """Return the sum of squared errors over all records and attributes, row i masked as row i [SC13, section 6.4.2].

    Depends on the units of the attributes: standardise both by the *original* mean and deviation first, or use
    `information_loss`, where attributes are to count alike. O(nm).

    >>> sse([[1, 2], [3, 4]], [[2, 2], [3, 2]])
    5.0
    """
    before, after = _paired(original, masked)
    return float(np.square(before - after).sum())


def sae(original: ArrayLike, masked: ArrayLike) -> float:
    """Return the sum of absolute errors over all records and attributes [SCDF17, section 4.4]. O(nm).

    >>> sae([[1, 2], [3, 4]], [[2, 2], [3, 2]])
    3.0
    """
    before, after = _paired(original, masked)
    return float(np.abs(before - after).sum())


def sst(original: ArrayLike) -> float:
    """Return the total sum of squares: the SSE of replacing every record by the mean record."""
    before, _ = _paired(original, original)
    return float(np.square(before - before.mean(axis=0)).sum()) if len(before) else 0.0


def information_loss(original: ArrayLike, masked: ArrayLike, *, standardized: bool = True) -> float:
    """Return SSE/SST, in [0, 1] for means of clusters; the published figures are 100 times this.

    Parameters
    ----------
    original, masked
        Matrices of numbers, row i of ``masked`` in place of row i of ``original``.
    standardized
        Whether each attribute is divided by its standard deviation in ``original`` first, as the published figures
        are. Constant attributes then count by their errors alone.

    Examples
    --------
    >>> information_loss([[0.0], [2.0], [10.0], [12.0]], [[1.0], [1.0], [11.0], [11.0]])
    0.038461538461538464
    """
    before, after = _paired(original, masked)
    if standardized and len(before):
        deviation = before.std(axis=0)
        scale = np.where(deviation > 0.0, deviation, 1.0)
        before, after = before / scale, after / scale
    total, error = sst(before), sse(before, after)
    if total == 0.0:
        return 0.0 if error == 0.0 else float("inf")
    return error / total


def semantic_sse(original: ArrayLike, masked: ArrayLike, distances: Sequence[Matrix]) -> float:
    """Return the sum of squared distances of codes of concepts, for categorical attributes [SC13, section 6.4.2].

    Parameters
    ----------
    original, masked
        Matrices of codes, one column per attribute.
    distances
        For each attribute the distances of all pairs of concepts.
    """
    before, after = np.asarray(original, np.int64), np.asarray(masked, np.int64)
    columns = zip(before.T, after.T, distances, strict=True)
    return float(sum(np.square(table[left, right]).sum() for left, right, table in columns))


def change_of_means(original: ArrayLike, masked: ArrayLike) -> Matrix:
    """Return |m' - m| / |m| for each attribute [SC13, section 6.4.4]; infinite where m is 0 and m' is not.

    >>> change_of_means([[1.0], [3.0]], [[2.0], [3.0]]).tolist()
    [0.25]
    """
    before, after = _paired(original, masked)
    return _relative(before.mean(axis=0), after.mean(axis=0))


def change_of_variances(original: ArrayLike, masked: ArrayLike) -> Matrix:
    """Return |v' - v| / |v| for the variance of each attribute [SC13, section 6.4.4]; infinite where only v is 0.

    >>> change_of_variances([[1.0], [3.0]], [[2.0], [2.0]]).tolist()
    [1.0]
    """
    before, after = _paired(original, masked)
    return _relative(before.var(axis=0), after.var(axis=0))


@dataclass(frozen=True, slots=True)
class CorrelationChange:
    """The absolute changes of the correlations of pairs of attributes: their mean, deviation and maximum."""

    mean: float
    deviation: float
    maximum: float


def change_of_correlations(
    original: ArrayLike, masked: ArrayLike, *, to: tuple[int, ...] | None = None
) -> CorrelationChange:
    """Return how far correlations moved, over distinct pairs of attributes [SC13, section 3.4.1].

    Parameters
    ----------
    original, masked
        Matrices of numbers; their rows need not correspond.
    to
        Count only pairs with at least one of these attributes: in [SC13] the confidential ones.

    Examples
    --------
    >>> round(change_of_correlations([[1, 1], [2, 2], [3, 3]], [[1, 3], [2, 2], [3, 1]]).mean, 6)
    2.0
    """
    before, after = np.asarray(original, np.float64), np.asarray(masked, np.float64)
    first, second = np.triu_indices(before.shape[1], k=1)
    if to is not None:
        counted = np.isin(first, to) | np.isin(second, to)
        first, second = first[counted], second[counted]
    changes = np.abs(correlations(after) - correlations(before))[first, second]
    if len(changes) == 0:
        return CorrelationChange(0.0, 0.0, 0.0)
    return CorrelationChange(float(changes.mean()), float(changes.std()), float(changes.max()))


def correlations(values: ArrayLike) -> Matrix:
    """Return the correlation matrix; an attribute that is constant has correlation 0 with every other."""
    data = np.asarray(values, np.float64)
    centred = data - data.mean(axis=0)
    deviation = np.sqrt(np.square(centred).sum(axis=0))
    scaled = centred / np.where(deviation > 0.0, deviation, 1.0)
    result: Matrix = np.clip(scaled.T @ scaled, -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def _relative(before: Matrix, after: Matrix) -> Matrix:
    difference = np.abs(after - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Matrix = np.where(difference == 0.0, 0.0, difference / np.abs(before))
    return result


def _paired(original: ArrayLike, masked: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return two matrices of the same shape; a single column may be given flat."""
    before, after = np.asarray(original, np.float64), np.asarray(masked, np.float64)
    assert before.shape == after.shape
    return (before[:, None], after[:, None]) if before.ndim == 1 else (before, after)
