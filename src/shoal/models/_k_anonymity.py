"""k-anonymity: at least k records in every class, so that nobody's record is found with a probability above 1/k."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import WHOLE
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, SIZE_ALONE, Achieved, Capabilities, Mask, Model
from shoal.tables import Classes


@dataclass(frozen=True, slots=True, repr=False)
class SizeModel(Model):
    """A model that asks for at least k records in every class, and for nothing else."""

    linkage: ClassVar[bool] = False
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (KNOWN, SIZE_ALONE)
    k: int = field(metadata=WHOLE)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True, minimal_class_size=self.k, decided_by_size=True, linkage=self.linkage
        )

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        return np.asarray(kept & (classes.crowds >= self.k))

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        return Achieved(k=int(classes.crowds[released].min()))


@dataclass(frozen=True, slots=True, repr=False)
class KAnonymity(SizeModel):
    """Every record shares its quasi-identifiers with at least k - 1 others.

    Cost O(classes).

    Parameters
    ----------
    k
        The smallest class allowed, an integer in [1, inf).

    Guarantee
    ---------
    Syntactic: ``|E| >= k`` for every equivalence class E of the release [LQS10, section 1; Bild24, 2.1.4]. An
    intruder who knows the quasi-identifiers of a person, and that the person is in the release, finds the person's
    record with probability at most 1/k.

    Assumptions
    -----------
    The quasi-identifiers are the attributes that the intruder knows. Sensitive values are not protected: all records
    of a class may share one.

    Examples
    --------
    >>> import numpy as np
    >>> KAnonymity(3).keep(Classes(sizes=np.array([2, 3, 7])), np.array([True, True, True])).tolist()
    [False, True, True]
    """

    name: ClassVar[str] = "k-anonymity"
    short: ClassVar[str] = "k"
    label: ClassVar[str] = "people who look alike, at least"
    advice: ClassVar[str] = (
        "In everything that an outsider may know, every person looks like at least k - 1 others. Common "
        "choices: 3 among colleagues who signed an agreement, 5 for researchers, 11 or more for the public."
    )

    def statement(self, words: Words = CLASSES) -> str:
        if not words.alike:
            return words.say_hidden_among(self.k)
        return f"{words.say_crowd(self.k)}."


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilisticKAnonymity(SizeModel):
    """An intruder finds the record of a person with probability at most 1/k.

    Weaker than k-anonymity, which implies it: quasi-identifiers need not look alike. Methods that exchange values
    inside classes that nobody publishes (:class:`shoal.methods.Swap`,
    :class:`shoal.methods.IndividualRankingSwap`) keep it with the
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
    short: ClassVar[str] = "k"
    label: ClassVar[str] = "people who look alike, at least"
    advice: ClassVar[str] = (
        "Nobody can be found with a chance of more than one in k. This is what methods that swap values "
        "between similar people promise."
    )
    linkage: ClassVar[bool] = True

    def statement(self, words: Words = CLASSES) -> str:
        if not words.alike:
            return words.say_hidden_among(self.k)
        known = words.quasi_identifiers("a person's")
        return f"An intruder who knows {known} finds that person's record with a probability of at most 1/{self.k}."
