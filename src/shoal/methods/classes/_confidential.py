"""Classes of similar confidential values: a partition by the confidential attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import DataError, ParameterError
from shoal.methods.classes._partition import Partition

__all__ = ["partition_by_confidential"]


def partition_by_confidential(values: ArrayLike, k: int) -> Partition:
    """Partition records by rank of one confidential attribute: the k lowest, the k highest, and so on inwards.

    [SC13 Alg. 7.1]: while at least 3k records remain, the first k and the last k become classes; of 2k to 3k - 1 that
    remain the first k do; the rest is the last class. Equal values are taken in the order of their rows.

    Parameters
    ----------
    values
        The confidential attribute as numbers (codes of an ordinal attribute will do).
    k
        The least class size, in [1, number of records]. Values of a class are near each other, so k has to be much
        larger than for a partition by quasi-identifiers: a tenth of all records, say [SC13 7.1.3].

    Guarantee
    ---------
    Every class holds k to 2k - 1 records, consecutive in rank. An intruder who knows the class of a person learns the
    confidential value to within the range of the class.

    Notes
    -----
    O(N log N). Meant for release forms that leave the quasi-identifiers alone: those of a class have nothing in common.

    Examples
    --------
    >>> partition_by_confidential([50.0, 10, 30, 20, 40, 70, 60], 2).labels.tolist()
    [2, 0, 2, 0, 2, 1, 1]
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"one attribute is one column of numbers; got shape {column.shape}.")
    if not np.isfinite(column).all():
        raise DataError(f"{int((~np.isfinite(column)).sum())} values are not finite numbers.")
    n = len(column)
    if not 1 <= k <= n:
        raise ParameterError(f"`k` of `partition_by_confidential` must be in [1, {n}]; got {k}.")
    ends = (n - k) // (2 * k)  # classes taken from each end while 3k or more remain
    rest = n - 2 * k * ends
    # classes in the order of Algorithm 7.1, by their place in the ranking
    sizes = [k] * ends + ([k] if rest >= 2 * k else []) + [rest - k if rest >= 2 * k else rest] + [k] * ends
    names = [*range(0, 2 * ends, 2), *range(2 * ends, len(sizes)), *range(2 * ends - 1, 0, -2)]
    labels = np.empty(n, dtype=np.int32)
    labels[np.argsort(column, kind="stable")] = np.repeat(np.array(names, dtype=np.int32), sizes)
    return Partition(labels).require(k, 2 * k - 1)
