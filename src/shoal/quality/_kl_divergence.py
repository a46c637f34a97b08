"""KL divergence between the original distribution and the one that the release suggests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.kernels import Mask
from shoal.models import Classes
from shoal.quality._coverage import Volumes, volumes_of_recoding
from shoal.quality._measure import Costs, Measure, Objective, form_classes
from shoal.tables import Frequencies, Recoding, group, tally


@dataclass(frozen=True, slots=True, kw_only=True)
class KLDivergence(Measure):
    """The Kullback-Leibler divergence from the release, read as a distribution, to the original distribution, in
    nats.

    The release spreads the |E| records of a class evenly over the vol(E) tuples of leaves that its values cover,
    and the suppressed ones over all tuples of the domain. With p the share of a tuple x in the table and r its
    share so spread, ``value = sum over x of p(x) ln(p(x) / r(x))`` (Kifer and Gehrke 2006). In [0, inf); 0 if
    nothing is generalised. Where classes of a local recoding overlap, a tuple counts its own class alone, which
    overstates the divergence. It looks at whole tuples: attribute weights do not apply, and suppression is not
    weighed against generalisation, so ``balance`` must be 1/2. Cost of a value O(tuples log tuples + classes *
    attributes).

    As an objective it prunes by the volumes of the classes.

    Examples
    --------
    >>> KLDivergence().name
    'kl-divergence'
    """

    name: ClassVar[str] = "kl-divergence"
    balanced: ClassVar[bool] = False

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        classes = form_classes(recoding, frequencies)
        return self.objective(frequencies).divergence(classes.sizes, volumes_of_recoding(recoding, frequencies))

    def objective(self, frequencies: Frequencies) -> KLDivergenceObjective:
        return KLDivergenceObjective(frequencies)


class KLDivergenceObjective(Objective):
    """The divergence of the nodes of one table.

    With n records it is ``-H + 1/n (sum over kept classes of cost(E) + cost of the s suppressed records)``, where
    H is the entropy of the table, ``cost(E) = |E| (ln vol(E) - ln(|E| / n))``, and suppressed records cost ``s (ln
    VOL - ln(s / n)) >= s ln VOL``, VOL the volume of the domain. Merging classes makes cost(E) at least the sum of
    the parts (log-sum inequality). So a class and all that it is merged into cost at least ``min(cost(E), |E| ln
    VOL)``.
    """

    reads_classes = True

    def __init__(self, frequencies: Frequencies) -> None:
        self.records = max(frequencies.records, 1)
        labels, firsts = group(frequencies.codes)
        counts = tally(labels, frequencies.counts, len(firsts))
        self.entropy = float(_information(counts, self.records).sum()) / self.records
        self.volumes = Volumes(frequencies)

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        return self.divergence(classes.sizes[kept], self.volumes.of_classes(levels, classes)[kept])

    def divergence(self, sizes: npt.NDArray[np.int64], volumes: Costs) -> float:
        """Return the divergence of a release of classes with these sizes and logarithms of volumes."""
        suppressed = np.array([self.records - int(sizes.sum())])
        costs = float((sizes * volumes + _information(sizes, self.records)).sum())
        costs += float((suppressed * self.volumes.domain + _information(suppressed, self.records)).sum())
        # Rounding errors must not make a divergence negative.
        return max(0.0, costs / self.records - self.entropy)

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations: the mean logarithm of the volume grows."""
        return self.volumes.mean(levels) - self.entropy

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        return float(self._least(levels, classes).sum()) / self.records - self.entropy

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        return float((lost.sizes * self.volumes.domain - self._least(levels, lost)).sum()) / self.records

    def _least(self, levels: Sequence[int], classes: Classes) -> Costs:
        costs = classes.sizes * self.volumes.of_classes(levels, classes) + _information(classes.sizes, self.records)
        return np.asarray(np.minimum(costs, classes.sizes * self.volumes.domain))


def _information(sizes: npt.NDArray[np.int64], records: int) -> Costs:
    """Return ``-e ln(e / n)``, 0 for e = 0."""
    return np.asarray(-sizes * np.log(np.maximum(sizes, 1) / records), dtype=np.float64)
