"""From groups of leaves to a hierarchy: tree order, codes, shares, the missing leaf and ``*``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.hierarchies._hierarchy import TOP, Codes, Hierarchy
from shoal.schema import Provenance

__all__ = ["Level", "Tree", "grow"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Level:
    """One level between the values and ``*``.

    Parameters
    ----------
    groups
        The group of every leaf, any integers ``0..len(labels)-1``.
    labels
        The label of every group.
    shares
        The part of the domain that every group covers; None for ``(leaves - 1) / (all leaves - 1)``.
    """

    groups: Integers
    labels: pa.StringArray
    shares: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tree:
    """What a rule makes of a column: leaves and the nested levels above them, ``*`` excluded.

    ``ranks`` says where each leaf wants to stand; leaves of one group are put together all the same, each group
    where its first leaf wants to stand. None: the leaves are in tree order as they are.
    """

    leaves: pa.StringArray
    levels: Sequence[Level] = ()
    ranks: Integers | None = None


def grow(tree: Tree, *, attribute: str, provenance: Provenance, missing: bool, source: str) -> Hierarchy:
    """Return the hierarchy of a tree. Cost: O(levels * leaves * log(leaves))."""
    order = _tree_order(tree)
    leaves = tree.leaves if order is None else tree.leaves.take(pa.array(order))
    size = len(leaves)
    labels: list[pa.StringArray] = [leaves]
    codes: list[Codes] = [np.arange(size, dtype=np.int32)]
    shares: list[Floats] = [np.zeros(size)]
    counts: list[Integers] = [np.ones(size, dtype=np.int64)]
    for level in tree.levels:
        groups = level.groups if order is None else level.groups[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        chosen = groups[starts]
        sizes = np.diff(starts, append=size)
        labels.append(level.labels.take(pa.array(chosen)))
        codes.append(np.repeat(np.arange(len(starts), dtype=np.int32), sizes))
        shares.append((sizes - 1) / max(size - 1, 1) if level.shares is None else level.shares[chosen])
        counts.append(sizes.astype(np.int64))
    extra = (lambda level, end: np.append(level, level.dtype.type(end))) if missing else (lambda level, end: level)
    return Hierarchy(
        attribute=attribute,
        labels=(*(_texts(level, missing=missing) for level in _distinguish(labels, counts)), (TOP,)),
        codes=(
            *(extra(level, len(names)) for level, names in zip(codes, labels, strict=True)),
            np.zeros(size + missing, dtype=np.int32),
        ),
        shares=(*(extra(level, 0) for level in shares), np.ones(1)),
        leaves=(*(extra(level, 1) for level in counts), np.array([size + missing], dtype=np.int64)),
        provenance=provenance,
        source=source,
    )


def _tree_order(tree: Tree) -> Integers | None:
    """Sort by the coarsest group, then the next, then the leaf; a group stands where its first leaf wants to."""
    if tree.ranks is None:
        return None
    keys = [tree.ranks]
    for level in tree.levels:
        first = np.full(len(level.labels), len(tree.ranks), dtype=np.int64)
        np.minimum.at(first, level.groups, tree.ranks)
        keys.append(first[level.groups])
    return np.lexsort(keys)


def _distinguish(labels: list[pa.StringArray], counts: list[Integers]) -> list[pa.StringArray]:
    """Mark labels that a finer level uses for other leaves, so that a released text means one set of leaves.

    A label may well repeat upwards for the same leaves (the short branches of a taxonomy). ``*`` is left alone: it
    means any value wherever it stands.
    """
    names = pa.concat_arrays(labels)
    starts = np.concatenate([np.cumsum(count) - count for count in counts])
    sizes = np.concatenate(counts)
    encoded = names.dictionary_encode()
    groups = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(groups), prepend=-1))[groups]
    clash = (starts != starts[first]) | (sizes != sizes[first])
    if not clash.any():
        return labels
    return _marked(labels, clash)


def _marked(labels: list[pa.StringArray], clash: npt.NDArray[np.bool_]) -> list[pa.StringArray]:
    taken = {name for level in labels for name in level.to_pylist()}
    ends = np.cumsum([len(level) for level in labels])
    marked = []
    for number, level in enumerate(labels):
        names = level.to_pylist()
        for position in np.flatnonzero(clash[ends[number] - len(names) : ends[number]]):
            if names[position] == TOP:
                continue
            names[position] += f" (level {number})"
            while names[position] in taken:
                names[position] += "'"
            taken.add(names[position])
        marked.append(pa.array(names, pa.string()))
    return marked


def _texts(labels: pa.StringArray, *, missing: bool) -> tuple[str | None, ...]:
    return (*labels.to_pylist(), None) if missing else tuple(labels.to_pylist())
