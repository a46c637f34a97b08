"""Probabilistic k-anonymity: nobody's record is found with a probability above 1/k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.guarantees import CLASSES, Words
from shoal.models._k_anonymity import SizeModel


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilisticKAnonymity(SizeModel):
    """An intruder finds the record of a person with probability at most 1/k.

    Weaker than k-anonymity, which implies it: quasi-identifiers need not look alike. Methods that exchange values
    inside classes that nobody publishes (:class:`shoal.Swap`, :class:`shoal.IndividualRankingSwap`) keep it with the
    quasi-identifiers as they are. Cost O(classes).

    Parameters
    ----------
    k
        One over the greatest probability allowed, an integer in [1, inf).

    Guarantee
    ---------
    P(Rid(e) = Id(e)) <= 1/k for every person e of an external data set and every way Rid to link records [SC13, Def.
    5]. Where records of a class share their quasi-identifiers, or exchanged values at random, every record of the
    class is equally likely: it holds if ``|E| >= k`` for every class E [SC13, section 3.3.1].

    Assumptions
    -----------
    The quasi-identifiers are what the intruder knows. Sensitive values that the records of a class share are not
    protected. What a method adds to this, its certificate says.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.models import Classes
    >>> ProbabilisticKAnonymity(3).keep(Classes(sizes=np.array([2, 3])), np.array([True, True])).tolist()
    [False, True]
    """

    name: ClassVar[str] = "probabilistic-k-anonymity"
    linkage: ClassVar[bool] = True

    def statement(self, words: Words = CLASSES) -> str:
        if not words.alike:
            return words.hidden(self.k)
        known = words.known("a person's")
        return f"An intruder who knows {known} finds that person's record with a probability of at most 1/{self.k}."
