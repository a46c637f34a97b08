"""Named groups of values, written in the schema itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import counted
from shoal.schema._domain import Kind
from shoal.schema._entry import many, pairs, text
from shoal.schema._rule import TEXT, HierarchyRule, Level, RuledColumn, Tree, at

Labelled = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(HierarchyRule):
    """Named groups of values, finest level first: each level is pairs ``(label, members)``.

    The members of the first level are values, those of a later level are labels of the level before it.
    """

    name: ClassVar[str] = "groups"
    kinds: ClassVar[tuple[Kind, ...]] = TEXT
    lists_values: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    levels: tuple[Labelled, ...] = field(
        metadata=at(
            "groups",
            many(pairs(many(text), 'a table of `label = ["member", ...]`')),
            write=lambda levels: [dict(level) for level in levels],
        )
    )

    def problems(self) -> Iterable[str]:
        if not self.levels or not all(self.levels):
            yield "`levels` of a `groups` hierarchy must hold at least one group each"
        for number, level in enumerate(self.levels, start=1):
            yield from _level_problems(f"level {number} of a `groups` hierarchy", level)
        for number, (fine, coarse) in enumerate(itertools.pairwise(self.levels), start=2):
            if {label for label, _ in fine} != {member for _, group in coarse for member in group}:
                yield f"the members of level {number} of a `groups` hierarchy must be the labels of level {number - 1}"

    def explain(self) -> str:
        return f"{', then '.join(counted(len(level), 'named group') for level in self.levels)}"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the groups of each level; the leaves are all members of the first level."""
        leaves = pa.array([member for _, members in self.levels[0] for member in members], pa.string())
        position = {member: position for position, member in enumerate(leaves.to_pylist())}
        above = np.arange(len(leaves))
        levels = []
        for level in self.levels:
            owner = np.empty(len(position), dtype=np.int64)
            for group, (_, members) in enumerate(level):
                owner[[position[member] for member in members]] = group
            above = owner[above]
            levels.append(Level(groups=above, labels=pa.array([label for label, _ in level], pa.string())))
            position = {label: position for position, (label, _) in enumerate(level)}
        return Tree(leaves=leaves, levels=levels, ranks=column.ranks(leaves))


def _level_problems(subject: str, level: Labelled) -> Iterable[str]:
    labels = [label for label, _ in level]
    members = [member for _, group in level for member in group]
    if len(set(labels)) < len(labels):
        yield f"{subject} uses a label twice"
    if len(set(members)) < len(members):
        yield f"{subject} lists a member in two groups"
    if not all(group for _, group in level):
        yield f"{subject} has an empty group"
    if not all(labels):
        yield f"{subject} has a group without a label"
