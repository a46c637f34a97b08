"""The value of changing one attribute's level at a node of the lattice, for all changes in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.kernels import Codes, Floats, Integers, Keys, Mask, library, run
from shoal.kernels.recoding import TupleGroups, group_numpy


class Outlook(NamedTuple):
    """One entry per attribute and level: records that are suppressed, and what they add to the attribute's cost."""

    suppressed: Integers
    #: what those add that are suppressed at the node itself
    already: Floats
    excess: Floats


def fixed_numbers() -> np.random.Generator:
    """Return numbers that look random and are the same in every run: for searches, never to protect anybody."""
    return np.random.default_rng(0)


class Moves:
    """A table whose nodes are valued together with all nodes that differ from them in one attribute.

    ``columns`` are leaf codes, shape ``(attributes, rows)``, and ``counts`` the records per row, at least 1.
    ``codes[attribute][level][leaf]`` is the code of the leaf's ancestor, ``costs[attribute][level][code]`` what that
    value costs a record; the cost of a class is their sum. Classes smaller than ``smallest`` are suppressed, at most
    ``allowed`` records, each of which costs ``loss``.

    Raising a level counts the classes again, lowering it splits those that are large enough: O(rows) per attribute and
    level at most, usually far less. The compiled kernel tells classes apart by random numbers of 64 bits.
    """

    def __init__(
        self,
        columns: Codes,
        counts: Integers,
        codes: Sequence[Sequence[Codes]],
        costs: Sequence[Sequence[Floats]],
        *,
        smallest: int,
        allowed: int,
        loss: float,
    ) -> None:
        self.columns = np.ascontiguousarray(columns, dtype=np.int32)
        self.counts = np.ascontiguousarray(counts, dtype=np.int64)
        self.codes, self.costs = codes, costs
        self.smallest, self.allowed, self.loss = smallest, allowed, loss
        #: attributes and levels, in the order of the values
        self.moves = [(j, level) for j, tables in enumerate(codes) for level in range(len(tables))]
        if library() is not None:
            self._describe()

    def values(self, levels: Sequence[int], wanted: Mask | None = None, *, most: float = math.inf) -> Floats:
        """Return the total cost of every move; at the own levels, that of the node.

        One entry per attribute and level. It is infinite where the move is not ``wanted``, suppresses more than
        ``allowed`` records or costs more than ``most``.
        """
        wanted = np.ones(len(self.moves), dtype=np.bool_) if wanted is None else np.ascontiguousarray(wanted)
        if library() is None:
            return self.values_numpy(levels, wanted, most)
        totals = np.empty(len(self.moves))
        numbers = (*self.columns.shape[::-1], self.smallest, self.allowed, float(self.loss), float(most))
        tables = (self.columns, self.counts, *self._tables, np.array(levels, dtype=np.int32))
        run("shoal_moves", *numbers, *tables, wanted, self._before, self._sums, totals)
        return totals

    def values_numpy(self, levels: Sequence[int], wanted: Mask, most: float) -> Floats:
        """As `values`, in plain NumPy."""
        values = np.array(
            [
                self._one([*levels[:j], level, *levels[j + 1 :]]) if chosen else math.inf
                for (j, level), chosen in zip(self.moves, wanted.tolist(), strict=True)
            ]
        )
        return np.where(values <= most, values, math.inf)

    def _one(self, levels: Sequence[int]) -> float:
        mapped, groups, sizes = self._classes(levels)
        cells = np.zeros(len(groups.first))
        for tables, level, column in zip(self.costs, levels, mapped, strict=True):
            cells += tables[level][column[groups.first]]
        lost = sizes < self.smallest
        suppressed = int(sizes[lost].sum())
        total = float((sizes * cells)[~lost].sum()) + self.loss * suppressed
        return total if suppressed <= self.allowed else math.inf

    def _classes(self, levels: Sequence[int]) -> tuple[Codes, TupleGroups, Integers]:
        """Return the codes of the rows at a node, its classes, and their sizes."""
        chosen = [table[level] for table, level in zip(self.codes, levels, strict=True)]
        mapped = np.array([table[column] for table, column in zip(chosen, self.columns, strict=True)], dtype=np.int32)
        mapped = mapped.reshape(self.columns.shape)
        groups = group_numpy(mapped, [int(table.max(initial=0)) + 1 for table in chosen])
        sizes = np.bincount(groups.labels, weights=self.counts, minlength=len(groups.first)).astype(np.int64)
        return mapped, groups, sizes

    def outlook(self, levels: Sequence[int], lowest: Sequence[int], dearest: Floats) -> Outlook:
        """Return what is suppressed at least with one attribute lowered, and what that adds to its own cost.

        ``lowest`` are the lowest levels that are of interest, and ``dearest`` is what a suppressed record pays for each
        attribute, no less than any of its values costs. The numbers are exact in the plain version. The compiled one
        may suppress too little, with a probability below ``rows ** 2 / 2 ** 64``: fit for bounds from below.
        """
        bottom, dearest = np.array(lowest, dtype=np.int32), np.ascontiguousarray(dearest, dtype=np.float64)
        if library() is None:
            return self.outlook_numpy(levels, bottom, dearest)
        outlook = Outlook(np.empty(len(self.moves), dtype=np.int64), *np.empty((2, len(self.moves))))
        numbers = (*self.columns.shape[::-1], self.smallest)
        tables = (self.columns, self.counts, *self._tables, np.array(levels, dtype=np.int32))
        run("shoal_outlook", *numbers, *tables, bottom, dearest, self._before, self._sums, *outlook)
        return outlook

    def outlook_numpy(self, levels: Sequence[int], lowest: Codes, dearest: Floats) -> Outlook:
        """As `outlook`, in plain NumPy."""
        suppressed = np.zeros(len(self.moves), dtype=np.int64)
        already, excess = np.zeros((2, len(self.moves)))
        _, (_, labels), sizes = self._classes(levels)
        lost = sizes[labels] < self.smallest
        for number, (j, level) in enumerate(self.moves):
            if not lowest[j] <= level <= levels[j]:
                continue
            codes = self.codes[j][level][self.columns[j]]
            extra = dearest[j] - self.costs[j][level][codes]
            small = lost
            if level < levels[j]:
                _, parts = np.unique(labels.astype(np.int64) * (int(codes.max()) + 1) + codes, return_inverse=True)
                small = np.bincount(parts, weights=self.counts)[parts] < self.smallest
            suppressed[number] = self.counts[small].sum()
            already[number] = float((self.counts[lost] * extra[lost]).sum())
            excess[number] = float((self.counts[small] * extra[small]).sum())
        return Outlook(suppressed, already, excess)

    def _describe(self) -> None:
        """Lay the tables out level by level and leaf by leaf, with a random number for every value."""
        generator = fixed_numbers()
        flat: list[tuple[Codes, Keys, Floats, int]] = []
        for tables, prices in zip(self.codes, self.costs, strict=True):
            for codes, costs in zip(tables, prices, strict=True):
                numbers = generator.integers(0, 2**64 - 1, size=len(costs), dtype=np.uint64, endpoint=True)
                flat.append((codes, numbers[codes], costs[codes], len(costs)))
        shape = [(len(tables), len(tables[0])) for tables in self.codes]
        self._tables = (
            np.array(shape, dtype=np.int64).ravel(),
            np.concatenate([np.zeros(0, np.int32), *(codes for codes, _, _, _ in flat)]).astype(np.int32),
            np.concatenate([np.zeros(0, np.uint64), *(keys for _, keys, _, _ in flat)]),
            np.concatenate([np.zeros(0), *(costs for _, _, costs, _ in flat)]),
            np.array([width for _, _, _, width in flat], dtype=np.int64),
        )
        self._before = np.full(len(self.codes), -1, dtype=np.int32)
        self._sums = np.zeros(self.columns.shape[1], dtype=np.uint64)
