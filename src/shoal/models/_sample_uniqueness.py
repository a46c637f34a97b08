"""Sample uniqueness: few records are the only ones with their quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.exact import Number, fraction, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, SIZE_ALONE, Achieved, Mask, ReleaseModel, costs_of, occupied
from shoal.tables import Classes


@dataclass(frozen=True, slots=True, repr=False)
class SampleUniqueness(ReleaseModel):
    """At most a given share of the released records are alone in their class.

    Parameters
    ----------
    share
        The greatest share of unique records, a number in [0, 1]. A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: the number of classes of one record over the number of released records is at most ``share``. With 0 it
    is 2-anonymity [Bild24, 2.1.4, Def. 1].

    :meth:`keep` removes as few unique records as needed, those that cost most if released. No choice suppresses
    fewer records, as removing others raises the share. Cost O(classes).

    Assumptions
    -----------
    Uniqueness in the release bounds uniqueness in the population from above. It says nothing about records that two or
    three share, and sensitive values are not protected.

    Examples
    --------
    >>> import numpy as np
    >>> SampleUniqueness(0.1).keep(Classes(sizes=np.array([1, 9, 1])), np.array([True, True, True])).tolist()
    [True, True, False]
    """

    share: Number = field(metadata=within("[0, 1]"))
    name: ClassVar[str] = "sample-uniqueness"
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "Records that look like only one or two others are not covered.",
        SIZE_ALONE,
    )

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return the kept classes without as few of the unique records as needed."""
        result = occupied(classes, kept)
        unique = np.flatnonzero(result & (classes.crowds == 1))
        others = int(classes.crowds[result].sum()) - len(unique)
        share = fraction(self.share)
        # u unique records are allowed where u / (u + others) <= share
        allowed = len(unique) if share == 1 else int(others * share / (1 - share))
        unique = unique[np.argsort(costs_of(classes)[unique], kind="stable")]
        result[unique[allowed:]] = False
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the share of unique records."""
        sizes = classes.crowds[released]
        return Achieved(share=Fraction(int((sizes == 1).sum()), int(sizes.sum())))

    def statement(self, words: Words = CLASSES) -> str:
        if words.person is not None:
            alone = f"the only one with {words.known('their')}"
            none = f"Nobody is {alone} in any class."
            some = f"The share of persons in classes who are {alone} is at most {plain(self.share)}."
            return none if fraction(self.share) == 0 else some
        if fraction(self.share) == 0:
            return f"No record is the only one with {words.known('its')}."
        return f"The share of records that are the only one with {words.known('their')} is at most {plain(self.share)}."
