"""Private choices of many tables: pairs of columns whose table tells most beyond single columns, and a scheme.

Pairs are chosen in rounds, and their tables are released before the next round. For a pair of columns at a pair of
levels let n be the number of records of a cell, e the number that all tables released so far let expect: in the first
round as if columns had nothing to do with each other, later by the weighted pool of `shoal.fitting`. Let m be what
trimming takes off, and t the usual size of the noise; e, m and t are public whole numbers. Where the schema lists all
cells, the score of the candidate is

    sum over all listed cells of abs(n - e), less the number of these cells times t / 4, rounded up,

how far the cells are from what is known of them, less a price for every cell: a quarter of the noise, because tables
are read together, which takes most of it away. (Rounded for every cell, the price would keep small noise from showing
fine levels.) Otherwise cells that trimming hides tell nothing, and the score is

    sum over all cells of max(0, min(n - m, abs(n - e) - t)).

**Sensitivity.** A record changes one n by one. abs(n - e) and n - m change by at most one, and so do minima of them and
maxima with 0. So a score changes by at most 1, up or down. Scores are whole numbers, and the cells that are summed over
and their price do not depend on the data: those without records count 0 in the second sum. Given what was released
before, a choice by the exponential mechanism is differentially private; chosen pairs are taken out and the next one is
chosen likewise. The theorem of `shoal.methods.truthful.gaussian` allows every table and every choice to depend on what
was shown before, and that is all that later rounds know of the data: e is computed from released tables and the schema.

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
from shoal.methods.truthful._sets_counted import cells
from shoal.methods.truthful._sets_expected import Expected
from shoal.methods.truthful._sets_listed import LeveledColumns, ListedClasses
from shoal.methods.truthful._sets_split import Noise
from shoal.methods.truthful._survival import Trims, gaussian_losses
from shoal.tables import Frequencies


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


def choose(
    listed: ListedClasses,
    expected: Expected,
    chosen: Sequence[LeveledColumns],
    *,
    among: Sequence[LeveledColumns],
    number: int,
    epsilon: Fraction,
    noise: Noise,
    watch: Watch,
    source: RandomSource,
) -> list[LeveledColumns]:
    """Choose so many pairs of columns besides those that were chosen already, each with epsilon."""
    taken = {each.columns for each in chosen}
    open_still, scores = [], []
    for place, candidate in enumerate(among):
        watch.step(place, len(among), "scoring pairs of columns")  # as often whatever was chosen
        if candidate.columns not in taken:
            open_still.append(candidate)
            scores.append(score(listed, candidate, expected, noise))
    selection = ExponentialMechanism(epsilon=epsilon, sensitivity=1)
    sets: list[LeveledColumns] = []
    while len(sets) < number:
        sets.append(open_still[selection.select(np.array(scores, dtype=np.float64), source=source)])
        kept = [place for place, other in enumerate(open_still) if other.columns != sets[-1].columns]
        open_still, scores = [open_still[place] for place in kept], [scores[place] for place in kept]
    return sets


def score(listed: ListedClasses, candidate: LeveledColumns, expected: Expected, noise: Noise) -> int:
    """Return the score of a candidate, a whole number."""
    usual = math.sqrt(float(noise.variance) * 2 / math.pi)
    number = listed.number(candidate)
    if number is not None:
        known = np.rint(expected.of_listed(candidate)).astype(np.int64)
        return int(np.abs(listed.counts(candidate) - known).sum()) - math.ceil(number * usual / 4)
    table = cells(listed.frequencies, candidate)
    known = np.rint(expected.of_cells(candidate, table)).astype(np.int64)
    gains = np.minimum(table.counts - noise.m, np.abs(table.counts - known) - math.ceil(usual))
    return int(np.maximum(gains, 0).sum())


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
