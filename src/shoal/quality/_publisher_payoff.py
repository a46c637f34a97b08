"""Publisher payoff: the loss of a publisher who is paid for information and pays for every successful attack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, Problems
from shoal.exact import fraction
from shoal.kernels import Mask
from shoal.models import Classes
from shoal.quality._coverage import Volumes, volumes_of_recoding
from shoal.quality._measure import Costs, Measure, Objective, form_classes
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherPayoff(Measure):
    """The share of the greatest payoff that the publisher of a table forgoes, if every attack that pays is tried.

    Wan, Vorobeychik, Xia and others (2015), ARX's profitability *with attack*: the publisher gets ``benefit`` for a
    record, less what its information lost. An intruder tries to find the person of a record at a ``cost`` and wins
    ``gain`` where that succeeds, with the probability 1/|E| of a class E; whoever gains by it on average does it, and
    the publisher then pays ``loss`` for each success.

    ``value = 1/n * (sum over classes E of |E| ln vol(E) / ln VOL + loss / benefit for each E with gain / |E| > cost) +
    suppressed records / n``, vol(E) the tuples of leaves that the values of E cover, VOL all of the domain. In [0, 1 +
    loss / benefit]; above 1 the publisher had better release nothing. The intruder knows who is in the table
    (prosecutor); one who does not (journalist) succeeds no more often. It counts records, and whole tuples: attribute
    weights do not apply, and ``balance`` must be 1/2. Cost of a value O(tuples + classes * attributes).

    It is no promise to the people in the table: a record is released wherever the publisher's gain outweighs his own
    expected loss, however likely its person is found. That no attack pays *is* one: k-anonymity with k = gain / cost,
    rounded up (ARX's *no attack*). As an objective it prunes by the volumes of the classes.

    Parameters
    ----------
    benefit
        What the publisher gets for a record of which nothing was lost, in (0, inf).
    loss
        What he pays if its person is found, in [0, inf).
    gain, cost
        What an intruder wins by finding a person, and what a try costs, in [0, inf). The defaults are the paper's.

    Examples
    --------
    >>> payoff = PublisherPayoff(gain=300, cost=100)
    >>> payoff.is_worth_attacking(2), payoff.is_worth_attacking(3)
    (True, False)
    """

    name: ClassVar[str] = "publisher-payoff"
    title: ClassVar[str] = "Publisher payoff"
    balanced: ClassVar[bool] = False
    benefit: float = 1200.0
    loss: float = 300.0
    gain: float = 300.0
    cost: float = 4.0

    def __post_init__(self) -> None:
        super(PublisherPayoff, self).__post_init__()
        problems = Problems()
        for name in ("benefit", "loss", "gain", "cost"):
            amount = getattr(self, name)
            known = isinstance(amount, int | float) and not isinstance(amount, bool) and math.isfinite(amount)
            if not known or amount < 0 or (name == "benefit" and amount == 0):
                interval = "(0, inf)" if name == "benefit" else "[0, inf)"
                problems.add(f"`{name}` of `{self.title}` must be a number in {interval}; got {amount}")
        problems.raise_as(ParameterError)

    def is_worth_attacking(self, size: int) -> bool:
        """Return whether trying to find the person of a record in a class of this size pays on average."""
        return fraction(self.gain) > fraction(self.cost) * size

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        classes = form_classes(recoding, frequencies)
        return self.objective(frequencies).forgone(classes, volumes_of_recoding(recoding, frequencies))

    def objective(self, frequencies: Frequencies) -> PayoffObjective:
        return PayoffObjective(self, frequencies)


class PayoffObjective(Objective):
    """The payoff that the nodes of one table forgo."""

    def __init__(self, measure: PublisherPayoff, frequencies: Frequencies) -> None:
        self._records = frequencies.records
        self._volumes = Volumes(frequencies)
        self._paid = measure.loss / measure.benefit
        cost = fraction(measure.cost)
        #: the largest class that is attacked
        self._largest = math.inf if not cost else math.ceil(fraction(measure.gain) / cost) - 1
        if not measure.gain:
            self._largest = 0

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        return self.forgone(classes.only(kept), self._volumes.of_classes(levels, classes)[kept])

    def forgone(self, classes: Classes, volumes: Costs) -> float:
        """Return the share that a release of these classes forgoes, given the logarithms of their volumes."""
        sizes = classes.sizes
        lost = float((sizes * volumes).sum()) / (self._volumes.domain or 1.0)
        attacked = int(np.count_nonzero((sizes > 0) & (sizes <= self._largest)))
        suppressed = self._records - int(sizes.sum())
        return (lost + self._paid * attacked + suppressed) / max(self._records, 1)

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for the node and its generalisations: without attacks, the mean volume grows."""
        return self._volumes.mean(levels) / (self._volumes.domain or 1.0) * (1 - 1e-12)
