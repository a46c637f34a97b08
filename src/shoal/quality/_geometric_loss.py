"""Geometric loss: as loss, but what one column loses is not made up for by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.kernels import Floats, Mask
from shoal.models import Classes
from shoal.quality._measure import Measure, released
from shoal.quality._objective import Objective, floors_of
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricLoss(Measure):
    """The weighted geometric mean, over attributes, of 1 + the share of the domain that released values cover, less 1.

    ``value = prod over attributes j of (1 + loss_j)^(w_j) - 1``, loss_j the mean over records of the share that the
    released value covers (see :class:`InformationLoss`), 1 for a suppressed record, and w the weights scaled to the sum
    1. In [0, 1]. ARX aggregates its loss so. Cost of a value O(tuples + classes * attributes).

    Examples
    --------
    >>> GeometricLoss().label
    'geometric-loss'
    """

    name: ClassVar[str] = "geometric-loss"
    title: ClassVar[str] = "Geometric loss"

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        sizes = released(recoding, frequencies).sizes
        shares = [recoding.shares[j][recoding.codes[:, j]] for j in range(len(frequencies.attributes))]
        costs = np.array([float((sizes * each).sum()) for each in shares])
        return self.combined(frequencies, costs, frequencies.records - int(sizes.sum()))

    def combined(self, frequencies: Frequencies, costs: Floats, suppressed: float) -> float:
        """Return the value, given the summed shares of every attribute and the records that are suppressed."""
        generalization, suppression = self.factors
        losses = (generalization * costs + suppression * suppressed) / max(frequencies.records, 1)
        return float(np.expm1(self.proportions(frequencies) @ np.log1p(losses)))

    def objective(self, frequencies: Frequencies) -> GeometricObjective:
        return GeometricObjective(self, frequencies)


class GeometricObjective(Objective):
    """Geometric loss over the nodes of one table."""

    def __init__(self, measure: GeometricLoss, frequencies: Frequencies) -> None:
        self._measure, self._frequencies = measure, frequencies
        self._shares = [hierarchy.shares for hierarchy in frequencies.hierarchies]
        generalization, suppression = measure.factors
        self._floors = [
            floors_of(
                hierarchy.codes,
                [generalization * shares for shares in hierarchy.shares],
                np.bincount(column, weights=frequencies.counts, minlength=hierarchy.size).astype(np.int64),
                suppression,
            )
            for hierarchy, column in zip(frequencies.hierarchies, frequencies.codes.T, strict=True)
        ]

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        assert classes.codes is not None  # noqa: S101 - the search always gives codes
        sizes = np.where(kept, classes.sizes, 0)
        shares = (self._shares[j][level][classes.codes[:, j]] for j, level in enumerate(levels))
        costs = np.array([float((sizes * each).sum()) for each in shares])
        return self._measure.combined(self._frequencies, costs, classes.records - int(sizes.sum()))

    def floor(self, levels: Sequence[int]) -> float:
        """Return what the node would cost if every record took the cheaper of its value and suppression, by column."""
        least = np.array([floors[level] for floors, level in zip(self._floors, levels, strict=True)])
        losses = least / max(self._frequencies.records, 1)
        return float(np.expm1(self._measure.proportions(self._frequencies) @ np.log1p(losses))) * (1 - 1e-12)
