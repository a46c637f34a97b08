"""Earth mover's distances between the classes of a release and the release itself, exactly.

Legend: the release has N records, Q_v of them with the value v; a class has e records, c_v of them with the value v; p
= c / e and q = Q / N are the two distributions. A distance is an integer, the *work*, over the integer ``unit e N``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy
from shoal.kernels import Mask
from shoal.models._ratios import LIMIT, Ratios
from shoal.models._sensitive import Rows
from shoal.tables import tally

#: What sums are computed in: 64-bit integers, Python integers, or floats, with a bounded error.
Arithmetic = type[np.int64] | type[object] | type[np.float64]
Work = npt.NDArray[Any]


class EarthMover(ABC):
    """The distances of the classes of one release to the release, for one ground distance."""

    #: the work is at most ``unit e N``
    unit: int
    #: how many sums of at most n terms, n the values present in the class, are added up
    sums: int = 1

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.records = rows.records
        self.totals = rows.totals()

    @abstractmethod
    def work(self, rows: Rows, arithmetic: Arithmetic) -> Work:
        """Return the work of some of the rows; no intermediate result exceeds ``2 (unit + 1) e N``."""

    def candidates(self, threshold: Fraction) -> Mask:
        """Return the rows that are not known at once to be farther than the threshold."""
        del threshold
        return np.ones(len(self.rows), dtype=np.bool_)

    def at_most(self, threshold: Fraction) -> Mask:
        """Return which rows are at a distance of at most ``threshold``, exactly."""
        verdict = self.candidates(threshold)
        rows, numbers = self.rows.select(verdict), np.flatnonzero(verdict)
        narrow = self._narrow(rows)
        if narrow.any():
            verdict[numbers[narrow]] = self._ratios(rows.select(narrow), np.int64).at_most(threshold)
        if not narrow.all():
            verdict[numbers[~narrow]] = self._settle(rows.select(~narrow), threshold)
        return verdict

    def largest(self) -> Fraction:
        """Return the greatest distance, exactly."""
        narrow = self._narrow(self.rows)
        parts = ((self.rows.select(narrow), np.int64), (self.rows.select(~narrow), object))
        return max(Fraction(self._ratios(rows, arithmetic).largest()) for rows, arithmetic in parts if len(rows))

    def _narrow(self, rows: Rows) -> Mask:
        """Return the rows whose work fits into 64 bits."""
        return np.asarray(rows.sizes < LIMIT // max(self.records * (self.unit + 1), 1))

    def _ratios(self, rows: Rows, arithmetic: type[np.int64] | type[object]) -> Ratios:
        return Ratios(self.work(rows, arithmetic), rows.sizes.astype(arithmetic) * (self.records * self.unit))

    def _settle(self, rows: Rows, threshold: Fraction) -> Mask:
        """Decide in floats all rows that are farther from the threshold than the rounding error, then the others."""
        if int(rows.sizes.max()) * self.records >= LIMIT:
            return self._ratios(rows, object).at_most(threshold)
        distances = self.work(rows, np.float64) / (rows.sizes * float(self.records) * self.unit)
        verdict = np.asarray(distances < float(threshold))
        # With u = 2^-53: a summand is a difference of two products of integers below 2^62, right to 4 u relative to
        # the sum of both; these add up to at most 2 (unit + 1) e N <= 4 unit e N, and adding n of them loses n u of
        # that. So a distance is right to (4 n + 16) u, and to 4 u more for the division.
        error = (rows.lengths + self.sums + 4) * 2.0**-50
        doubtful = np.abs(distances - float(threshold)) <= error
        if doubtful.any():
            verdict[doubtful] = self._ratios(rows.select(doubtful), object).at_most(threshold)
        return verdict


class EqualDistance(EarthMover):
    """Any two different values are at distance 1: ``1/2 sum |p - q|``, which is ``sum max(p - q, 0)``.

    The second form needs the values that are present in the class alone.
    """

    unit = 1

    def work(self, rows: Rows, arithmetic: Arithmetic) -> Work:
        """Return ``sum max(c N - Q e, 0)``."""
        sizes = np.repeat(rows.sizes.astype(arithmetic), rows.lengths)
        return _surplus(rows.counts.astype(arithmetic), self.totals[rows.codes], sizes, self.records, rows.starts)


class HierarchicalDistance(EarthMover):
    """Two values are at distance level(LCA) / height, LCA being their lowest common ancestor [Bild24, 2.1.4].

    This is a tree in which every edge has the length 1 / (2 height), and the earth mover's distance of a tree is the
    sum over its edges of length times ``|p - q|`` of the values below. So it is the mean, over all levels but the top,
    of the equal distance of the generalised values. Cost O(values present * height).
    """

    def __init__(self, rows: Rows, hierarchy: Hierarchy) -> None:
        super().__init__(rows)
        self.levels = hierarchy.codes[:-1]
        self.unit = self.sums = max(hierarchy.height, 1)
        self.reference = [tally(codes, self.totals, int(codes.max(initial=-1)) + 1) for codes in self.levels]

    def work(self, rows: Rows, arithmetic: Arithmetic) -> Work:
        """Return the sum over the levels of ``sum max(c N - Q e, 0)``."""
        result: Work = np.zeros(len(rows), dtype=arithmetic)
        leaves, counts = rows.codes, rows.counts.astype(arithmetic)
        sizes, starts = np.repeat(rows.sizes.astype(arithmetic), rows.lengths), rows.starts
        for codes, reference in zip(self.levels, self.reference, strict=True):
            # Values are in tree order, so those with the same ancestor stand together in a row.
            first = np.ones(len(leaves), dtype=np.bool_)
            first[1:] = codes[leaves[1:]] != codes[leaves[:-1]]
            first[starts] = True
            runs = np.flatnonzero(first)
            counts, leaves, sizes = np.add.reduceat(counts, runs), leaves[runs], sizes[runs]
            starts = np.cumsum(first)[starts] - 1
            result = result + _surplus(counts, reference[codes[leaves]], sizes, self.records, starts)
        return result


class OrderedDistance(EarthMover):
    """Neighbours among the v values of the release, in their order, are at distance 1 / (v - 1) [Bild24, (2.1)].

    ``1/(v - 1) sum_r |sum_{s <= r} (p_s - q_s)|`` over the ranks r = 0..v-1 of the values. Let F_r = Q_0 + ... + Q_r
    and G_r = F_0 + ... + F_{r-1}, shared by all classes, and let C be the number of records of the class up to one of
    its values. Between that value's rank a and the rank b of its next value, C stays the same and F grows, so the sign
    of ``C N - e F_r`` changes once, at the first rank x in [a, b] with F_x > C N / e::

        sum_{a <= r < b} |C N - e F_r| = C N (2 x - a - b) - e (2 G_x - G_a - G_b)

    Before the first value C = 0 and the sum is e G_b. So a class costs O(n log v), n the number of values that are
    present in it: the search for x is binary.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        present = self.totals > 0
        self.ranks = np.cumsum(present) - 1
        self.values = int(np.count_nonzero(present))
        self.unit = max(self.values - 1, 1)
        self.cumulative = np.cumsum(self.totals[present])
        # The sum of all F must be exact too.
        sums = self.cumulative.astype(np.int64 if self.values * self.records < LIMIT else object)
        self.prefix = np.concatenate((np.zeros(1, dtype=sums.dtype), np.cumsum(sums)))

    def candidates(self, threshold: Fraction) -> Mask:
        """Return the rows whose first and last value do not already prove a greater distance.

        The check pruning of [Bild24, A.2], at both ends: below its first value a class has the work e G, above its last
        value e times the sum of N - F.
        """
        rows = self.rows
        first, last = self.ranks[rows.codes[rows.starts]], self.ranks[rows.codes[rows.offsets[1:] - 1]]
        ranks = np.arange(self.values + 1).astype(self.prefix.dtype)
        beyond = (self.values - ranks) * self.records - (self.prefix[-1] - self.prefix)
        allowed = threshold * self.unit * self.records
        return np.asarray(self.prefix[first] + beyond[last] <= allowed.numerator // allowed.denominator)

    def work(self, rows: Rows, arithmetic: Arithmetic) -> Work:
        """Return ``sum_r |C N - e F_r|``, segment by segment."""
        exact = object if arithmetic is object else np.int64  # C N fits into 64 bits wherever floats are asked for
        sizes = np.repeat(rows.sizes.astype(exact), rows.lengths)
        running = np.cumsum(rows.counts)
        running -= np.repeat((running - rows.counts)[rows.starts], rows.lengths)
        level = running.astype(exact) * self.records
        start = self.ranks[rows.codes]
        end = np.append(start[1:], self.values)
        end[rows.offsets[1:] - 1] = self.values
        crossing = np.searchsorted(self.cumulative, (level // sizes).astype(self.cumulative.dtype), side="right")
        crossing = np.clip(crossing, start, end)
        prefix = self.prefix.astype(exact)
        above = level.astype(arithmetic) * (2 * crossing - start - end)
        below = sizes.astype(arithmetic) * (2 * prefix[crossing] - prefix[start] - prefix[end])
        before = rows.sizes.astype(arithmetic) * prefix[start[rows.starts]]
        return np.asarray(np.add.reduceat(above - below, rows.starts) + before)


def _surplus(
    counts: Work, reference: npt.NDArray[np.int64], sizes: Work, records: int, starts: npt.NDArray[np.int64]
) -> Work:
    """Return ``sum max(c N - Q e, 0)`` per row."""
    surplus = counts * records - reference.astype(counts.dtype) * sizes
    return np.asarray(np.add.reduceat(np.maximum(surplus, 0), starts))
