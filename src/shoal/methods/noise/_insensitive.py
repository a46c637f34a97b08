"""Insensitive microaggregation: a change of one record changes at most one record of every cluster."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.clusters import in_turns
from shoal.methods.classes import Partition, require_size
from shoal.methods.noise._records import Records

DEFAULT_CORNERS = 64


def insensitive(records: Records, k: int, *, reference_points: int | None = None) -> Partition:
    """Partition records by a fixed sequence of total orders.

    The i-th cluster takes the k records that are free and first in order i; the last takes the fewer than 2k that
    are left [SC13 Alg. 6.1]. Order i is the distance (6.7) to the reference point R_i, ties by the lexicographic
    order of the records (numbers first). The reference points are corners of the declared domain, used in turns;
    see `corners`.

    Parameters
    ----------
    records
        Records with declared bounds for their numbers.
    k
        The least cluster size, in [1, number of records].
    reference_points
        How many corners to use, in [1, 2^m] for m attributes; all of them but at most 64 where not given. With one
        numeric attribute and 1 reference point the order is the natural order of the numbers.

    Guarantee
    ---------
    For records X and X' of the same number that differ in one record, the i-th clusters of X and of X' differ in at
    most one record, for every i [SC13 Def. 12, Prop. 7]. So a mean of an attribute of width Δ moves by at most Δ/k,
    in *every* cluster: the c means together by at most cΔ/k. In the natural order of one attribute the moves
    telescope: all means together move by at most Δ/k.

    Assumptions
    -----------
    The domain, its boundaries, the taxonomies, k and the number of reference points are declared, not read off the
    records. The number of records is public. Distances are floating-point functions of one record each, so they
    define the same order for X and X'.

    Notes
    -----
    O(m n log n) and O(n (m + log n)) for each reference point; 4n bytes for each.

    Examples
    --------
    >>> ages = Records(numeric=[[31], [18], [64], [25], [40]], lower=[0], upper=[120])
    >>> insensitive(ages, 2, reference_points=1).labels.tolist()
    [1, 0, 1, 0, 1]
    """
    size = require_size(k, len(records), "insensitive")
    return insensitive_orders(fixed_orders(records, reference_points), size)


def insensitive_orders(orders: NDArray[np.int32], k: int) -> Partition:
    """Partition records by given orders, one permutation of the rows each, used in turns.

    Insensitive if each order is a fixed total order of the domain, the same whatever the records are [SC13 Prop. 7].
    """
    size = require_size(k, orders.shape[1], "insensitive_orders")
    return Partition(in_turns(orders, size)).require(size, 2 * size - 1)


def fixed_orders(records: Records, reference_points: int | None = None) -> NDArray[np.int32]:
    """Return, for each reference point in turn, the rows by distance from it; one row of the result each."""
    space = records.space("domain")
    numbers, categories = records.numeric.shape[1], len(records.taxonomies)
    limit = 2 ** min(numbers + categories, 30)
    count = min(limit, DEFAULT_CORNERS) if reference_points is None else reference_points
    if not 1 <= count <= limit:
        raise ParameterError(
            f"`reference_points` of `insensitive` must be in [1, 2^attributes]; got {count} for "
            f"{numbers + categories} attributes."
        )
    # Rows in lexicographic order first; a stable sort by distance then leaves ties in that order.
    keys = [*records.numeric.T, *records.codes.T]
    lexicographic = np.lexsort(keys[::-1])
    orders = np.empty((count, len(records)), np.int32)
    for order, corner in zip(orders, corners(numbers + categories, count), strict=True):
        ends = zip(records.taxonomies, corner[numbers:], strict=True)
        codes = np.array([taxonomy.boundaries[end] for taxonomy, end in ends], np.int32)
        distances = space.distances(np.array(corner[:numbers], np.float64), codes, lexicographic)
        order[:] = lexicographic[np.argsort(distances, kind="stable")]
    return orders


def corners(attributes: int, count: int) -> list[tuple[int, ...]]:
    """Return the first reference points: for each attribute 0, its lower boundary, or 1, its upper boundary.

    The first is (0, ..., 0). The next is, of those not chosen yet, the one at the greatest Hamming distance from the
    last chosen; of several the one at the greatest distance from the one chosen before; and so on
    [SC13, section 6.3.3]. Where that leaves a choice, the lexicographically first.

    >>> corners(2, 4)
    [(0, 0), (1, 1), (0, 1), (1, 0)]
    """
    chosen = [(0,) * attributes]
    while len(chosen) < count:
        taken = set(chosen)
        opposite = tuple(1 - end for end in chosen[-1])
        # The points at Hamming distance attributes - d from the last are its opposite with d ends turned.
        for turned in range(attributes + 1):
            flips = combinations(range(attributes), turned)
            candidates = [point for point in (_turn(opposite, ends) for ends in flips) if point not in taken]
            if candidates:
                break
        distances = [tuple(-_hamming(point, before) for before in reversed(chosen)) for point in candidates]
        chosen.append(min(zip(distances, candidates, strict=True))[1])
    return chosen


def _turn(point: tuple[int, ...], ends: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 - end if position in ends else end for position, end in enumerate(point))


def _hamming(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return sum(a != b for a, b in zip(left, right, strict=True))
