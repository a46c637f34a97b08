"""How much masking changed means, variances and correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.quality.sse import paired

__all__ = ["CorrelationChange", "change_of_correlations", "change_of_means", "change_of_variances", "correlations"]

Matrix = NDArray[np.float64]


def change_of_means(original: ArrayLike, masked: ArrayLike) -> Matrix:
    """Return |m' - m| / |m| for each attribute [SC13, section 6.4.4]; infinite where m is 0 and m' is not.

    >>> change_of_means([[1.0], [3.0]], [[2.0], [3.0]]).tolist()
    [0.25]
    """
    before, after = paired(original, masked)
    return _relative(before.mean(axis=0), after.mean(axis=0))


def change_of_variances(original: ArrayLike, masked: ArrayLike) -> Matrix:
    """Return |v' - v| / |v| for the variance of each attribute [SC13, section 6.4.4]; infinite where only v is 0.

    >>> change_of_variances([[1.0], [3.0]], [[2.0], [2.0]]).tolist()
    [1.0]
    """
    before, after = paired(original, masked)
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
