"""From a table and a budget to a scheme: the tuples that the operator then samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.kernels import Codes, Integers
from shoal.mechanisms import RandomSource
from shoal.methods.base import Watch
from shoal.methods.recode import Lattice, Levels
from shoal.methods.truthful._operators import Operator
from shoal.methods.truthful._paper_scores import DiscernibilityScore, NonUniformEntropyScore
from shoal.methods.truthful._scores import (
    ClassificationScore,
    ExpectedScore,
    Granularity,
    GroupSize,
    Intensity,
    Score,
    Setting,
)
from shoal.methods.truthful._search import LARGEST_LATTICE, draw, published_walk, split_walk
from shoal.methods.truthful._survival import Shows
from shoal.methods.truthful._trees import draw_tree
from shoal.methods.truthful._tuples import Tuples
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How a scheme was chosen. But for the private choice itself, nothing in it was read off the data."""

    #: ``draw``, ``split walk``, ``published walk``, ``tree`` or ``fixed``.
    how: str
    #: What was maximised, and how much one record can change it.
    score: str
    sensitivity: Fraction
    #: What the choice spent.
    epsilon: Fraction
    #: How many selections were made; the number of nodes of the lattice.
    selections: int
    candidates: int
    #: The chosen level of every column; None for a multi-dimensional scheme.
    levels: Levels | None

    @property
    def covered(self) -> bool:
        """Whether the choice is proved to be differentially private."""
        return self.how != "published walk"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """What a run of the method gives."""

    #: The released tuples with their numbers of copies.
    tuples: Tuples
    #: How the scheme was chosen, and what happened to its classes.
    searched: Searched
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

    def fixed(self) -> tuple[Searched, Tuples]:
        """Return the one scheme that there is."""
        searched = Searched(
            how="fixed",
            score=self.score,
            sensitivity=Fraction(0),
            epsilon=Fraction(0),
            selections=0,
            candidates=1,
            levels=self.low,
        )
        return searched, self._of_node(Lattice(self._features), self.low)

    def node(self, epsilon: Fraction, *, published: bool) -> tuple[Searched, Tuples]:
        """Choose a node of the lattice."""
        score = SCORES[self.score](self._setting)

        def step(done: int) -> None:
            self.watch.step(done, self.steps, "walking")

        if published:
            how, chosen = "published walk", published_walk(score, epsilon, self.source, steps=self.steps, step=step)
        elif self._nodes > LARGEST_LATTICE:
            how, chosen = "split walk", split_walk(score, epsilon, self.source, steps=self.steps, step=step)
        else:
            how, chosen = "draw", draw(score, epsilon, self.source)
        levels = self._all_levels(chosen.levels)
        searched = Searched(
            how=how,
            score=self.score,
            sensitivity=score.sensitivity,
            epsilon=epsilon,
            selections=chosen.selections,
            candidates=self._nodes,
            levels=levels,
        )
        return searched, self._of_node(score.lattice, levels)

    def tree(self, epsilon: Fraction) -> tuple[Searched, Tuples]:
        """Choose a multi-dimensional scheme."""
        if self._nodes > LARGEST_LATTICE:
            raise ParameterError(
                f"`scheme` of `Truthful` must be full-domain for a lattice of {self._nodes:,} nodes.",
                hint=f"fix the `levels` of some columns: {LARGEST_LATTICE:,} nodes are the most",
            )
        score = EXPECTED[self.score](self._setting)
        cells = draw_tree(score, epsilon, self.source, step=lambda: self.watch.step(0, 0, "drawing a scheme"))
        searched = Searched(
            how="tree",
            score=self.score,
            sensitivity=score.sensitivity,
            epsilon=epsilon,
            selections=1,
            candidates=self._nodes,
            levels=None,
        )
        start = score.box.start
        inside = cells.owners >= 0
        values = (start.keys[inside] & np.uint64((1 << start.target) - 1)).astype(np.int64)
        pairs, owners = np.unique((cells.owners[inside] << start.target) | values, return_inverse=True)
        cell = pairs >> start.target
        return searched, self._tuples(
            cells.levels[cell],
            cells.codes[cell],
            pairs & ((1 << start.target) - 1),
            tally(owners, start.counts[inside], len(pairs)),
        )

    @property
    def _nodes(self) -> int:
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

    def _all_levels(self, levels: Levels) -> Levels:
        """Return the levels of all columns, given those of the features."""
        found = dict(zip(self._kept, levels, strict=True))
        return tuple(found.get(j, level) for j, level in enumerate(self.low))

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
