"""Blocks of near records: halves at the median of the attribute with the greatest variance, again and again.

In memory a block is a set of rows (`blocks`), whose sizes are exact; MDAV then runs in each of them (`blocked_mdav`),
and records are exchanged along the borders. On executors a block is what planes cut out of space (`cut`): they are
chosen from a sample of the records and corrected by exact counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ParameterError
from shoal.kernels import Floats, Integers, Mask
from shoal.kernels.clusters import exchange as exchange_kernel
from shoal.kernels.clusters import mdav as mdav_kernel
from shoal.kernels.nearest import nearest, threads
from shoal.methods.classes._partition import Partition, as_points, cluster_means, require_size
from shoal.tables import Block, Plane

EVEN = 1 / 3
"""The least share of a part's sample that a plane may cut off; of attributes with few values some planes do not do."""


def widest_first(points: Floats) -> list[int]:
    """Return the attributes by their variance, the greatest first; the lower number wins a tie."""
    return [int(axis) for axis in np.argsort(-points.var(axis=0), kind="stable")]


def lowest(values: Floats, number: int) -> Mask:
    """Mark the ``number`` lowest values; ties are settled by row, so that they do not depend on a way of sorting.

    >>> lowest(np.array([4.0, 1.0, 3.0, 1.0, 3.0]), 3).tolist()
    [False, True, True, True, False]
    """
    if number >= len(values):
        return np.ones(len(values), dtype=np.bool_)
    border = np.partition(values, number)[number]
    below, equal = values < border, np.flatnonzero(values == border)
    below[equal[: number - int(below.sum())]] = True
    return np.asarray(below)


def blocks(points: Floats, most: int, *, multiple: int = 1) -> list[Integers]:
    """Return the rows of each block of at most ``most`` records.

    Sizes are multiples of ``multiple``, but for the last block, so that no block leaves a cluster that is too large.

    >>> [block.tolist() for block in blocks(np.array([[4.0], [1.0], [3.0], [2.0]]), 2)]
    [[1, 3], [0, 2]]
    """
    return _halve(points, np.arange(len(points)), most, max(1, multiple))


def _halve(points: Floats, rows: Integers, most: int, multiple: int) -> list[Integers]:
    half = len(rows) // 2 // multiple * multiple
    if len(rows) <= most or half == 0:
        return [rows]
    below = lowest(points[rows, widest_first(points[rows])[0]], half)
    return [*_halve(points, rows[below], most, multiple), *_halve(points, rows[~below], most, multiple)]


# -- planes


def cut(sample: Floats, records: int, most: int, *, late: Collection[int] = ()) -> Block:
    """Cut space into blocks of about ``most`` records, judged by a sample of all ``records``.

    As `blocks` does it in memory: halves at the median of the attribute with the greatest variance. Equal values stay
    on one side of a plane. Where no attribute gives two parts that are near enough to halves, the last column of the
    sample does, whose numbers differ. Attributes in ``late`` are tried after all others, so that borders come to lie
    elsewhere than where these made them.

    Examples
    --------
    >>> sample = np.array([[4.0, 0.1], [1.0, 0.2], [3.0, 0.3], [2.0, 0.4]])
    >>> cut(sample, 400, 200)
    Plane(axis=0, border=3.0, below=0, above=1)
    """
    return _number_blocks(_cut(sample, np.arange(len(sample)), records, most, late))


def axes_cut(block: Block) -> frozenset[int]:
    """Return the axes that planes cut."""
    return frozenset() if isinstance(block, int) else axes_cut(block.below) | axes_cut(block.above) | {block.axis}


def recut(block: Block, sample: Floats, sizes: Mapping[int, int], most: int) -> Block:
    """Cut blocks of more than ``most`` records once more; ``sizes`` are the records of every block."""

    def visit(part: Block, rows: Integers) -> Block:
        if isinstance(part, int):
            return _cut(sample, rows, sizes.get(part, 0), most, ())
        below = sample[rows, part.axis] < part.border
        return Plane(
            axis=part.axis,
            border=part.border,
            below=visit(part.below, rows[below]),
            above=visit(part.above, rows[~below]),
        )

    return _number_blocks(visit(block, np.arange(len(sample))))


def without_small(block: Block, sizes: Mapping[int, int], least: int) -> Block:
    """Take planes away until every block has ``least`` records, or there is one block alone.

    Two neighbours that are too small become one block; one that is too small beside others is given to these. Either
    way no block loses a record, so that none becomes too small by it.

    Examples
    --------
    >>> planes = Plane(axis=0, border=3.0, below=0, above=Plane(axis=1, border=0.0, below=1, above=2))
    >>> without_small(planes, {0: 4, 1: 50, 2: 60}, 10)
    Plane(axis=1, border=0.0, below=0, above=1)
    """
    kept, _ = _without_small(block, sizes, least)
    return 0 if kept is None else _number_blocks(kept)


def dealt(block: Block, sizes: Mapping[int, int], most: int, last: int) -> Block:
    """Divide blocks of more than ``most`` records into equal parts by ``last``, the axis that settles ties.

    Every part is then a sample of its block, chosen by nothing that records tell.

    Examples
    --------
    >>> dealt(Plane(axis=0, border=3.0, below=0, above=1), {0: 4, 1: 9}, 5, 1)
    Plane(axis=0, border=3.0, below=0, above=Plane(axis=1, border=0.5, below=1, above=2))
    """
    return _number_blocks(_dealt(block, sizes, most, last, 0.0, 1.0))


def _dealt(block: Block, sizes: Mapping[int, int], most: int, last: int, low: float, high: float) -> Block:
    if isinstance(block, int):
        return _halve_range(low, high, -(-sizes.get(block, 0) // most), last)
    tie = block.axis == last
    below = _dealt(block.below, sizes, most, last, low, block.border if tie else high)
    above = _dealt(block.above, sizes, most, last, block.border if tie else low, high)
    return replace(block, below=below, above=above)


def _halve_range(low: float, high: float, parts: int, last: int) -> Block:
    if parts < 2:
        return 0
    half = parts // 2
    border = low + (high - low) * half / parts
    return Plane(
        axis=last,
        border=border,
        below=_halve_range(low, border, half, last),
        above=_halve_range(border, high, parts - half, last),
    )


def _cut(sample: Floats, rows: Integers, records: int, most: int, late: Collection[int]) -> Block:
    if records <= most or len(rows) < 2:
        return 0
    axis, border = _even_halves(sample[rows], late)
    below = sample[rows, axis] < border
    inside = int(below.sum())
    if inside in (0, len(rows)):
        return 0
    part = round(records * inside / len(rows))
    return Plane(
        axis=axis,
        border=border,
        below=_cut(sample, rows[below], part, most, late),
        above=_cut(sample, rows[~below], records - part, most, late),
    )


def _even_halves(points: Floats, late: Collection[int]) -> tuple[int, float]:
    """Return the attribute and the border that cut points in two."""
    last = points.shape[1] - 1
    for axis in sorted(widest_first(points[:, :-1]), key=lambda axis: axis in late):
        border, share = _border(points[:, axis])
        if EVEN <= share <= 1 - EVEN:
            return axis, border
    return last, _border(points[:, last])[0]


def _border(values: Floats) -> tuple[float, float]:
    """Return the value nearest to the median such that some are less, and the share of those."""
    middle = np.partition(values, len(values) // 2)[len(values) // 2]
    above = values[values > middle]
    tried = [float(middle), *([float(above.min())] if len(above) else [])]
    shares = [float((values < border).mean()) for border in tried]
    best = min(range(len(tried)), key=lambda i: abs(shares[i] - 0.5))
    return tried[best], shares[best]


def _without_small(block: Block, sizes: Mapping[int, int], least: int) -> tuple[Block | None, int]:
    """Return what is left of a part, and the records it has; None where all of it is too small."""
    if isinstance(block, int):
        records = sizes.get(block, 0)
        return (block if records >= least else None), records
    (below, few), (above, many) = (_without_small(part, sizes, least) for part in (block.below, block.above))
    records = few + many
    if below is not None and above is not None:
        return Plane(axis=block.axis, border=block.border, below=below, above=above), records
    if below is None and above is None:
        return (0 if records >= least else None), records
    return (above if below is None else below), records


def _number_blocks(block: Block) -> Block:
    """Number the blocks from 0 on."""
    numbers = count()

    def visit(part: Block) -> Block:
        if isinstance(part, int):
            return next(numbers)
        below = visit(part.below)
        return Plane(axis=part.axis, border=part.border, below=below, above=visit(part.above))

    return visit(block)


LEAST_BLOCK = 20_000
"""Blocks are never smaller: the loss grows as they shrink."""


def blocked_mdav(
    values: ArrayLike,
    k: int,
    *,
    block_rows: int = 125_000,
    repair: int = 1,
) -> Partition:
    """Partition numeric records with MDAV inside the blocks of a k-d tree, blocks in parallel.

    The records are halved at the median of the attribute with the greatest variance until no block has more than
    ``block_rows``; MDAV runs in each block; `exchange` then repairs clusters along the borders.

    ``block_rows`` is at least 40,000, so that halves hold 20,000; ``repair`` is the number of passes of `exchange`.

    Guarantee
    ---------
    As `mdav`: every cluster holds k to 2k - 1 records. The clusters are not those of MDAV on all records. Measured on
    a million records of 10 attributes, k = 10, scattered and skewed: without repair the sum of squared errors is
    greater by 4-5 % at blocks of 250,000, 6-9 % at 125,000 and 10-16 % at 50,000; with one pass of repair at blocks
    of 125,000 it is less, by 0.5-2.5 %. The result does not depend on the number of threads.

    Notes
    -----
    O(n block_rows m / k) in the worst case.

    Examples
    --------
    >>> blocked_mdav([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 5.0], 3).labels.tolist()
    [0, 1, 0, 1, 0, 1, 1]
    """
    if block_rows < 2 * LEAST_BLOCK:
        raise ParameterError(
            f"`block_rows` of `blocked_mdav` must be at least {2 * LEAST_BLOCK}; got {block_rows}.",
            hint="smaller blocks lose more information than they save time",
        )
    points = as_points(values)
    size = require_size(k, len(points), "blocked_mdav")
    parts = blocks(points, block_rows, multiple=size)
    with ThreadPoolExecutor(max_workers=threads()) as pool:
        partitions = list(pool.map(lambda rows: mdav_kernel(points[rows], size), parts))
    labels, first = np.empty(len(points), np.int32), 0
    for rows, block in zip(parts, partitions, strict=True):
        labels[rows] = block + first
        first += int(block.max()) + 1
    partition = Partition(labels)
    if len(parts) > 1:
        partition = exchange(points, partition, passes=repair)
    return partition.require(size, 2 * size - 1)


def exchange(values: ArrayLike, partition: Partition, *, passes: int = 1, neighbours: int = 32) -> Partition:
    """Exchange records between neighbouring clusters while that lowers the sum of squared errors.

    In each pass every record, in the order of the rows, may change places with a member of a cluster around its own
    whose centroid is hardly farther from it than its own: with the one that lowers the sum most. Sizes stay as they
    are, so what the partition promised about sizes stays true.

    The first pass takes most of what there is to gain: for MDAV clusters of scattered records about 5 % of the sum.
    ``neighbours`` is how many clusters around each cluster are looked at.

    Guarantee
    ---------
    The sizes of the clusters are those of ``partition``, and the sum of squared errors is not greater, up
    to rounding.

    Notes
    -----
    O(n m neighbours) and O(k m) for each neighbour that is near enough, for clusters of about k.

    Examples
    --------
    >>> exchange([1.0, 2.0, 9.0, 8.0], Partition([0, 1, 0, 1])).labels.tolist()
    [1, 1, 0, 0]
    """
    if passes < 0 or neighbours < 1:
        raise ParameterError(
            f"`passes` and `neighbours` of `exchange` must be at least 0 and 1; got {passes} and {neighbours}."
        )
    points = as_points(values)
    for _ in range(passes):
        centroids = cluster_means(points, partition)
        near, _ = nearest(centroids, centroids, neighbours + 1)  # each is nearest to itself
        partition = Partition(exchange_kernel(points, partition.labels, centroids, near))
    return partition
