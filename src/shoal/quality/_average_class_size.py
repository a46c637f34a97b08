"""Average class size: the number of records that share their released quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.kernels import Mask
from shoal.models import Classes
from shoal.quality._measure import ClassCounts, Measure, Objective, form_classes
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageClassSize(Measure):
    """The mean number of records per class (AECS), all suppressed records being one class.

    ``value = n / (classes + 1)`` if records are suppressed, else ``n / classes``, n the records of the table [Bild24,
    2.1.5, Group Size]. In [1, n]. It looks at records, not at values: attribute weights do not apply, and suppression
    is not weighed against generalisation, so ``balance`` must be 1/2. Cost of a value O(tuples).

    As an objective it prunes: generalisation makes no new classes.

    Examples
    --------
    >>> AverageClassSize().name
    'average-class-size'
    """

    name: ClassVar[str] = "average-class-size"
    coarse: ClassVar[bool] = True
    balanced: ClassVar[bool] = False

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        classes = form_classes(recoding, frequencies)
        return _average(frequencies.records, int(np.count_nonzero(classes.sizes)), classes.records)

    def objective(self, frequencies: Frequencies) -> AverageClassSizeObjective:
        return AverageClassSizeObjective(frequencies)


class AverageClassSizeObjective(Objective):
    """The average class size of the nodes of one table."""

    reads_classes = True

    def __init__(self, frequencies: Frequencies) -> None:
        self.records = frequencies.records
        self.counts = ClassCounts(frequencies)

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        sizes = classes.sizes[kept]
        return _average(self.records, int(np.count_nonzero(sizes)), int(sizes.sum()))

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations: the number of possible classes."""
        return self.records / self.counts.most(levels)

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        """Return a lower bound for the node and its generalisations: suppression replaces a class by another."""
        return self.records / max(len(classes), 1)

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        """Return what the suppression of the ``lost`` classes adds to the bound of any node below this one.

        A node below has at least as many classes in their place, which become one. The fewer classes there are in
        all, the more that adds; no node has more classes than there are different tuples.
        """
        most = max(self.counts.tuples, len(lost), 1)
        return self.records / (most - len(lost) + 1) - self.records / most if len(lost) else 0.0


def _average(records: int, classes: int, released_records: int) -> float:
    number = classes + (released_records < records)
    return records / number if number else 0.0
