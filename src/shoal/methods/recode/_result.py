"""The result of a recoding search: the recoding, its value, and why it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.quality import Measure
from shoal.tables import Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A node of the lattice that keeps the promise."""

    #: One level per quasi-identifier.
    levels: tuple[int, ...]
    #: The measure of its release; lower is better.
    value: float
    #: The number of records that it suppresses.
    suppressed: int

    @property
    def order(self) -> tuple[float, int, int, tuple[int, ...]]:
        """How solutions are ranked.

        By value (to 12 digits, and to no more than 12 decimals, so that rounding errors do not decide), then fewer
        suppressed records, then a lower sum of levels, then the lexicographically smaller levels.
        """
        value = round(self.value, 12) if abs(self.value) < 1 else float(f"{self.value:.11e}")
        return value, self.suppressed, sum(self.levels), self.levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExploredLattice:
    """The nodes that a search looked at, as arrays of one row per node, for display."""

    #: The top level of every quasi-identifier.
    heights: tuple[int, ...]
    #: The nodes checked, the measure of their releases and their suppressed records. The value is infinite where the
    #: node does not keep the promise within the suppression limit.
    levels: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    suppressed: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchResult:
    """A recoding and what is known about its quality."""

    #: What was decided for every distinct tuple.
    recoding: Recoding
    #: What was minimised.
    measure: Measure
    #: The measure of the recoding; lower is better.
    value: float
    #: No node has a lower value if its classes are removed by the ``rule``: proved by the search. None for local
    #: methods, which prove nothing.
    bound: float | None = None
    #: How classes are chosen for removal at a node, where the promises leave a choice. Nothing is proved of other
    #: choices. None where they leave none.
    rule: str | None = None
    #: The number of records of the table, and of those that the recoding suppresses.
    records: int
    suppressed: int
    #: Of all ``nodes`` of the lattice, how many were checked and how many were ruled out by bounds.
    checked: int = 0
    pruned: int = 0
    nodes: int = 0
    #: The best nodes that were checked, best first; empty for local methods.
    solutions: tuple[Solution, ...] = ()
    #: The nodes that were checked, for display; None for local methods.
    lattice: ExploredLattice | None = None
    #: The level of every quasi-identifier below which nothing was looked at, as tuples did not fit in memory; empty
    #: where all levels were. Whatever is proved is proved for these levels and above.
    floors: tuple[int, ...] = ()
    #: The measure of the best release with one level per column that was found beside a local one; infinite if there is
    #: none, None where none was looked for.
    one_level: float | None = None
    #: What the limit of effort or time cut short, one sentence each.
    cut_short: tuple[str, ...] = ()
    #: What else was decided on the way, one sentence each.
    notes: tuple[str, ...] = field(default=())
    #: What is released instead of the recoding that was searched for, where columns become aggregates of classes.
    released: Recoding | None = None

    @property
    def final(self) -> Recoding:
        """The recoding that is released."""
        return self.recoding if self.released is None else self.released

    @property
    def levels(self) -> tuple[int, ...] | None:
        """The levels of a full-domain recoding."""
        return self.recoding.levels

    @property
    def gap(self) -> float | None:
        """How much lower the value of the best node can be at most under the ``rule``; 0 is a proof of optimality."""
        return None if self.bound is None else max(0.0, self.value - self.bound)

    @property
    def optimal(self) -> bool:
        """Whether the search proved that no node is better, if its classes are removed by the ``rule``."""
        return self.gap == 0.0 and not self.floors

    def explain(self) -> str:
        """Say why this recoding was chosen, in a few lines."""
        lines = [f"{self.measure.title} {self.value:.6g}; {self.suppressed:,} of {self.records:,} records suppressed."]
        if self.recoding.levels is not None:
            levels = zip(self.recoding.attributes, self.recoding.levels, strict=True)
            lines.append(f"Levels: {', '.join(f'{attribute} {level}' for attribute, level in levels)}.")
        if self.nodes:
            lines.append(
                f"Of {self.nodes:,} nodes {self.checked:,} were checked and {self.pruned:,} ruled out by bounds."
            )
        if self.gap is not None:
            above = at_or_above(self.recoding.attributes, self.floors)
            lines.append(
                f"Proved: no other node{above} is better."
                if self.gap == 0
                else f"Proved: no node{above} is better than {self.bound:.6g}. It is not proved that this one "
                f"is the best: the gap is at most {self.gap:.3g}."
            )
            if self.rule is not None:
                lines.append(
                    f"This is proved for one rule of removing classes: {self.rule}. It is not proved that no other "
                    "choice of classes to remove loses less."
                )
        for rival in self.solutions[1:4]:
            lines.append(
                f"Next: {self.measure.title} {rival.value:.6g}, {rival.suppressed:,} suppressed, with "
                f"{_difference(self.recoding.attributes, self.solutions[0].levels, rival.levels)}."
            )
        return "\n".join([*lines, *self.notes, *self.cut_short])


def at_or_above(attributes: Sequence[str], floors: Sequence[int]) -> str:
    """Return which nodes a search looked at, as words that follow "nodes": nothing where it looked at all.

    Examples
    --------
    >>> at_or_above(("age", "sex", "zip"), (1, 0, 2))
    ' with `age` at level 1 or above, `zip` at level 2 or above'
    """
    each = [f"`{name}` at level {floor} or above" for name, floor in zip(attributes, floors, strict=False) if floor]
    return f" with {', '.join(each)}" if each else ""


def _difference(attributes: Sequence[str], best: Sequence[int], other: Sequence[int]) -> str:
    return ", ".join(
        f"{attribute} at level {theirs} instead of {ours}"
        for attribute, ours, theirs in zip(attributes, best, other, strict=True)
        if ours != theirs
    )
