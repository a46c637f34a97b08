"""Blocks of near records that have whole quotas: a k-d tree whose cuts follow the quotas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.methods.classes._quotas import Quotas

__all__ = ["Block", "blocks"]

Points = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Records and the classes that they fill exactly.

    Parameters
    ----------
    rows
        The records of each bucket.
    first, last
        For every bucket that classes emphasise, the range of classes: ``first[i] <= class < last[i]``.
    """

    rows: tuple[Rows, ...]
    first: Rows
    last: Rows

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int((self.last - self.first).sum())


def blocks(points: Points, buckets: NDArray[np.integer], quotas: Quotas, most: int) -> list[Block]:
    """Divide records and quotas into blocks of at most ``most`` classes.

    A block is cut across the attribute with the greatest variance. The classes that emphasise a bucket go to the side
    where that bucket is more common, as far as the quotas allow; then each bucket gives its lowest records to the lower
    side, as many as the classes there take. O(N (m + log N) log(classes / most)).
    """
    kinds = np.unique(quotas.emphasis)
    first = np.searchsorted(quotas.emphasis, kinds, side="left")
    last = np.searchsorted(quotas.emphasis, kinds, side="right")
    rows = tuple(np.flatnonzero(buckets == bucket) for bucket in range(quotas.counts.shape[1]))
    totals = np.concatenate((np.zeros((1, len(rows)), dtype=np.int64), np.cumsum(quotas.counts, axis=0)))
    waiting, found = [Block(rows=rows, first=first, last=last)], []
    while waiting:
        block = waiting.pop()
        if block.classes <= max(most, 1):
            found.append(block)
        else:
            waiting.extend(_halves(points, totals, block))
    return found


def _halves(points: Points, totals: Rows, block: Block) -> tuple[Block, Block]:
    rows = np.concatenate(block.rows)
    values = points[:, int(points[rows].var(axis=0).argmax())]
    cut = block.first + _lower_classes(values, rows, totals, block)
    taken = (totals[cut] - totals[block.first]).sum(axis=0)
    lower, upper = [], []
    for mine, number in zip(block.rows, taken.tolist(), strict=True):
        ordered = mine[np.argpartition(values[mine], number)] if 0 < number < len(mine) else mine
        lower.append(ordered[:number])
        upper.append(ordered[number:])
    return (
        Block(rows=tuple(upper), first=cut, last=block.last),
        Block(rows=tuple(lower), first=block.first, last=cut),
    )


def _lower_classes(values: Points, rows: Rows, totals: Rows, block: Block) -> Rows:
    """Return how many classes of each kind go below: half of all, chosen to take what lies below the median."""
    numbers = block.last - block.first
    half = block.classes // 2
    share = half / block.classes
    border = np.quantile(values[rows], share)
    below = np.array([np.count_nonzero(values[mine] <= border) for mine in block.rows])
    taken = (totals[block.last] - totals[block.first]) / np.maximum(numbers, 1)[:, None]  # by a class, on average
    # lstsq of the difference to even shares: with a single kind of classes that is the answer
    even = numbers * share
    wanted = even + np.linalg.lstsq(taken.T, below - even @ taken, rcond=None)[0]
    wanted = np.clip(wanted, 0, numbers)
    lower: Rows = np.floor(wanted).astype(np.int64)
    difference = half - int(lower.sum())
    while difference:  # the sides must have their numbers of classes: the least wronged kinds give way
        step = 1 if difference > 0 else -1
        able = np.flatnonzero(lower < numbers) if step > 0 else np.flatnonzero(lower > 0)
        order = able[np.argsort(step * (lower[able] - wanted[able]), kind="stable")]
        lower[order[: abs(difference)]] += step
        difference = half - int(lower.sum())
    return lower
