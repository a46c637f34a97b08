"""Two levels: the value, then ``*``."""

from __future__ import annotations

from shoal.hierarchies._column import Column, ranks
from shoal.hierarchies._tree import Tree
from shoal.schema import Flat, Kind

__all__ = ["flat"]


def flat(column: Column, rule: Flat) -> Tree:
    """Return the values alone; declared values keep their declared order."""
    ascending = column.attribute.kind in (Kind.NUMERIC, Kind.DATE)
    return Tree(leaves=column.leaves, ranks=None if ascending else ranks(column.leaves, column.attribute))
