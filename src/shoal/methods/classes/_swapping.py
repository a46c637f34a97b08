"""Probabilistic k-anonymity: values change places inside clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.mechanisms import SYSTEM, RandomSource
from shoal.methods.classes._distance import Scaling
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._records import Records
from shoal.methods.classes._univariate import individual_ranking

__all__ = ["ir_swap", "mdav_swap", "permutation_within"]


def mdav_swap(
    quasi_identifiers: Records | ArrayLike, k: int, *, scaling: Scaling = "z-score", source: RandomSource = SYSTEM
) -> NDArray[np.int64]:
    """Return the rows to take the quasi-identifiers from: a random permutation inside each MDAV cluster.

    Row i of the release holds the quasi-identifiers, all together, of row ``result[i]``, and the other attributes of
    row i. To protect one confidential attribute against an intruder who knows all others, pass those others as
    ``quasi_identifiers`` and permute the confidential attribute alone [SC13, section 3.3.2].

    Parameters
    ----------
    quasi_identifiers
        What the intruder knows: records, or a matrix of numbers.
    k
        The least cluster size, in [1, number of records].
    scaling
        What numbers are divided by before distances are taken; see `Space`.
    source
        Where random bits come from; a seeded source is for tests only.

    Guarantee
    ---------
    Probabilistic k-anonymity: the probability that an intruder with these quasi-identifiers finds the record of a
    person is at most 1/k [SC13 Def. 5, section 3.3.1]. Each attribute keeps its values, so its mean, variance and
    every other marginal statistic.

    Assumptions
    -----------
    The intruder knows the quasi-identifiers, the clusters and the method, not the permutation, which is drawn from
    the operating system's generator; and no other attribute of the person (uninformed intruder). Confidential values
    that all members of a cluster share are disclosed.

    Examples
    --------
    >>> rows = mdav_swap([1.0, 2.0, 3.0, 10.0, 11.0, 12.0], 3)
    >>> sorted(rows[:3].tolist()), sorted(rows[3:].tolist())
    ([0, 1, 2], [3, 4, 5])
    """
    return permutation_within(mdav(quasi_identifiers, k, scaling=scaling), source=source)


def ir_swap(confidential: ArrayLike, k: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return, for each confidential attribute, the rows to take its values from: permuted inside clusters of rank.

    Column j of the release is ``confidential[result[:, j], j]``; all other attributes stay.

    Parameters
    ----------
    confidential
        A matrix of numbers, one column per confidential attribute.
    k
        The least cluster size, in [1, number of records].
    source
        Where random bits come from; a seeded source is for tests only.

    Guarantee
    ---------
    Probabilistic k-anonymity against informed intruders: one who knows every attribute of a person but one finds the
    record that the person's value of that one was moved to with probability at most 1/k [SC13 Def. 5, sections 3.3.2
    and 3.3.3]. Each attribute keeps its values.

    Assumptions
    -----------
    As `mdav_swap`. Values of a cluster are close, so the value itself is learnt with the cluster's precision: k is
    to be much larger than for k-anonymity [SC13, section 3.5].

    Notes
    -----
    O(n log n) per attribute.

    Examples
    --------
    >>> income = np.array([[10.0], [52.0], [11.0], [50.0]])
    >>> sorted(income[ir_swap(income, 2)[:, 0], 0].tolist())
    [10.0, 11.0, 50.0, 52.0]
    """
    columns = Records.of(confidential).numeric.T
    permutations = [permutation_within(individual_ranking(column, k), source=source) for column in columns]
    return np.stack(permutations, axis=1) if permutations else np.empty((0, 0), np.int64)


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
