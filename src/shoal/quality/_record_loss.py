"""Record loss: as loss, but a record that loses much in one column counts more than one that loses a little in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.models import Classes
from shoal.quality._loss import InformationLoss
from shoal.quality._measure import Measure
from shoal.quality._objective import ClassObjective, Costs
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLoss(Measure):
    """The mean over records of the distance between the record and what is released of it.

    ``value = 1/n * sum over records r of sqrt(sum over attributes j of w_j share_j(r)^2)``, the shares and the weights
    w of :class:`InformationLoss`; a suppressed record counts 1. In [0, 1], and never less than the loss. ARX's squared
    error of records is of this form, with standard deviations of numbers in the place of shares, which all columns
    have. Cost of a value O(tuples + classes * attributes).

    As an objective it prunes if suppression counts at least as much as generalisation: generalisation brings no record
    closer.

    Examples
    --------
    >>> RecordLoss().label
    'record-loss'
    """

    name: ClassVar[str] = "record-loss"
    title: ClassVar[str] = "Record loss"

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        squares = self.summed(recoding, frequencies, [shares**2 for shares in recoding.shares])
        return self.mean(recoding, frequencies, np.sqrt(squares))

    def objective(self, frequencies: Frequencies) -> RecordLossObjective:
        return RecordLossObjective(self, frequencies)


class RecordLossObjective(ClassObjective):
    """The record loss of the nodes of one table."""

    def __init__(self, measure: RecordLoss, frequencies: Frequencies) -> None:
        super().__init__(frequencies, *measure.factors)
        weights = measure.proportions(frequencies)
        self._squares = tuple(
            tuple(weight * shares**2 for shares in hierarchy.shares)
            for hierarchy, weight in zip(frequencies.hierarchies, weights, strict=True)
        )
        self._less = InformationLoss(weights=measure.weights, balance=measure.balance).objective(frequencies)

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        assert classes.codes is not None  # noqa: S101 - the search always gives codes
        squares = np.zeros(len(classes))
        for column, (table, level) in enumerate(zip(self._squares, levels, strict=True)):
            squares += table[level][classes.codes[:, column]]
        return np.asarray(self.generalization * classes.sizes * np.minimum(np.sqrt(squares), 1.0))

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations: the loss, a mean that no square root is below."""
        return self._less.floor(levels) * (1 - 1e-12)
