"""Coverage: the leaves of the domain and the input records that released values and classes stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.kernels import Integers
from shoal.models import Classes
from shoal.quality._measure import Costs, marginals, summed_cells
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coverage:
    """The values of one attribute: value ``i`` covers ``leaves[i]`` leaves, which ``records[i]`` records have."""

    leaves: Integers
    records: Integers

    @classmethod
    def of(cls, first: Integers, last: Integers, counts: Integers) -> Coverage:
        """Count what lies between a first and a last leaf; ``counts`` are the records per leaf."""
        before = np.concatenate(([0], np.cumsum(counts)))
        return cls(leaves=last - first + 1, records=before[last + 1] - before[first])


def coverage_of_levels(frequencies: Frequencies) -> tuple[tuple[Coverage, ...], ...]:
    """Return the coverage of every value, by attribute and level."""
    return tuple(
        tuple(Coverage.of(*_ranges(hierarchy, level), counts) for level in range(hierarchy.levels))
        for hierarchy, counts in zip(frequencies.hierarchies, marginals(frequencies), strict=True)
    )


def coverage_of_recoding(recoding: Recoding, frequencies: Frequencies) -> tuple[Coverage, ...]:
    """Return the coverage of the released values of any recoding, by attribute.

    A full-domain recoding says which level its values are from. Other recodings release values of the hierarchy,
    which are known by their labels, or values of their own (intervals between cuts, say): those cover all leaves
    from the first to the last that they were released for.
    """
    if recoding.levels is not None:
        leaves = [_ranges(*pair) for pair in zip(frequencies.hierarchies, recoding.levels, strict=True)]
    else:
        leaves = [
            _find_observed_ranges(recoding, frequencies, column) for column in range(len(frequencies.hierarchies))
        ]
    return tuple(Coverage.of(*pair, counts) for pair, counts in zip(leaves, marginals(frequencies), strict=True))


class Volumes:
    """The volumes of the nodes of one table; ``domain`` is the logarithm of the volume of the whole domain."""

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
        return summed_cells(self._tables, levels, classes)

    def mean(self, levels: Sequence[int]) -> float:
        """Return the mean logarithm over the records of a node; it grows with generalisation."""
        return sum(means[level] for means, level in zip(self._means, levels, strict=True))


def volumes_of_recoding(recoding: Recoding, frequencies: Frequencies) -> Costs:
    """Return the logarithms of the volumes of the classes of any recoding."""
    result = np.zeros(recoding.number)
    for column, coverage in enumerate(coverage_of_recoding(recoding, frequencies)):
        result += np.log(np.maximum(coverage.leaves, 1))[recoding.codes[:, column]]
    return result


def _ranges(hierarchy: Hierarchy, level: int) -> tuple[Integers, Integers]:
    """Return the first and the last leaf below every value of a level; leaves are in tree order."""
    codes, numbers = hierarchy.codes[level], np.arange(len(hierarchy.labels[level]))
    return np.searchsorted(codes, numbers), np.searchsorted(codes, numbers, side="right") - 1


def _find_observed_ranges(recoding: Recoding, frequencies: Frequencies, column: int) -> tuple[Integers, Integers]:
    chosen = recoding.classes >= 0
    values = recoding.codes[recoding.classes[chosen], column]
    leaves = frequencies.codes[chosen, column].astype(np.int64)
    labels = recoding.labels[column]
    first = np.full(len(labels), frequencies.hierarchies[column].size, dtype=np.int64)
    last = np.full(len(labels), -1, dtype=np.int64)
    np.minimum.at(first, values, leaves)
    np.maximum.at(last, values, leaves)
    known = _index_ranges(frequencies.hierarchies[column], labels)
    for value, label in enumerate(labels):
        # the lowest value of this name that covers what was observed
        for low, high in known.get(label, ()):
            if low <= first[value] and last[value] <= high:
                first[value], last[value] = low, high
                break
    unused = last < first
    first[unused], last[unused] = 0, -1
    return first, last


def _index_ranges(hierarchy: Hierarchy, labels: Sequence[str | None]) -> dict[str | None, list[tuple[int, int]]]:
    """Return the ranges of leaves that labels stand for, the lowest level first."""
    ranges: dict[str | None, list[tuple[int, int]]] = {label: [] for label in labels}
    for level, names in enumerate(hierarchy.labels):
        first, last = _ranges(hierarchy, level)
        for code, label in enumerate(names):
            if label in ranges:
                ranges[label].append((int(first[code]), int(last[code])))
    return ranges
