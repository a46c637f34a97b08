"""Average risk: the mean probability of re-identification stays below a threshold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.exact import Number, fraction, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.models._model import KNOWN, SIZE_ALONE, Achieved, Capabilities, Mask, ReleaseModel, costs_of, select_occupied
from shoal.models._ratios import Ratios
from shoal.tables import Classes


@dataclass(frozen=True, slots=True, repr=False)
class AverageRisk(ReleaseModel):
    """An intruder who tries to re-identify all records succeeds with at most a given share of them.

    Cost O(classes log classes).

    Parameters
    ----------
    risk
        The greatest average risk, a number in (0, 1]. A float means the decimal typed.

    Guarantee
    ---------
    Syntactic: the mean over the released records of 1 / |E|, E the record's equivalence class, is at most ``risk``. It
    is the number of classes over the number of records (marketer risk; the prosecutor risk of one record is the 1/k of
    [Bild24, 2.1.4]).

    :meth:`keep` removes the smallest classes, as few as needed; where sizes are equal those that cost most first. No
    choice suppresses fewer records: a smaller class costs less to remove and lowers the average more.

    Assumptions
    -----------
    The intruder knows the quasi-identifiers of everybody in the release. It is an average: single records may be
    unique, so combine it with :class:`KAnonymity`. Sensitive values are not protected.

    Examples
    --------
    >>> import numpy as np
    >>> AverageRisk(0.25).keep(Classes(sizes=np.array([2, 1, 7])), np.array([True, True, True])).tolist()
    [True, False, True]
    """

    risk: Number = field(metadata=within("(0, 1]"))
    name: ClassVar[str] = "average-risk"
    advice: ClassVar[str] = "Someone who looks for everyone finds at most this share of the people."
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (
        KNOWN,
        "This is an average: single records may be at much higher risk.",
        SIZE_ALONE,
    )

    @property
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""
        return replace(super(AverageRisk, self).capabilities, mean_risk=fraction(self.risk))

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        result = select_occupied(classes, kept)
        numbers = np.flatnonzero(result)
        numbers = numbers[np.argsort(-costs_of(classes)[numbers], kind="stable")]
        numbers = numbers[np.argsort(classes.crowds[numbers], kind="stable")]
        # What is left after removing none, one, two, ... of the smallest classes
        left = np.arange(len(numbers), 0, -1)
        records = np.cumsum(classes.crowds[numbers][::-1])[::-1]
        enough = np.flatnonzero(Ratios(left, records).at_most(fraction(self.risk)))
        removed = int(enough[0]) if len(enough) else len(numbers)
        result[numbers[:removed]] = False
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        sizes = classes.crowds[released]
        return Achieved(risk=Fraction(len(sizes), int(sizes.sum())))

    def statement(self, words: Words = CLASSES) -> str:
        if words.person is not None:
            return (
                f"An intruder who looks for every person in every class by {words.quasi_identifiers('their')} is "
                f"right, on average, for a share of at most {plain(self.risk)} of them."
            )
        return (
            f"An intruder who tries to identify the people behind all records by {words.quasi_identifiers('their')} is "
            f"right, on average, for a share of at most {plain(self.risk)} of the records."
        )
