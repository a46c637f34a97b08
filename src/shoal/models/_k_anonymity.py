"""k-anonymity: at least k records in every class."""

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
        """Return the kept classes of at least k records."""
        return np.asarray(kept & (classes.crowds >= self.k))

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the size of the smallest class."""
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

    def statement(self, words: Words = CLASSES) -> str:
        if not words.alike:
            return words.hidden(self.k)
        return f"{words.crowd(self.k)}."
