"""A partition of records into clusters, the mean of each, mergers of near ones, and random exchanges inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError, RequirementError
from shoal.kernels import Floats, Integers, Mask
from shoal.kernels.nearest import nearest
from shoal.mechanisms import SYSTEM, RandomSource


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A partition of records: the cluster of every record.

    Examples
    --------
    >>> partition = Partition([0, 1, 0, 1, 1])
    >>> partition
    Partition(5 records in 2 clusters of 2 to 3)
    >>> [cluster.tolist() for cluster in partition.clusters()]
    [[0, 2], [1, 3, 4]]
    """

    #: The cluster of each record: 0, 1, ..., none of them empty.
    labels: NDArray[np.int32]
    sizes: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        labels = np.array(self.labels, dtype=np.int32)
        if labels.ndim != 1:
            raise ParameterError(f"`labels` of `Partition` must be one number per record; got shape {labels.shape}.")
        if len(labels) and labels.min() < 0:
            raise ParameterError("`labels` of `Partition` must not be negative.")
        sizes = np.bincount(labels).astype(np.int64)
        if not sizes.all():
            raise ParameterError("`labels` of `Partition` must leave no cluster empty.")
        for array in (labels, sizes):
            array.flags.writeable = False
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "sizes", sizes)

    @classmethod
    def from_names(cls, names: ArrayLike) -> Partition:
        """Return the partition of records by any integer name, clusters numbered in the order of their names."""
        _, labels = np.unique(np.asarray(names), return_inverse=True)
        return cls(labels.astype(np.int32))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        if not self.count:
            return "Partition(0 records)"
        least, greatest = int(self.sizes.min()), int(self.sizes.max())
        return f"Partition({len(self)} records in {self.count} clusters of {least} to {greatest})"

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.sizes)

    def order(self) -> NDArray[np.int64]:
        """Return the rows cluster by cluster, ascending inside each."""
        return np.argsort(self.labels, kind="stable")

    def starts(self) -> NDArray[np.int64]:
        """Return where each cluster begins in `order`."""
        starts: NDArray[np.int64] = np.cumsum(self.sizes) - self.sizes
        return starts

    def clusters(self) -> list[NDArray[np.int64]]:
        """Return the rows of each cluster."""
        return np.split(self.order(), self.starts()[1:]) if self.count else []

    def same_clusters(self, other: Partition) -> bool:
        """Say whether the clusters are the same sets of records, whatever their numbers."""
        if len(self) != len(other) or self.count != other.count:
            return False
        pairs = np.unique(np.stack([self.labels, other.labels]), axis=1)
        return int(pairs.shape[1]) == self.count

    def require(self, least: int, greatest: int | None = None) -> Partition:
        """Return the partition, or raise if a cluster has fewer than ``least`` or more than ``greatest`` records."""
        small = int((self.sizes < least).sum())
        large = 0 if greatest is None else int((self.sizes > greatest).sum())
        if small or large:
            limit = f"at least {least}" if greatest is None else f"{least} to {greatest}"
            raise RequirementError(f"{small + large} of {self.count} clusters do not hold {limit} records.")
        return self


def require_size(k: int, n: int, method: str) -> int:
    """Return k if it is a cluster size that n records allow, or raise."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n:
        raise ParameterError(
            f"`k` of `{method}` must be an integer in [1, number of records]; got {k} for {n} records.",
            hint="a cluster cannot hold more records than there are",
        )
    return int(k)


def as_points(values: ArrayLike) -> Floats:
    """Return a matrix (or one column) of finite numbers as points, one row per record."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim not in (1, 2):
        raise DataError(f"records are rows of numbers; got shape {matrix.shape}.")
    points = np.ascontiguousarray(matrix[:, None] if matrix.ndim == 1 else matrix)
    if not np.isfinite(points).all():
        rows = int((~np.isfinite(points)).any(axis=1).sum())
        raise DataError(f"records hold values that are not finite numbers, in {rows} rows.")
    return points


def as_column(values: ArrayLike) -> Floats:
    """Return one column of finite numbers."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise DataError(f"one attribute is one column of numbers; got shape {column.shape}.")
    if not np.isfinite(column).all():
        raise DataError(f"{int((~np.isfinite(column)).sum())} values are not finite numbers.")
    return column


def cluster_means(values: Floats, partition: Partition) -> Floats:
    """Return the mean of each cluster and column; a cluster of equal values gives that value exactly."""
    if partition.count == 0:
        return np.empty((0, values.shape[1]))
    ordered = values[partition.order()]
    starts, sizes = partition.starts(), partition.sizes[:, None]
    # Means of the differences from the first member round less than means of the values, and not at all at 0.
    first = ordered[starts]
    differences = ordered - np.repeat(first, partition.sizes, axis=0)
    means: Floats = first + np.add.reduceat(differences, starts, axis=0) / sizes
    return means


def squared_error(points: Floats, partition: Partition) -> float:
    """Return the sum of the squared distances of the points to the centroids of their classes."""
    return float(np.square(points - cluster_means(points, partition)[partition.labels]).sum())


def merge_clusters(points: Floats, partition: Partition, satisfied: Callable[[Partition], Mask]) -> Partition:
    """Return a coarser partition whose classes all satisfy the verdict.

    In every round each failing class, the smallest first, is merged with the class whose centroid is nearest to its
    own and that was not merged in this round. Closeness is convex, so merging never makes two classes worse than the
    worse of them, and a single class has distance 0: this ends, unless the table itself fails.

    Guarantee
    ---------
    The verdict holds for every class of the result; every class is a union of classes of ``partition``.

    Notes
    -----
    Merging the worst class alone, as "microaggregation and merging" does (Soria-Comas et al. 2015, Alg. 1), costs a
    pass for each merger; rounds cost O((N + classes log classes) log classes) in all, and merge about as many.

    Raises
    ------
    RequirementError
        If one class of all records fails.

    Examples
    --------
    >>> places = np.array([[1.0], [2.0], [8.0], [9.0]])
    >>> merge_clusters(places, Partition([0, 1, 2, 3]), lambda p: p.sizes >= 2).labels.tolist()
    [0, 0, 1, 1]
    """
    while True:
        verdict = satisfied(partition)
        if verdict.all():
            return partition
        if partition.count == 1:
            raise RequirementError(
                "even a single class of all records does not keep the promises",
                hint="weaken a promise; closeness alone always holds for a single class",
            )
        partition = Partition.from_names(_pairs(points, partition, verdict)[partition.labels])


def _pairs(points: Floats, partition: Partition, verdict: Mask) -> Integers:
    """Return the class that every class becomes: itself, or the one it is merged with."""
    centroids = cluster_means(points, partition)
    failing = np.flatnonzero(~verdict)
    failing = failing[np.argsort(partition.sizes[failing], kind="stable")]
    neighbours, _ = nearest(centroids, centroids[failing], min(8, partition.count))
    owner, busy = np.arange(partition.count), np.zeros(partition.count, dtype=bool)
    for own, near in zip(failing.tolist(), neighbours.tolist(), strict=True):
        if busy[own]:
            continue
        for other in near:
            if other != own and not busy[other]:
                owner[own] = other
                busy[own] = busy[other] = True
                break
    return owner


def permutation_within(partition: Partition, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return a uniformly random permutation of the rows that keeps every row in its cluster.

    Rows get independent 64-bit keys and are sorted by them inside each cluster; if two keys of a cluster agree, all
    are drawn again, which leaves the permutation exactly uniform. O(n log n).
    """
    while True:
        keys = source.uint64(len(partition))
        drawn = np.lexsort((keys, partition.labels))
        ranked, clusters = keys[drawn], partition.labels[drawn]
        if not ((ranked[1:] == ranked[:-1]) & (clusters[1:] == clusters[:-1])).any():
            break
    result = np.empty(len(partition), np.int64)
    result[partition.order()] = drawn
    return result
