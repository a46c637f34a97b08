"""Classes that are close in the earth mover's distance by construction: one record of every rank group.

Legend: N records sorted by the confidential attribute, v different values, e records per class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.closeness._assignment import assign
from shoal.closeness._quotas import Quotas
from shoal.microaggregation import Partition
from shoal.models import Classes, Histogram
from shoal.tables import SensitiveAttribute

__all__ = ["closeness_first", "rank_bound", "rank_groups", "smallest_class"]

Codes = NDArray[np.integer]
Numbers = NDArray[np.int64]
Points = NDArray[np.float64]
Verdict = Callable[[Classes], bool]


def closeness_first(
    points: Points, attribute: SensitiveAttribute, codes: Codes, *, t: float, k: int, holds: Verdict
) -> Partition:
    """Partition records so that every class has about the distribution of all, before looking at what else it has.

    Where the order counts and there are many values: e groups of consecutive ranks, and one record of each in every
    class (Soria-Comas, Domingo-Ferrer, Sánchez, Martínez, "t-Closeness through Microaggregation", 2015, Alg. 3); which
    one, the nearness of the quasi-identifiers decides. Else every class takes its share of every value, rounded so
    that the differences of neighbouring values cancel.

    Parameters
    ----------
    points
        The quasi-identifiers as points.
    attribute, codes
        The confidential attribute and its code in every record.
    t
        The distance that classes should keep.
    k
        The least class size.
    holds
        Decides exactly whether closeness holds for classes.

    Guarantee
    ---------
    Classes of at least k records. Shares of values are tried until ``holds``. Rank groups are taken as many as bound
    the ordered distance by t for classes of e; classes of more, which there are where e does not divide N, are to be
    checked on the result.

    Notes
    -----
    O(N m classes per block), see `assign`.
    """
    values = int(np.count_nonzero(np.bincount(codes)))
    by_value = smallest_class(attribute, codes, k, holds)
    if attribute.ordered:
        by_rank = _least(lambda size: rank_bound(codes, size) <= t, k, len(codes))
        # shares of values leave no choice where most values occur once
        if by_value >= by_rank or values > 2 * by_rank:
            groups = rank_groups(codes, by_rank)
            return Partition(assign(points, groups, _one_of_each(np.bincount(groups), by_rank)))
    present, numbers = np.unique(codes, return_inverse=True)
    counts = _dealt(np.bincount(numbers), len(codes) // by_value)
    del present
    return Partition(assign(points, numbers, Quotas(counts=counts, emphasis=np.zeros(len(counts), dtype=np.int64))))


def rank_groups(codes: Codes, number: int) -> Numbers:
    """Return the group of every record: ``number`` groups of N // number consecutive ranks, the middle ones one more.

    Equal values are taken in the order of their rows.

    >>> rank_groups(np.array([5, 3, 9, 1, 7]), 2).tolist()
    [0, 0, 1, 0, 1]
    """
    size, rest = divmod(len(codes), number)
    sizes = np.full(number, size)
    middle = (number - rest) // 2
    sizes[middle : middle + rest] += 1
    groups = np.empty(len(codes), dtype=np.int64)
    groups[np.argsort(codes, kind="stable")] = np.repeat(np.arange(number), sizes)
    return groups


def rank_bound(codes: Codes, size: int) -> float:
    """Return the greatest ordered distance of a class that has one record of each of ``size`` rank groups.

    Let x = F e / N be the place of a border between two values, F records below it; the class has floor(x) records
    surely below it, and one more or not from the group in which x lies: the difference of the two distribution
    functions is (x - floor x) / e or (1 - (x - floor x)) / e. The record of a group lies below some of the borders in
    its group and above the others; the sum is greatest if it lies at an end. For N different values this is (N - e) /
    (2 (N - 1) e), the bound of Soria-Comas et al. (2015), Prop. 2. O(v).

    Examples
    --------
    >>> rank_bound(np.arange(12), 3)
    0.13636363636363635
    >>> (12 - 3) / (2 * (12 - 1) * 3)
    0.13636363636363635
    """
    sizes = np.bincount(codes)
    below = np.cumsum(sizes[sizes > 0])[:-1]
    if len(below) == 0:
        return 0.0
    group, within = np.divmod(below * size, len(codes))
    low = np.bincount(group, weights=within, minlength=size)
    # a border between two groups lies in neither
    high = np.bincount(group, weights=np.where(within > 0, len(codes) - within, 0), minlength=size)
    return float(np.maximum(low, high).sum() / len(codes) / (size * len(below)))


def smallest_class(attribute: SensitiveAttribute, codes: Codes, k: int, holds: Verdict) -> int:
    """Return the least class size for which classes with their share of every value satisfy ``holds``, exactly."""
    present, numbers = np.unique(codes, return_inverse=True)
    sizes = np.bincount(numbers)

    def fits(size: int) -> bool:
        return holds(_classes(attribute, present, _dealt(sizes, len(codes) // size)))

    return _least(fits, k, len(codes))


def _least(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first of 1, 2, 4, ... times ``low`` that fits, then the least that bisection finds below it."""
    size, failed = low, low - 1
    while size < high and not fits(size):
        size, failed = min(2 * size, high), size
    while size - failed > 1:
        middle = (size + failed) // 2
        size, failed = (middle, failed) if fits(middle) else (size, middle)
    return size


def _dealt(sizes: Numbers, classes: int) -> Numbers:
    """Return how many records of each value every class gets when the sorted records are dealt in turn."""
    # floor((F - c - 1) / C) counts the ranks below F that are c modulo C
    ends = np.concatenate(([0], np.cumsum(sizes)))
    turns: Numbers = (ends[None, :] - np.arange(classes)[:, None] + classes - 1) // classes
    return np.diff(turns, axis=1)


def _one_of_each(sizes: Numbers, number: int) -> Quotas:
    classes = int(sizes.min())
    counts = np.ones((classes, number), dtype=np.int64)
    for extra, group in enumerate(np.flatnonzero(sizes > classes).tolist()):
        counts[extra % classes, group] += 1
    return Quotas(counts=counts, emphasis=np.zeros(classes, dtype=np.int64))


def _classes(attribute: SensitiveAttribute, present: Codes, counts: Numbers) -> Classes:
    owners, places = np.nonzero(counts)
    histogram = Histogram(
        attribute=attribute,
        offsets=np.searchsorted(owners, np.arange(len(counts) + 1)).astype(np.int64),
        codes=present[places].astype(np.int32),
        counts=counts[owners, places],
    )
    return Classes(sizes=counts.sum(axis=1), sensitive={attribute.name: histogram})
