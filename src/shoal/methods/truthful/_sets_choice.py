"""What many tables choose privately: pairs of columns whose table tells most that single columns do not, and a scheme.

For a pair of columns at a pair of levels let n be the number of records of a cell, e the number that the released
tables of single columns let expect if the columns had nothing to do with each other, m what trimming takes off, and t
the usual size of the noise; e, m and t are public whole numbers. Where the schema lists all cells, the score of the
candidate is

    sum over all listed cells of abs(n - e), less the number of these cells times t / 4, rounded up,

how far the cells are from what is known of them, less a price for every cell: a quarter of the noise, because tables
are read together, which takes most of it away. (Rounded for every cell, the price would keep small noise from showing
fine levels.) Otherwise cells that trimming hides tell nothing, and the score is

    sum over all cells of max(0, min(n - m, abs(n - e) - t)).

**Sensitivity.** A record changes one n by one. abs(n - e) and n - m change by at most one, and so do minima of them and
maxima with 0. So a score changes by at most 1, up or down. Scores are whole numbers, and the cells that are summed over
and their price do not depend on the data: those without records count 0 in the second sum. Given what was released
before, a choice by the exponential mechanism is differentially private; chosen pairs are taken out and the next one is
chosen likewise.

A table of all columns beside these has a scheme that is drawn from all trees, and classes that are trimmed like theirs.

**Theorem.** Drawing the scheme with epsilon has Renyi divergences of at most a epsilon^2 / 8 for all orders a > 1, and
given the scheme the table is one more table of `shoal.methods.truthful.gaussian`; so both enter its theorem, with the
rho epsilon^2 / 8 + 1 / (2 v) and one more number beta.

*Proof.* A scheme does not depend on the noise of any table, and a record lies in exactly one cell of it: given the
scheme, Lemma 1 holds. For the draw, compare neighbours D and D' = D + record. By the proof in
`shoal.methods.truthful._trees` the logarithm of the ratio of the probabilities of a tree is A'(tree) - A(tree) minus a
constant that no tree changes, and A' - A lies in an interval of length (g Delta + 4T) 2^-b <= epsilon. The proof of
Lemma 2 needs no more than that. Where the top of some column has several values their trees are drawn independently,
and the record is in one of them. QED

The scheme itself is not published: cells of the table that look alike, because a hierarchy has one label on two
levels, are counted together, which is a function of what was drawn, and the standard definition allows that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.errors import ParameterError
from shoal.hierarchies import Hierarchy
from shoal.kernels import Floats
from shoal.mechanisms import ExponentialMechanism, RandomSource
from shoal.methods.base import Watch
from shoal.methods.truthful._scheme import LARGEST_LATTICE, Chooser, Tuples
from shoal.methods.truthful._scores import Granularity, check_records
from shoal.methods.truthful._sets_listed import LeveledColumns, ListedClasses
from shoal.methods.truthful._sets_split import Noise
from shoal.methods.truthful._survival import Trims, gaussian_losses
from shoal.tables import Frequencies, tally

#: Classes that are counted in an array of all that there can be, whether they occur or not.
_DENSE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What released tables of single columns let expect: records, and how many of them at each value of a column.

    Values of columns that the schema lists are those of the list, others are those of the data.
    """

    records: float
    of_column: Sequence[Floats]


def levels_of(hierarchy: Hierarchy, low: int) -> range:
    """Return the levels to choose from: from the lowest that is allowed to the last below the top."""
    return range(low, max(low + 1, hierarchy.height))


def candidates(hierarchies: Sequence[Hierarchy], lows: Sequence[int]) -> list[LeveledColumns]:
    """Return all pairs of columns at all their levels; known without the data."""
    pairs = itertools.combinations(range(len(hierarchies)), 2)
    return [
        LeveledColumns(pair, levels)
        for pair in pairs
        for levels in itertools.product(*(levels_of(hierarchies[j], lows[j]) for j in pair))
    ]


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


def choose(
    listed: ListedClasses,
    lows: Sequence[int],
    expected: Expected,
    *,
    number: int,
    epsilon: Fraction,
    noise: Noise,
    watch: Watch,
    source: RandomSource,
) -> list[LeveledColumns]:
    """Choose so many pairs, each with epsilon."""
    open_still = candidates(listed.frequencies.hierarchies, lows)
    scores = []
    for place, candidate in enumerate(open_still):
        watch.step(place, len(open_still), "scoring pairs of columns")
        scores.append(score(listed, candidate, lows, expected, noise))
    selection = ExponentialMechanism(epsilon=epsilon, sensitivity=1)
    chosen: list[LeveledColumns] = []
    while len(chosen) < number:
        found = open_still[selection.select(np.array(scores, dtype=np.float64), source=source)]
        chosen.append(found)
        kept = [place for place, other in enumerate(open_still) if other.columns != found.columns]
        open_still, scores = [open_still[place] for place in kept], [scores[place] for place in kept]
    return chosen


def score(
    listed: ListedClasses, candidate: LeveledColumns, lows: Sequence[int], expected: Expected, noise: Noise
) -> int:
    """Return the score of a candidate, a whole number."""
    usual = math.sqrt(float(noise.variance) * 2 / math.pi)
    frequencies, number = listed.frequencies, listed.number(candidate)
    by_column = list(zip(candidate.columns, candidate.levels, strict=True))
    if number is not None:
        shares = np.ones(1)
        for j, level in by_column:
            hierarchy = listed.hierarchies[frequencies.attributes[j]]
            own = _lifted(hierarchy, lows[j], level, expected.of_column[j])
            shares = np.outer(shares, own / max(expected.records, 1.0)).ravel()
        independent = np.rint(shares * expected.records).astype(np.int64)
        return int(np.abs(listed.counts(candidate) - independent).sum()) - math.ceil(number * usual / 4)
    table = cells(frequencies, candidate)
    shares = np.ones(len(table))
    for place, (j, level) in enumerate(by_column):
        own = _in_the_data(listed, j, lows[j], level, expected)
        shares = shares * own[table.codes[:, place]] / max(expected.records, 1.0)
    independent = np.rint(shares * expected.records).astype(np.int64)
    gains = np.minimum(table.counts - noise.m, np.abs(table.counts - independent) - math.ceil(usual))
    return int(np.maximum(gains, 0).sum())


def _in_the_data(listed: ListedClasses, column: int, low: int, level: int, expected: Expected) -> Floats:
    """Return what is expected of the values of a column in the data at a level.

    A group of listed values is expected to have the records of all of them, whether they are in the data or not.
    """
    hierarchy, own = listed.frequencies.hierarchies[column], expected.of_column[column]
    if hierarchy.attribute not in listed.hierarchies:
        return _lifted(hierarchy, low, level, own)
    codes = listed.codes(column, level)
    return np.where(codes < 0, 0.0, _lifted(listed.hierarchies[hierarchy.attribute], low, level, own)[codes])


def _lifted(hierarchy: Hierarchy, low: int, level: int, counts: Floats) -> Floats:
    """Return expected counts at a higher level."""
    leaves = np.arange(hierarchy.size, dtype=np.int32)
    up = np.zeros(len(hierarchy.labels[low]), dtype=np.int64)
    up[hierarchy.generalize(leaves, low)] = hierarchy.generalize(leaves, level)
    return np.bincount(up, weights=counts, minlength=len(hierarchy.labels[level])).astype(np.float64)


# -- the scheme of the table of all columns


@dataclass(frozen=True, kw_only=True)
class GaussianTrimming(Trims):
    """What trimming with Gaussian noise will show of classes, as scores ask; about one record, not about persons."""

    m: int
    variance: Fraction
    per_person: int = 1
    least: int = 1

    @property
    def losses(self) -> Floats:
        return gaussian_losses(self.variance, self.m)


def joint_classes(
    frequencies: Frequencies, lows: Sequence[int], scheme: Fraction, noise: Noise, *, watch: Watch, source: RandomSource
) -> Tuples:
    """Draw a scheme for all columns and return its classes, untrimmed: never to be published.

    What cannot be drawn is refused before a random bit is taken.
    """
    check_records(frequencies)
    chooser = Chooser(
        frequencies=frequencies,
        low=tuple(lows),
        high=tuple(hierarchy.height for hierarchy in frequencies.hierarchies),
        operator=GaussianTrimming(m=noise.m, variance=noise.variance),
        weights={},
        score=Granularity.name,
        target=None,
        steps=0,
        watch=watch,
        source=source,
    )
    if chooser.nodes > LARGEST_LATTICE:
        raise ParameterError(
            f"a table of all {len(lows):,} columns has too many levels to draw a scheme for.",
            hint="use tables = `pairs`, raise the `levels` of some columns, or release fewer of them",
        )
    return chooser.tree(scheme)[2]
