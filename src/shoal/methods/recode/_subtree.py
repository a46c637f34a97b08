"""Subtree generalisation: one cut through the hierarchy of every attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes
from shoal.methods.recode._lattice import ROLLED_UP, Lattice, Levels, smallest_class
from shoal.methods.recode._local import LocalDraft, LocalMethod, LocalTask

Depths = tuple[Codes, ...]
#: attribute, level and code of a value, and the level to which the leaves below it move
Move = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtree(LocalMethod):
    """Generalise every attribute along a cut through its hierarchy: some values more, others less.

    Equal values are released alike in all records, so a release is as easy to read as a full-domain one; but a frequent
    value may stay as it is while rare ones are gathered. The cuts start at the levels of the best full-domain recoding
    and move by one value at a time, up or down, as long as that saves cost.

    Guarantee
    ---------
    Syntactic: the classes of the release satisfy the models. Every released value is an ancestor of the original, the
    same one wherever the value occurs. No release is worse than any full-domain
    one that the comparison looked at.

    Assumptions
    -----------
    The cuts are a local optimum: no single move saves cost. Cost O(tuples * attributes) per move tried.

    Examples
    --------
    >>> Subtree(suppression_limit=0.1).parameters()["suppression_limit"]
    0.1
    """

    name: ClassVar[str] = "subtree"
    about: ClassVar[str] = "Some values of a column become coarser than others."

    def drafts(self, task: LocalTask) -> Iterator[LocalDraft]:
        whole, _, _ = task.full_domain()
        if whole is None or whole.levels is None:
            return
        cuts = _Cuts(task, whole.levels)
        cuts.improve()
        yield cuts.draft()


class _Cuts:
    """The level at which every leaf of every attribute is released."""

    def __init__(self, task: LocalTask, levels: Levels) -> None:
        self._task = task
        self._hierarchies = task.frequencies.hierarchies
        self._smallest = smallest_class(task.models)
        lattice = Lattice(task.frequencies, enough=self._smallest)
        self._leaves = lattice.node(lattice.bottom)
        self._depths: Depths = tuple(
            np.full(hierarchy.size, level, dtype=np.int32)
            for hierarchy, level in zip(self._hierarchies, levels, strict=True)
        )
        self._value = self._evaluate(self._depths)

    def improve(self) -> None:
        """Try every move, those that save most first, until none saves anything."""
        improved = True
        while improved and not self._task.effort.over:
            moves = [(self._evaluate(self._moved(move)), move) for move in self._moves() if not self._task.effort.over]
            improved = False
            for value, move in sorted(moves):
                if not self._saves(value):
                    break
                if self._possible(move):
                    moved = self._moved(move)
                    value = self._evaluate(moved)
                    if self._saves(value):
                        self._depths, self._value, improved = moved, value, True

    def _saves(self, value: float) -> bool:
        return value < self._value - 1e-12 * abs(self._value)

    def draft(self) -> LocalDraft:
        """Return what the cuts release."""
        draft = LocalDraft(self._task.frequencies)
        for j, (vocabulary, depths) in enumerate(zip(draft.vocabularies, self._depths, strict=True)):
            codes = draft.frequencies.codes[:, j]
            for level in np.unique(depths):
                rows = depths[codes] == level
                draft.values[rows, j] = vocabulary.at(codes[rows], int(level))
        draft.released[:] = draft.frequencies.counts > 0
        return draft

    def _moves(self) -> list[Move]:
        """List the values of the cuts that can go one level down, and those that can become one value."""
        moves: list[Move] = []
        for j, (hierarchy, depths) in enumerate(zip(self._hierarchies, self._depths, strict=True)):
            ancestors = _ancestors(hierarchy, depths)
            first = np.flatnonzero(np.append(True, (np.diff(depths) != 0) | (np.diff(ancestors) != 0)))
            for leaf in first.tolist():
                level = int(depths[leaf])
                if level > 0:
                    moves.append((j, level, int(ancestors[leaf]), level - 1))
                if level < hierarchy.height:
                    moves.append((j, level + 1, int(hierarchy.codes[level + 1][leaf]), level + 1))
        return [move for move in dict.fromkeys(moves) if self._possible(move)]

    def _possible(self, move: Move) -> bool:
        """Whether the leaves below the value are released at it (to go down), or all at lower levels (to go up)."""
        j, level, code, target = move
        depths = self._depths[j][self._hierarchies[j].codes[level] == code]
        return bool(np.all(depths == level) if target < level else np.all(depths < level))

    def _moved(self, move: Move) -> Depths:
        j, level, code, target = move
        moved = self._depths[j].copy()
        moved[self._hierarchies[j].codes[level] == code] = target
        return (*self._depths[:j], moved, *self._depths[j + 1 :])

    def _evaluate(self, depths: Depths) -> float:
        """Return the value of the release along cuts, infinite if too many records are suppressed."""
        maps, costs = [], []
        for hierarchy, table, column in zip(self._hierarchies, self._task.objective.tables, depths, strict=True):
            ancestors = _ancestors(hierarchy, column)
            new = np.append(False, (np.diff(column) != 0) | (np.diff(ancestors) != 0))
            maps.append(np.cumsum(new, dtype=np.int32))
            first = np.flatnonzero(np.append(True, new[1:]))
            costs.append(np.array([table[column[leaf]][ancestors[leaf]] for leaf in first]))
        self._task.effort.spend(self._leaves.columns.size * ROLLED_UP)
        node = self._leaves.rolled_up(maps, [len(cost) for cost in costs], costs)
        kept = node.keep(self._task.models)
        objective, records = self._task.objective, self._task.frequencies.records
        suppressed = records - int(node.sizes[kept].sum())
        if suppressed > self._task.allowed:
            return math.inf
        return (float((node.sizes[kept] * node.costs[kept]).sum()) + objective.loss * suppressed) / objective.scale


def _ancestors(hierarchy: Hierarchy, depths: Codes) -> Codes:
    """Return the code of every leaf's value at its level."""
    return np.asarray(np.array(hierarchy.codes)[depths, np.arange(hierarchy.size)])
