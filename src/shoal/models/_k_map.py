"""k-map: at least k people of the population fit every released record, by a table of them or by an estimate."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.exact import WHOLE, Number, ball, fraction, plain, precisions, within, working_precision
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, SIZE_ALONE, Achieved, Capabilities, Mask, Model, population, select_occupied
from shoal.tables import Classes

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True, repr=False)
class KMap(Model):
    """Every released record fits at least k people of a population table.

    Weaker than k-anonymity, and enough where the intruder does not know who is in the release: a class may hold a
    single record if k people of the population look like it. Cost O(classes).

    Parameters
    ----------
    k
        The least number of people per released combination of quasi-identifiers, an integer in [1, inf).

    Guarantee
    ---------
    Syntactic, given the population table: for every equivalence class E of the release, at least k records of the
    population generalise to the quasi-identifiers of E (Sweeney 2002; the sample counterpart is [Bild24, 2.1.4, Def.
    1]). An intruder who matches a released record with the population finds the right person with probability at
    most 1/k.

    Assumptions
    -----------
    The population table holds everybody the intruder may consider, and the intruder does not know who of them is in
    the release. Sensitive values are not protected.

    Examples
    --------
    >>> import numpy as np
    >>> classes = Classes(sizes=np.array([1, 4]), population=np.array([9, 4]))
    >>> KMap(5).keep(classes, np.array([True, True])).tolist()
    [True, False]
    """

    k: int = field(metadata=WHOLE)
    name: ClassVar[str] = "k-map"
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "The population table contains everybody whom others may consider.",
        "They do not know which people of the population are in the release.",
        SIZE_ALONE,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, population=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        return np.asarray(select_occupied(classes, kept) & (population(classes, self.title) >= self.k))

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        people = population(classes, self.title)[released]
        return Achieved(k=int(people.min()))

    def statement(self, words: Words = CLASSES) -> str:
        shared = words.quasi_identifiers("the")
        return f"Every released record matches {shared} of at least {self.k} people in the population."


#: people up to whom probabilities are added up as fractions; above, as balls
_FEW = 100


@dataclass(frozen=True, slots=True, repr=False)
class EstimatedKMap(Model):
    """Every class is so large that a class of fewer than k people of the population would hardly show so many records.

    For samples of a population of which there is no table; with one, take :class:`KMap`. Cost O(classes).

    Parameters
    ----------
    k
        The fewest people of the population who shall share a class, an integer in [1, inf).
    sampling_fraction
        The chance of each person of the population to be in the table, in (0, 1].
    significance
        The greatest chance of being wrong about a class, in [0, 1). At 0 it is k-anonymity.

    Guarantee
    ---------
    Syntactic: every class has at least n records, n the least number with P(B >= n) <= ``significance`` for the number
    B of successes in k - 1 trials with the chance ``sampling_fraction``. So a class of fewer than k people is taken
    for one of k or more with at most that probability: the test of El Emam and Dankar (2008), with the exact binomial
    distribution where they, and ARX, take Poisson's; that of a population table is [Bild24, 2.1.4]. A class of a
    recoding is fitted by all people whom its values cover, in the table or not. Probabilities are decided exactly, or
    by balls on the safe side.

    Assumptions
    -----------
    Everybody was drawn independently with the same chance. Of many classes some may be wrong, about the share
    ``significance`` of those with fewer than k people; classes that were chosen by looking at the records, more.

    Examples
    --------
    >>> import numpy as np
    >>> EstimatedKMap(20, 0.1).keep(Classes(sizes=np.array([3, 4, 5])), np.array([True, True, True])).tolist()
    [False, False, True]
    """

    k: int = field(metadata=WHOLE)
    sampling_fraction: Number = field(metadata=within("(0, 1]"))
    significance: Number = field(default=Fraction(1, 20), metadata=within("[0, 1)"))
    name: ClassVar[str] = "estimated-k-map"
    advice: ClassVar[str] = (
        "Every group is so large that at least k people of the whole population must be expected to look "
        "alike, if the table is a random sample of it. A test, which errs with the chance given."
    )
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "Everyone in the population was drawn into the table independently, with probability {sampling_fraction}.",
        "It is a test of each class separately: of the classes that fewer than {k} people share, a share of "
        "{significance} may pass it, and more where classes were chosen by looking at the records.",
        "An intruder does not know who is in the table.",
        SIZE_ALONE,
    )

    @property
    def least(self) -> int:
        """The fewest records of a class."""
        return _least(self.k, fraction(self.sampling_fraction), fraction(self.significance))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            monotone_generalization=True,
            minimal_class_size=self.least,
            decided_by_size=True,
            estimated_population=True,
        )

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        return np.asarray(kept & (classes.crowds >= self.least))

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the most people that the test allows for the smallest class."""
        smallest = int(classes.crowds[released].min())
        chance, wrong = fraction(self.sampling_fraction), fraction(self.significance)
        above = smallest + 1
        while _passes(above, smallest, chance, wrong):
            above *= 2
        fails = bisect_left(range(smallest, above), True, key=lambda k: not _passes(k, smallest, chance, wrong))
        return Achieved(k=smallest + fails - 1)

    def statement(self, words: Words = CLASSES) -> str:
        return (
            f"{words.say_crowd(self.least)}: if fewer than {self.k} people in the population shared them, that many "
            f"would be in the table with a probability of at most {plain(self.significance)}."
        )


@cache
def _least(k: int, chance: Fraction, wrong: Fraction) -> int:
    """Return the fewest records that pass the test for k people; k always do."""
    return 1 + bisect_left(range(1, k), True, key=lambda records: _passes(k, records, chance, wrong))


@cache
def _passes(k: int, records: int, chance: Fraction, wrong: Fraction) -> bool:
    """Return whether k - 1 people show so many records with a probability of at most ``wrong``."""
    if records >= k:
        return True
    if wrong == 0 or chance == 1:
        return False
    if k <= _FEW:
        terms = (comb(k - 1, i) * chance**i * (1 - chance) ** (k - 1 - i) for i in range(records))
        return 1 - sum(terms) <= wrong
    for bits in precisions():
        with working_precision(bits):
            gap = _fewer(k - 1, records, chance) - ball(1 - wrong)
            if gap > 0 or gap < 0:
                return bool(gap > 0)
    return False


def _fewer(people: int, records: int, chance: Fraction) -> arb:
    """Return a ball around the probability of fewer than so many records."""
    term = ball(1 - chance) ** people
    total = term
    odds = ball(chance / (1 - chance))
    for i in range(1, records):
        term = term * odds * (people - i + 1) / i
        total = total + term
    return total
