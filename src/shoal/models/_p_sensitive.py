"""p-sensitive k-anonymity: k records and p different sensitive values in every class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import COLUMNS, WHOLE, Arguments
from shoal.guarantees import CLASSES, Words
from shoal.kernels import Counts
from shoal.models._model import ANY_SHARE, KNOWN, MEANING, REPLAY, Achieved, Capabilities, Mask, Model
from shoal.tables import Classes


@dataclass(frozen=True, slots=True, repr=False)
class PSensitive(Model):
    """Every class has at least k records and at least p different values of each sensitive attribute named.

    Cost O(classes * attributes).

    Parameters
    ----------
    attributes
        A sensitive attribute, or several; each must show p values in every class.
    p
        The least number of different values, an integer in [1, inf).
    k
        The smallest class allowed, an integer in [p, inf): p values need p records.

    Guarantee
    ---------
    Syntactic: ``|E| >= k`` and ``|{values of a in E}| >= p`` for every equivalence class E of the release and every
    attribute a (Truta and Vinay 2006). For one attribute it is k-anonymity with distinct l-diversity, l = p [Bild24,
    2.1.4].

    Assumptions
    -----------
    The quasi-identifiers are the attributes that the intruder knows. Values need not be equally frequent, and they may
    be alike in meaning: a class of 99 records with one illness and 1 with another is 2-sensitive. Each attribute is
    protected on its own; an intruder who knows one may learn another.

    Examples
    --------
    >>> PSensitive(["diagnosis", "income"], p=2, k=5)
    PSensitive(attributes=['diagnosis', 'income'], p=2, k=5)
    """

    attributes: str | tuple[str, ...] | list[str] = field(metadata=COLUMNS)
    p: int = field(metadata=WHOLE)
    k: int = field(metadata=WHOLE)
    name: ClassVar[str] = "p-sensitive-k-anonymity"
    advice: ClassVar[str] = "k-anonymity together with p different secrets in every group."
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (KNOWN, ANY_SHARE, MEANING, REPLAY)

    def fit(self, arguments: Arguments) -> None:
        arguments.whole("k", self.k, minimum=self.p)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, minimal_class_size=self.k, sensitive=tuple(self.attributes))

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        satisfied = kept & (classes.crowds >= self.k)
        for distinct in self._distinct(classes):
            satisfied = satisfied & (distinct >= self.p)
        return np.asarray(satisfied)

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        p = min(int(distinct[released].min()) for distinct in self._distinct(classes))
        k = int(classes.crowds[released].min())
        return Achieved(p=min(p, k), k=k)

    def statement(self, words: Words = CLASSES) -> str:
        columns = " and of ".join(f"`{name}`" for name in self.attributes)
        return f"{words.say_crowd(self.k)}, and together they show at least {self.p} different values of {columns}."

    def _distinct(self, classes: Classes) -> list[Counts]:
        return [np.diff(classes.histogram(name).offsets) for name in self.attributes]
