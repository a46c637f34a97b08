"""A tree given as child-parent pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import HierarchyError, Problems
from shoal.hierarchies._column import Column, ranks
from shoal.hierarchies._file import read_rows
from shoal.hierarchies._text import counted
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Taxonomy

__all__ = ["taxonomy"]

Integers = npt.NDArray[np.int64]


def taxonomy(column: Column, rule: Taxonomy) -> Tree:
    """Return the levels of a tree of concepts; values are its leaves.

    Levels are counted from the root, so that concepts of one level are as general as each other; a leaf nearer to
    the root than others stands for itself at the finer levels. One root is ``*``; above several roots ``*`` is added.
    """
    subject = f"column `{column.name}`: its taxonomy" + (f" `{rule.path}`" if rule.path else "")
    pairs = _pairs(column, rule, subject)
    concepts, child, parent = _numbered(pairs)
    above = _parents(child, parent, len(concepts), subject)
    depth = _depths(above, subject)
    leaves = np.setdiff1d(np.arange(len(concepts)), parent)
    leaves = leaves[np.argsort(_first_seen(leaves, child, len(concepts)), kind="stable")]
    names = pa.array(concepts, pa.string())
    levels = [Level(groups=groups, labels=names) for groups in _ancestors(leaves, above, depth)]
    return Tree(
        leaves=names.take(pa.array(leaves)), levels=levels, ranks=ranks(names.take(pa.array(leaves)), column.attribute)
    )


def _pairs(column: Column, rule: Taxonomy, subject: str) -> list[tuple[str, str]]:
    if rule.path is None:
        return list(rule.pairs)
    rows = read_rows(column.folder / rule.path, delimiter=rule.delimiter, subject=subject)
    odd = [place for place, row in enumerate(rows.cells) if len(row) != 2 or not all(row)]
    if odd:
        raise HierarchyError(
            f"{subject}: {len(odd):,} of {len(rows):,} rows are not a child and its parent ({rows.first(odd)})"
        )
    return [(child, parent) for child, parent in rows.cells]


def _numbered(pairs: list[tuple[str, str]]) -> tuple[list[str], Integers, Integers]:
    """Return the concepts and the pairs as numbers, each pair once."""
    number: dict[str, int] = {}
    distinct = np.array(
        [
            (number.setdefault(child, len(number)), number.setdefault(parent, len(number)))
            for child, parent in dict.fromkeys(pairs)
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    return list(number), distinct[:, 0], distinct[:, 1]


def _parents(child: Integers, parent: Integers, size: int, subject: str) -> Integers:
    """Return the parent of every concept, -1 for a root."""
    problems = Problems()
    own = int(np.count_nonzero(child == parent))
    if own:
        problems.add(f"{subject} has {counted(own, 'concept')} with itself as a parent")
    several = int(np.count_nonzero(np.bincount(child, minlength=size) > 1))
    if several:
        problems.add(f"{subject} has {counted(several, 'concept')} with more than one parent")
    problems.raise_as(HierarchyError)
    above = np.full(size, -1, dtype=np.int64)
    above[child] = parent
    return above


def _depths(above: Integers, subject: str) -> Integers:
    """Return the number of steps from every concept to its root, by doubling the steps: O(n log n)."""
    depth = (above >= 0).astype(np.int64)
    jump = above.copy()
    for _ in range(len(above).bit_length()):
        moving = jump >= 0
        depth[moving] += depth[jump[moving]]
        jump[moving] = jump[jump[moving]]
    lost = int(np.count_nonzero(jump >= 0))
    if lost:
        raise HierarchyError(f"{subject} has {counted(lost, 'concept')} that never reach a root: parents form a circle")
    return depth


def _ancestors(leaves: Integers, above: Integers, depth: Integers) -> list[Integers]:
    """Return the ancestor of every leaf at each level below ``*``, finest first."""
    height = int(depth[leaves].max(initial=0))
    single_root = np.count_nonzero(above < 0) == 1
    found, now = [], leaves
    for level in range(height - 1, 0 if single_root else -1, -1):
        now = np.where(depth[now] > level, above[now], now)
        found.append(now)
    return found


def _first_seen(leaves: Integers, child: Integers, size: int) -> Integers:
    place = np.zeros(size, dtype=np.int64)
    place[child] = np.arange(len(child))
    return place[leaves]
