"""Find the nodes of a box of the lattice that may be good enough, by following what becomes of their classes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import Floats, Integers, Keys, Mask, is_compiled, library, run
from shoal.kernels.walk import Start, box_arrays, walk

#: A class is only refused in floating point if it fails by more than rounding can explain.
ROUNDING = 1e-9
#: Values that differ by less, relatively above 1, count as equal.
_TIE = 1e-11
#: Sensitive values that the compiled kernel counts in an array for every class, and the numbers in all its arrays. Of
#: more values, classes list those that they have.
_FEW, _STORE = 64, 2**26
#: It counts records in 32 bits.
_RECORDS = 2**31
_HISTOGRAMS = "shoal_screen_values"
#: Fractions are compared exactly up to this numerator and denominator.
_LARGEST = 2**40


class Ground(NamedTuple):
    """How the distance between two distributions P and Q of values is measured.

    The sum of ``|P(range) - Q(range)|`` over ranges of values, divided by ``2 unit``. Where values are ``ordered``, all
    ranges start at the first value; those that end with a value that the release does not have are left out, and the
    sum is divided by the number of the others less one.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    unit: int
    ordered: bool = False

    @property
    def equal(self) -> bool:
        """Whether all values are as far from one another, so that the distance is the sum of ``max(0, p - q)``."""
        return self.unit == 1 and not self.ordered and self.starts == tuple(end - 1 for end in self.ends)


class Proportions(NamedTuple):
    """What is asked of the proportion p of every sensitive value in a class, given its proportion q in the release.

    ``lower * q <= p <= upper_factor * q + upper_offset``, and the distance between all p and all q is at most
    ``distance``: the sum of ``max(0, p - q)`` unless another ``ground`` is given. A fraction is decided exactly.
    ``exact`` says that nothing else is asked for.
    """

    lower: float = 0.0
    upper_factor: float = 0.0
    upper_offset: float = 1.0
    distance: Fraction | float = 1.0
    exact: bool = False
    ground: Ground | None = None

    def relaxed(self) -> Proportions:
        """Return what is asked at least of the sum of ``max(0, p - q)``: different values are 1 / unit apart."""
        if self.ground is None or self.ground.equal:
            return self._replace(ground=None)
        return self._replace(distance=self.distance * self.ground.unit, exact=False, ground=None)


#: What is asked of classes one after the other: each until all that are left satisfy it, among those that are left.
Order = Sequence[Proportions]


class Screening(NamedTuple):
    """Which nodes are found: those whose value may be at most ``best``, and at most the least value that is found.

    The value is ``(sum over records of their cost, or of loss where suppressed) / scale``.
    """

    #: Smaller classes are suppressed.
    smallest: int
    #: Nodes that suppress more records are left out.
    allowed: int
    loss: float
    scale: float
    best: float
    #: Classes whose sensitive values do not have the proportions asked for, among the classes that are large enough and
    #: left, are suppressed, in one of these orders. A node is found if one of them may do. All have one ground.
    orders: Sequence[Order] = ((),)


def counts_values(values: int, classes: int, axes: int, records: int) -> bool:
    """Return whether the compiled kernel counts the values of every class, and looks at coarse nodes first."""
    places = 1 << max(values - 1, 0).bit_length()
    places = places if places <= _FEW else 2  # a value and its records
    fits = classes * places * (axes + 1) <= _STORE and records < _RECORDS
    return fits and is_compiled(_HISTOGRAMS)


class Sweep(NamedTuple):
    """The nodes of a box that may be good enough, a lower bound on the value of each, and the classes looked at."""

    nodes: Integers
    bounds: Floats
    #: What every node would take, unless the kernel counted.
    looks: int
    #: Whether the budget was enough; if not, no nodes are listed.
    finished: bool = True


def screen(start: Start, floors: Sequence[Floats], asked: Screening, *, budget: int = 2**62) -> Sweep:
    """Find the nodes whose value may be at most ``asked.best``, and a lower bound on the value of each.

    ``floors[axis][step]`` is what all records cost together on the axis. Where :func:`counts_values`, at most
    ``budget`` classes are looked at.
    """
    counted = counts_values(1 << start.target, len(start.keys), len(start.axes), int(start.counts.sum()))
    if not counted or 1 << start.target > _FEW:
        asked = asked._replace(orders=[[each.relaxed() for each in order] for order in asked.orders])
    if counted:
        return screen_histograms(start, floors, asked, budget=budget)
    return (screen_numpy if library() is None else screen_native)(start, floors, asked)


def screen_numpy(start: Start, floors: Sequence[Floats], asked: Screening) -> Sweep:
    """As `screen`, in plain NumPy."""
    smallest, allowed, loss, scale, best, orders = asked

    def floor_of(steps: tuple[int, ...]) -> float:
        lowest = (0,) * (len(floors) - len(steps))
        return sum(float(floor[step]) for floor, step in zip(floors, steps + lowest, strict=True))

    bounds: dict[int, float] = {}
    for steps, (keys, counts, costs) in walk(start, lambda steps: floor_of(steps) / scale <= asked.best):
        classes = keys >> np.uint64(start.target)
        starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1])) if len(keys) else np.zeros(0, np.int64)
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
        classes_of = _Screened(keys, counts, starts, sizes, start.target)
        floor, dearer = floor_of(steps), sizes * (loss - costs[starts])
        least, known, released = math.inf, True, False
        for order in orders:
            for lost, more, exact in _suppressed(classes_of, sizes >= smallest, order):
                bound = (floor + float(dearer[lost].sum())) / scale
                if sizes[lost].sum() > allowed or bound > best:
                    break
                if not more:
                    released = not lost.all() if bound < least else released
                    least, known = min(least, bound), known and exact
        if least < math.inf:
            bounds[int(np.ravel_multi_index(steps, start.shape)) if steps else 0] = least
            if known and released:
                best = min(best, least + _TIE * max(abs(least), 1.0))
    kept = {node: bound for node, bound in bounds.items() if bound <= best}
    looks = math.prod(start.shape) * len(start.keys)
    return Sweep(np.array(list(kept), dtype=np.int64), np.array(list(kept.values())), looks)


class _Screened(NamedTuple):
    """The tuples of a node, and the first tuples and sizes of its classes."""

    keys: Keys
    counts: Integers
    starts: Integers
    sizes: Integers
    target: int

    def values(self) -> npt.NDArray[np.int64]:
        """Return the sensitive value of every tuple."""
        return (self.keys & np.uint64((1 << self.target) - 1)).astype(np.int64)

    def histograms(self) -> Integers:
        """Return the records of every class with each value."""
        histograms = np.zeros((len(self.starts), 1 << self.target), dtype=np.int64)
        classes = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.keys)))
        np.add.at(histograms, (classes, self.values()), self.counts)
        return histograms


def _suppressed(node: _Screened, large: Mask, order: Order) -> Iterator[tuple[Mask, bool, bool]]:
    """Yield the classes that are suppressed for sure, more and more; whether more may be found out; whether all are."""
    kept = large.copy()
    yield ~kept, bool(order), False
    for number, asked in enumerate(order):
        removed = True
        while removed:
            refused, doubtful = _refused(node, kept, asked)
            kept &= ~refused
            removed = bool(refused.any())
            known = asked.exact and not doubtful
            yield ~kept, known and (removed or number + 1 < len(order)), known
            if not known:
                return


def _refused(node: _Screened, kept: Mask, asked: Proportions) -> tuple[Mask, bool]:
    """Return the kept classes whose proportions are not as asked for, and whether rounding leaves some open."""
    keys, counts, starts, sizes, _ = node
    values = node.values()
    lengths = np.diff(starts, append=len(keys))
    reference = np.bincount(values, weights=counts * np.repeat(kept, lengths), minlength=1 << node.target)
    if not reference.sum():
        return np.zeros(len(sizes), dtype=np.bool_), False
    if asked.lower <= 0 and asked.upper_offset >= 1:
        return _far(node, kept, asked, reference.astype(np.int64))
    quota = reference / reference.sum()
    q, p = quota[values], counts / np.repeat(sizes, lengths)
    present = counts > 0
    wanted = asked.lower * quota
    required = wanted > ROUNDING
    # a share is at most 1 and at least 0 without being asked for
    above = p - (asked.upper_factor * q + asked.upper_offset) if asked.upper_offset < 1 else -np.ones(len(p))
    below = wanted[values] - p if asked.lower > 0 else above
    missing = np.add.reduceat(present & required[values], starts, dtype=np.int64) < np.count_nonzero(required)
    excess = np.maximum.reduceat(np.where(present, np.maximum(above, below), -1.0), starts)
    refused = kept & ((excess > ROUNDING) | missing)
    doubtful = bool(np.any(kept & ~refused & (excess > -ROUNDING))) or bool(np.any((wanted > 0) & ~required))
    return refused, doubtful


def _far(node: _Screened, kept: Mask, asked: Proportions, reference: Integers) -> tuple[Mask, bool]:
    """Return the kept classes that are too far from the release, and whether rounding leaves some open."""
    size = 1 << node.target
    ground = asked.ground or Ground(tuple(range(size)), tuple(range(1, size + 1)), 1)
    ranges = [(a, b) for a, b in zip(ground.starts, ground.ends, strict=True) if reference[b - 1] or not ground.ordered]
    unit = max(len(ranges) - 1, 1) if ground.ordered else 2 * ground.unit
    records, allowed = int(reference.sum()), Fraction(asked.distance).limit_denominator(_LARGEST)
    largest = 2 * records * int(node.sizes.max()) * (unit + len(ranges)) * max(allowed.as_integer_ratio())
    number = np.int64 if largest < 2**62 else object  # Python integers where a product is too large
    sizes, sums = node.sizes.astype(number), np.zeros((len(node.starts), size + 1), dtype=number)
    work = node.histograms().astype(number) * records - sizes[:, None] * reference.astype(number)
    sums[:, 1:] = np.cumsum(work, axis=1)
    moved = sum((np.abs(sums[:, b] - sums[:, a]) for a, b in ranges), np.zeros(len(node.starts), dtype=number))
    whole = sizes * (records * unit)
    if isinstance(asked.distance, Fraction):
        too_far = moved * asked.distance.denominator > whole * asked.distance.numerator
        return kept & too_far.astype(np.bool_), False
    excess = (moved / whole).astype(np.float64) - asked.distance
    refused = kept & (excess > ROUNDING)
    return refused, bool(np.any(kept & ~refused & (excess > -ROUNDING)))


def screen_native(start: Start, floors: Sequence[Floats], asked: Screening) -> Sweep:
    """Screen with the compiled kernel, whatever the number of sensitive values; see :func:`screen`."""
    return _swept(start, floors, asked, "shoal_screen_runs")


def screen_histograms(start: Start, floors: Sequence[Floats], asked: Screening, *, budget: int = 2**62) -> Sweep:
    """Screen with the compiled kernel that counts the values of classes; see :func:`screen`."""
    values = 1 << start.target
    equal = Ground(tuple(range(values)), tuple(range(1, values + 1)), 1)
    ground = next((each.ground for order in asked.orders for each in order if each.ground is not None), equal)
    shape = (values, ground.ordered, len(ground.ends), float(ground.unit), budget)
    ranges = (np.array(ends, dtype=np.int32) for ends in (ground.starts, ground.ends))
    looks = np.zeros(1, dtype=np.int64)
    sweep = _swept(start, floors, asked, _HISTOGRAMS, *shape, *ranges, behind=(looks,))
    return sweep._replace(looks=int(looks[0]))


def _swept(
    start: Start,
    floors: Sequence[Floats],
    asked: Screening,
    kernel: str,
    *further: float | npt.NDArray[Any],
    behind: tuple[npt.NDArray[Any], ...] = (),
) -> Sweep:
    """Let a compiled kernel find nodes and their bounds."""
    nodes = math.prod(start.shape)
    survivors, bounds = np.empty(nodes, dtype=np.int64), np.empty(nodes)
    number = run(
        kernel,
        *(len(start.keys), len(start.axes), start.target, len(asked.orders), asked.smallest, asked.allowed),
        *(float(asked.loss), float(asked.scale), float(asked.best), *further),
        *_questions(asked),
        *box_arrays(start),
        *(np.concatenate([*floors, np.zeros(0)]), survivors, bounds, *behind),
    )
    order = np.argsort(survivors[: max(number, 0)])
    return Sweep(survivors[order], bounds[order], nodes * len(start.keys), finished=number >= 0)


def _questions(asked: Screening) -> tuple[npt.NDArray[Any], ...]:
    """Return how many stages the orders have, what they ask for, and the distances as fractions, 0 / 0 if unknown."""
    stages = [*itertools.chain.from_iterable(asked.orders), Proportions()]
    fractions = [
        (stage.distance.numerator, stage.distance.denominator)
        if isinstance(stage.distance, Fraction) and max(stage.distance.as_integer_ratio()) < _LARGEST
        else (0, 0)
        for stage in stages
    ]
    return (
        np.array([len(order) for order in asked.orders], dtype=np.int32),
        np.array([(*stage[:3], float(stage.distance), stage.exact) for stage in stages], dtype=np.float64),
        np.array(fractions, dtype=np.int64),
    )
