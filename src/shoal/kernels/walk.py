"""Walk over all nodes of a box of the lattice, each rolled up from the one before it: scores, regions and trees.

A *region* is one hierarchy value per attribute: a class of some node. A *tree* specialises a region: it stops there, or
it takes one attribute one level down and specialises every region that this gives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import Codes, Floats, Integers, Keys, Mask, library, run

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
    """The distinct tuples of the lowest node of the box, ascending."""

    #: Attributes as bit fields, in the order of the axes, the first one most significant; below them ``target`` bits of
    #: a sensitive attribute.
    keys: Keys
    #: Records per tuple.
    counts: Integers
    #: The attributes. Codes never decrease from one level to the next.
    axes: tuple[BoxAttribute, ...]
    #: Bits of the sensitive attribute; 0 where there is none.
    target: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each attribute has in the box."""
        return tuple(len(axis.costs) for axis in self.axes)


class LargeRegions(NamedTuple):
    """The large regions, node by node in the order of the walk, ascending by key inside a node."""

    #: The regions of a node are ``offsets[node]:offsets[node + 1]``.
    offsets: Integers
    #: The codes of the region as bit fields, as in :class:`Start`; the target's bits are 0.
    keys: Keys
    #: Records of the region; with a target, the largest number of them that agree on it.
    sizes: Integers
    #: What a record of the region costs.
    costs: Floats


def score(start: Start, gains: Floats, *, slope: float, base: float = 1.0, best_value: bool = False) -> Floats:
    """Score every node: the sum over its classes of ``gain(size) * (base - cost)``.

    ``gains[size]`` is the gain for sizes up to the last entry; every record more gains ``slope``. ``base`` is the
    quality of a record that costs nothing. With ``best_value``, classes that differ only in the sensitive attribute
    count once, with the largest gain among them. Steps of the last axis vary fastest. Cost O(rows) per node, of the
    node one step below.
    """
    if library() is None:
        return score_numpy(start, gains, slope=slope, base=base, best_value=best_value)
    order, start = _narrow_last(start)
    scores = np.empty(math.prod(start.shape))
    gains = np.ascontiguousarray(gains, dtype=np.float64)
    sizes = (len(start.keys), len(start.axes), start.target, best_value, len(gains))
    run("shoal_score", *sizes, float(slope), float(base), *box_arrays(start), gains, scores)
    return np.ascontiguousarray(scores.reshape(start.shape).transpose(np.argsort(order))).ravel() if order else scores


def large_regions(start: Start, smallest: int) -> LargeRegions:
    """Find the regions whose size is at least ``smallest``, in every node of the box.

    Cost O(rows) per node, of the node one step below. If a region is large, so is every region that holds it.
    """
    if library() is None:
        return large_regions_numpy(start, smallest)
    offsets = np.empty(math.prod(start.shape) + 1, dtype=np.int64)
    sizes = (len(start.keys), len(start.axes), start.target, smallest)
    regions = run("shoal_large_regions", *sizes, *box_arrays(start), offsets)
    if not regions:
        raise MemoryError
    number = int(offsets[-1])
    arrays = np.empty(number, dtype=np.uint64), np.empty(number, dtype=np.int64), np.empty(number)
    run("shoal_take_regions", regions, *arrays)
    return LargeRegions(offsets, *arrays)


def weigh_trees(start: Start, regions: LargeRegions, stops: Integers, unit: float) -> Integers:
    """Weigh all trees that specialise each region.

    ``stops`` are the logarithms of the weights of stopping at each region, in units; ``unit`` is what an integer stands
    for, for example 2^-32. A region weighs ``log(1/2 exp(stop) + 1/(2 a) * sum of exp(sum of the children's
    logarithms))`` in units, rounded to the nearest; the inner sums run over the ``a`` attributes that can be
    specialised, and ``stop`` stands alone where there is none. A region that is not large weighs 1. Sums of logarithms
    are exact, being sums of integers. Cost O(regions * attributes).
    """
    if library() is None:
        return weigh_trees_numpy(start, regions, stops, unit)
    weights = np.empty(len(stops), dtype=np.int64)
    _, _, _, *axes = box_arrays(start)
    keys, stops = np.ascontiguousarray(regions.keys), np.ascontiguousarray(stops, dtype=np.int64)
    run("shoal_weigh_trees", len(start.axes), float(unit), *axes, regions.offsets, keys, stops, weights)
    return weights


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
                table = _raise_attribute(table, axis, step)

    return descend(_Level(start.keys, start.counts, _costs(start)), ())


def _raise_attribute(table: _Level, axis: BoxAttribute, step: int) -> _Level:
    codes, keys = _map_codes(axis, step, table.keys)
    costs = table.costs + _change(axis, step)[codes]
    order = np.argsort(keys, kind="stable")  # sorted runs: they are merged
    keys = keys[order]
    new = np.flatnonzero(_new(keys))
    counts = np.add.reduceat(table.counts[order], new) if len(keys) else table.counts
    return _Level(keys[new], counts, costs[order[new]])


def _map_codes(axis: BoxAttribute, step: int, keys: Keys) -> tuple[Integers, Keys]:
    """Return the codes of an attribute, and the keys in which it is taken from step ``step`` to the next one up."""
    codes = _codes(axis, keys)
    rest = keys & ~np.uint64(((1 << axis.bits) - 1) << axis.shift)
    return codes, rest | (axis.maps[step].astype(np.uint64)[codes] << np.uint64(axis.shift))


def _codes(axis: BoxAttribute, keys: Keys) -> Integers:
    return (keys >> np.uint64(axis.shift) & np.uint64((1 << axis.bits) - 1)).astype(np.int64)


def _new(keys: Keys) -> Mask:
    """Return which of ascending keys differ from the one before."""
    return np.append(True, keys[1:] != keys[:-1])[: len(keys)]


def _change(axis: BoxAttribute, step: int) -> Floats:
    return np.asarray(axis.costs[step + 1][axis.maps[step]] - axis.costs[step])


def _costs(start: Start) -> Floats:
    costs = np.zeros(len(start.keys))
    for axis in start.axes:
        costs += axis.costs[0][_codes(axis, start.keys)]
    return costs


def score_numpy(start: Start, gains: Floats, *, slope: float, base: float = 1.0, best_value: bool = False) -> Floats:
    """As `score`, in plain NumPy."""
    scores = []
    last = len(gains) - 1
    for _, (keys, counts, costs) in walk(start):
        gain = gains[np.minimum(counts, last)] + slope * np.maximum(counts - last, 0)
        if best_value and len(keys):
            classes = keys >> np.uint64(start.target)
            starts = np.flatnonzero(_new(classes))
            gain, costs = np.maximum.reduceat(gain, starts), costs[starts]
        scores.append(float((gain * (base - costs)).sum()))
    return np.array(scores)


def large_regions_numpy(start: Start, smallest: int) -> LargeRegions:
    """As `large_regions`, in plain NumPy."""
    target = np.uint64(start.target)
    regions: list[tuple[Keys, Integers, Floats]] = []
    for _, (keys, counts, costs) in walk(start):
        keys = keys >> target << target
        starts = np.flatnonzero(_new(keys))
        sizes = np.maximum.reduceat(counts, starts) if len(starts) else counts
        large = sizes >= smallest
        regions.append((keys[starts][large], sizes[large], costs[starts][large]))
    columns = [np.concatenate(column) for column in zip(*regions, strict=True)]
    offsets = np.cumsum([0, *(len(keys) for keys, _, _ in regions)], dtype=np.int64)
    return LargeRegions(offsets, *columns)


def weigh_trees_numpy(start: Start, regions: LargeRegions, stops: Integers, unit: float) -> Integers:
    """As `weigh_trees`, in plain NumPy."""
    shape = start.shape
    volumes = np.cumprod((1, *shape[:0:-1]))[::-1]
    offsets, keys = regions.offsets, regions.keys
    weights = stops.copy()
    for node in range(len(offsets) - 1):
        inside = slice(*offsets[node : node + 2])
        options = []
        for axis, size, volume in zip(start.axes, shape, volumes, strict=True):
            step = int(node // volume % size)
            if step:
                below = slice(*offsets[node - volume : node - volume + 2])
                positions = np.searchsorted(keys[inside], _map_codes(axis, step - 1, keys[below])[1])
                option = np.zeros(inside.stop - inside.start, dtype=np.int64)
                np.add.at(option, positions, weights[below])
                options.append(option)
        if options:
            weights[inside] = _log_mean(stops[inside], np.array(options), unit)
    return weights


def _log_mean(stop: Integers, options: Integers, unit: float) -> Integers:
    largest = np.maximum(stop, options.max(axis=0))
    split = np.exp((options - largest) * unit).sum(axis=0) / len(options)
    mean = (np.exp((stop - largest) * unit) + split) / 2
    return np.asarray(largest + np.rint(np.log(mean) / unit).astype(np.int64))


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
        keys |= _codes(axis, start.keys).astype(np.uint64) << np.uint64(shift)
        axes.append(replace(axis, shift=shift))
        shift += axis.bits
    rows = np.argsort(keys)
    return order, Start(keys[rows], start.counts[rows], tuple(reversed(axes)))


def box_arrays(start: Start) -> tuple[npt.NDArray[Any], ...]:
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
