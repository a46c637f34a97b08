"""Choose one node of the lattice, privately."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, RandomSource, Selection
from shoal.methods.recode import Levels
from shoal.methods.truthful._scores import Score

#: Lattices of at most so many nodes are scored completely.
LARGEST_LATTICE = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A node, and how it was chosen."""

    #: The node.
    levels: Levels
    #: How many selections were made.
    selections: int
    #: How many nodes there were to choose from; known without the data.
    candidates: int


def draw(score: Score, epsilon: Fraction, source: RandomSource) -> Chosen:
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
    scores = score.all()
    chosen = _selection(score, epsilon).select(scores, source=source)
    return Chosen(levels=score.box.levels(chosen), selections=1, candidates=len(scores))


def split_walk(
    score: Score, epsilon: Fraction, source: RandomSource, *, steps: int, step: Callable[[int], None] | None = None
) -> Chosen:
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
    return Chosen(levels=levels[chosen], selections=steps + 1, candidates=_nodes(score))


def published_walk(
    score: Score, epsilon: Fraction, source: RandomSource, *, steps: int, step: Callable[[int], None] | None = None
) -> Chosen:
    """Walk from the top and return the best of the visited nodes by its exact score: [Bild24 Fig. 7].

    Guarantee
    ---------
    None that is proved: the last comparison depends on the data and is not covered by [Bild24 Thm 10]. The ``steps``
    selections before it are epsilon-differentially private together. For comparison with published figures only.
    """
    visited = _walk(score, epsilon / steps, source, steps, step)
    best = max(visited, key=lambda node: visited[node])
    return Chosen(levels=best, selections=steps, candidates=_nodes(score))


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


def _nodes(score: Score) -> int:
    return int(np.prod([high - low + 1 for low, high in zip(score.setting.low, score.setting.high, strict=True)]))
