"""Scores that divide by the number of records: discernibility and non-uniform entropy, as published.

They are not monotone, so a draw is half as sharp, and one record can change them as much as a class. Prefer the scores
of `shoal.methods.truthful._scores`.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.kernels import Floats, Integers
from shoal.kernels.walk import large_regions
from shoal.methods.recode import Node
from shoal.methods.truthful._scores import Score, Setting, no_costs
from shoal.tables import tally


class _Homogeneity(Score):
    """Minus phi(D) = (sum over classes E of |E|^2 / |D|) + suppressed records [Bild24 (7)] (seed 003), or a sum of it.

    The published scores look at the sample and suppress below k. Here they look at the whole table, independent of the
    sample, so classes count as suppressed below the size t from which on they are rather shown than not: ceil(k / beta)
    of sampling, m + least of trimming.

    Guarantee
    ---------
    With the threshold t >= 2, adding a record changes phi by at most t^2 / (t - 1) + 1 [Bild24 Thm 7],
    and the sum over m attributes by m times as much [Bild24 Thm 8]. Floating point: sums of squares are exact
    integers; then a score of m attributes makes at most 4 m roundings of numbers below m 2^28 (for fewer than 2^28
    records), each by at most 2^-53 of the number. So rounding moves two scores apart by at most 8 m^2 2^28 2^-53 =
    m^2 2^-22, which the sensitivity includes.
    """

    monotone = False

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, no_costs(setting))
        self.threshold = max(2, setting.operator.likely)
        terms = self._terms()
        own = terms * (Fraction(self.threshold**2, self.threshold - 1) + 1) + Fraction(terms**2, 2**22)
        self.sensitivity = own * setting.operator.per_person

    def _walked(self) -> Floats:
        regions = large_regions(self.box.start, self.threshold)
        nodes = np.repeat(np.arange(len(regions.offsets) - 1), np.diff(regions.offsets))
        steps = np.unravel_index(np.arange(len(regions.offsets) - 1), self.box.shape)
        codes = [
            ((regions.keys >> np.uint64(axis.shift)) & np.uint64((1 << axis.bits) - 1)).astype(np.int64)
            for axis in self.box.start.axes
        ]
        heights = self.lattice.heights
        tops = [step + self.setting.low[j] == heights[j] for step, j in zip(steps, self.box.order, strict=True)]
        return self._scores(nodes, regions.sizes, codes, tops, len(regions.offsets) - 1)

    def _of(self, node: Node) -> float:
        large = node.sizes >= self.threshold
        sizes = node.sizes[large]
        tops = [np.array([level == height]) for level, height in zip(node.levels, self.lattice.heights, strict=True)]
        codes = [column.astype(np.int64) for column in node.codes(large).T]
        return float(self._scores(np.zeros(len(sizes), dtype=np.int64), sizes, codes, tops, 1)[0])

    def _terms(self) -> int:
        return 1

    @abstractmethod
    def _scores(
        self, nodes: Integers, sizes: Integers, codes: list[Integers], tops: list[npt.NDArray[np.bool_]], number: int
    ) -> Floats:
        """Return the scores of nodes.

        Parameters
        ----------
        nodes, sizes, codes
            The node, the size and the values of every class that is not suppressed.
        tops
            Per attribute, the nodes in which all its values are ``*``.
        number
            How many nodes there are.
        """


class DiscernibilityScore(_Homogeneity):
    """Minus the discernibility of [Bild24 Def. 5]."""

    name = "discernibility"

    def _scores(
        self, nodes: Integers, sizes: Integers, codes: list[Integers], tops: list[npt.NDArray[np.bool_]], number: int
    ) -> Floats:
        records = max(self.setting.frequencies.records, 1)
        return -(tally(nodes, sizes**2, number) / records + (records - tally(nodes, sizes, number)))


class NonUniformEntropyScore(_Homogeneity):
    """Minus the homogeneity of the attributes one by one [Bild24 Def. 6]; ``*`` counts as suppressed."""

    name = "non-uniform-entropy"

    def _terms(self) -> int:
        return len(self.lattice.heights)

    def _scores(
        self, nodes: Integers, sizes: Integers, codes: list[Integers], tops: list[npt.NDArray[np.bool_]], number: int
    ) -> Floats:
        records = max(self.setting.frequencies.records, 1)
        suppressed = records - tally(nodes, sizes, number)
        scores = np.zeros(number)
        for values, top in zip(codes, tops, strict=True):
            width = int(values.max(initial=0)) + 1
            pairs, owners = np.unique(nodes * width + values, return_inverse=True)
            squares = tally(owners, sizes, len(pairs)) ** 2
            scores -= np.where(top, records, tally(pairs // width, squares, number) / records + suppressed)
        return scores
