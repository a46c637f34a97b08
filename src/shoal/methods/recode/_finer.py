"""Classes of a series: the lowest values that cover their records, and parts into which they can be split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import tables
from shoal.hierarchies import Hierarchy
from shoal.kernels import Codes, Floats, Integers, Mask
from shoal.tables import Frequencies


def distinct_tuples(records: Frequencies, chosen: Integers) -> tuple[Frequencies, Integers]:
    """Return the distinct tuples of some records with counts, and the tuple of each of these records."""
    codes, secrets = records.codes[chosen], records.sensitive_codes[chosen]
    tuples, firsts = tables.group(np.asfortranarray(np.concatenate([codes, secrets], axis=1)))
    frequencies = Frequencies(
        hierarchies=records.hierarchies,
        codes=np.asfortranarray(codes[firsts]),
        counts=np.bincount(tuples, minlength=len(firsts)).astype(np.int64),
        sensitive=records.sensitive,
        sensitive_codes=np.asfortranarray(secrets[firsts]),
    )
    return frequencies, tuples


def common_nodes(leaves: Codes, groups: Integers, hierarchies: Sequence[Hierarchy]) -> tuple[Integers, Integers]:
    """Return level and code of the lowest value that covers every group, one row per group, one column per attribute.

    Leaves are numbered so that a value covers neighbours: the least and the greatest leaf of a group decide.
    """
    number = int(groups.max(initial=-1)) + 1
    levels = np.zeros((number, len(hierarchies)), dtype=np.int64)
    nodes = np.zeros((number, len(hierarchies)), dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(number))
    for j, hierarchy in enumerate(hierarchies):
        column = leaves[order, j]
        low = np.minimum.reduceat(column, starts) if number else column
        high = np.maximum.reduceat(column, starts) if number else column
        levels[:, j] = hierarchy.height
        for level in range(hierarchy.height, -1, -1):
            codes = hierarchy.codes[level]
            same = codes[low] == codes[high]
            levels[same, j], nodes[same, j] = level, codes[low][same]
    return levels, nodes


def split_classes(
    leaves: Codes, groups: Integers, hierarchies: Sequence[Hierarchy], *, least: int, fixed: Mask
) -> Integers:
    """Return finer groups: split by the attribute that gains most as long as every part keeps ``least`` records.

    Groups with a ``fixed`` record stay as they are. Only quasi-identifiers are looked at.

    Notes
    -----
    A part is what lies below one child of the value that covers the group, or what is left of it.
    Cost O(records * attributes) per round, of
    records in groups that can still be split; there are at most as many rounds as levels in all.
    """
    groups = groups.copy()
    sizes = np.bincount(groups)
    active = np.flatnonzero((sizes[groups] >= 2 * least) & ~np.isin(groups, groups[fixed]))
    while len(active):
        local = np.unique(groups[active], return_inverse=True)[1]
        levels, _ = common_nodes(leaves[active], local, hierarchies)
        best = np.full(len(levels), 0.0)
        chosen = np.full(len(levels), -1, dtype=np.int64)
        parts = np.zeros((len(active), len(hierarchies)), dtype=np.int64)
        for j, hierarchy in enumerate(hierarchies):
            parts[:, j], gain = _children(hierarchy, leaves[active, j], local, levels[:, j], least)
            better = gain > best
            best[better], chosen[better] = gain[better], j
        splits = chosen[local] >= 0
        if not splits.any():
            return groups
        active, local = active[splits], local[splits]
        child = parts[splits, chosen[local]]
        finer = np.unique(np.stack([local, child], axis=1), axis=0, return_inverse=True)[1].ravel()
        groups[active] = groups.max() + 1 + finer
        active = active[np.bincount(finer)[finer] >= 2 * least]
    return np.unique(groups, return_inverse=True)[1]


def _children(
    hierarchy: Hierarchy, leaves: Codes, groups: Integers, levels: Integers, least: int
) -> tuple[Integers, Floats]:
    """Return the child of every record below the value of its group, and what splitting every group gains, or 0."""
    number, size = len(levels), hierarchy.size
    child = np.zeros(len(leaves), dtype=np.int64)
    before, after = np.zeros(number), np.zeros(len(leaves))
    for level in np.unique(levels[levels > 0]):
        rows = levels[groups] == level
        child[rows] = hierarchy.codes[level - 1][leaves[rows]]
        after[rows] = hierarchy.shares[level - 1][child[rows]]
        above = hierarchy.codes[level][leaves[rows]]
        before[groups[rows]] = hierarchy.shares[level][above]
    part = _parts(groups, child, size, least, number)
    lone = part >= 0
    after[~lone] = before[groups[~lone]]
    gain = np.bincount(groups, weights=before[groups] - after, minlength=number)
    return np.where(lone, child, size), np.where(levels > 0, gain, 0.0)


def _parts(groups: Integers, child: Integers, size: int, least: int, number: int) -> Integers:
    """Return the child of each record that can be a class by itself; -1 for the rest of its group.

    The rest is empty or has ``least`` records: where small children are too few for that, the smallest of the large
    ones joins them.
    """
    cells, inverse, counts = np.unique(groups * size + child, return_inverse=True, return_counts=True)
    owners, large = cells // size, counts >= least
    rest = np.bincount(owners[~large], weights=counts[~large], minlength=number)
    short = (rest > 0) & (rest < least)
    order = np.lexsort([counts, ~large, owners])
    firsts = order[np.unique(owners[order], return_index=True)[1]]
    large[firsts[short[owners[firsts]]]] = False
    return np.where(large[inverse], child, -1)


@dataclass(slots=True, eq=False)
class LabelColumn:
    """The released texts of a quasi-identifier by number: those of its hierarchy, and others as they come."""

    hierarchy: Hierarchy
    values: list[str | None] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    depths: list[float] = field(default_factory=list)
    _numbers: dict[str | None, int] = field(default_factory=dict)
    _levels: list[Integers] = field(default_factory=list)

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> LabelColumn:
        """Number the values of a hierarchy."""
        column = cls(hierarchy)
        for level, labels in enumerate(hierarchy.labels):
            depths = np.full(len(labels), hierarchy.depth(level))
            column._levels.append(column.add(labels, hierarchy.shares[level], depths))
        return column

    def add(self, texts: Sequence[str | None], shares: Floats, depths: Floats) -> Integers:
        """Return the numbers of texts; new ones get the share of the domain and the depth that they are given."""
        for text, share, depth in zip(texts, shares.tolist(), depths.tolist(), strict=True):
            if text not in self._numbers:
                self._numbers[text] = len(self.values)
                self.values.append(text)
                self.shares.append(share)
                self.depths.append(depth)
        return np.array([self._numbers[text] for text in texts], dtype=np.int64)

    def node(self, levels: Integers, codes: Integers) -> Integers:
        """Return the numbers of values of the hierarchy."""
        offsets = np.concatenate([[0], np.cumsum([len(level) for level in self._levels])])
        return np.concatenate(self._levels)[offsets[levels] + codes]

    def texts(self, texts: pa.Array) -> Integers:
        """Return the numbers of released texts; those of an earlier version that are not known today cover all."""
        encoded = texts.dictionary_encode()
        known = encoded.dictionary.to_pylist()
        numbers = self.add([*known, None], np.ones(len(known) + 1), np.ones(len(known) + 1))
        positions = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        return np.asarray(numbers[positions], dtype=np.int64)

    def covers(self, texts: pa.Array, leaves: Codes) -> Mask:
        """Return whether released texts cover leaves of today's hierarchy; texts that it does not have count as if."""
        numbers = self.texts(texts)
        size = self.hierarchy.size
        low, high = np.zeros(len(self.values), dtype=np.int64), np.full(len(self.values), size, dtype=np.int64)
        for level in range(self.hierarchy.height, -1, -1):
            codes, placed = self.hierarchy.codes[level], self._levels[level]
            low[placed] = np.searchsorted(codes, np.arange(len(placed)))
            high[placed] = np.searchsorted(codes, np.arange(len(placed)), side="right")
        return np.asarray((leaves >= low[numbers]) & (leaves < high[numbers]))

    def released(self, numbers: Integers) -> pa.Array:
        """Return the texts of numbers."""
        return pa.array(self.values, pa.string()).take(pa.array(numbers))


def joined(arrays: Sequence[pa.Array]) -> Integers:
    """Return one number for each text of several arrays after one another; -1 for null."""
    codes = pc.dictionary_encode(pa.chunked_array(arrays, pa.string())).combine_chunks()
    codes = codes if isinstance(codes, pa.DictionaryArray) else codes.combine_chunks()
    return np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
