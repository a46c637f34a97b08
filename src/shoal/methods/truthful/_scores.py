"""Scores of schemes: what a scheme is expected to give, or as published; and how much one record can change that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import Hierarchy
from shoal.kernels import Floats, Integers
from shoal.kernels.walk import large_regions, score
from shoal.methods.recode import Box, Lattice, Levels, Node, Tables
from shoal.methods.truthful._survival import SCALE, Shows, Survival
from shoal.tables import Frequencies, tally

#: From so many records on, scores would no longer be exact.
RECORD_BITS = 28
LARGEST_TABLE = 1 << RECORD_BITS


def check_records(frequencies: Frequencies) -> None:
    """Refuse a table whose scores would not be exact, on which every proof rests."""
    if frequencies.records >= LARGEST_TABLE:
        raise DataError(f"the table has {LARGEST_TABLE:,} records or more, too many for exact scores.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """What a score is made for."""

    #: The table; with a target, that is its only sensitive attribute, else there is none.
    frequencies: Frequencies
    #: The schemes to choose from: the nodes between these two.
    low: Levels
    high: Levels
    #: What will happen to the classes of the scheme.
    operator: Shows
    #: Importance of attributes; 1 for those not named.
    weights: Mapping[str, float]

    @property
    def proportions(self) -> Floats:
        """The weights scaled to the sum 1."""
        weights = np.array([self.weights.get(name, 1.0) for name in self.frequencies.attributes], dtype=np.float64)
        if not weights.sum() > 0:
            raise ParameterError("`weights` of `Truthful` must not all be 0.")
        return np.asarray(weights / weights.sum())


class Score(ABC):
    """A score of all nodes between two nodes of a lattice; higher is better.

    Attributes
    ----------
    monotone
        Whether adding a record never lowers a score.
    sensitivity
        How much adding a person changes a score at most, rounding included: a record's, times the most records that
        a person has.
    """

    name: ClassVar[str]
    monotone: ClassVar[bool]
    sensitivity: Fraction

    def __init__(self, setting: Setting, costs: Tables) -> None:
        self.setting = setting
        self.lattice = Lattice(setting.frequencies, costs)
        target = 0 if setting.frequencies.sensitive else None
        self.box = Box(self.lattice, setting.low, setting.high, costs, sensitive=target)

    def all(self) -> Floats:
        """Return the scores of all nodes, in the order of the box."""
        if self.box.fits:
            return self._walked()
        return np.array([self.one(self.box.levels(number)) for number in range(int(np.prod(self.box.shape)))])

    def one(self, levels: Levels) -> float:
        return self._of(self.lattice.node(levels))

    @abstractmethod
    def _walked(self) -> Floats:
        """Return the scores of all nodes, found in one walk."""

    @abstractmethod
    def _of(self, node: Node) -> float:
        """Return the score of a node."""


class ExpectedScore(Score):
    """Expected quality of the release: the sum over classes E of worth(|E|) q(E).

    worth is a table of integers that never falls (`Survival`), q(E) >= 0 an integer that depends on the generalised
    values of the class alone, at most ``base``. On tables of fewer than 2^28 records all terms and sums are integers
    below 2^53, so floating point adds them without rounding, in any order.

    Guarantee
    ---------
    *Monotone, with sensitivity Delta = (largest step of worth) times base per record, exactly.* Adding a record to the
    table changes the size c of one class E of the scheme to c + 1 (from 0 for a class that was empty, of worth 0). The
    score changes by (worth(c + 1) - worth(c)) q(E), which lies in [0, Delta]. It is a statement about the numbers
    that are computed, not about real numbers that they approximate.
    """

    monotone = True
    base: int
    worth: Survival

    def __init__(self, setting: Setting, worth: Survival, costs: Tables, base: int) -> None:
        super().__init__(setting, costs)
        self.worth, self.base = worth, base
        self.sensitivity = Fraction(worth.step * base * setting.operator.per_person)

    def _walked(self) -> Floats:
        return score(
            self.box.start,
            self.worth.table,
            slope=float(self.worth.slope),
            base=float(self.base),
            best_value=bool(self.setting.frequencies.sensitive),
        )

    def _of(self, node: Node) -> float:
        return float((self.worth.of(node.sizes) * (self.base - node.costs)).sum())


class _QualityOfValues(ExpectedScore):
    """Expected sum of the qualities of released records, whose values lose something each."""

    def __init__(self, setting: Setting) -> None:
        losses = [self._losses(hierarchy) for hierarchy in setting.frequencies.hierarchies]
        super().__init__(setting, setting.operator.records, *_qualities(setting, losses))

    @staticmethod
    @abstractmethod
    def _losses(hierarchy: Hierarchy) -> tuple[Floats, ...]:
        """Return what the values of every level lose, in [0, 1]."""


class Granularity(_QualityOfValues):
    """Expected sum, over released records, of 1 minus the weighted mean share of the domain that values cover.

    The quality of a value is Q_j = floor(w_j (1 - share) 2^12), w_j the weights scaled to the sum 1. Up to scale this
    is the expected value of (1 - loss) of [Bild24 Def. 4] (seed 003), which counts on the sample; the sensitivity
    there is (k - 1) m for m attributes [Bild24 Thm 6], here 2 for records of quality at most 1.
    """

    name = "granularity"

    @staticmethod
    def _losses(hierarchy: Hierarchy) -> tuple[Floats, ...]:
        return hierarchy.shares


class Intensity(_QualityOfValues):
    """Expected sum, over released records, of 1 minus the weighted mean of level over height [Bild24 5.1]."""

    name = "intensity"

    @staticmethod
    def _losses(hierarchy: Hierarchy) -> tuple[Floats, ...]:
        height = max(hierarchy.height, 1)
        return tuple(np.full(len(labels), level / height) for level, labels in enumerate(hierarchy.labels))


class GroupSize(ExpectedScore):
    """Expected number of released classes; [Bild24 Def. 7] counts those of the sample."""

    name = "group-size"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, setting.operator.classes, _no_costs(setting), SCALE)


class ClassificationScore(ExpectedScore):
    """Expected number of released records that have the most frequent target value among those with equal features.

    The sum over tuples of features of max_v worth(c_v), c_v the records with target value v; [Bild24 Def. 8] counts on
    the sample. A class of the release is a tuple of features *and* target, and the target is not generalised.

    Guarantee
    ---------
    Monotone, with the sensitivity of the worths: adding a record raises one c_v by 1, hence the maximum over v by an
    amount in [0, largest step].
    """

    name = "classification"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, setting.operator.records, _no_costs(setting), SCALE)

    def _of(self, node: Node) -> float:
        if not len(node.starts):
            return 0.0
        return float(np.maximum.reduceat(self.worth.of(node.counts[0]), node.starts).sum() * self.base)


class _Homogeneity(Score):
    """Minus phi(D) = (sum over classes E of |E|^2 / |D|) + suppressed records [Bild24 (7)] (seed 003), or a sum of it.

    Not monotone, because phi divides by the number of records: a draw is half as sharp, and one record can change it as
    much as a class. As published, for comparison; prefer the expected scores.

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
        super().__init__(setting, _no_costs(setting))
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
        """Return the scores of so many nodes, given the node, the size and the values of every class that is shown.

        ``tops`` are, for each attribute, the nodes in which all its values are ``*``.
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


def _qualities(setting: Setting, losses: list[tuple[Floats, ...]]) -> tuple[Tables, int]:
    """Return what values cost, as integers, and the quality of a class that costs nothing.

    With tops t_j = floor(w_j 2^12) a value costs t_j - Q_j, and classes have quality sum_j t_j - cost = sum_j Q_j.
    """
    tops = np.floor(setting.proportions * SCALE)
    costs = tuple(
        tuple(top - np.clip(np.floor(weight * (1 - loss) * SCALE), 0, top) for loss in levels)
        for top, weight, levels in zip(tops, setting.proportions, losses, strict=True)
    )
    return costs, int(tops.sum())


def _no_costs(setting: Setting) -> Tables:
    """Return tables in which no value costs anything."""
    hierarchies = setting.frequencies.hierarchies
    return tuple(tuple(np.zeros(len(labels)) for labels in hierarchy.labels) for hierarchy in hierarchies)
