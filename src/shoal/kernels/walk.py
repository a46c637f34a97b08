"""Walk over all nodes of a box of the lattice, each rolled up from the one before it."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels._library import Codes, Floats, Integers, Keys, compiled, library, pointers

__all__ = ["BoxAttribute", "Order", "Proportions", "Screening", "Start", "score", "screen"]


Mask = npt.NDArray[np.bool_]

#: The bits of fields that the compiled kernel counts in an array.
_NARROW = 8
#: A class is only refused if it fails by more than rounding can explain.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxAttribute:
    """One attribute of the box."""

    #: The attribute's field in the keys.
    shift: int
    bits: int
    #: ``maps[s][code]`` is the code one level up, where step ``s`` starts.
    maps: tuple[Codes, ...]
    #: ``costs[s][code]`` is what the code costs a record after ``s`` steps; one more than there are maps.
    costs: tuple[Floats, ...]


class Start(NamedTuple):
    """The distinct tuples of the lowest node of the box, ascending.

    Attributes
    ----------
    keys
        Attributes as bit fields, in the order of the axes, the first one most significant; below them ``target`` bits
        of a sensitive attribute.
    counts
        Records per tuple.
    axes
        The attributes. Codes never decrease from one level to the next.
    target
        Bits of the sensitive attribute; 0 where there is none.
    """

    keys: Keys
    counts: Integers
    axes: tuple[BoxAttribute, ...]
    target: int = 0


class Proportions(NamedTuple):
    """What is asked of the proportion p of every sensitive value in a class, given its proportion q in the release.

    ``lower * q <= p <= upper_factor * q + upper_offset``, and the sum of ``max(0, p - q)`` is at most ``surplus``.
    ``exact`` says that nothing else is asked for.
    """

    lower: float = 0.0
    upper_factor: float = 0.0
    upper_offset: float = 1.0
    surplus: float = 1.0
    exact: bool = False


#: What is asked of classes one after the other: each until all that are left satisfy it, among those that are left.
Order = Sequence[Proportions]


class Screening(NamedTuple):
    """Which nodes are found: those whose value may be at most ``best``.

    The value is ``(sum over records of their cost, or of loss where suppressed) / scale``.

    Attributes
    ----------
    smallest
        Smaller classes are suppressed.
    allowed
        Nodes that suppress more records are left out.
    loss
        What a suppressed record costs.
    scale
        What the total cost is divided by.
    best
        The value to compare with.
    orders
        Classes whose sensitive values do not have the proportions asked for, among the classes that are large enough
        and left, are suppressed, in one of these orders. A node is found if one of them may do.
    """

    smallest: int
    allowed: int
    loss: float
    scale: float
    best: float
    orders: Sequence[Order] = ((),)


def score(start: Start, gains: Floats, *, slope: float, base: float = 1.0, best_value: bool = False) -> Floats:
    """Score every node: the sum over its classes of ``gain(size) * (base - cost)``.

    Parameters
    ----------
    start
        The box, usually the whole lattice.
    gains
        ``gains[size]`` for sizes up to the last entry; every record more gains ``slope``.
    base
        The quality of a record that costs nothing.
    best_value
        Classes that differ only in the sensitive attribute count once, with the largest gain among them.

    Returns
    -------
    Floats
        One score per node, steps of the last axis varying fastest.

    Notes
    -----
    Cost O(rows) per node, of the node one step below.
    """
    implementation = score_numpy if library() is None else score_native
    return implementation(start, gains, slope=slope, base=base, best_value=best_value)


def screen(start: Start, floors: Sequence[Floats], asked: Screening) -> tuple[Integers, Floats]:
    """Find the nodes whose value may be at most ``asked.best``, and a lower bound on the value of each.

    Parameters
    ----------
    start
        The box.
    floors
        ``floors[axis][step]``: what all records cost together on the axis.
    asked
        Which nodes, and how their values are computed.
    """
    # kernels that were built from older sources do not have it
    implementation = screen_native if hasattr(library(), "shoal_screen_orders") else screen_numpy
    return implementation(start, floors, asked)


class _Level(NamedTuple):
    keys: Keys
    counts: Integers
    costs: Floats


def _walk(
    start: Start, worthwhile: Callable[[tuple[int, ...]], bool] | None = None
) -> Iterator[tuple[tuple[int, ...], _Level]]:
    """Yield every node with its table, depth first; skip what ``worthwhile(steps so far)`` says no to."""

    def descend(table: _Level, steps: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], _Level]]:
        if len(steps) == len(start.axes):
            yield steps, table
            return
        axis = start.axes[len(steps)]
        for step in range(len(axis.maps) + 1):
            if worthwhile is not None and not worthwhile((*steps, step)):
                return
            yield from descend(table, (*steps, step))
            if step < len(axis.maps):
                table = _raised(table, axis, step)

    return descend(_Level(start.keys, start.counts, _costs(start)), ())


def _raised(table: _Level, axis: BoxAttribute, step: int) -> _Level:
    shift = np.uint64(axis.shift)
    field = np.uint64(((1 << axis.bits) - 1) << axis.shift)
    codes = ((table.keys & field) >> shift).astype(np.int64)
    keys = (table.keys & ~field) | (axis.maps[step].astype(np.uint64)[codes] << shift)
    costs = table.costs + _change(axis, step)[codes]
    order = np.argsort(keys, kind="stable")  # sorted runs: they are merged
    keys = keys[order]
    new = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
    counts = np.add.reduceat(table.counts[order], new) if len(keys) else table.counts
    return _Level(keys[new], counts, costs[order[new]])


def _change(axis: BoxAttribute, step: int) -> Floats:
    return np.asarray(axis.costs[step + 1][axis.maps[step]] - axis.costs[step])


def _costs(start: Start) -> Floats:
    costs = np.zeros(len(start.keys))
    for axis in start.axes:
        codes = (start.keys >> np.uint64(axis.shift)) & np.uint64((1 << axis.bits) - 1)
        costs += axis.costs[0][codes.astype(np.int64)]
    return costs


def score_numpy(start: Start, gains: Floats, *, slope: float, base: float = 1.0, best_value: bool = False) -> Floats:
    """Score with NumPy; see :func:`score`."""
    scores = []
    last = len(gains) - 1
    for _, (keys, counts, costs) in _walk(start):
        gain = gains[np.minimum(counts, last)] + slope * np.maximum(counts - last, 0)
        if best_value and len(keys):
            classes = keys >> np.uint64(start.target)
            starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1]))
            gain, costs = np.maximum.reduceat(gain, starts), costs[starts]
        scores.append(float((gain * (base - costs)).sum()))
    return np.array(scores)


def screen_numpy(start: Start, floors: Sequence[Floats], asked: Screening) -> tuple[Integers, Floats]:
    """Screen with NumPy; see :func:`screen`."""
    smallest, allowed, loss, scale, best, orders = asked

    def floor_of(steps: tuple[int, ...]) -> float:
        lowest = (0,) * (len(floors) - len(steps))
        return sum(float(floor[step]) for floor, step in zip(floors, steps + lowest, strict=True))

    found, bounds = [], []
    shape = tuple(len(axis.costs) for axis in start.axes)
    for steps, (keys, counts, costs) in _walk(start, lambda steps: floor_of(steps) / scale <= best):
        classes = keys >> np.uint64(start.target)
        starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1])) if len(keys) else np.zeros(0, np.int64)
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
        classes_of = _Screened(keys, counts, starts, sizes, start.target)
        floor, dearer = floor_of(steps), sizes * (loss - costs[starts])
        least = math.inf
        for order in orders:
            for lost, more in _suppressed(classes_of, sizes >= smallest, order):
                bound = (floor + float(dearer[lost].sum())) / scale
                if sizes[lost].sum() > allowed or bound > best:
                    break
                if not more:
                    least = min(least, bound)
        if least < math.inf:
            found.append(int(np.ravel_multi_index(steps, shape)) if shape else 0)
            bounds.append(least)
    return np.array(found, dtype=np.int64), np.array(bounds)


class _Screened(NamedTuple):
    """The tuples of a node, and the first tuples and sizes of its classes."""

    keys: Keys
    counts: Integers
    starts: Integers
    sizes: Integers
    target: int


def _suppressed(node: _Screened, large: Mask, order: Order) -> Iterator[tuple[Mask, bool]]:
    """Yield the classes that are suppressed for sure, more and more, and whether more may be found out."""
    kept = large.copy()
    yield ~kept, bool(order)
    for number, asked in enumerate(order):
        removed = True
        while removed:
            refused, doubtful = _refused(node, kept, asked)
            kept &= ~refused
            removed = bool(refused.any())
            known = asked.exact and not doubtful
            yield ~kept, known and (removed or number + 1 < len(order))
            if not known:
                return


def _refused(node: _Screened, kept: Mask, asked: Proportions) -> tuple[Mask, bool]:
    """Return the kept classes whose proportions are not as asked for, and whether rounding leaves some open."""
    keys, counts, starts, sizes, target = node
    values = (keys & np.uint64((1 << target) - 1)).astype(np.int64)
    lengths = np.diff(starts, append=len(keys))
    reference = np.bincount(values, weights=counts * np.repeat(kept, lengths), minlength=1 << target)
    if not reference.sum():
        return np.zeros(len(sizes), dtype=np.bool_), False
    quota = reference / reference.sum()
    q, p = quota[values], counts / np.repeat(sizes, lengths)
    present = counts > 0
    wanted = asked.lower * quota
    required = wanted > ROUNDING
    # a share is at most 1 and at least 0 without being asked for
    above = p - (asked.upper_factor * q + asked.upper_offset) if asked.upper_offset < 1 else -np.ones(len(p))
    below = wanted[values] - p if asked.lower > 0 else above
    surplus = np.add.reduceat(np.where(present, np.maximum(0.0, p - q), 0.0), starts) - asked.surplus
    missing = np.add.reduceat(present & required[values], starts, dtype=np.int64) < np.count_nonzero(required)
    excess = np.maximum(np.maximum.reduceat(np.where(present, np.maximum(above, below), -1.0), starts), surplus)
    refused = kept & ((excess > ROUNDING) | missing)
    doubtful = bool(np.any(kept & ~refused & (excess > -ROUNDING))) or bool(np.any((wanted > 0) & ~required))
    return refused, doubtful


def score_native(start: Start, gains: Floats, *, slope: float, base: float = 1.0, best_value: bool = False) -> Floats:
    """Score with the compiled kernel; see :func:`score`."""
    order, start = _narrow_last(start)
    shape = [len(axis.costs) for axis in start.axes]
    scores = np.empty(math.prod(shape))
    gains = np.ascontiguousarray(gains, dtype=np.float64)
    compiled().shoal_score(
        ctypes.c_int64(len(start.keys)),
        ctypes.c_int32(len(start.axes)),
        ctypes.c_int32(start.target),
        ctypes.c_int32(best_value),
        ctypes.c_int64(len(gains)),
        ctypes.c_double(slope),
        ctypes.c_double(base),
        *pointers(*_described(start), gains, scores),
    )
    return np.ascontiguousarray(scores.reshape(shape).transpose(np.argsort(order))).ravel() if order else scores


def _narrow_last(start: Start) -> tuple[list[int], Start]:
    """Return the axes in another order, and the tuples with their fields in that order.

    The narrowest axes come last, as many as have at most 256 combinations of codes: the compiled kernel counts these in
    an array instead of sorting them.
    """
    if start.target:
        return list(range(len(start.axes))), start
    bits = [axis.bits for axis in start.axes]
    upwards = sorted(range(len(bits)), key=lambda j: (bits[j], -j))
    narrow = set(itertools.compress(upwards, np.cumsum([bits[j] for j in upwards]) <= _NARROW))
    order = sorted(range(len(bits)), key=lambda j: j in narrow)
    axes, keys, shift = [], np.zeros_like(start.keys), 0
    for axis in (start.axes[j] for j in reversed(order)):
        codes = start.keys >> np.uint64(axis.shift) & np.uint64((1 << axis.bits) - 1)
        keys |= codes << np.uint64(shift)
        axes.append(replace(axis, shift=shift))
        shift += axis.bits
    rows = np.argsort(keys)
    return order, Start(keys[rows], start.counts[rows], tuple(reversed(axes)))


def screen_native(start: Start, floors: Sequence[Floats], asked: Screening) -> tuple[Integers, Floats]:
    """Screen with the compiled kernel; see :func:`screen`."""
    nodes = int(np.prod([len(axis.costs) for axis in start.axes]))
    found, bounds = np.empty(nodes, dtype=np.int64), np.empty(nodes)
    function = compiled().shoal_screen_orders
    function.restype = ctypes.c_int64
    number = function(
        ctypes.c_int64(len(start.keys)),
        ctypes.c_int32(len(start.axes)),
        ctypes.c_int32(start.target),
        ctypes.c_int32(len(asked.orders)),
        ctypes.c_int64(asked.smallest),
        ctypes.c_int64(asked.allowed),
        ctypes.c_double(asked.loss),
        ctypes.c_double(asked.scale),
        ctypes.c_double(asked.best),
        *pointers(
            np.array([len(order) for order in asked.orders], dtype=np.int32),
            np.array([*itertools.chain.from_iterable(asked.orders), Proportions()], dtype=np.float64),
            *_described(start),
            np.concatenate([*floors, np.zeros(0)]),
        ),
        *pointers(found, bounds),
    )
    return found[:number].copy(), bounds[:number].copy()


def _described(start: Start) -> tuple[npt.NDArray[Any], ...]:
    axes = start.axes
    steps = [(axis, step) for axis in axes for step in range(len(axis.maps))]
    return (
        np.ascontiguousarray(start.keys, dtype=np.uint64),
        np.ascontiguousarray(start.counts, dtype=np.int64),
        _costs(start),
        np.array([len(axis.maps) for axis in axes], dtype=np.int32),
        np.array([axis.shift for axis in axes], dtype=np.int32),
        np.array([axis.bits for axis in axes], dtype=np.int32),
        np.array([len(axis.maps[step]) for axis, step in steps], dtype=np.int64),
        np.concatenate([np.zeros(0, dtype=np.int32), *(axis.maps[step] for axis, step in steps)]),
        np.concatenate([np.zeros(0), *(_change(axis, step) for axis, step in steps)]),
    )
