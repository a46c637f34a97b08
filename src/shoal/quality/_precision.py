"""Precision: the mean height of released values in their hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.quality._measure import CellObjective, Measure
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision(Measure):
    """The weighted mean, over records and attributes, of the level of the released value over the height.

    ``value = 1/n * sum over records r of sum over attributes j of w_j level_j(r) / height_j``, w the weights
    scaled to the sum 1; a suppressed record counts 1. In [0, 1]. This is the loss of precision: Sweeney's
    precision is 1 minus it, and [Bild24, 5.1] calls it generalisation intensity. It is the same for hierarchies of
    any shape, so prefer :class:`InformationLoss` where levels differ in how much they generalise. Cost of a value
    O(tuples + classes * attributes).

    As an objective it prunes: it is known from the levels alone, up to suppression.

    Examples
    --------
    >>> Precision().factors
    (1.0, 1.0)
    """

    name: ClassVar[str] = "precision"
    coarse: ClassVar[bool] = True

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        return self.mean(recoding, frequencies, self.sum_columns(recoding, frequencies, recoding.depths))

    def objective(self, frequencies: Frequencies) -> CellObjective:
        generalization, suppression = self.factors
        tables = tuple(
            tuple(
                np.full(
                    len(labels),
                    generalization * weight * (hierarchy.floor + level) / max(hierarchy.floor + hierarchy.height, 1),
                )
                for level, labels in enumerate(hierarchy.labels)
            )
            for hierarchy, weight in zip(frequencies.hierarchies, self.proportions(frequencies), strict=True)
        )
        return CellObjective.of(frequencies, tables, loss=suppression)
