"""Walk over all nodes of a box of the lattice, each rolled up from the one before it."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels._library import Codes, Floats, Integers, Keys, compiled, library, pointers

__all__ = ["BoxAttribute", "Start", "described", "score", "walk"]

#: The bits of fields that the compiled kernel counts in an array.
_NARROW = 8


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


class _Level(NamedTuple):
    keys: Keys
    counts: Integers
    costs: Floats


def walk(
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
    for _, (keys, counts, costs) in walk(start):
        gain = gains[np.minimum(counts, last)] + slope * np.maximum(counts - last, 0)
        if best_value and len(keys):
            classes = keys >> np.uint64(start.target)
            starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1]))
            gain, costs = np.maximum.reduceat(gain, starts), costs[starts]
        scores.append(float((gain * (base - costs)).sum()))
    return np.array(scores)


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
        *pointers(*described(start), gains, scores),
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


def described(start: Start) -> tuple[npt.NDArray[Any], ...]:
    """Return a box as the arrays that the compiled kernels read."""
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
