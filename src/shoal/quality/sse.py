"""Sums of errors between original and masked records: SSE, SAE, and SSE/SST."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError

__all__ = ["information_loss", "paired", "sae", "semantic_sse", "sse", "sst"]

Matrix = NDArray[np.float64]


def sse(original: ArrayLike, masked: ArrayLike) -> float:
    """Return the sum of squared errors over all records and attributes, row i masked as row i [SC13, section 6.4.2].

    Depends on the units of the attributes: standardise both by the *original* mean and deviation first, or use
    `information_loss`, where attributes are to count alike. O(nm).

    >>> sse([[1, 2], [3, 4]], [[2, 2], [3, 2]])
    5.0
    """
    before, after = paired(original, masked)
    return float(np.square(before - after).sum())


def sae(original: ArrayLike, masked: ArrayLike) -> float:
    """Return the sum of absolute errors over all records and attributes [SCDF17, section 4.4]. O(nm).

    >>> sae([[1, 2], [3, 4]], [[2, 2], [3, 2]])
    3.0
    """
    before, after = paired(original, masked)
    return float(np.abs(before - after).sum())


def sst(original: ArrayLike) -> float:
    """Return the total sum of squares: the SSE of replacing every record by the mean record."""
    before, _ = paired(original, original)
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
    before, after = paired(original, masked)
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
    if before.shape != after.shape or before.ndim != 2 or before.shape[1] != len(distances):
        raise DataError(
            f"Original and masked codes must have the same shape and one table of distances per column; got "
            f"{before.shape}, {after.shape} and {len(distances)} tables."
        )
    columns = zip(before.T, after.T, distances, strict=True)
    return float(sum(np.square(table[left, right]).sum() for left, right, table in columns))


def paired(original: ArrayLike, masked: ArrayLike) -> tuple[Matrix, Matrix]:
    """Return two matrices of finite numbers of the same shape, or raise; a single column may be given flat."""
    before, after = np.asarray(original, np.float64), np.asarray(masked, np.float64)
    if before.ndim == 1 and after.ndim == 1:
        before, after = before[:, None], after[:, None]
    if before.ndim != 2 or before.shape != after.shape:
        raise DataError(f"Original and masked records must have the same shape; got {before.shape} and {after.shape}.")
    unusable = int((~(np.isfinite(before) & np.isfinite(after))).any(axis=1).sum())
    if unusable:
        raise DataError(f"{unusable} records hold values that are not finite numbers.")
    return before, after
