"""The private choice of a scheme for a table and a budget: the tuples that the operator then samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes, Floats, Integers
from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, RandomSource, Selection
from shoal.methods.base import Watch
from shoal.methods.recode import Lattice, Levels
from shoal.methods.truthful._operators import Operator
from shoal.methods.truthful._scores import (
    ClassificationScore,
    DiscernibilityScore,
    ExpectedScore,
    Granularity,
    GroupSize,
    Intensity,
    NonUniformEntropyScore,
    Score,
    Setting,
)
from shoal.methods.truthful._steps import SchemeChosen, SchemeSearch
from shoal.methods.truthful._survival import Shows
from shoal.methods.truthful._trees import draw_tree
from shoal.tables import Frequencies, SensitiveAttribute, tally

#: Scores that add up over cells, so that trees can be drawn with them.
EXPECTED: dict[str, Callable[[Setting], ExpectedScore]] = {
    score.name: score for score in (Granularity, Intensity, GroupSize, ClassificationScore)
}
SCORES: dict[str, Callable[[Setting], Score]] = {
    **EXPECTED,
    DiscernibilityScore.name: DiscernibilityScore,
    NonUniformEntropyScore.name: NonUniformEntropyScore,
}
#: Lattices of at most so many nodes are scored completely.
LARGEST_LATTICE = 10**6


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Distinct tuples of generalised values, each with a number of records."""

    #: One per column.
    hierarchies: tuple[Hierarchy, ...]
    #: One row per tuple, one column per column: the level of the value and its code at that level.
    levels: Codes
    codes: Codes
    #: Records per tuple.
    counts: Integers

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, rows: npt.NDArray[np.bool_] | Integers) -> Tuples:
        return replace(self, levels=self.levels[rows], codes=self.codes[rows], counts=self.counts[rows])

    def showing(self, counts: Integers) -> Tuples:
        """Return the tuples with other numbers of records, those of which none are left out."""
        return replace(self, counts=counts).chosen(counts > 0)

    @cached_property
    def positions(self) -> Integers:
        """The position of every value in ``labels``, one column per column."""
        columns = [
            np.cumsum([0, *map(len, hierarchy.labels)])[self.levels[:, j]] + self.codes[:, j]
            for j, hierarchy in enumerate(self.hierarchies)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0), dtype=np.int64)

    def labels(self, column: int) -> tuple[str | None, ...]:
        """Return the values of all levels of a column, the finest level first."""
        return tuple(label for level in self.hierarchies[column].labels for label in level)

    def shares(self, column: int) -> Floats:
        """Return the part of the domain that each value of a column covers, one per tuple."""
        return np.asarray(np.concatenate(self.hierarchies[column].shares)[self.positions[:, column]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """What a run of the method gives."""

    #: The released tuples with their numbers of copies.
    tuples: Tuples
    #: How the scheme was chosen, the level of every column (None for a multi-dimensional scheme), and what happened to
    #: its classes. But for the private choice itself, nothing of it was read off the data.
    choice: SchemeChosen
    levels: Levels | None
    operator: Operator
    #: The tuples of the whole table under the scheme, before the operator. *Never to be published*, unlike the others.
    scheme: Tuples = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chooser:
    """Everything that a choice needs; see `Truthful` for the parameters."""

    frequencies: Frequencies
    low: Levels
    high: Levels
    operator: Shows
    weights: Mapping[str, float]
    score: str
    target: str | None
    steps: int
    watch: Watch
    source: RandomSource

    def fixed(self) -> tuple[SchemeChosen, Levels | None, Tuples]:
        """Return the one scheme that there is."""
        choice = self._choice("fixed", Fraction(0), Fraction(0), selections=0)
        return choice, self.low, self._of_node(Lattice(self._features), self.low)

    def node(self, epsilon: Fraction, *, published: bool) -> tuple[SchemeChosen, Levels | None, Tuples]:
        """Choose a node of the lattice."""
        score = SCORES[self.score](self._setting)

        def step(done: int) -> None:
            self.watch.step(done, self.steps, "walking")

        search: SchemeSearch
        if published:
            search, selections = "published walk", self.steps
            walk = published_walk(score, epsilon, self.source, steps=self.steps, step=step)
        elif self.nodes > LARGEST_LATTICE:
            search, selections = "split walk", self.steps + 1
            walk = split_walk(score, epsilon, self.source, steps=self.steps, step=step)
        else:
            search, selections = "draw", 1
            walk = draw_node(score, epsilon, self.source)
        chosen = dict(zip(self._kept, walk, strict=True))
        levels = tuple(chosen.get(j, level) for j, level in enumerate(self.low))
        choice = self._choice(search, score.sensitivity, epsilon, selections=selections)
        return choice, levels, self._of_node(score.lattice, levels)

    def tree(self, epsilon: Fraction) -> tuple[SchemeChosen, Levels | None, Tuples]:
        """Choose a multi-dimensional scheme."""
        if self.nodes > LARGEST_LATTICE:
            raise ParameterError(
                f"`scheme` of `Truthful` must be full-domain for a lattice of {self.nodes:,} nodes.",
                hint=f"fix the `levels` of some columns: {LARGEST_LATTICE:,} nodes are the most",
            )
        score = EXPECTED[self.score](self._setting)
        cells = draw_tree(score, epsilon, self.source, step=lambda: self.watch.step(0, 0, "drawing a scheme"))
        start = score.box.start
        inside = cells.owners >= 0
        values = (start.keys[inside] & np.uint64((1 << start.target) - 1)).astype(np.int64)
        pairs, owners = np.unique((cells.owners[inside] << start.target) | values, return_inverse=True)
        cell = pairs >> start.target
        counts = tally(owners, start.counts[inside], len(pairs))
        tuples = self._tuples(cells.levels[cell], cells.codes[cell], pairs & ((1 << start.target) - 1), counts)
        return self._choice("tree", score.sensitivity, epsilon, selections=1), None, tuples

    def _choice(
        self, search: SchemeSearch, sensitivity: Fraction, epsilon: Fraction, *, selections: int
    ) -> SchemeChosen:
        return SchemeChosen(
            search=search,
            score=self.score,
            sensitivity=sensitivity,
            selections=selections,
            candidates=self.nodes,
            epsilon_spent=epsilon,
        )

    @property
    def nodes(self) -> int:
        return math.prod(high - low + 1 for low, high in zip(self.low, self.high, strict=True))

    @cached_property
    def _kept(self) -> list[int]:
        """The columns that are no target."""
        return [j for j, hierarchy in enumerate(self.frequencies.hierarchies) if hierarchy.attribute != self.target]

    @cached_property
    def _features(self) -> Frequencies:
        """The table with the target, if any, as a sensitive attribute."""
        if self.target is None:
            return self.frequencies
        position = self.frequencies.attributes.index(self.target)
        hierarchy = self.frequencies.hierarchies[position]
        return Frequencies(
            hierarchies=tuple(self.frequencies.hierarchies[j] for j in self._kept),
            codes=np.asfortranarray(self.frequencies.codes[:, self._kept]),
            counts=self.frequencies.counts,
            sensitive=(SensitiveAttribute(name=self.target, size=hierarchy.size, ordered=False),),
            sensitive_codes=self.frequencies.codes[:, [position]],
        )

    @property
    def _setting(self) -> Setting:
        return Setting(
            frequencies=self._features,
            low=tuple(self.low[j] for j in self._kept),
            high=tuple(self.high[j] for j in self._kept),
            operator=self.operator,
            weights=self.weights,
        )

    def _of_node(self, lattice: Lattice, levels: Levels) -> Tuples:
        chosen = tuple(levels[j] for j in self._kept)
        node = lattice.node(chosen)
        codes = node.columns.T
        same = np.broadcast_to(np.array(chosen, dtype=np.int32), (node.rows, len(chosen)))
        target = codes[:, len(chosen)] if self.target is not None else np.zeros(node.rows, dtype=np.int32)
        return self._tuples(same, codes[:, : len(chosen)], target, node.counts[0])

    def _tuples(self, levels: Codes, codes: Codes, target: npt.NDArray[np.integer], counts: Integers) -> Tuples:
        """Put the target back in its place."""
        shape = (len(counts), len(self.low))
        all_levels, all_codes = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        all_levels[:, self._kept], all_codes[:, self._kept] = levels, codes
        if self.target is not None:
            all_codes[:, self.frequencies.attributes.index(self.target)] = target
        return Tuples(hierarchies=self.frequencies.hierarchies, levels=all_levels, codes=all_codes, counts=counts)


# -- one node of the lattice


def draw_node(score: Score, epsilon: Fraction, source: RandomSource) -> Levels:
    """Choose among all nodes in one selection.

    Guarantee
    ---------
    epsilon-differential privacy: one exact selection on scores of the stated sensitivity, by the exponential mechanism
    at its full sharpness where scores are monotone, else by permute-and-flip, which is never worse
    (`shoal.mechanisms`). The set of candidates depends on the heights of the hierarchies alone.

    Notes
    -----
    Cost: the scores of all nodes, one walk over the lattice. With probability 1 - e^-t the score is within
    (Delta / epsilon) (ln(nodes) + t) of the best.
    """
    return score.box.levels(_selection(score, epsilon).select(score.all(), source=source))


def split_walk(
    score: Score, epsilon: Fraction, source: RandomSource, *, steps: int, step: Callable[[int], None] | None = None
) -> Levels:
    """Walk from the top, as [Bild24 Fig. 7] does, and choose among the visited nodes by one more selection.

    For lattices too large to score completely.

    Guarantee
    ---------
    epsilon-differential privacy: ``steps`` + 1 selections of epsilon / (steps + 1) each, every one over candidates that
    are known from the choices before it (sequential composition, [Bild24 Thm 1]). The last selection replaces the
    exact comparison of [Bild24 Fig. 7, lines 10-12], which reads the data outside of the mechanism.
    """
    share = epsilon / (steps + 1)
    visited = _walk(score, share, source, steps, step)
    levels = list(visited)
    chosen = _selection(score, share).select(np.array([visited[node] for node in levels]), source=source)
    return levels[chosen]


def published_walk(
    score: Score, epsilon: Fraction, source: RandomSource, *, steps: int, step: Callable[[int], None] | None = None
) -> Levels:
    """Walk from the top and return the best of the visited nodes by its exact score: [Bild24 Fig. 7].

    Guarantee
    ---------
    None that is proved: the last comparison depends on the data and is not covered by [Bild24 Thm 10]. The ``steps``
    selections before it are epsilon-differentially private together. For comparison with published figures only.
    """
    visited = _walk(score, epsilon / steps, source, steps, step)
    return max(visited, key=lambda node: visited[node])


def _walk(
    score: Score, epsilon: Fraction, source: RandomSource, steps: int, step: Callable[[int], None] | None
) -> dict[Levels, float]:
    """Return the visited nodes with their scores, the top first."""
    selection, low = _selection(score, epsilon), score.setting.low
    pivot = score.setting.high
    visited = {pivot: score.one(pivot)}
    candidates: dict[Levels, float] = {}
    for number in range(steps):
        for node in _predecessors(pivot, low):
            if node not in visited and node not in candidates:
                candidates[node] = score.one(node)
        if not candidates:
            break
        open_nodes = list(candidates)
        pivot = open_nodes[selection.select(np.array([candidates[node] for node in open_nodes]), source=source)]
        visited[pivot] = candidates.pop(pivot)
        if step is not None:
            step(number + 1)
    return visited


def _predecessors(levels: Levels, low: Levels) -> list[Levels]:
    return [(*levels[:j], level - 1, *levels[j + 1 :]) for j, level in enumerate(levels) if level > low[j]]


def _selection(score: Score, epsilon: Fraction) -> Selection:
    if score.monotone:
        return ExponentialMechanism(epsilon=epsilon, sensitivity=score.sensitivity, monotone=True)
    return PermuteAndFlip(epsilon=epsilon, sensitivity=score.sensitivity)
