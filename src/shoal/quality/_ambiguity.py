"""Ambiguity: the number of different original records that a released record may stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.models import Classes
from shoal.quality._coverage import Volumes, volumes_of_recoding
from shoal.quality._measure import ClassObjective, Costs, Measure
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity(Measure):
    """The mean, over records, of the number of tuples of leaves that the released values cover, scaled to [0, 1].

    ``value = 1/n * sum over records of (vol - 1) / (VOL - 1)``, vol the product over the attributes of the leaves
    below the released value and VOL the same for ``*``; a suppressed record counts 1 (Goldberger and Tassa 2010).
    Most releases are near 0, because volumes multiply: compare values by their quotients. Volumes are products, so
    attribute weights do not apply. Cost of a value O(tuples + classes * attributes + labels).

    As an objective it prunes if suppression counts at least as much as generalisation: volumes grow with
    generalisation, and their mean is at least their geometric mean, which the levels tell.

    Examples
    --------
    >>> Ambiguity().name
    'ambiguity'
    """

    name: ClassVar[str] = "ambiguity"

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        volumes = volumes_of_recoding(recoding, frequencies)
        return self.mean(recoding, frequencies, _scale_volumes(volumes, Volumes(frequencies).domain))

    def objective(self, frequencies: Frequencies) -> AmbiguityObjective:
        return AmbiguityObjective(frequencies, *self.factors)


class AmbiguityObjective(ClassObjective):
    """The ambiguity of the nodes of one table."""

    def __init__(self, frequencies: Frequencies, generalization: float, suppression: float) -> None:
        super().__init__(frequencies, generalization, suppression)
        self.volumes = Volumes(frequencies)

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        scaled = _scale_volumes(self.volumes.of_classes(levels, classes), self.volumes.domain)
        return np.asarray(self.generalization * classes.sizes * scaled)

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations, from the geometric mean of the volumes."""
        if not self.superadditive:
            return 0.0
        mean = np.array([self.volumes.mean(levels)])
        return self.generalization * float(_scale_volumes(mean, self.volumes.domain)[0])


def _scale_volumes(volumes: Costs, domain: float) -> Costs:
    """Return ``(vol - 1) / (VOL - 1)`` of logarithms of volumes, which may be too large for floats themselves."""
    if not domain:
        return np.zeros(len(volumes))
    return np.asarray((np.exp(volumes - domain) - math.exp(-domain)) / -math.expm1(-domain))
