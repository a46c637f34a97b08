"""One attribute at a time: individual ranking, and the partition that loses least."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError
from shoal.kernels.orders import optimal_runs
from shoal.methods.classes._partition import Partition, require_size

__all__ = ["individual_ranking", "optimal_univariate"]


def individual_ranking(values: ArrayLike, k: int) -> Partition:
    """Partition one numeric attribute by rank, as MDAV does in one dimension.

    Runs of k values come off both ends of the sorted values, until fewer than 3k remain; of 2k to 3k - 1 one more
    run comes off the end that is farther from the mean of the remaining; the rest is the last cluster
    [SC13, section 3.3.3; SCDF17, IR_MDAV]. Equal values are taken in the order of their rows from the left end.

    Parameters
    ----------
    values
        The values of one attribute.
    k
        The least cluster size, in [1, number of records].

    Guarantee
    ---------
    Every cluster holds k to 2k - 1 records, consecutive in rank.

    Notes
    -----
    O(n log n). No scaling is needed: one attribute has one scale.

    Examples
    --------
    >>> individual_ranking([10.0, 1.0, 2.0, 11.0, 3.0, 12.0, 6.0], 3).labels.tolist()
    [1, 0, 0, 1, 0, 1, 0]
    """
    column = _column(values)
    n, size = len(column), require_size(k, len(column), "individual_ranking")
    order = np.argsort(column, kind="stable")
    # Only the last cut looks at the values: all others follow from n and k.
    pairs = max(0, (n - size) // (2 * size))
    left, right = pairs * size, n - pairs * size
    if right - left >= 2 * size:
        middle = column[order[left:right]]
        from_left = middle.mean() - middle[0] >= middle[-1] - middle.mean()
        left, right = (left + size, right) if from_left else (left, right - size)
    cuts = np.concatenate([np.arange(0, left + 1, size), np.arange(right, n + 1, size)])
    labels = np.empty(n, np.int32)
    labels[order] = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
    return Partition(labels).require(size, 2 * size - 1)


def optimal_univariate(values: ArrayLike, k: int) -> Partition:
    """Partition one numeric attribute with the least sum of squared errors that clusters of at least k allow.

    An optimal partition consists of runs of k to 2k - 1 consecutive values; dynamic programming finds one in O(nk)
    after sorting [Hansen & Mukherjee 2003]. Clusters are numbered by rank.

    Parameters
    ----------
    values
        The values of one attribute.
    k
        The least cluster size, in [1, number of records].

    Guarantee
    ---------
    Every cluster holds k to 2k - 1 records, and no partition into clusters of at least k has a smaller sum of
    squared errors, up to the rounding of floating-point sums.

    Examples
    --------
    >>> optimal_univariate([1.0, 2.0, 10.0, 11.0, 12.0, 3.0, 2.0], 3).labels.tolist()
    [0, 0, 1, 1, 1, 0, 0]
    """
    column = _column(values)
    size = require_size(k, len(column), "optimal_univariate")
    order = np.argsort(column, kind="stable")
    labels = np.empty(len(column), np.int32)
    labels[order] = optimal_runs(column[order], size)
    return Partition(labels).require(size, 2 * size - 1)


def _column(values: ArrayLike) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"One attribute is one column of numbers; got shape {column.shape}.")
    if not np.isfinite(column).all():
        raise DataError(f"{int((~np.isfinite(column)).sum())} values are not finite numbers.")
    return column
