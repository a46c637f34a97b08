"""Better clusters of the same sizes, by exchanging records between neighbours."""

from __future__ import annotations

from numpy.typing import ArrayLike

from shoal.errors import ParameterError
from shoal.kernels.exchange import exchange as exchange_kernel
from shoal.kernels.nearest import nearest
from shoal.methods.classes._centroids import cluster_means
from shoal.methods.classes._distance import Scaling, Space
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._records import Records

__all__ = ["exchange"]


def exchange(
    values: Records | ArrayLike,
    partition: Partition,
    *,
    passes: int = 1,
    neighbours: int = 32,
    scaling: Scaling = "z-score",
) -> Partition:
    """Exchange records between neighbouring clusters while that lowers the sum of squared errors.

    In each pass every record, in the order of the rows, may change places with a member of a cluster around its own
    whose centroid is hardly farther from it than its own: with the one that lowers the sum most. Sizes stay as they
    are, so what the partition promised about sizes stays true.

    Parameters
    ----------
    values
        Records without categories, or a matrix of numbers with one row per record.
    partition
        The clusters to begin with.
    passes
        How often to go through the records, in [0, ∞). The first takes most of what there is to gain: for MDAV
        clusters of scattered records about 5 % of the sum.
    neighbours
        How many clusters around each cluster to look at, in [1, ∞).
    scaling
        What numbers are divided by before distances are taken; see `Space`.

    Guarantee
    ---------
    The sizes of the clusters are those of ``partition``, and the sum of squared errors, on the scale asked for, is
    not greater, up to rounding.

    Notes
    -----
    O(n m neighbours) and O(k m) for each neighbour that is near enough, for clusters of about k.

    Examples
    --------
    >>> exchange([1.0, 2.0, 9.0, 8.0], Partition([0, 1, 0, 1])).labels.tolist()
    [1, 1, 0, 0]
    """
    records = Records.of(values)
    if records.taxonomies:
        raise ParameterError(f"`exchange` works on numbers only; got {len(records.taxonomies)} categorical attributes.")
    if passes < 0 or neighbours < 1:
        raise ParameterError(
            f"`passes` and `neighbours` of `exchange` must be at least 0 and 1; got {passes} and {neighbours}."
        )
    points = Space.of(records, scaling).numeric
    for _ in range(passes):
        centroids = cluster_means(points, partition)
        near, _ = nearest(centroids, centroids, neighbours + 1)  # each is nearest to itself
        partition = Partition(exchange_kernel(points, partition.labels, centroids, near))
    return partition
