"""A local recoding in the making: what every tuple releases, before equal releases become classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes, Counts, Mask
from shoal.kernels.recoding import group
from shoal.methods.recode._lattice import smallest_class
from shoal.models import Classes, Model, keep
from shoal.tables import Frequencies, Recoding, tally


class Vocabulary:
    """The values that one attribute can release: those of its hierarchy and, where it is ordered, intervals.

    A value has a number. Values with the same text have the same number: they mean the same leaves, and releases that
    read the same are the same.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.labels: list[str | None] = [label for level in hierarchy.labels for label in level]
        self.shares: list[float] = np.concatenate(hierarchy.shares).tolist()
        self.depths: list[float] = [
            hierarchy.depth(level) for level, labels in enumerate(hierarchy.labels) for _ in labels
        ]
        chosen: dict[str | None, int] = {}
        for i, (label, leaves) in enumerate(zip(self.labels, np.concatenate(hierarchy.leaves).tolist(), strict=True)):
            if leaves > 1 or label not in chosen:  # a value that reads as a group does, such as `*`, is that group
                chosen[label] = i
        self._numbers = np.array([chosen[label] for label in self.labels], dtype=np.int32)
        self._starts = np.cumsum([0, *(len(labels) for labels in hierarchy.labels)])
        self._intervals: dict[tuple[int, int], int] = {}

    def at(self, leaves: Codes, level: int) -> Codes:
        """Return the values of leaves at one level."""
        return np.asarray(self._numbers[self._starts[level] + self.hierarchy.codes[level][leaves]])

    def covering(self, low: Codes, high: Codes) -> Codes:
        """Return the lowest values of the hierarchy that cover the leaves from ``low`` to ``high``."""
        result = np.zeros(len(low), dtype=np.int32)
        for level in reversed(range(self.hierarchy.levels)):
            codes = self.hierarchy.codes[level]
            same = codes[low] == codes[high]
            result[same] = self.at(low[same], level)
        return result

    def interval(self, low: Codes, high: Codes) -> Codes:
        """Return the intervals from ``low`` to ``high``; a single value is itself."""
        ends, labels = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
        numbers = [self._interval(int(a), int(b)) for a, b in ends.T]
        return np.array(numbers, dtype=np.int32)[labels.ravel()] if numbers else np.zeros(0, dtype=np.int32)

    def _interval(self, low: int, high: int) -> int:
        if low == high:
            return int(self._numbers[low])
        positions = self.hierarchy.positions
        assert positions is not None  # noqa: S101 - intervals are made of ordered attributes only
        if (low, high) not in self._intervals:
            share = float(positions[high] - positions[low])
            self._intervals[low, high] = len(self.labels)
            self.labels.append(f"[{self.labels[low]}, {self.labels[high]}]")
            self.shares.append(share)
            self.depths.append(share)
        return self._intervals[low, high]


@dataclass(frozen=True, slots=True, eq=False)
class OccupiedTuples:
    """The distinct quasi-identifiers that hold records, whatever their sensitive values."""

    #: Leaf codes, shape ``(attributes, tuples)``, in lexicographic order.
    columns: Codes
    #: Records per tuple.
    counts: Counts
    #: The tuple of every row of the frequencies; -1 where it holds no records.
    labels: Codes

    @classmethod
    def of(cls, frequencies: Frequencies, chosen: Mask | None = None) -> OccupiedTuples:
        """Gather all tuples, or those of the ``chosen`` rows."""
        rows = np.flatnonzero((frequencies.counts > 0) & (True if chosen is None else chosen))
        columns = np.ascontiguousarray(frequencies.codes[rows].T)
        groups = group(columns, [hierarchy.size for hierarchy in frequencies.hierarchies])
        labels = np.full(len(frequencies.counts), -1, dtype=np.int32)
        labels[rows] = groups.labels
        counts = tally(groups.labels, frequencies.counts[rows], len(groups.first))
        return cls(columns[:, groups.first], counts, labels)


class LocalDraft:
    """What every row of the frequencies releases.

    Parameters
    ----------
    frequencies
        The table.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self.frequencies = frequencies
        self.vocabularies = [Vocabulary(hierarchy) for hierarchy in frequencies.hierarchies]
        self.values = np.zeros(frequencies.codes.shape, dtype=np.int32, order="F")
        self.released = np.zeros(len(frequencies.counts), dtype=np.bool_)

    def copy(self) -> LocalDraft:
        """Return a draft that can be changed while this one is kept; both know the same values."""
        twin = LocalDraft.__new__(LocalDraft)
        twin.frequencies, twin.vocabularies = self.frequencies, self.vocabularies
        twin.values, twin.released = self.values.copy(order="F"), self.released.copy()
        return twin

    def generalize(self, rows: Mask | Counts, levels: Sequence[int]) -> None:
        """Release rows at the levels of a node."""
        for j, (vocabulary, level) in enumerate(zip(self.vocabularies, levels, strict=True)):
            self.values[rows, j] = vocabulary.at(self.frequencies.codes[rows, j], level)
        self.released[rows] = True

    def cover(self, labels: Codes, *, ordered: Sequence[bool]) -> None:
        """Release every row with the narrowest values that cover its region; -1 is no region.

        ``ordered`` says which attributes release intervals.
        """
        rows = np.flatnonzero(labels >= 0)
        if not len(rows):
            return
        order = rows[np.argsort(labels[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        owners = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        for j, (vocabulary, interval) in enumerate(zip(self.vocabularies, ordered, strict=True)):
            codes = self.frequencies.codes[order, j]
            low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
            made = vocabulary.interval(low, high) if interval else vocabulary.covering(low, high)
            self.values[order, j] = made[owners]
        self.released[rows] = True

    def classes(self) -> tuple[Codes, Classes]:
        """Return the class of every row (-1 where it is not released) and the classes: releases that are equal."""
        rows = np.flatnonzero(self.released & (self.frequencies.counts > 0))
        sizes = [len(vocabulary.labels) for vocabulary in self.vocabularies]
        groups = group(np.ascontiguousarray(self.values[rows].T), sizes)
        labels = np.full(len(self.released), -1, dtype=np.int32)
        labels[rows] = groups.labels
        classes = Classes.of(self.frequencies, labels, number=len(groups.first))
        codes = self.values[rows[groups.first]]
        return labels, replace(classes, codes=codes)

    def settle(self, models: Sequence[Model]) -> LocalDraft:
        """Return the draft in which the classes that violate a model are suppressed."""
        labels, classes = self.classes()
        kept = classes.crowds >= smallest_class(models)
        kept[kept] = keep(models, classes.only(kept))
        result = self.copy()
        result.released &= np.append(kept, False)[labels]
        return result

    def recoding(self) -> Recoding:
        """Return the recoding: equal releases are one class."""
        labels, classes = self.classes()
        codes = classes.codes
        assert codes is not None  # noqa: S101 - always given
        used = [np.unique(column) for column in codes.T]
        places = [np.searchsorted(values, column) for values, column in zip(used, codes.T, strict=True)]
        known = list(zip(self.vocabularies, used, strict=True))
        return Recoding(
            attributes=self.frequencies.attributes,
            classes=labels,
            codes=np.array(places, dtype=np.int32).T.reshape(codes.shape),
            labels=tuple(tuple(vocabulary.labels[i] for i in values) for vocabulary, values in known),
            shares=tuple(np.array([vocabulary.shares[i] for i in values]) for vocabulary, values in known),
            depths=tuple(np.array([vocabulary.depths[i] for i in values]) for vocabulary, values in known),
            unchanged=tuple(
                not vocabulary.hierarchy.floor and bool(np.all(values < vocabulary.hierarchy.size))
                for vocabulary, values in known
            ),
        )

    @property
    def suppressed(self) -> int:
        """The number of records that are not released."""
        return int(self.frequencies.counts[~self.released].sum())
