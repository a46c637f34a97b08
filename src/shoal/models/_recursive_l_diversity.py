"""Recursive (c, l)-diversity: the most frequent sensitive value of a class is not too frequent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.exact import WHOLE, Number, fraction, plain, within
from shoal.guarantees import CLASSES, Words
from shoal.kernels import Counts
from shoal.models._model import KNOWN, MEANING, REPLAY, Achieved, Capabilities, Mask
from shoal.models._ratios import LIMIT, Ratios
from shoal.models._sensitive import Rows, SensitiveModel


@dataclass(frozen=True, slots=True, repr=False)
class RecursiveLDiversity(SensitiveModel):
    """The most frequent sensitive value of a class stays below c times all but the l - 1 most frequent ones.

    Cost O(p) for l <= 2, else O(p log p), p the number of values present in all classes.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    c
        How dominant the most frequent value may be, a number in (0, inf). A float means the decimal typed.
    l
        An integer in [1, inf); l - 1 values may be ruled out by the intruder.

    Guarantee
    ---------
    Syntactic: ``r_1 < c (r_l + r_{l+1} + ... + r_m)`` for every equivalence class E of the release, r_i the number of
    records with the i-th most frequent value of E [Bild24, 2.1.4, Def. 3, variant 2]. After the intruder rules out up
    to l - 2 values, the values left are (c, 2)-diverse: none of them is more than about c times as frequent as the
    others together.

    Assumptions
    -----------
    The intruder can rule out at most l - 2 values. The values may be alike in meaning, and rare or common in the whole
    table.

    Examples
    --------
    >>> RecursiveLDiversity("diagnosis", c=3, l=2)
    RecursiveLDiversity(attribute='diagnosis', c=3, l=2)
    """

    c: Number = field(metadata=within("(0, inf)"))
    l: int = field(metadata=WHOLE)  # noqa: E741 - the name in the literature
    name: ClassVar[str] = "recursive-l-diversity"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, minimal_class_size=self.l, sensitive=(self.attribute,))

    def satisfied(self, rows: Rows) -> Mask:
        """Return the rows that are (c, l)-diverse, and have l people."""
        people = rows.crowds >= self.l
        if self.l > 2:
            return np.asarray(people & (self._diversities(rows) >= self.l))
        most = np.maximum.reduceat(rows.counts, rows.starts)
        return np.asarray(people & Ratios(most, rows.sizes - (self.l - 1) * most).below(fraction(self.c)))

    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the greatest l that holds for c; 0 where not even l = 1 does."""
        return Achieved(l=int(np.minimum(self._diversities(rows), rows.crowds).min()))

    def statement(self, words: Words = CLASSES) -> str:
        others = {1: "all values", 2: "all other values"}.get(self.l, f"all but the {self.l - 1} most frequent values")
        return (
            f"{words.among}, the most frequent value of `{self.attribute}` is less "
            f"than {plain(self.c)} times as frequent as {others} together."
        )

    def assumptions(self) -> tuple[str, ...]:
        ruled_out = "no value" if self.l <= 2 else "at most 1 value" if self.l == 3 else f"at most {self.l - 2} values"
        return KNOWN, f"An intruder can rule out {ruled_out} of `{self.attribute}` for a person.", MEANING, REPLAY

    def _diversities(self, rows: Rows) -> Counts:
        """Return the greatest l per row for which ``r_1 < c (r_l + ...)``; the tails shrink as l grows."""
        lengths, starts = rows.lengths, rows.starts
        counts = _descending(rows)
        before = np.cumsum(counts) - counts  # records before an entry, over all rows
        tails = np.repeat(rows.sizes + before[starts], lengths) - before
        verdicts = Ratios(np.repeat(counts[starts], lengths), tails).below(fraction(self.c))
        return np.add.reduceat(verdicts.astype(np.int64), starts)


def _descending(rows: Rows) -> Counts:
    """Return the counts of every row, the greatest first."""
    owners = np.repeat(np.arange(len(rows)), rows.lengths)
    largest = int(rows.counts.max())
    if (largest + 1) * len(rows) >= LIMIT:
        ranks = np.unique(rows.counts, return_inverse=True)[1]
        return rows.counts[np.lexsort((-ranks, owners))]
    # One sort of one key: the row, then how much the count falls short of the largest one
    keys = owners * (largest + 1)
    shortfalls = np.sort(keys + (largest - rows.counts), kind="stable") - keys
    return np.asarray(largest - shortfalls)
