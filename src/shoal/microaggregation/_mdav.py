"""MDAV: clusters around the records that are farthest out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.kernels.mdav import mdav as mdav_kernel
from shoal.microaggregation._distance import Scaling, Space
from shoal.microaggregation._partition import Partition, require_size
from shoal.microaggregation._records import Records

__all__ = ["mdav"]


def mdav(values: Records | ArrayLike, k: int, *, scaling: Scaling = "z-score") -> Partition:
    """Partition records into clusters of k, one of up to 2k - 1, by maximum distance to the average record.

    While at least 3k records remain: take the record r farthest from their centroid and the record s farthest from
    r; make a cluster of r and the k - 1 nearest to r, then one of s and the k - 1 nearest to s. Of 2k to 3k - 1 that
    remain, make one more around the record farthest from their centroid; the rest is the last cluster
    [SC13 Alg. 2.1]. The lower row wins a tie.

    Parameters
    ----------
    values
        Records, or a matrix of numbers with one row per record.
    k
        The least cluster size, in [1, number of records].
    scaling
        What numbers are divided by before distances are taken; see `Space`.

    Guarantee
    ---------
    Every cluster holds k to 2k - 1 records. Replacing records by centroids (`aggregate`) then gives k-anonymity on
    these attributes [SC13, section 2.8]; MDAV is *not* insensitive to a change of one record [SC13 Fig. 6.1], so no
    differential privacy of the original records follows from it.

    Notes
    -----
    O(n² m / k) in the worst case. Numbers alone run in a C++ kernel over a tree that skips most of this; the result
    is that of the plain scan, bit for bit. Records with categories use the marginality centroid and run in NumPy.

    Examples
    --------
    >>> mdav([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 5.0], 3).labels.tolist()
    [0, 1, 0, 1, 0, 1, 1]
    """
    records = Records.of(values)
    size = require_size(k, len(records), "mdav")
    space = Space.of(records, scaling)
    if not records.taxonomies:
        return Partition(mdav_kernel(space.numeric, size)).require(size, 2 * size - 1)
    return Partition(_mdav_mixed(records, space, size)).require(size, 2 * size - 1)


def _mdav_mixed(records: Records, space: Space, k: int) -> NDArray[np.int32]:
    labels = np.full(len(records), -1, np.int32)
    rows = np.arange(len(records))
    label = 0

    def farthest(numeric: NDArray[np.float64], codes: NDArray[np.int32]) -> int:
        return int(rows[space.distances(numeric, codes, rows).argmax()])

    def cluster(row: int) -> None:
        nonlocal rows, label
        distances = space.distances(space.numeric[row], space.codes[row], rows)
        distances[np.searchsorted(rows, row)] = -1.0  # the record itself comes first, whatever ties say
        border = np.partition(distances, k - 1)[k - 1]
        inside, on_border = np.flatnonzero(distances < border), np.flatnonzero(distances == border)
        members = np.concatenate([inside, on_border[: k - len(inside)]])
        labels[rows[members]] = label
        rows = np.delete(rows, members)
        label += 1

    def average() -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        columns = zip(records.taxonomies, records.codes[rows].T, strict=True)
        codes = [taxonomy.centroid(taxonomy.counts(column)) for taxonomy, column in columns]
        return space.numeric[rows].mean(axis=0), np.array(codes, np.int32)

    while len(rows) >= 3 * k:
        r = farthest(*average())
        cluster(r)
        cluster(farthest(space.numeric[r], space.codes[r]))
    if len(rows) >= 2 * k:
        cluster(farthest(*average()))
    labels[rows] = label
    return labels
