"""t-closeness: the sensitive values of every class are distributed as in the whole release, up to t."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.exact import Number, fraction, one_of, optional, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.hierarchies import Hierarchy
from shoal.kernels import Mask
from shoal.kernels.screening import Ground, Proportions
from shoal.models._model import KNOWN, REPLAY, Achieved, Capabilities, Model, Scope
from shoal.models._ratios import LIMIT, Ratios
from shoal.models._sensitive import Rows, SensitiveModel
from shoal.schema import Kind, Schema
from shoal.tables import SensitiveAttribute, tally

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, slots=True, repr=False)
class TCloseness(SensitiveModel):
    """Every class has nearly the same distribution of a sensitive attribute as the whole release.

    Cost O(n) over the n values present in the classes for the equal distance, O(n log v) for the ordered one, v being
    the number of different values, and O(n * height) for the hierarchical one.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    t
        The greatest distance allowed, a number in [0, 1]. A float means the decimal typed: 0.2 is 1/5.
    distance
        ``"equal"``: all values are equally different. ``"ordered"``: neighbours in the order are nearest. A missing
        value comes last. ``"hierarchical"``: values with a low common ancestor in the attribute's hierarchy are
        nearest. By default ordered for numbers, dates and ordinal attributes, else hierarchical where the schema
        declares a hierarchy, else equal.

    Guarantee
    ---------
    Syntactic: ``EMD(P(E), Q) <= t`` for every equivalence class E of the release [Bild24, 2.1.4, Def. 4 and (2.1)], EMD
    the earth mover's distance, P(E) the distribution in E and Q the one in the release. An intruder who knows the
    distribution in the release learns at most t more from the quasi-identifiers of a person.

    The whole table of the definition is the release, suppressed records left out: anybody can check that, and the
    distribution of the input would tell about the suppressed records. For the ordered distance v counts the values of
    the release.

    Assumptions
    -----------
    The distribution of the attribute in the release may become public. With the equal distance a value may become much
    more likely in a class if it is rare: see :class:`BetaLikeness` and :class:`MultiplicativeCloseness`. Each
    attribute is protected on its own; who is in the release is not hidden.

    Examples
    --------
    The example of [Bild24, A.2]: the values 50, 60, 60, 60, 70 in the classes {50, 60} and {60, 60, 70}.

    >>> import numpy as np
    >>> from shoal.models import Classes, ClassHistogram
    >>> charge = ClassHistogram(
    ...     attribute=SensitiveAttribute(name="charge", size=3, ordered=True),
    ...     offsets=np.array([0, 2, 4]),
    ...     codes=np.array([0, 1, 1, 2], dtype=np.int32),
    ...     counts=np.array([1, 1, 2, 1]),
    ... )
    >>> classes = Classes(sizes=np.array([2, 3]), sensitive={"charge": charge})
    >>> print(TCloseness("charge", 0.2).find_achieved(classes))
    t = 1/4 (0.25)
    >>> TCloseness("charge", 0.2).keep(classes, np.array([True, True])).tolist()
    [False, True]
    """

    t: Number = field(metadata=within("[0, 1]"))
    distance: Distance | None = field(default=None, metadata=optional(one_of(*get_args(Distance))))
    name: ClassVar[str] = "t-closeness"
    short: ClassVar[str] = "t"
    label: ClassVar[str] = "closeness, at most"
    advice: ClassVar[str] = (
        "In every group the secrets are distributed nearly as in the whole table, so that belonging to a "
        "group says little: 0 means nothing at all, 1 everything. 0.1 to 0.3 is usual."
    )
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The distribution of `{attribute}` in the whole release may become public.",
        "A rare value may still be several times as likely in a group as in the whole release.",
        REPLAY,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,  # the distance to a fixed distribution is convex
            scope=Scope.REFERENCE,
            sensitive=(self.attribute,),
            hierarchy=self.distance == "hierarchical",
            earth_mover=fraction(self.t),
        )

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        distance = self._distance(attribute.ordered, attribute.hierarchy is not None)
        return Proportions(distance=fraction(self.t), exact=True, ground=_ground(attribute, distance))

    def weaker(self, factor: Fraction) -> TCloseness:
        """Return the model that allows ``factor`` times the distance, at most 1."""
        return dataclasses.replace(self, t=min(fraction(self.t) * factor, Fraction(1)))

    def decide_rows(self, rows: Rows) -> Mask:
        return self._mover(rows).at_most(fraction(self.t))

    def strongest_of(self, rows: Rows) -> Achieved:
        return Achieved(t=self._mover(rows).largest())

    def problems(self, schema: Schema) -> list[str]:
        problems = Model.problems(self, schema)
        if self.attribute not in schema:
            return problems
        attribute = schema[self.attribute]
        if self.distance == "ordered" and attribute.kind is Kind.CATEGORICAL:
            problems.append(
                f"`{self.title}` measures column `{self.attribute}` by order, but its kind is {attribute.kind}"
            )
        if self.distance == "hierarchical" and attribute.hierarchy is None:
            problems.append(f"`{self.title}` measures column `{self.attribute}` by a hierarchy, but it has none")
        return problems

    def resolve(self, schema: Schema) -> TCloseness:
        """Return this model with the distance spelt out."""
        attribute = schema[self.attribute]
        ordered = attribute.kind is not Kind.CATEGORICAL
        return dataclasses.replace(self, distance=self._distance(ordered, attribute.hierarchy is not None))

    def statement(self, words: Words = CLASSES) -> str:
        measured = {
            "equal": "with all values counted as equally different",
            "ordered": "with values counted as more different the further apart they are in order",
            "hierarchical": "with values counted as more different the higher up in the hierarchy they meet",
            None: "by the distance that suits the kind of the column",
        }[self.distance]
        return (
            f"{words.among}, the distribution of `{self.attribute}` differs from "
            f"the one in the whole release by at most {plain(self.t)} on a scale from 0 to 1, {measured}."
        )

    def _distance(self, ordered: bool, hierarchy: bool) -> Distance:
        if self.distance is not None:
            return self.distance
        return "ordered" if ordered else "hierarchical" if hierarchy else "equal"

    def _mover(self, rows: Rows) -> EarthMover:
        attribute: SensitiveAttribute = rows.attribute
        match self._distance(attribute.ordered, attribute.hierarchy is not None):
            case "ordered":
                return OrderedDistance(rows)
            case "hierarchical":
                if attribute.hierarchy is None:
                    raise ParameterError(
                        f'`distance` of `{self.title}` must be "equal" or "ordered" for column `{self.attribute}`, '
                        'which has no hierarchy; got "hierarchical".'
                    )
                return HierarchicalDistance(rows, attribute.hierarchy)
            case _:
                return EqualDistance(rows)


def _ground(attribute: SensitiveAttribute, distance: Distance) -> Ground:
    """Return the distance of an :class:`EarthMover` as a sum over ranges of values."""
    if distance == "ordered":
        return Ground(
            (0,) * attribute.size, tuple(range(1, attribute.size + 1)), max(attribute.size - 1, 1), ordered=True
        )
    unit = 1
    levels: tuple[npt.NDArray[np.int32], ...] = (np.arange(attribute.size, dtype=np.int32),)
    if distance == "hierarchical" and attribute.hierarchy is not None:
        levels, unit = attribute.hierarchy.codes[:-1], max(attribute.hierarchy.height, 1)
    starts: list[int] = []
    ends: list[int] = []
    for codes in levels:
        first = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
        starts += first
        ends += [*first[1:], attribute.size]
    return Ground(tuple(starts), tuple(ends), unit)


#: What sums are computed in: 64-bit integers, Python integers, or floats, with a bounded error.
Arithmetic = type[np.int64] | type[object] | type[np.float64]
Work = npt.NDArray[Any]


class EarthMover(ABC):
    """The earth mover's distances of the classes of one release to the release, exactly, for one ground distance.

    Legend: the release has N records, Q_v of them with the value v; a class has e records, c_v of them with the value
    v; p = c / e and q = Q / N are the two distributions. A distance is an integer, the *work*, over the integer
    ``unit e N``.
    """

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
