"""Homogeneous classes under closeness in the earth mover's distance, or under any model of classes.

Closeness limits how much a class may differ from the whole table. A shape of classes says how their records spread over
the confidential values. One that uses more of the freedom that closeness leaves lets classes follow the
quasi-identifiers; one with smaller classes loses less to their size. Which matters more depends on how the confidential
attribute goes with the quasi-identifiers, so shapes are tried, on a sample where the table is large.

Legend: N records sorted by the confidential attribute, v different values, e records per class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RequirementError
from shoal.kernels import Counts, Floats, Integers
from shoal.methods.classes._blocks import blocked_mdav
from shoal.methods.classes._buckets import make_buckets
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._partition import Partition, merge_clusters, squared_error
from shoal.methods.classes._quotas import WORK, Quotas, assign, quotas
from shoal.methods.classes._run import classes_of, find_satisfying, verdict
from shoal.models import Classes, ClassHistogram, Model
from shoal.tables import SensitiveAttribute

Strategy = Literal["best", "closeness-first", "merge-first"]
"""Give every class its share of the confidential values; or cluster by quasi-identifiers and merge what fails; or do
both and keep the better."""

BLOCKED, BLOCK_ROWS = 200_000, 50_000
"""Tables with more records are clustered in blocks of so many."""


def microaggregate_points(
    places: Floats,
    sensitive: tuple[SensitiveAttribute, ...],
    codes: NDArray[np.integer],
    models: Sequence[Model],
    strategy: Strategy,
    clusters: Callable[[int], Partition] | None = None,
    persons: Integers | None = None,
    *,
    shown: bool = False,
    totals: Mapping[str, Counts] | None = None,
) -> Partition:
    """Partition records into homogeneous classes that satisfy all models.

    ``codes`` has one row per record. ``clusters`` makes the classes to begin with, of at least so many records; by
    default MDAV does. ``persons`` is the person of every record; without, every record is of a person of its own.
    Classes to begin with have so many records; those that have too few persons are merged with their neighbours, before
    values are looked at. ``shown`` says whether quasi-identifiers are released as they are; see `readings`. ``totals``
    say how often every sensitive value occurs in the release, where these are not all of its records: classes are
    compared with it, and so must be able to keep the models as one class.

    Guarantee
    ---------
    Syntactic: every model holds for every class, decided exactly on the result [Bild24 Def. 4 for t-closeness].
    Whatever the strategy leaves failing is merged.

    Examples
    --------
    >>> from shoal.models import KAnonymity, TCloseness
    >>> charge = SensitiveAttribute(name="charge", size=6, ordered=True)
    >>> ages, charges = np.array([[20.0], [21], [22], [60], [61], [62]]), np.array([[0], [5], [1], [4], [2], [3]])
    >>> wanted = (KAnonymity(2), TCloseness("charge", 0.2))
    >>> microaggregate_points(ages, (charge,), charges, wanted, "best").labels.tolist()
    [0, 0, 2, 2, 1, 1]
    """

    def repair(some: Floats, rows: Integers, start: Partition) -> Partition:
        chosen, whose = codes[rows], None if persons is None else persons[rows]

        def merge_until_kept(promises: Sequence[Model], start: Partition) -> Partition:
            try:
                return merge_clusters(
                    some,
                    start,
                    lambda own: verdict(promises, own, sensitive, chosen, whose, shown=shown, totals=totals),
                )
            except RequirementError:
                if totals is None or len(rows) == len(places):
                    raise
                return Partition(np.zeros(len(rows), np.int32))  # a trial on some of the records, farther than all are

        crowds = [model for model in models if model.capabilities.decided_by_size]
        return merge_until_kept(models, start if whose is None else merge_until_kept(crowds, start))

    k = min(max((model.capabilities.minimal_class_size for model in models), default=1), len(places))
    close = [model for model in models if model.capabilities.earth_mover is not None]
    partitions = []
    if strategy == "merge-first" or not close or (strategy == "best" and len(places) <= BLOCKED):
        start = _clusters(places, k) if clusters is None else clusters(k)
        partitions.append(repair(places, np.arange(len(places)), start))
    if strategy == "merge-first" or not close:
        return partitions[0]
    model = close[0]
    column = [attribute.name for attribute in sensitive].index(model.capabilities.sensitive[0])
    limit, holds = float(model.capabilities.earth_mover or 0), model.holds
    if totals is not None:
        # a distance: these records lie so far from all, and their classes may lie as far from them as is left
        together = classes_of(Partition(np.zeros(len(places), np.int32)), sensitive, codes).among(totals)
        limit = max(limit - float(model.find_achieved(together)["t"]), 0.0)
        holds = partial(_hold_among, model, totals)
    made = closeness_first(places, sensitive[column], codes[:, column], t=limit, k=k, holds=holds, repair=repair)
    return min([made, *partitions], key=lambda partition: squared_error(places, partition))


def _hold_among(model: Model, totals: Mapping[str, Counts], classes: Classes) -> bool:
    """Say whether classes keep a model in a release of them and all other records."""
    return bool(find_satisfying([model], classes.among(totals))[: len(classes)].all())


def _clusters(places: Floats, k: int) -> Partition:
    # points are scaled already, and categories are points too, so MDAV runs in the compiled kernel
    if len(places) > BLOCKED:
        return blocked_mdav(places, k, block_rows=BLOCK_ROWS, repair=0)
    return mdav(places, k)


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
    scored = [(squared_error(points, make(option)), number, option) for number, option in enumerate(options)]
    return min(scored, key=lambda entry: entry[:2])[2]


def sample(points: Floats, codes: Codes, most: int = TRIAL_RECORDS) -> Integers:
    """Return rows that stand for all: every i-th in the order of the confidential codes."""
    count = len(points)
    if count <= most:
        return np.arange(count)
    order = np.lexsort((points[:, 0], codes))
    return np.sort(order[np.linspace(0, count - 1, most).round().astype(np.int64)])


Verdict = Callable[[Classes], bool]
Repair = Callable[[Floats, Integers, Partition], Partition]

FACTORS = tuple(Fraction(text) for text in ("1.25", "1.5", "2", "3", "5"))
BUCKETS = (2, 3, 4, 6, 8, 12)
FEW = 40
"""Attributes with at most this many values get a bucket for each."""


def closeness_first(
    points: Floats, attribute: SensitiveAttribute, codes: Codes, *, t: float, k: int, holds: Verdict, repair: Repair
) -> Partition:
    """Partition records so that every class has about the distribution of all, before looking at what else it has.

    The shapes of classes that keep the distance t, or nearly, are tried (`shapes`), and the one whose classes are most
    homogeneous *after* repair is taken.

    ``holds`` decides exactly whether closeness holds for all of some classes; ``repair``, given points, rows and
    classes of these rows, returns classes that satisfy everything.

    Guarantee
    ---------
    That of ``repair``.
    """
    options = shapes(attribute, codes, t=t, k=k, holds=holds)
    everything = np.arange(len(codes))
    if len(options) == 1:
        return repair(points, everything, options[0].classes(points, attribute, codes, k, WORK))
    rows = sample(points, codes)
    least = min(k, len(rows))

    def try_shape(shape: Shape) -> Partition:
        made = shape.classes(points[rows], attribute, codes[rows], least, TRIAL_WORK)
        return repair(points[rows], rows, made)

    chosen = best(options, try_shape, points[rows])
    return repair(points, everything, chosen.classes(points, attribute, codes, k, WORK))


def shapes(attribute: SensitiveAttribute, codes: Codes, *, t: float, k: int, holds: Verdict) -> list[Shape]:
    """Return shapes that keep the distance t, or nearly.

    *Rank groups*, where the order counts: e groups of consecutive ranks and one record of each in every class, e so
    large that the ordered distance is at most t whatever records are taken (Soria-Comas, Domingo-Ferrer, Sánchez,
    Martínez, "t-Closeness through Microaggregation", 2015, Alg. 3). *Dealt*: its share of every value, in the smallest
    classes for which that is close enough, exactly, or in somewhat larger ones. *Emphasis*: more of some buckets or
    values, as in bucketisation; kept if that alone is no farther than t.
    """
    found: list[Shape] = []
    few = int(np.count_nonzero(np.bincount(codes))) <= FEW
    if attribute.ordered:
        found.append(RankGroups(_least(lambda size: rank_bound(codes, size) <= t, k, len(codes))))
    if few or not attribute.ordered:
        least = _least(lambda size: _holds(Dealt(size), attribute, codes, k, holds), k, len(codes))
        found += map(Dealt, sorted({min(int(least * more), len(codes)) for more in (1, 1.5, 2, 3)}))
    if few:
        found += [shape for shape in map(Emphasis, FACTORS) if _holds(shape, attribute, codes, k, holds)]
    return found + _emphases(attribute, codes, t, k)


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


def _least(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first of 1, 2, 4, ... times ``low`` that fits, then the least that bisection finds below it."""
    size, failed = low, low - 1
    while size < high and not fits(size):
        size, failed = min(2 * size, high), size
    while size - failed > 1:
        middle = (size + failed) // 2
        size, failed = (middle, failed) if fits(middle) else (size, middle)
    return size


def _holds(shape: Shape, attribute: SensitiveAttribute, codes: Codes, k: int, holds: Verdict) -> bool:
    """Decide exactly, where every bucket is one value: the quotas are then the histograms of the classes."""
    if isinstance(shape, Dealt):
        counts = dealt(np.unique(codes, return_counts=True)[1], max(len(codes) // max(shape.size, k), 1))
    else:
        counts = shape.quotas(attribute, codes, k)[1].counts
    owners, positions = np.nonzero(counts)
    histogram = ClassHistogram(
        attribute=attribute,
        offsets=np.searchsorted(owners, np.arange(len(counts) + 1)).astype(np.int64),
        codes=np.unique(codes)[positions].astype(np.int32),
        counts=counts[owners, positions],
    )
    return holds(Classes(sizes=counts.sum(axis=1), sensitive={attribute.name: histogram}))


def _emphases(attribute: SensitiveAttribute, codes: Codes, t: float, k: int) -> list[Shape]:
    """Return the different shapes of buckets whose distance is at most t on average."""
    shapes: dict[bytes, Shape] = {}
    for shape in (Emphasis(factor, count) for count in BUCKETS for factor in FACTORS):
        shares = shape.quotas(attribute, codes, k)[1].counts
        if _bucket_distance(shares, ordered=attribute.ordered) <= t:
            shapes.setdefault(shares.tobytes(), shape)
    return list(shapes.values())


def _bucket_distance(shares: Integers, *, ordered: bool) -> float:
    """Return the mean distance of the classes, values inside a bucket taken as spread evenly."""
    sizes = shares.sum(axis=0) / shares.sum()
    differences = shares / shares.sum(axis=1, keepdims=True) - sizes
    if not ordered:
        return float(np.abs(differences).sum(axis=1).mean() / 2)
    after = np.cumsum(differences, axis=1)
    before = np.concatenate((np.zeros((len(shares), 1)), after[:, :-1]), axis=1)
    # between two borders the difference is a line; this is the mean of its absolute value
    total = np.abs(before) + np.abs(after)
    crossing = (before**2 + after**2) / np.maximum(total, np.finfo(float).tiny)
    return float((np.where(before * after >= 0, total, crossing) / 2 @ sizes).mean())
