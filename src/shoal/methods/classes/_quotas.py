"""How many records of each bucket every class takes, so that multiplicative closeness holds exactly.

Legend: N records in b buckets of s_1, ..., s_b; a class of e records takes n_j of bucket j. In the class bucket j has
the probability n_j / e, in the release s_j / N. The factor is at most t for every bucket exactly if

    ceil(e s_j / (N t)) <= n_j <= floor(t e s_j / N).

These are the conditions of [DFSC15 6.2] with the lower end rounded up, as closeness needs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quotas:
    """What every class takes."""

    #: ``counts[c, j]`` records of bucket j go to class c.
    counts: Counts
    #: The bucket that class c emphasises: the one of which it takes more than its share. Ascending.
    emphasis: Counts

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def sizes(self) -> Counts:
        """The number of records of each class."""
        return np.asarray(self.counts.sum(axis=1))


def quotas(sizes: Counts, t: Fraction, k: int) -> Quotas:
    """Return quotas for as many classes as possible, of at least k records each, that are exactly t-close.

    Parameters
    ----------
    sizes
        The records of each bucket, each at least 1.
    t
        The greatest factor, in [1, inf).
    k
        The least class size, in [1, N].

    Guarantee
    ---------
    Every class holds at least k records, all records are used, and max(p / q, q / p) <= t for every class and bucket
    [DFSC15 Def. 4], in exact arithmetic. For an integer t >= 2, t + 1 equal buckets and k >= t + 1 the classes hold k
    or k + 1 records, or a few more where N asks for it [DFSC15 6.2].

    Notes
    -----
    Class sizes differ by at most one. For each size a class that emphasises bucket i takes the least of all others
    and fills up from bucket i. The numbers of classes per bucket are chosen so that their sum nearly uses up the
    buckets; what is left over moves between buckets along augmenting paths, which find quotas whenever there are any
    [Ford & Fulkerson]. If there are none, the classes grow. O(classes * b^2).

    Examples
    --------
    The example of [DFSC15 Fig. 2]: three buckets of four values are 1.5-close in three classes of four.

    >>> quotas(np.array([4, 4, 4]), Fraction(3, 2), 4).counts.tolist()
    [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    records = int(sizes.sum())
    if len(sizes) == 0 or sizes.min() < 1:
        raise ParameterError("`sizes` of `quotas` must hold at least one record for every bucket.")
    if t < 1:
        raise ParameterError(f"`t` of `quotas` must be in [1, inf); got {t}.")
    if not 1 <= k <= records:
        raise ParameterError(f"`k` of `quotas` must be in [1, {records}]; got {k}.")
    number = records // max(k, _least_size(sizes, records, t))
    while number > 1:
        found = _with_classes(sizes, records, t, number)
        if found is not None:
            return found
        # the next number of classes whose smallest size is larger
        number = records // (records // number + 1)
    return Quotas(counts=sizes[None, :].copy(), emphasis=np.zeros(1, dtype=np.int64))


def _least_size(sizes: Counts, records: int, t: Fraction) -> int:
    """Return the least e for which t e s_j / N reaches 1 for the rarest bucket: below, it cannot be in a class."""
    return max(1, -(-records * t.denominator // (int(sizes.min()) * t.numerator)))


def _with_classes(sizes: Counts, records: int, t: Fraction, number: int) -> Quotas | None:
    small, larger = divmod(records, number)
    bounds = {size: quota_bounds(size, sizes, records, t) for size in ((small, small + 1) if larger else (small,))}
    if any(limits is None for limits in bounds.values()):
        return None
    emphasised = np.stack([_emphasising(i, small, bounds[small]) for i in range(len(sizes))])  # type: ignore[arg-type]
    emphasis = np.repeat(np.arange(len(sizes)), _mixture(emphasised, sizes, number))
    # spread the larger classes evenly over the emphasised buckets
    large = np.diff(np.arange(number + 1) * larger // number).astype(bool)
    counts, low, high = (np.empty((number, len(sizes)), dtype=np.int64) for _ in range(3))
    for size, limits in bounds.items():
        assert limits is not None  # noqa: S101 - checked above
        chosen = large if size > small else ~large
        low[chosen], high[chosen] = limits
        vectors = np.stack([_emphasising(i, size, limits) for i in range(len(sizes))])
        counts[chosen] = vectors[emphasis[chosen]]
    return Quotas(counts=counts, emphasis=emphasis) if _balance(counts, low, high, sizes) else None


def quota_bounds(size: int, sizes: Counts, records: int, t: Fraction) -> tuple[Counts, Counts] | None:
    """Return the least and the most that a class of ``size`` may take of each bucket, or None if nothing fits."""
    p, q = t.numerator, t.denominator
    # Python integers: products of three counts may exceed 64 bits
    low = np.array([-(-size * int(s) * q // (records * p)) for s in sizes], dtype=np.int64)
    high = np.array([size * int(s) * p // (records * q) for s in sizes], dtype=np.int64)
    fits = bool((low <= high).all()) and int(low.sum()) <= size <= int(high.sum())
    return (low, high) if fits else None


def _emphasising(bucket: int, size: int, bounds: tuple[Counts, Counts]) -> Counts:
    """Return the least of every bucket, filled up to ``size`` from ``bucket`` and then from the others in turn."""
    low, high = bounds
    counts = low.copy()
    counts[bucket] = min(int(high[bucket]), size - int(low.sum()) + int(low[bucket]))
    while (missing := size - int(counts.sum())) > 0:
        room = np.flatnonzero(counts < high)
        least = room[np.argsort(counts[room] - high[room], kind="stable")]
        counts[least[:missing]] += 1
    return counts


def _mixture(vectors: Counts, sizes: Counts, number: int) -> Counts:
    """Return how many classes emphasise each bucket, so that together they take about what there is."""
    shares = np.linalg.lstsq(vectors.T.astype(np.float64), sizes.astype(np.float64), rcond=None)[0]
    shares = np.clip(shares, 0.0, None)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(sizes), 1 / len(sizes))
    ends = np.floor(np.cumsum(shares) * number + 0.5).astype(np.int64)
    ends[-1] = number
    return np.diff(np.concatenate(([0], np.minimum(ends, number))))


def _balance(counts: Counts, low: Counts, high: Counts, sizes: Counts) -> bool:
    """Move records between buckets inside classes until every bucket is used up; say whether that is possible."""
    while True:
        surplus = counts.sum(axis=0) - sizes
        if not surplus.any():
            return True
        path = _path(counts, low, high, surplus)
        if path is None:
            return False
        amount = min(int(surplus[path[0]]), -int(surplus[path[-1]]))
        for source, target in pairwise(path):
            amount = min(amount, int(_room(counts, low, high, source, target).sum()))
        for source, target in pairwise(path):
            _move(counts, low, high, source, target, amount)


def _path(counts: Counts, low: Counts, high: Counts, surplus: Counts) -> list[int] | None:
    """Return buckets that lead from one with too many records to one with too few, by the fewest steps."""
    before: dict[int, int] = {int(bucket): -1 for bucket in np.flatnonzero(surplus > 0)}
    waiting = deque(before)
    while waiting:
        source = waiting.popleft()
        if surplus[source] < 0:
            path = [source]
            while before[path[0]] >= 0:
                path.insert(0, before[path[0]])
            return path
        for target in range(counts.shape[1]):
            if target not in before and _room(counts, low, high, source, target).any():
                before[target] = source
                waiting.append(target)
    return None


def _room(counts: Counts, low: Counts, high: Counts, source: int, target: int) -> Counts:
    """Return how many records each class may take from ``target`` instead of ``source``."""
    return np.asarray(np.minimum(counts[:, source] - low[:, source], high[:, target] - counts[:, target]))


def _move(counts: Counts, low: Counts, high: Counts, source: int, target: int, amount: int) -> None:
    room = _room(counts, low, high, source, target)
    # one each at first, so that few classes lose much of their emphasis
    once = (room > 0).astype(np.int64)
    moved = np.minimum(once, np.maximum(amount - (np.cumsum(once) - once), 0))
    rest, left = room - moved, amount - int(moved.sum())
    moved += np.minimum(rest, np.maximum(left - (np.cumsum(rest) - rest), 0))
    counts[:, source] -= moved
    counts[:, target] += moved
