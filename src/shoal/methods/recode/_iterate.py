"""Rounds of full-domain recoding, each of what the rounds before it left over; what is built of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.exact import Arguments
from shoal.hierarchies import Hierarchy
from shoal.kernels import Mask
from shoal.kernels.walk import score
from shoal.methods.base import Watch
from shoal.methods.recode._any_time import BranchAndBound
from shoal.methods.recode._effort import Effort
from shoal.methods.recode._judge import Limits
from shoal.methods.recode._lattice import Box, Lattice, Levels, Tables, by_size, smallest_class
from shoal.methods.recode._local import LocalDraft, LocalMethod, LocalTask, cell_objective
from shoal.methods.recode._method import as_float
from shoal.models import Model
from shoal.quality import CellObjective, Measure
from shoal.tables import Frequencies, Recoding

#: Nodes that one round may check one by one, where that is cheap and where it is not; what it finds in them need not
#: be the best.
_STEPS = {True: 1_000, False: 250}
#: Tuples times nodes up to which all nodes are scored instead: a fraction of a second's work.
_SCORED = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterate(LocalMethod):
    """Release what one node anonymises well, then anonymise the rest with its own best node, and so on.

    Parameters
    ----------
    first_price
        What a suppressed record costs in the first round, in (0, 1]. A low price releases only what is cheap, and
        leaves the rest to later rounds.
    growth
        What the price is multiplied by, in (1, inf), whenever no node saves enough.
    saving
        The share of the price of all remaining records that a node must save, in [0, 1). Small shares take more
        rounds and lose less.

    Guarantee
    ---------
    Syntactic: the classes of the release, records with equal released values, satisfy the models; records that two
    rounds release alike are one class. Every released value is an ancestor of the original. No release is worse than
    any full-domain one that the comparison looked at.

    Assumptions
    -----------
    Models that compare classes with the whole release are decided in each round on its own records and again on the
    whole release at the end; classes that then violate them are suppressed. Cost: one search or one walk over the
    lattice per round.

    Examples
    --------
    >>> Iterate(saving=0.1).parameters()["saving"]
    0.1
    """

    name: ClassVar[str] = "iterate"
    about: ClassVar[str] = "Like generalize; what is left over gets its own levels."
    first_price: float = 0.05
    growth: float = 1.5
    saving: float = 0.02

    def fit(self, arguments: Arguments) -> None:
        LocalMethod.fit(self, arguments)
        add = arguments.problems.add
        if not 0 < as_float(self.first_price) <= 1:
            add(f"`first_price` of `{self.title}` must be in (0, 1]; got {self.first_price}")
        if not 1 < as_float(self.growth) < math.inf:
            add(f"`growth` of `{self.title}` must be in (1, inf); got {self.growth}")
        if not 0 <= as_float(self.saving) < 1:
            add(f"`saving` of `{self.title}` must be in [0, 1); got {self.saving}")

    def drafts(self, task: LocalTask) -> Iterator[LocalDraft]:
        every = np.ones(len(task.frequencies.counts), dtype=np.bool_)
        draft = LocalDraft(task.frequencies)
        costs = task.objective.tables
        for levels, released in _rounds(
            task.frequencies, every, task.models, costs, self, task.watch, effort=task.effort
        ):
            draft.generalize(released, levels)
        yield draft


def _rounds(
    frequencies: Frequencies,
    rows: Mask,
    models: Sequence[Model],
    costs: Tables,
    prices: Iterate,
    watch: Watch,
    *,
    effort: Effort | None = None,
) -> Iterator[tuple[Levels, Mask]]:
    """Release rows round by round: yield a node, and the rows that are released at it.

    Every round takes the node that is best if a suppressed record costs the price of the round, and releases those of
    its classes that cost less than that. The first round after the effort is over is the last, at the full price.
    """
    effort = effort or Effort()
    remaining = rows & (frequencies.counts > 0)
    price, number = prices.first_price, 0
    while int(frequencies.counts[remaining].sum()) >= smallest_class(models):
        number += 1
        late = effort.over
        price = 1.0 if late else price
        watch.step(1, 2, f"round {number}: {int(frequencies.counts[remaining].sum()):,} records remain")
        outcome = _round(frequencies, remaining, models, costs, price, prices.saving, effort)
        if outcome is None:
            if price >= 1:
                return
            price = min(1.0, price * prices.growth)
            continue
        levels, released = outcome
        remaining = remaining & ~released
        yield levels, released
        if late:
            return


def _round(
    frequencies: Frequencies,
    remaining: Mask,
    models: Sequence[Model],
    costs: Tables,
    price: float,
    saving: float,
    effort: Effort,
) -> tuple[Levels, Mask] | None:
    part = frequencies.only(remaining)
    lattice = Lattice(part, costs, enough=smallest_class(models), effort=effort)
    scored = _scored(lattice, models, costs, price)
    levels, value, recoding = _searched(lattice, models, costs, price) if scored is None else scored
    if value >= price * (1 - saving):
        return None
    recoding = recoding or lattice.recoding(levels, lattice.node(levels).keep(models))
    cells = sum(table[level][column] for table, level, column in zip(costs, levels, recoding.codes.T, strict=True))
    cheap = np.append(np.asarray(cells) < price, False)
    released = np.zeros(len(frequencies.counts), dtype=np.bool_)
    released[remaining] = cheap[recoding.classes]
    return (levels, released) if released.any() else None


def _searched(
    lattice: Lattice, models: Sequence[Model], costs: Tables, price: float
) -> tuple[Levels, float, Recoding | None]:
    """Search for the node with the least value, if a suppressed record costs ``price``."""
    objective, records = CellObjective.of(lattice.frequencies, costs, loss=price), lattice.frequencies.records
    limits = Limits(suppressed=records, steps=_STEPS[by_size(models)], patience=0)
    result = BranchAndBound(lattice, objective, models, limits, Watch(None, None)).run()
    if not result.solutions:
        return lattice.top, price, None
    return result.solutions[0].levels, result.solutions[0].value, result.recoding


def _scored(
    lattice: Lattice, models: Sequence[Model], costs: Tables, price: float
) -> tuple[Levels, float, None] | None:
    """Score all nodes, where they are few and the models ask for numbers of records alone."""
    counted = by_size(models) and lattice.frequencies.holders is None
    if lattice.nodes * lattice.leaves > _SCORED or not counted:
        return None
    box = Box(lattice, lattice.bottom, lattice.top, costs)
    if not box.fits:
        return None
    lattice.effort.spend(lattice.nodes * lattice.leaves)
    size = smallest_class(models)
    gains = np.append(np.zeros(size), float(size))
    saved = score(box.start, gains, slope=1.0, base=price)
    best = int(np.argmax(saved))
    return box.levels(best), price - float(saved[best]) / max(lattice.frequencies.records, 1), None


def suppress_cells(
    frequencies: Frequencies, levels: Levels, kept: Mask, models: Sequence[Model], measure: Measure, watch: Watch
) -> LocalDraft:
    """Return the release of a node in which suppressed records come back with some of their cells as ``*``.

    The suppressed records are released round by round: each takes the set of cells to suppress that costs least for
    the records it brings back, and releases the classes that satisfy the models. ``kept`` are the rows that the node
    releases as they are.
    """
    narrow = _two_levels(frequencies, levels)
    costs = cell_objective(measure, narrow).tables
    draft = LocalDraft(frequencies)
    draft.generalize(kept, levels)
    for starred, released in _rounds(narrow, ~kept, models, costs, Iterate(), watch):
        chosen = [
            h.height if star else level for h, level, star in zip(frequencies.hierarchies, levels, starred, strict=True)
        ]
        draft.generalize(released, chosen)
    return draft


def _two_levels(frequencies: Frequencies, levels: Levels) -> Frequencies:
    """Return the table at a node, whose only generalisation of a value is ``*``."""
    codes = np.empty_like(frequencies.codes)
    for j, (hierarchy, level) in enumerate(zip(frequencies.hierarchies, levels, strict=True)):
        codes[:, j] = hierarchy.codes[level][frequencies.codes[:, j]]
    narrow = map(_narrow, frequencies.hierarchies, levels)
    return replace(frequencies, hierarchies=tuple(narrow), codes=codes)


def _narrow(hierarchy: Hierarchy, level: int) -> Hierarchy:
    chosen = [level] if level == hierarchy.height else [level, hierarchy.height]
    size = len(hierarchy.labels[level])
    return replace(
        hierarchy,
        labels=tuple(hierarchy.labels[kept] for kept in chosen),
        codes=tuple(np.arange(size, dtype=np.int32) if kept == level else np.zeros(size, np.int32) for kept in chosen),
        shares=tuple(hierarchy.shares[kept] for kept in chosen),
        leaves=tuple(hierarchy.leaves[kept] for kept in chosen),
        positions=None,
    )
