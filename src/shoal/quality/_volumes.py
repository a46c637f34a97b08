"""Volumes of classes: how many tuples of leaves their released values cover, as logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.models import Classes
from shoal.quality._coverage import coverage_of_levels, coverage_of_recoding
from shoal.quality._objective import Costs
from shoal.tables import Frequencies, Recoding

__all__ = ["Volumes", "volumes_of_recoding"]


class Volumes:
    """The volumes of the nodes of one table.

    Attributes
    ----------
    domain
        The logarithm of the volume of the whole domain.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        levels = coverage_of_levels(frequencies)
        self.domain = sum(math.log(max(hierarchy.size, 1)) for hierarchy in frequencies.hierarchies)
        self._tables = tuple(tuple(np.log(np.maximum(entry.leaves, 1)) for entry in attribute) for attribute in levels)
        records = max(frequencies.records, 1)
        self._means = tuple(
            tuple(float((entry.records * table).sum()) / records for entry, table in zip(*pair, strict=True))
            for pair in zip(levels, self._tables, strict=True)
        )

    def of_classes(self, levels: Sequence[int], classes: Classes) -> Costs:
        """Return the logarithms of the volumes of the classes of a node."""
        assert classes.codes is not None  # noqa: S101 - the search always gives codes
        result = np.zeros(len(classes))
        for column, (table, level) in enumerate(zip(self._tables, levels, strict=True)):
            result += table[level][classes.codes[:, column]]
        return result

    def mean(self, levels: Sequence[int]) -> float:
        """Return the mean logarithm over the records of a node; it grows with generalisation."""
        return sum(means[level] for means, level in zip(self._means, levels, strict=True))


def volumes_of_recoding(recoding: Recoding, frequencies: Frequencies) -> Costs:
    """Return the logarithms of the volumes of the classes of any recoding."""
    result = np.zeros(recoding.number)
    for column, coverage in enumerate(coverage_of_recoding(recoding, frequencies)):
        result += np.log(np.maximum(coverage.leaves, 1))[recoding.codes[:, column]]
    return result
