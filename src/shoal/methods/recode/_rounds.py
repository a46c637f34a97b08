"""Rounds of full-domain recoding: each anonymises what the rounds before it left over."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.errors import Problems
from shoal.kernels.walk import score
from shoal.methods.base import Watch
from shoal.methods.recode._any_time import BranchAndBound, Limits
from shoal.methods.recode._lattice import Lattice, Levels, Mask, Tables, smallest_class
from shoal.methods.recode._sweep import Box
from shoal.models import Model
from shoal.quality import CellObjective
from shoal.tables import Frequencies

__all__ = ["Prices", "rounds"]

#: Nodes that one round may check one by one, where that is cheap and where it is not; what it finds in them need not
#: be the best.
_STEPS = {True: 1_000, False: 250}
#: Tuples times nodes up to which all nodes are scored instead: a fraction of a second's work.
_SCORED = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a suppressed record costs in each round: little at first, as it has more rounds ahead.

    Parameters
    ----------
    first
        The price of the first round, in (0, 1]; 1 is the cost of a record of which everything is ``*``.
    growth
        What the price is multiplied by when no node saves enough, in (1, inf). The last price is 1.
    saving
        The share of the price of all remaining records that a node must save, in [0, 1).
    """

    first: float = 0.05
    growth: float = 1.5
    saving: float = 0.02

    def note(self, problems: Problems, title: str) -> None:
        """Note what is wrong."""
        if not 0 < self.first <= 1:
            problems.add(f"`first_price` of `{title}` must be in (0, 1]; got {self.first}")
        if not (math.isfinite(self.growth) and self.growth > 1):
            problems.add(f"`growth` of `{title}` must be in (1, inf); got {self.growth}")
        if not 0 <= self.saving < 1:
            problems.add(f"`saving` of `{title}` must be in [0, 1); got {self.saving}")


def rounds(
    frequencies: Frequencies,
    rows: Mask,
    models: Sequence[Model],
    costs: Tables,
    prices: Prices,
    watch: Watch,
) -> Iterator[tuple[Levels, Mask]]:
    """Release rows round by round: yield a node, and the rows that are released at it.

    Every round takes the node that is best if a suppressed record costs the price of the round, and releases those of
    its classes that cost less than that.
    """
    remaining = rows & (frequencies.counts > 0)
    price, number = prices.first, 0
    while int(frequencies.counts[remaining].sum()) >= smallest_class(models):
        number += 1
        watch.step(1, 2, f"round {number}: {int(frequencies.counts[remaining].sum()):,} records remain")
        found = _round(frequencies, remaining, models, costs, price, prices.saving)
        if found is None:
            if price >= 1:
                return
            price = min(1.0, price * prices.growth)
            continue
        levels, released = found
        remaining = remaining & ~released
        yield levels, released


def _round(
    frequencies: Frequencies, remaining: Mask, models: Sequence[Model], costs: Tables, price: float, saving: float
) -> tuple[Levels, Mask] | None:
    part = _part(frequencies, remaining)
    lattice = Lattice(part, costs)
    found = _scored(lattice, models, costs, price)
    levels, value = _searched(lattice, models, costs, price) if found is None else found
    if value >= price * (1 - saving):
        return None
    recoding = lattice.recoding(levels, models)
    cells = sum(table[level][column] for table, level, column in zip(costs, levels, recoding.codes.T, strict=True))
    cheap = np.append(np.asarray(cells) < price, False)
    released = np.zeros(len(frequencies.counts), dtype=np.bool_)
    released[remaining] = cheap[recoding.classes]
    return (levels, released) if released.any() else None


def _searched(lattice: Lattice, models: Sequence[Model], costs: Tables, price: float) -> tuple[Levels, float]:
    """Search for the node with the least value, if a suppressed record costs ``price``."""
    frequencies = lattice.frequencies
    objective = CellObjective.of(frequencies, costs, loss=price)
    limits = Limits(suppressed=frequencies.records, steps=_STEPS[_by_size(models)])
    found = BranchAndBound(lattice, objective, models, limits, Watch(None, None)).run()
    return (found.solutions[0].levels, found.solutions[0].value) if found.solutions else (lattice.top, price)


def _scored(lattice: Lattice, models: Sequence[Model], costs: Tables, price: float) -> tuple[Levels, float] | None:
    """Score all nodes, where they are few and the models ask for numbers of records alone."""
    if lattice.nodes * lattice.leaves > _SCORED or not _by_size(models):
        return None
    box = Box(lattice, lattice.bottom, lattice.top, costs)
    if not box.fits:
        return None
    size = smallest_class(models)
    gains = np.append(np.zeros(size), float(size))
    saved = score(box.start, gains, slope=1.0, base=price)
    best = int(np.argmax(saved))
    return box.levels(best), price - float(saved[best]) / max(lattice.frequencies.records, 1)


def _by_size(models: Sequence[Model]) -> bool:
    return all(model.capabilities.decided_by_size for model in models)


def _part(frequencies: Frequencies, rows: Mask) -> Frequencies:
    return replace(
        frequencies,
        codes=np.asfortranarray(frequencies.codes[rows]),
        counts=frequencies.counts[rows],
        sensitive_codes=np.asfortranarray(frequencies.sensitive_codes[rows]),
        population=None if frequencies.population is None else frequencies.population[rows],
    )
