"""Intervals of about equally many records. The cut points are read off the data."""

from __future__ import annotations

import numpy as np

from shoal.hierarchies._column import Column
from shoal.hierarchies._cuts import between
from shoal.hierarchies._tree import Tree
from shoal.schema import Quantiles

__all__ = ["quantiles"]


def quantiles(column: Column, rule: Quantiles) -> Tree:
    """Return intervals that start at the quantiles of the records.

    The i-th of q cut points is the smallest value with more than ``i / q`` of the records at or below it. Values that
    hold many records may be two cut points at once; there are fewer intervals then.
    """
    numbers = column.numbers
    below = np.cumsum(column.counts)
    finest = rule.counts[0]
    if not len(numbers):
        return between(column, [()] * len(rule.counts))
    # below > i n / q in integers
    ranks = np.searchsorted(below, np.arange(1, finest) * int(below[-1]) // finest, side="right")
    points = numbers[np.minimum(ranks, len(numbers) - 1)]
    levels = []
    for count in rule.counts:
        step = finest // count
        chosen = np.unique(points[step - 1 :: step])
        levels.append(chosen[chosen > numbers[0]].tolist())
    return between(column, levels)
