"""Named groups of values, written in the schema itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.hierarchies._column import Column, ranks
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Groups

__all__ = ["groups"]


def groups(column: Column, rule: Groups) -> Tree:
    """Return the groups of each level; the leaves are all members of the first level."""
    leaves = pa.array([member for _, members in rule.levels[0] for member in members], pa.string())
    position = {member: place for place, member in enumerate(leaves.to_pylist())}
    above = np.arange(len(leaves))
    levels = []
    for level in rule.levels:
        owner = np.empty(len(position), dtype=np.int64)
        for group, (_, members) in enumerate(level):
            owner[[position[member] for member in members]] = group
        above = owner[above]
        levels.append(Level(groups=above, labels=pa.array([label for label, _ in level], pa.string())))
        position = {label: place for place, (label, _) in enumerate(level)}
    return Tree(leaves=leaves, levels=levels, ranks=ranks(leaves, column.attribute))
