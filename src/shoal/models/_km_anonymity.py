"""k^m-anonymity: every combination of m released quasi-identifiers occurs in at least k records."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.exact import WHOLE
from shoal.guarantees import CLASSES, Words
from shoal.kernels import Counts
from shoal.models._model import Achieved, Capabilities, Mask, Model, Scope, select_occupied
from shoal.tables import Classes, group, tally

#: Possible combinations per class up to which a table of all of them is faster than a sort.
DENSE = 32


@dataclass(frozen=True, slots=True, repr=False)
class KMAnonymity(Model):
    """Every combination of at most m released quasi-identifier values occurs at least k times, or not at all.

    Weaker than k-anonymity and much cheaper in data where there are many quasi-identifiers and nobody knows all of
    them. Cost O(C(a, m) * classes * log(classes)), less where few combinations are possible, for a
    quasi-identifiers, per round of removals.

    Parameters
    ----------
    k
        The least number of records per combination, an integer in [1, inf).
    m
        How many quasi-identifiers the intruder knows, an integer in [1, inf); from a on it is k-anonymity.

    Guarantee
    ---------
    Syntactic: for every set A of at most m quasi-identifiers, every combination of values of A that occurs in the
    release occurs in at least k records (Terrovitis, Mamoulis and Kalnis 2008; [Bild24, 2.1.4]). Combinations of
    exactly min(m, a) values decide, because a part of a combination occurs at least as often.

    :meth:`keep` returns the largest set of classes that satisfies the model: what it removes is in no such set.

    Assumptions
    -----------
    The intruder knows at most m quasi-identifiers of a person. Sensitive values are not protected. With local
    recoding a value and its generalisations count as different values.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    >>> classes = Classes(sizes=np.array([1, 1, 1]), codes=codes)
    >>> print(KMAnonymity(2, m=1).find_achieved(classes))
    k = 1
    """

    k: int = field(metadata=WHOLE)
    m: int = field(metadata=WHOLE)
    name: ClassVar[str] = "k-m-anonymity"
    advice: ClassVar[str] = "An outsider who knows any m of a person's values still finds at least k people who fit."
    assumes: ClassVar[tuple[str, ...]] = (
        "Others know at most {m} of the quasi-identifiers of a person.",
        "Everyone who matches may have the same sensitive value.",
    )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, scope=Scope.RELEASE, codes=True)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        numbers = np.flatnonzero(select_occupied(classes, kept))
        while len(numbers):
            frequent = self._rarest(classes, numbers) >= self.k
            if frequent.all():
                break
            numbers = numbers[frequent]
        result = np.zeros(len(classes), dtype=np.bool_)
        result[numbers] = True
        return result

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        return Achieved(k=int(self._rarest(classes, np.flatnonzero(released)).min()))

    def statement(self, words: Words = CLASSES) -> str:
        known = "any quasi-identifier" if self.m == 1 else f"any {self.m} quasi-identifiers"
        return f"An intruder who knows {known} of a person finds at least {self.k} matching records, or none."

    def _rarest(self, classes: Classes, numbers: Counts) -> Counts:
        """Return, for each of the classes, how often its rarest combination of m values occurs in all of them."""
        if classes.codes is None:
            raise ParameterError(
                f"`{self.title}` needs the released quasi-identifiers of the classes; none were given."
            )
        columns, sizes = np.ascontiguousarray(classes.codes[numbers].T), classes.sizes[numbers]
        rarest = np.full(len(numbers), np.iinfo(np.int64).max)
        for chosen in itertools.combinations(range(len(columns)), min(self.m, len(columns))):
            rarest = np.minimum(rarest, _frequencies(columns[list(chosen)], sizes))
        return rarest


def _frequencies(columns: npt.NDArray[np.int32], sizes: Counts) -> Counts:
    """Return, for each class, the records of all classes with the same values in the columns."""
    widths = [int(column.max()) + 1 for column in columns]
    if math.prod(widths) <= DENSE * len(sizes):
        labels, number = np.zeros(len(sizes), dtype=np.int64), math.prod(widths)
        for column, width in zip(columns, widths, strict=True):
            labels = labels * width + column
    else:
        labels, firsts = group(columns.T)
        number = len(firsts)
    return tally(labels, sizes, number)[labels]
