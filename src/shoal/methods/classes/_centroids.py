"""The middle of each cluster, and records replaced by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.methods.classes._partition import Partition
from shoal.methods.classes._records import Records

__all__ = ["aggregate", "centroids", "cluster_means"]

CHUNK = 1 << 12  # clusters whose counts of concepts are held at a time


def centroids(records: Records, partition: Partition) -> Records:
    """Return one record per cluster: means of numbers, the least marginal concepts of categories [SC13 (6.4)].

    O(nm) and, for each categorical attribute, O(clusters * concepts * values).

    Examples
    --------
    >>> centroids(Records(numeric=[[1.0], [3.0], [8.0]]), Partition([0, 0, 1])).numeric.tolist()
    [[2.0], [8.0]]
    """
    codes = np.empty((partition.count, len(records.taxonomies)), np.int32)
    for column, taxonomy in enumerate(records.taxonomies):
        order, starts = partition.order(), partition.starts()
        for first in range(0, partition.count, CHUNK):
            last = min(first + CHUNK, partition.count)
            end = starts[last] if last < partition.count else len(records)
            rows = order[starts[first] : end]
            counts = np.zeros((last - first, taxonomy.count), np.int64)
            np.add.at(counts, (partition.labels[rows] - first, records.codes[rows, column]), 1)
            codes[first:last, column] = taxonomy.centroid(counts)
    numeric = cluster_means(records.numeric, partition)
    if records.lower is not None and records.upper is not None:
        numeric = np.clip(numeric, records.lower, records.upper)  # a mean may round past a bound
    return records.replace(numeric, codes)


def aggregate(records: Records, partition: Partition) -> Records:
    """Return the records, each replaced by the centroid of its cluster: the k-anonymous release of MDAV-ID.

    Guarantee
    ---------
    Syntactic: k-anonymity on these attributes, k the size of the smallest cluster [SC13, section 2.8]. Numbers keep
    their means, up to rounding.

    Assumptions
    -----------
    The attributes clustered are all the quasi-identifiers. Confidential attributes are not protected.
    """
    return centroids(records, partition).take(partition.labels)


def cluster_means(values: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Return the mean of each cluster and column; a cluster of equal values gives that value exactly."""
    if partition.count == 0:
        return np.empty((0, values.shape[1]))
    ordered = values[partition.order()]
    starts, sizes = partition.starts(), partition.sizes[:, None]
    # Means of the differences from the first member round less than means of the values, and not at all at 0.
    first = ordered[starts]
    differences = ordered - np.repeat(first, partition.sizes, axis=0)
    means: NDArray[np.float64] = first + np.add.reduceat(differences, starts, axis=0) / sizes
    return means
