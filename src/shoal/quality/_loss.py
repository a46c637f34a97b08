"""Loss: the share of the domain that a released value covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.quality._measure import Measure
from shoal.quality._objective import CellObjective
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
        return self.mean(recoding, frequencies, self.summed(recoding, frequencies, recoding.shares))

    def objective(self, frequencies: Frequencies) -> CellObjective:
        generalization, suppression = self.factors
        tables = tuple(
            tuple(generalization * weight * shares for shares in hierarchy.shares)
            for hierarchy, weight in zip(frequencies.hierarchies, self.proportions(frequencies), strict=True)
        )
        return CellObjective.of(frequencies, tables, loss=suppression)
