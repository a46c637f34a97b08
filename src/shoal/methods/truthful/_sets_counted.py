"""Trimmed tables: the records of every class, less what the noise takes off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.kernels import Integers
from shoal.mechanisms import RandomSource, discrete_gaussians
from shoal.methods.truthful._scheme import Tuples
from shoal.methods.truthful._sets_listed import HiddenCounts, LeveledColumns, ListedClasses, listed_classes
from shoal.methods.truthful._sets_split import Noise
from shoal.tables import Frequencies, tally

#: Classes that are counted in an array of all that there can be, whether they occur or not.
_DENSE = 1 << 20


def cells(frequencies: Frequencies, candidate: LeveledColumns) -> Tuples:
    """Return the classes of the table over a candidate's columns."""
    hierarchies = tuple(frequencies.hierarchies[j] for j in candidate.columns)
    sizes = [len(hierarchy.labels[level]) for hierarchy, level in zip(hierarchies, candidate.levels, strict=True)]
    # every class is one number, so that one pass counts them all: records are many, classes few
    classes = np.zeros(len(frequencies.counts), dtype=np.int64)
    for hierarchy, j, level, size in zip(hierarchies, candidate.columns, candidate.levels, sizes, strict=True):
        classes = classes * size + hierarchy.generalize(np.ascontiguousarray(frequencies.codes[:, j]), level)
    if math.prod(sizes) <= max(_DENSE, len(classes)):
        counts = tally(classes, frequencies.counts, math.prod(sizes))
        present = np.flatnonzero(counts)
        counts = counts[present]
    else:
        present, owners = np.unique(classes, return_inverse=True)
        counts = tally(owners, frequencies.counts, len(present))
    codes = np.stack(np.unravel_index(present, sizes), axis=1).astype(np.int32)
    levels = np.broadcast_to(np.array(candidate.levels, dtype=np.int32), codes.shape)
    return Tuples(hierarchies=hierarchies, levels=np.array(levels), codes=codes, counts=counts)


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A trimmed table, and where the schema lists its classes the estimates X + m of all of them, in their order."""

    shown: Tuples
    estimates: Integers | None = None
    #: The estimates of those that no record shows.
    hidden: HiddenCounts | None = None


def count_table(listed: ListedClasses, table: LeveledColumns, noise: Noise, source: RandomSource) -> CountedTable:
    """Draw what a table shows.

    Listed classes have their number whether it is above zero or not, others are shown by records or not at all.
    """
    classes = cells(listed.frequencies, table)
    number = listed.number(table)
    if number is None:
        return CountedTable(trimmed(classes, noise, source))
    sizes, levels = listed.counts(table), listed.levels(table)
    left = sizes - _taken(number, noise, source)
    names = list(listed_classes(listed.hierarchies, levels))
    place = listed.places(table, classes.codes)
    counts = np.where(place >= 0, left[place], classes.counts - _taken(len(classes), noise, source))
    return CountedTable(
        shown=classes.showing(np.maximum(counts, 0)),
        estimates=left + noise.m,
        hidden={names[each]: int(left[each]) + noise.m for each in np.flatnonzero(left <= 0).tolist()},
    )


def trimmed(classes: Tuples, noise: Noise, source: RandomSource) -> Tuples:
    """Draw how many copies of each class are shown, and keep those of which any are."""
    return classes.showing(np.maximum(classes.counts - _taken(len(classes), noise, source), 0))


def _taken(number: int, noise: Noise, source: RandomSource) -> Integers:
    """Draw how many records are taken off each of so many classes: exact, draws below -m repeated."""
    taken = np.full(number, -1, dtype=np.int64)
    while len(open_still := np.flatnonzero(taken < 0)):
        taken[open_still] = noise.m + discrete_gaussians(noise.variance, len(open_still), source=source)
    return taken
