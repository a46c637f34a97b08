"""Iterated recoding: anonymise what was suppressed again, with its own best node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import Problems
from shoal.methods.recode._draft import Draft
from shoal.methods.recode._local import LocalMethod, Task
from shoal.methods.recode._rounds import Prices, rounds

__all__ = ["Iterate"]


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
    the best full-domain one.

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
    title: ClassVar[str] = "Iterate"
    first_price: float = 0.05
    growth: float = 1.5
    saving: float = 0.02

    def _check(self, problems: Problems) -> None:
        self._prices.note(problems, self.title)

    @property
    def _prices(self) -> Prices:
        return Prices(first=self.first_price, growth=self.growth, saving=self.saving)

    def drafts(self, task: Task) -> Iterator[Draft]:
        """Make one draft."""
        every = np.ones(len(task.frequencies.counts), dtype=np.bool_)
        draft = Draft(task.frequencies)
        costs = task.objective.tables
        for levels, released in rounds(task.frequencies, every, task.models, costs, self._prices, task.watch):
            draft.generalize(released, levels)
        yield draft
