"""Semantic distances in a hierarchy of levels, and the concept that stands for a class.

Legend: h + 1 levels; the ancestors of a concept at level l are its codes at the levels l..h, itself included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy
from shoal.methods.classes._partition import Partition

__all__ = ["semantic_distances", "typical_concepts"]

Numbers = NDArray[np.int64]
Points = NDArray[np.float64]

CELLS = 4_000_000
"""Distances between concepts and values that are worth computing; beyond, the commonest value stands for a class."""
CHUNK = 1 << 12


def semantic_distances(hierarchy: Hierarchy, leaves: NDArray[np.integer]) -> Points:
    """Return the distances of some leaves [SC13 (6.6)]: log2(1 + (|union| - |common|) / |union|) of their ancestors."""
    return _distances(hierarchy, leaves, leaves, 0)


def typical_concepts(hierarchy: Hierarchy, leaves: NDArray[np.integer], partition: Partition) -> Numbers:
    """Return the least marginal concept of each class [SC13 (6.4)], numbered level by level from the leaves on.

    Marginality is the sum of the distances to the values of the class; they are added as whole multiples of 2^-32, so
    that the order of summation decides nothing, and the lowest number wins a tie. Hierarchies with very many values
    take the commonest value instead. O(classes * values * concepts).
    """
    sizes = [len(labels) for labels in hierarchy.labels]
    present, places = np.unique(leaves, return_inverse=True)
    if len(present) * sum(sizes) > CELLS:
        return _commonest(leaves, partition)
    firsts = [np.searchsorted(codes, np.arange(size)) for codes, size in zip(hierarchy.codes, sizes, strict=True)]
    table = np.concatenate([_distances(hierarchy, first, present, level) for level, first in enumerate(firsts)])
    fixed = np.rint(table * 2.0**32).T
    if int(partition.sizes.max()) >= 1 << 20:  # beyond, sums of whole numbers in floating point are no longer exact
        fixed = fixed.astype(np.int64)
    result = np.empty(partition.count, dtype=np.int64)
    order, starts = partition.order(), np.append(partition.starts(), len(partition))
    for first in range(0, partition.count, CHUNK):
        last = min(first + CHUNK, partition.count)
        rows = order[starts[first] : starts[last]]
        counts = np.zeros((last - first, len(present)), dtype=fixed.dtype)
        np.add.at(counts, (partition.labels[rows] - first, places[rows]), 1)
        result[first:last] = (counts @ fixed).argmin(axis=1)
    return result


def _distances(hierarchy: Hierarchy, concepts: NDArray[np.integer], leaves: NDArray[np.integer], level: int) -> Points:
    """Return the distances of concepts at a level, each given by a leaf below it, to leaves."""
    common = np.zeros((len(concepts), len(leaves)))
    for codes in hierarchy.codes[level:]:
        common += codes[concepts][:, None] == codes[leaves]
    union = 2 * hierarchy.levels - level - common
    return np.asarray(np.log2(1 + (union - common) / union))


def _commonest(leaves: NDArray[np.integer], partition: Partition) -> Numbers:
    size = int(leaves.max()) + 1
    keys, counts = np.unique(partition.labels.astype(np.int64) * size + leaves, return_counts=True)
    # the last of each class after sorting by count; of equal counts the lowest code
    order = np.lexsort((-(keys % size), counts, keys // size))
    last = np.append(np.flatnonzero(np.diff(keys[order] // size)), len(order) - 1)
    return np.asarray(keys[order[last]] % size)
