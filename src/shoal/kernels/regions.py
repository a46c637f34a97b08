"""Large regions of all nodes of a box of the lattice, and the weight of all trees that specialise each of them.

A *region* is one hierarchy value per attribute: a class of some node. A *tree* specialises a region: it stops there, or
it takes one attribute one level down and specialises every region that this gives.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from shoal.kernels._library import Floats, Integers, Keys, compiled, library, pointers
from shoal.kernels.walk import BoxAttribute, Start, described, walk

__all__ = ["LargeRegions", "large_regions", "weigh_trees"]


class LargeRegions(NamedTuple):
    """The large regions, node by node in the order of the walk, ascending by key inside a node.

    Attributes
    ----------
    offsets
        The regions of a node are ``offsets[node]:offsets[node + 1]``.
    keys
        The codes of the region as bit fields, as in :class:`~shoal.kernels.walk.Start`; the target's bits are 0.
    sizes
        Records of the region; with a target, the largest number of them that agree on it.
    costs
        What a record of the region costs.
    """

    offsets: Integers
    keys: Keys
    sizes: Integers
    costs: Floats


def large_regions(start: Start, smallest: int) -> LargeRegions:
    """Find the regions whose size is at least ``smallest``, in every node of the box.

    Cost O(rows) per node, of the node one step below. If a region is large, so is every region that holds it.
    """
    return large_regions_numpy(start, smallest) if library() is None else large_regions_native(start, smallest)


def weigh_trees(start: Start, regions: LargeRegions, stops: Integers, unit: float) -> Integers:
    """Weigh all trees that specialise each region.

    Parameters
    ----------
    start, regions
        The box and its large regions. A region that is not large weighs 1.
    stops
        The logarithm of the weight of stopping at each region, in units.
    unit
        What an integer stands for, for example 2^-32.

    Returns
    -------
    Integers
        ``log(1/2 exp(stop) + 1/(2 a) * sum of exp(sum of the children's logarithms))`` in units, rounded to the
        nearest; the inner sums run over the ``a`` attributes that can be specialised. ``stop`` alone where there is
        none.

    Notes
    -----
    Sums of logarithms are exact, being sums of integers. Cost O(regions * attributes).
    """
    implementation = weigh_trees_numpy if library() is None else weigh_trees_native
    return implementation(start, regions, stops, unit)


def large_regions_numpy(start: Start, smallest: int) -> LargeRegions:
    """Find them with NumPy; see :func:`large_regions`."""
    target = np.uint64(start.target)
    found: list[tuple[Keys, Integers, Floats]] = []
    for _, (keys, counts, costs) in walk(start):
        keys = keys >> target << target
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=np.int64)
        sizes = np.maximum.reduceat(counts, starts) if len(starts) else counts
        large = sizes >= smallest
        found.append((keys[starts][large], sizes[large], costs[starts][large]))
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    offsets = np.cumsum([0, *(len(keys) for keys, _, _ in found)], dtype=np.int64)
    return LargeRegions(offsets, *columns)


def weigh_trees_numpy(start: Start, regions: LargeRegions, stops: Integers, unit: float) -> Integers:
    """Weigh with NumPy; see :func:`weigh_trees`."""
    shape = tuple(len(axis.costs) for axis in start.axes)
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
                places = np.searchsorted(keys[inside], raised(axis, step - 1, keys[below]))
                option = np.zeros(inside.stop - inside.start, dtype=np.int64)
                np.add.at(option, places, weights[below])
                options.append(option)
        if options:
            weights[inside] = _log_mean(stops[inside], np.array(options), unit)
    return weights


def raised(axis: BoxAttribute, step: int, keys: Keys) -> Keys:
    """Return keys whose attribute is taken from step ``step`` to the next one up."""
    shift = np.uint64(axis.shift)
    field = np.uint64(((1 << axis.bits) - 1) << axis.shift)
    codes = ((keys & field) >> shift).astype(np.int64)
    return np.asarray((keys & ~field) | (axis.maps[step].astype(np.uint64)[codes] << shift))


def _log_mean(stop: Integers, options: Integers, unit: float) -> Integers:
    largest = np.maximum(stop, options.max(axis=0))
    split = np.exp((options - largest) * unit).sum(axis=0) / len(options)
    mean = (np.exp((stop - largest) * unit) + split) / 2
    return np.asarray(largest + np.rint(np.log(mean) / unit).astype(np.int64))


def large_regions_native(start: Start, smallest: int) -> LargeRegions:
    """Find them with the compiled kernel; see :func:`large_regions`."""
    function = compiled().shoal_large_regions
    function.restype = ctypes.c_void_p
    offsets = np.empty(int(np.prod([len(axis.costs) for axis in start.axes])) + 1, dtype=np.int64)
    found = function(
        ctypes.c_int64(len(start.keys)),
        ctypes.c_int32(len(start.axes)),
        ctypes.c_int32(start.target),
        ctypes.c_int64(smallest),
        *pointers(*described(start), offsets),
    )
    if not found:
        raise MemoryError
    number = int(offsets[-1])
    regions = LargeRegions(
        offsets, np.empty(number, dtype=np.uint64), np.empty(number, dtype=np.int64), np.empty(number)
    )
    compiled().shoal_take_regions(ctypes.c_void_p(found), *pointers(*regions[1:]))
    return regions


def weigh_trees_native(start: Start, regions: LargeRegions, stops: Integers, unit: float) -> Integers:
    """Weigh with the compiled kernel; see :func:`weigh_trees`."""
    weights = np.empty(len(stops), dtype=np.int64)
    _, _, _, *axes = described(start)
    compiled().shoal_weigh_trees(
        ctypes.c_int32(len(start.axes)),
        ctypes.c_double(unit),
        *pointers(
            *axes,
            regions.offsets,
            np.ascontiguousarray(regions.keys),
            np.ascontiguousarray(stops, dtype=np.int64),
            weights,
        ),
    )
    return weights
