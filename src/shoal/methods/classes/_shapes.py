"""Shapes of classes: how the records of a class spread over the confidential values; and which shape suits the data.

Closeness limits how much a class may differ from the whole table. A shape that uses more of that freedom lets classes
follow the quasi-identifiers; one with smaller classes loses less to their size. Which matters more depends on how the
confidential attribute goes with the quasi-identifiers, so shapes are tried, on a sample where the table is large.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import Floats, Integers
from shoal.methods.classes._assignment import assign
from shoal.methods.classes._buckets import make_buckets
from shoal.methods.classes._partition import Partition, squared_error
from shoal.methods.classes._quotas import Quotas, quotas
from shoal.tables import SensitiveAttribute

__all__ = ["Dealt", "Emphasis", "RankGroups", "Shape", "best", "class_sizes", "sample"]

Codes = NDArray[np.integer]
T = TypeVar("T")

TRIAL_RECORDS, TRIAL_WORK = 10_000, 4_000_000


@dataclass(frozen=True, slots=True)
class Shape(ABC):
    """A way to spread the records of every class over the confidential values."""

    @abstractmethod
    def quotas(self, attribute: SensitiveAttribute, codes: Codes, k: int) -> tuple[Integers, Quotas]:
        """Return a bucket for every record and the quotas of the classes, of at least k records each."""

    def classes(self, points: Floats, attribute: SensitiveAttribute, codes: Codes, k: int, work: int) -> Partition:
        """Return classes of this shape, near records together."""
        numbers, shares = self.quotas(attribute, codes, k)
        return Partition(assign(points, numbers, shares, work=work))


@dataclass(frozen=True, slots=True)
class RankGroups(Shape):
    """One record of each of ``groups`` groups of consecutive ranks, so at least that many in a class."""

    groups: int

    def quotas(self, attribute: SensitiveAttribute, codes: Codes, k: int) -> tuple[Integers, Quotas]:
        """Return groups of N // number ranks, the middle ones one more, and quotas of one; see `rank_groups`."""
        del attribute
        number = min(max(self.groups, k), len(codes))
        groups = rank_groups(codes, number)
        sizes = np.bincount(groups)
        classes = int(sizes.min())
        counts = np.ones((classes, number), dtype=np.int64)
        for extra, group in enumerate(np.flatnonzero(sizes > classes).tolist()):
            counts[extra % classes, group] += 1
        return groups, Quotas(counts=counts, emphasis=np.zeros(classes, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Dealt(Shape):
    """Its share of every value, rounded as when sorted records are dealt out in turn to classes of about ``size``."""

    size: int

    def quotas(self, attribute: SensitiveAttribute, codes: Codes, k: int) -> tuple[Integers, Quotas]:
        """Return a bucket for every value; classes differ by at most one record in every run of values."""
        del attribute
        numbers = np.unique(codes, return_inverse=True)[1]
        counts = dealt(np.bincount(numbers), max(len(codes) // max(self.size, k), 1))
        return numbers, Quotas(counts=counts, emphasis=np.zeros(len(counts), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Emphasis(Shape):
    """Up to ``factor`` times its share of one of ``buckets`` buckets, as in bucketisation; None: a bucket per value."""

    factor: Fraction
    buckets: int | None = None

    def quotas(self, attribute: SensitiveAttribute, codes: Codes, k: int) -> tuple[Integers, Quotas]:
        """Return buckets of near values and the quotas that are close by the factor."""
        if self.buckets is None:
            numbers = np.unique(codes, return_inverse=True)[1]
        else:
            numbers = make_buckets([attribute], codes[:, None], self.buckets).numbers
        return numbers, quotas(np.bincount(numbers), self.factor, k)


def rank_groups(codes: Codes, number: int) -> Integers:
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


def dealt(sizes: Integers, classes: int) -> Integers:
    """Return how many records of each value every class gets when the sorted records are dealt in turn.

    >>> dealt(np.array([3, 4]), 2).tolist()
    [[2, 2], [1, 2]]
    """
    # of the first F ranks, ceil((F - c) / C) are dealt to class c
    ends = np.concatenate(([0], np.cumsum(sizes)))
    turns: Integers = (ends[None, :] - np.arange(classes)[:, None] + classes - 1) // classes
    return np.diff(turns, axis=1)


def class_sizes(t: Fraction, k: int, buckets: int) -> list[int]:
    """Return sizes from k on that are worth trying for classes that emphasise a bucket.

    A class of e needs ceil(e / (t b)) records of each other bucket: just above a multiple of t b that is a step up, so
    the sizes up to the next multiples of t b are tried [DFSC15 6.2: sizes are N / ((t + 1) l)].

    >>> class_sizes(Fraction(2), 3, 3)
    [3, 4, 5, 6, 12]
    """
    step = t * buckets
    multiples = [int(step * (i + k // step)) for i in (1, 2)]
    between = np.unique(np.linspace(k, max(multiples[0], k), 5).round().astype(int)).tolist()
    return sorted({int(size) for size in [*between, *multiples] if size >= k})


def best(options: Iterable[T], make: Callable[[T], Partition], points: Floats) -> T:
    """Return the option whose classes have the least sum of squared errors; the first wins a tie."""
    found = [(squared_error(points, make(option)), number, option) for number, option in enumerate(options)]
    return min(found, key=lambda entry: entry[:2])[2]


def sample(points: Floats, codes: Codes, most: int = TRIAL_RECORDS) -> Integers:
    """Return rows that stand for all: every i-th in the order of the confidential codes."""
    count = len(points)
    if count <= most:
        return np.arange(count)
    order = np.lexsort((points[:, 0], codes))
    return np.sort(order[np.linspace(0, count - 1, most).round().astype(np.int64)])
