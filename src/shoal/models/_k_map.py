"""k-map: at least k people of the population fit every released record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import WHOLE
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, SIZE_ALONE, Achieved, Capabilities, Mask, Model, occupied, population
from shoal.tables import Classes


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
        "The population table contains everybody an intruder may consider.",
        "An intruder does not know which people in the population are in the release.",
        SIZE_ALONE,
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, population=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return the kept classes that at least k people of the population fit."""
        return np.asarray(occupied(classes, kept) & (population(classes, self.title) >= self.k))

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the least number of people that fit a class."""
        people = population(classes, self.title)[released]
        return Achieved(k=int(people.min()))

    def statement(self, words: Words = CLASSES) -> str:
        return f"Every released record matches {words.known('the')} of at least {self.k} people in the population."
