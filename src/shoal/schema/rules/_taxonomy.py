"""A tree given as child-parent pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa

from shoal.errors import HierarchyError, Problems, counted
from shoal.kernels import Integers
from shoal.schema._domain import Kind
from shoal.schema._entry import TomlTable, pairs, text
from shoal.schema._rule import TEXT, HierarchyRule, Level, RuledColumn, Tree
from shoal.schema.rules._file import file_problems, read_rows

_PAIRS = pairs(text, 'a path, or a table of `child = "parent"`')


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxonomy(HierarchyRule):
    """A tree given as child-parent pairs, inline or in a two-column file; values are its leaves.

    Branches shorter than the deepest one repeat their leaf at the finer levels, so that all levels are complete.
    """

    name: ClassVar[str] = "taxonomy"
    kinds: ClassVar[tuple[Kind, ...]] = TEXT
    lists_values: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    pairs: tuple[tuple[str, str], ...] = ()
    path: str | None = None
    delimiter: str = ";"

    @classmethod
    def read(cls, entry: TomlTable) -> Self | None:
        tree = entry.get("taxonomy", lambda value: value if isinstance(value, str) else _PAIRS(value), required=True)
        delimiter = entry.get("delimiter", text, ";") or ""
        if not entry.close() or tree is None:
            return None
        if isinstance(tree, str):
            return cls(path=tree, delimiter=delimiter)
        return cls(pairs=tree, delimiter=delimiter)

    def write(self) -> dict[str, object]:
        tree: object = dict(self.pairs) if self.path is None else self.path
        return {"taxonomy": tree} | ({} if self.delimiter == ";" else {"delimiter": self.delimiter})

    def problems(self) -> Iterable[str]:
        if bool(self.pairs) == (self.path is not None):
            yield "a `taxonomy` hierarchy needs either `pairs` or `path`"
        if len({child for child, _ in self.pairs}) < len(self.pairs):
            yield "`pairs` of a `taxonomy` hierarchy must name every child once"
        if not all(child and parent for child, parent in self.pairs):
            yield "`pairs` of a `taxonomy` hierarchy must not hold empty names"
        yield from file_problems(self.name, "-" if self.path is None else self.path, self.delimiter)

    def explain(self) -> str:
        return (
            f"the tree in `{self.path}`" if self.path else f"a tree of {counted(len(self.pairs), 'child-parent pair')}"
        )

    @property
    def file(self) -> str | None:
        return self.path

    def with_path(self, path: str) -> Self:
        return self if self.path is None else replace(self, path=path)

    def tree(self, column: RuledColumn) -> Tree:
        """Return the levels of a tree of concepts; values are its leaves.

        Levels are counted from the root, so that concepts of one level are as general as each other; a leaf nearer to
        the root than others stands for itself at the finer levels. One root is ``*``; above several roots ``*`` is
        added.
        """
        subject = f"column `{column.name}`: its taxonomy" + (f" `{self.path}`" if self.path else "")
        concepts, child, parent = _number_pairs(self._pairs(column, subject))
        above = _parents(child, parent, len(concepts), subject)
        depth = _depths(above, subject)
        leaves = np.setdiff1d(np.arange(len(concepts)), parent)
        first_seen = np.zeros(len(concepts), dtype=np.int64)
        first_seen[child] = np.arange(len(child))
        leaves = leaves[np.argsort(first_seen[leaves], kind="stable")]
        names = pa.array(concepts, pa.string())
        levels = [Level(groups=groups, labels=names) for groups in _ancestors(leaves, above, depth)]
        levels.append(Level(groups=np.zeros(len(leaves), dtype=np.int64), labels=pa.array(["*"], pa.string())))
        values = names.take(pa.array(leaves))
        return Tree(leaves=values, levels=levels, ranks=column.ranks(values))

    def _pairs(self, column: RuledColumn, subject: str) -> list[tuple[str, str]]:
        if self.path is None:
            return list(self.pairs)
        rows = read_rows(column.folder / self.path, delimiter=self.delimiter, subject=subject)
        odd = [position for position, row in enumerate(rows.cells) if len(row) != 2 or not all(row)]
        if odd:
            raise HierarchyError(
                f"{subject}: {len(odd):,} of {len(rows):,} rows do not hold a child and its parent ({rows.first(odd)})"
            )
        return [(child, parent) for child, parent in rows.cells]


def _number_pairs(pairs: list[tuple[str, str]]) -> tuple[list[str], Integers, Integers]:
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
        problems.add(f"{subject} has {counted(own, 'concept')} with itself as its parent")
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
        raise HierarchyError(f"{subject} has {counted(lost, 'concept')} that never reach a root: parents form a cycle")
    return depth


def _ancestors(leaves: Integers, above: Integers, depth: Integers) -> list[Integers]:
    """Return the ancestor of every leaf at each level below ``*``, finest first."""
    height = int(depth[leaves].max(initial=0))
    single_root = np.count_nonzero(above < 0) == 1
    ancestors, now = [], leaves
    for level in range(height - 1, 0 if single_root else -1, -1):
        now = np.where(depth[now] > level, above[now], now)
        ancestors.append(now)
    return ancestors
