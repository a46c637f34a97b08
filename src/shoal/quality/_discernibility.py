"""Discernibility: with how many records each record can be confused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.models import Classes
from shoal.quality._measure import ClassCounts, ClassObjective, Costs, Measure, form_classes
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Discernibility(Measure):
    """The mean, over records, of the share of the table that shares their released quasi-identifiers.

    ``value = (sum over classes E of |E|^2 + n s) / n^2``, n the records of the table and s the suppressed ones, which
    are told from none [Bild24, (7), divided by n]. In [1/n, 1]. It looks at records, not at values: attribute weights
    do not apply. Cost of a value O(tuples).

    As an objective it prunes if suppression counts at least as much as generalisation: squares only grow when classes
    merge. From the levels alone it knows a bound by the number of possible classes.

    Examples
    --------
    >>> Discernibility(balance=0.5).name
    'discernibility'
    """

    name: ClassVar[str] = "discernibility"
    coarse: ClassVar[bool] = True

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        classes = form_classes(recoding, frequencies)
        generalization, suppression = self.factors
        records = max(frequencies.records, 1)
        shares = classes.sizes / records
        suppressed = (frequencies.records - classes.records) / records
        return generalization * float((shares * shares).sum()) + suppression * suppressed

    def objective(self, frequencies: Frequencies) -> DiscernibilityObjective:
        return DiscernibilityObjective(frequencies, *self.factors)


class DiscernibilityObjective(ClassObjective):
    """Discernibility of the nodes of one table: a class of e of the n records costs ``e * e / n``."""

    def __init__(self, frequencies: Frequencies, generalization: float, suppression: float) -> None:
        super().__init__(frequencies, generalization, suppression)
        self.counts = ClassCounts(frequencies)

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        return np.asarray(self.generalization / self.scale * classes.sizes.astype(np.float64) ** 2)

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations.

        A share x of the records in at most c classes costs at least x^2 / c, the rest 1 - x each, with their factors.
        """
        most = self.counts.most(levels)
        share = 1.0
        if self.generalization * 2 > self.loss * most:
            share = self.loss * most / (2 * self.generalization)
        return self.generalization * share * share / most + self.loss * (1 - share)
