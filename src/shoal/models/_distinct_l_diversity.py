"""Distinct l-diversity: l different sensitive values in every class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import WHOLE
from shoal.guarantees import CLASSES, Words
from shoal.models._model import ANY_SHARE, MEANING, NOTHING_RULED_OUT, REPLAY, Achieved, Capabilities, Mask
from shoal.models._sensitive import Rows, SensitiveModel


@dataclass(frozen=True, slots=True, repr=False)
class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l different values of a sensitive attribute.

    Cost O(classes).

    Parameters
    ----------
    attribute
        The sensitive attribute.
    l
        The least number of different values, an integer in [1, inf).

    Guarantee
    ---------
    Syntactic: ``|{values in E}| >= l`` for every equivalence class E of the release [Bild24, 2.1.4, Def. 3, variant
    1]. The quasi-identifiers of a person leave at least l values possible. Implies l-anonymity.

    Assumptions
    -----------
    The intruder cannot rule values out, and does not care about probabilities: one value may be far more frequent than
    the others (skewness), and all may mean nearly the same (similarity). See :class:`EntropyLDiversity`,
    :class:`RecursiveLDiversity` and :class:`TCloseness`.

    Examples
    --------
    >>> DistinctLDiversity("diagnosis", 3).statement()
    'Records that share their quasi-identifiers show at least 3 different values of `diagnosis`.'
    """

    l: int = field(metadata=WHOLE)  # noqa: E741 - the name in the literature
    name: ClassVar[str] = "distinct-l-diversity"
    shown_by_records: ClassVar[bool] = True
    assumes: ClassVar[tuple[str, ...]] = (NOTHING_RULED_OUT, ANY_SHARE, MEANING, REPLAY)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, minimal_class_size=self.l, sensitive=(self.attribute,))

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows with at least l values, and l people to have them."""
        return np.asarray(np.minimum(rows.lengths, rows.crowds) >= self.l)

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the least number of values in a row."""
        return Achieved(l=int(np.minimum(rows.lengths, rows.crowds).min()))

    def statement(self, words: Words = CLASSES) -> str:
        people = "" if words.person is None else f"are of at least {self.l} persons and "
        return f"Records {words.sharing} {people}show at least {self.l} different values of `{self.attribute}`."
