"""How many classes a node can have at most: bounds for measures that look at whole classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.tables import Frequencies, group

__all__ = ["ClassCounts"]


class ClassCounts:
    """The number of different values at every level, and of different tuples, of one table."""

    def __init__(self, frequencies: Frequencies) -> None:
        present = frequencies.codes[frequencies.counts > 0]
        self.tuples = len(group(present)[1])
        self.values = tuple(
            tuple(len(np.unique(codes[column])) for codes in hierarchy.codes)
            for hierarchy, column in zip(frequencies.hierarchies, present.T, strict=True)
        )

    def most(self, levels: Sequence[int]) -> int:
        """Return a number of classes that neither the node nor any generalisation of it exceeds; at least 1."""
        combinations = math.prod(values[level] for values, level in zip(self.values, levels, strict=True))
        return max(min(combinations, self.tuples), 1)
