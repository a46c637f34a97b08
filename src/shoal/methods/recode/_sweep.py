"""Sweep over whole boxes of the lattice in one walk: to refute many nodes at once, or to score all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.kernels.walk import BoxAttribute, Start, score
from shoal.methods.recode._lattice import Lattice, Levels, Node, Tables
from shoal.tables import Frequencies, tally

__all__ = ["Box", "score_lattice"]

Floats = npt.NDArray[np.float64]


class Box:
    """All nodes from ``low`` to ``high``, as a walk takes them.

    The attribute with the most bits of information comes first: raising it makes the tables of all nodes after it
    smaller.

    Parameters
    ----------
    lattice
        The lattice.
    low, high
        The corners of the box.
    costs
        ``costs[attribute][level][code]``.
    sensitive
        The number of the sensitive attribute that tuples are told apart by; None for none.
    """

    def __init__(self, lattice: Lattice, low: Levels, high: Levels, costs: Tables, *, sensitive: int | None = None):
        node = lattice.node(low)
        self.low, self.high = low, high
        self.order = sorted(range(len(low)), key=lambda j: -_entropy(node, j))
        self.shape = tuple(high[j] - low[j] + 1 for j in self.order)
        sizes = [lattice.widths(low)[j] for j in self.order]
        target = 0 if sensitive is None else _bits(lattice.frequencies.sensitive[sensitive].size)
        shifts = np.cumsum([target, *map(_bits, sizes[::-1])])[::-1].tolist()
        self.fits = shifts[0] <= 64
        if not self.fits:
            return
        axes = tuple(
            BoxAttribute(
                shift=shift,
                bits=_bits(size),
                maps=tuple(lattice.mapping(j, level, level + 1) for level in range(low[j], high[j])),
                costs=tuple(costs[j][low[j] : high[j] + 1]),
            )
            for j, size, shift in zip(self.order, sizes, shifts[1:], strict=True)
        )
        self.start = _start(node, self.order, axes, target, sensitive)

    def levels(self, number: int) -> Levels:
        """Return the node with a number in the walk."""
        steps = np.unravel_index(number, self.shape) if self.shape else ()
        raised = dict(zip(self.order, steps, strict=True))
        return tuple(int(level + raised[j]) for j, level in enumerate(self.low))

    def arranged(self, values: Floats) -> Floats:
        """Return values of all nodes in the walk as an array with one axis per attribute."""
        return np.asarray(values.reshape(self.shape).transpose(np.argsort(self.order)))


def score_lattice(
    frequencies: Frequencies,
    gains: Floats,
    costs: Tables,
    *,
    slope: float,
    base: float = 1.0,
    sensitive: str | None = None,
) -> Floats:
    """Score every node of the lattice: the sum over its classes E of ``gain(|E|) * (base - cost(E))``.

    With the expected number of records that survive sampling and suppression as gain, this is the score of truthful
    differential privacy.

    Parameters
    ----------
    frequencies
        The table.
    gains
        ``gains[size]`` for sizes up to the last entry; every record more gains ``slope``.
    costs
        ``costs[attribute][level][code]``, what a released value costs; the cost of a class is their sum.
    base
        What is gained by a record that costs nothing.
    sensitive
        The gain of a class is then the largest gain of the records with one value of this attribute.

    Returns
    -------
    Floats
        One axis per quasi-identifier, indexed by its level.

    Notes
    -----
    One walk over the lattice, O(tuples) per node; tuples that need more than 64 bits are rolled up node by node.
    """
    lattice = Lattice(frequencies, costs)
    target = None if sensitive is None else [attribute.name for attribute in frequencies.sensitive].index(sensitive)
    box = Box(lattice, lattice.bottom, lattice.top, costs, sensitive=target)
    if not box.fits:
        return _score_one_by_one(lattice, gains, slope, base, target)
    return box.arranged(score(box.start, gains, slope=slope, base=base, best_value=target is not None))


def _score_one_by_one(lattice: Lattice, gains: Floats, slope: float, base: float, target: int | None) -> Floats:
    scores = np.zeros([height + 1 for height in lattice.heights])
    last = len(gains) - 1
    for levels in np.ndindex(scores.shape):
        node = lattice.node(levels)
        occupied = node.sizes > 0
        counts, starts = node.sizes[occupied], None
        if target is not None:
            name = lattice.frequencies.sensitive[target].name
            histogram = node.classes(occupied, sensitive=[name]).histogram(name)
            counts, starts = histogram.counts, histogram.offsets[:-1]
        gain = gains[np.minimum(counts, last)] + slope * np.maximum(counts - last, 0)
        best = gain if starts is None else np.maximum.reduceat(gain, starts)
        scores[levels] = float((best * (base - node.costs[occupied])).sum())
    return scores


def _start(
    node: Node, order: Sequence[int], axes: tuple[BoxAttribute, ...], target: int, sensitive: int | None
) -> Start:
    keys = np.zeros(node.rows, dtype=np.uint64)
    for j, axis in zip(order, axes, strict=True):
        keys |= node.columns[j].astype(np.uint64) << np.uint64(axis.shift)
    if sensitive is not None:
        keys |= node.columns[len(node.levels) + sensitive].astype(np.uint64)
    occupied = node.counts[0] > 0
    distinct, labels = np.unique(keys[occupied], return_inverse=True)
    return Start(distinct, tally(labels, node.counts[0, occupied], len(distinct)), axes, target)


def _entropy(node: Node, attribute: int) -> float:
    counts = np.bincount(node.columns[attribute], weights=node.counts[0])
    shares = counts[counts > 0] / max(float(counts.sum()), 1.0)
    return -float((shares * np.log(shares)).sum())


def _bits(size: int) -> int:
    return max(size - 1, 0).bit_length()
