"""Intervals between cut points: ``< 18``, ``[18, 65)``, ``>= 65``. They are given, or taken from the data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema._domain import Kind
from shoal.schema._entry import many, number, whole
from shoal.schema._rule import HierarchyRule, Level, RuledColumn, Tree, at
from shoal.schema._values import listed, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts(HierarchyRule):
    """Intervals between given cut points, finest level first; a coarser level keeps some of the finer one's cuts."""

    name: ClassVar[str] = "cuts"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NUMERIC,)
    levels: tuple[tuple[float, ...], ...] = field(metadata=at("cuts", many(many(number))))

    def problems(self) -> Iterable[str]:
        """Say what is wrong with the cut points."""
        if not self.levels or not all(self.levels):
            yield "`levels` of a `cuts` hierarchy must hold at least one level, and each level at least one cut point"
        for level in self.levels:
            if not all(math.isfinite(cut) for cut in level) or any(b <= a for a, b in itertools.pairwise(level)):
                yield "the cut points of each level of a `cuts` hierarchy must be finite and ascending"
        for fine, coarse in itertools.pairwise(self.levels):
            if not set(coarse) < set(fine):
                yield (
                    "each level of a `cuts` hierarchy must use some, not all, of the cut points of the level before it"
                )

    def explain(self) -> str:
        """Say the cut points."""
        levels = (listed(f"{cut:g}" for cut in level) for level in self.levels)
        return f"intervals cut at {', then at '.join(levels)}"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the intervals between the declared cut points."""
        return _between(column, self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(HierarchyRule):
    """Intervals of about equally many records. They depend on the data, so differential privacy refuses them."""

    name: ClassVar[str] = "quantiles"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NUMERIC,)
    data_dependent: ClassVar[bool] = True
    counts: tuple[int, ...] = field(metadata=at("quantiles", many(whole)))

    def problems(self) -> Iterable[str]:
        """Say what is wrong with the numbers of intervals."""
        few = not self.counts or min(self.counts) < 2
        if few or any(a % b or b >= a for a, b in itertools.pairwise(self.counts)):
            yield "`counts` of a `quantiles` hierarchy must be at least 2, each a divisor of the one before it"

    def explain(self) -> str:
        """Say the numbers of intervals."""
        numbers = ", then ".join(f"{count:,}" for count in self.counts)
        return f"{numbers} intervals with about the same number of records each, chosen from the data"

    def tree(self, column: RuledColumn) -> Tree:
        """Return intervals that start at the quantiles of the records.

        The i-th of q cut points is the smallest value with more than ``i / q`` of the records at or below it. Values
        that hold many records may be two cut points at once; there are fewer intervals then.
        """
        numbers = column.numbers
        below = np.cumsum(column.counts)
        finest = self.counts[0]
        if not len(numbers):
            return _between(column, [()] * len(self.counts))
        # below > i n / q in integers
        ranks = np.searchsorted(below, np.arange(1, finest) * int(below[-1]) // finest, side="right")
        points = numbers[np.minimum(ranks, len(numbers) - 1)]
        levels = []
        for count in self.counts:
            step = finest // count
            chosen = np.unique(points[step - 1 :: step])
            levels.append(chosen[chosen > numbers[0]].tolist())
        return _between(column, levels)


def _between(column: RuledColumn, levels: Sequence[Sequence[float]]) -> Tree:
    """Return the intervals between the cut points of each level; the outer ones are open."""
    numbers = column.numbers
    found = []
    for level in levels:
        points = pa.array(level, pa.float64())
        low, high = (pa.concat_arrays(pair) for pair in (([_one(-np.inf), points]), ([points, _one(np.inf)])))
        found.append(
            Level(
                groups=np.searchsorted(points.to_numpy(), numbers, side="right"),
                labels=_labels(points),
                shares=column.covered(low, high),
            )
        )
    return Tree(leaves=column.leaves, levels=found)


def _labels(points: pa.Array) -> pa.StringArray:
    written = text(points)
    if not len(written):
        return pa.array(["any number"])
    inner = pc.binary_join_element_wise("[", written[:-1], ", ", written[1:], ")", "")
    first, last = written[0].as_py(), written[-1].as_py()
    return pa.concat_arrays([pa.array([f"< {first}"]), inner, pa.array([f">= {last}"])])


def _one(number: float) -> pa.Array:
    return pa.array([number], pa.float64())
