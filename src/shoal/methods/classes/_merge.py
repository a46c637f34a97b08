"""Merge classes with their nearest neighbours until every class satisfies what is asked of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RequirementError
from shoal.kernels.nearest import nearest
from shoal.methods.classes._centroids import cluster_means
from shoal.methods.classes._partition import Partition

__all__ = ["merged"]

Verdict = Callable[[Partition], NDArray[np.bool_]]


def merged(points: NDArray[np.float64], partition: Partition, satisfied: Verdict) -> Partition:
    """Return a coarser partition whose classes all satisfy the verdict.

    In every round each failing class, the smallest first, is merged with the class whose centroid is nearest to its
    own and that was not merged in this round. Closeness is convex, so merging never makes two classes worse than the
    worse of them, and a single class has distance 0: this ends, unless the table itself fails.

    Parameters
    ----------
    points
        The quasi-identifiers as points.
    partition
        The classes to begin with.
    satisfied
        Says which classes of a partition satisfy what is asked.

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
    >>> merged(places, Partition([0, 1, 2, 3]), lambda p: p.sizes >= 2).labels.tolist()
    [0, 0, 1, 1]
    """
    while True:
        verdict = satisfied(partition)
        if verdict.all():
            return partition
        if partition.count == 1:
            raise RequirementError(
                "not even one class of all records keeps the promises",
                hint="weaken a promise; closeness alone always holds for a single class",
            )
        partition = Partition.numbered(_pairs(points, partition, verdict)[partition.labels])


def _pairs(points: NDArray[np.float64], partition: Partition, verdict: NDArray[np.bool_]) -> NDArray[np.int64]:
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
