"""Loss: the share of the domain that a released value covers; as a mean, as a geometric mean, and record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.kernels import Floats, Mask
from shoal.models import Classes
from shoal.quality._measure import (
    CellObjective,
    ClassObjective,
    Costs,
    Measure,
    Objective,
    floors_of,
    form_classes,
    marginals,
    summed_cells,
)
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationLoss(Measure):
    """The weighted mean, over records and attributes, of the share of the domain that the released value covers.

    ``value = 1/n * sum over records r of sum over attributes j of w_j share_j(r)``, w the weights scaled to the sum
    1; a suppressed record counts 1. The share is 0 for a single value and 1 for ``*`` (see
    :class:`~shoal.hierarchies.Hierarchy`). In [0, 1]. Known as granularity [Bild24, 2.1.5]. Cost of a value
    O(tuples + classes * attributes).

    Examples
    --------
    >>> InformationLoss(weights={"age": 2.0}).parameters()["weights"]
    {'age': 2.0}
    """

    name: ClassVar[str] = "loss"
    coarse: ClassVar[bool] = True
    title: ClassVar[str] = "Loss"

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        return self.mean(recoding, frequencies, self.sum_columns(recoding, frequencies, recoding.shares))

    def objective(self, frequencies: Frequencies) -> CellObjective:
        generalization, suppression = self.factors
        tables = tuple(
            tuple(generalization * weight * shares for shares in hierarchy.shares)
            for hierarchy, weight in zip(frequencies.hierarchies, self.proportions(frequencies), strict=True)
        )
        return CellObjective.of(frequencies, tables, loss=suppression)


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
        sizes = form_classes(recoding, frequencies).sizes
        shares = [recoding.shares[j][recoding.codes[:, j]] for j in range(len(frequencies.attributes))]
        costs = np.array([float((sizes * share).sum()) for share in shares])
        return self.combine_columns(frequencies, costs, frequencies.records - int(sizes.sum()))

    def combine_columns(self, frequencies: Frequencies, costs: Floats, suppressed: float) -> float:
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
                counts,
                suppression,
            )
            for hierarchy, counts in zip(frequencies.hierarchies, marginals(frequencies), strict=True)
        ]

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        assert classes.codes is not None  # noqa: S101 - the search always gives codes
        sizes = np.where(kept, classes.sizes, 0)
        shares = (self._shares[j][level][classes.codes[:, j]] for j, level in enumerate(levels))
        costs = np.array([float((sizes * share).sum()) for share in shares])
        return self._measure.combine_columns(self._frequencies, costs, classes.records - int(sizes.sum()))

    def floor(self, levels: Sequence[int]) -> float:
        """Return what the node would cost if every record took the cheaper of its value and suppression, by column."""
        least = np.array([floors[level] for floors, level in zip(self._floors, levels, strict=True)])
        losses = least / max(self._frequencies.records, 1)
        return float(np.expm1(self._measure.proportions(self._frequencies) @ np.log1p(losses))) * (1 - 1e-12)


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
        squares = self.sum_columns(recoding, frequencies, [shares**2 for shares in recoding.shares])
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
        squares = summed_cells(self._squares, levels, classes)
        return np.asarray(self.generalization * classes.sizes * np.minimum(np.sqrt(squares), 1.0))

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations: the loss, a mean that no square root is below."""
        return self._less.floor(levels) * (1 - 1e-12)
