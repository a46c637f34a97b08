"""The histograms of the classes of a release: what models of a sensitive attribute look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.tables import Classes, Counts, Mask, SensitiveAttribute, tally

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The histogram of one sensitive attribute, for the classes of a release alone; no row is empty.

    Row ``i`` is the class ``classes[i]``; it has ``sizes[i]`` records, with the values ``codes[offsets[i]:offsets[i +
    1]]``, ascending, each ``counts[...]`` times.
    """

    attribute: SensitiveAttribute
    classes: Counts
    sizes: Counts
    offsets: Counts
    codes: npt.NDArray[np.int32]
    counts: Counts

    @classmethod
    def of(cls, classes: Classes, attribute: str, kept: Mask) -> Rows:
        """Take the rows of the kept classes; a class without records is not in a release."""
        histogram = classes.histogram(attribute)
        rows = cls(
            attribute=histogram.attribute,
            classes=np.arange(len(classes)),
            sizes=classes.sizes,
            offsets=histogram.offsets,
            codes=histogram.codes,
            counts=histogram.counts,
        )
        return rows.select(kept & (classes.sizes > 0))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def lengths(self) -> Counts:
        """The number of values present in each row."""
        return np.diff(self.offsets)

    @property
    def starts(self) -> Counts:
        """Where each row starts."""
        return self.offsets[:-1]

    @property
    def records(self) -> int:
        """The number of records of the release."""
        return int(self.sizes.sum())

    def totals(self) -> Counts:
        """Return the number of records of the release per value: the reference distribution of closeness."""
        return tally(self.codes, self.counts, self.attribute.size)

    def select(self, chosen: Mask) -> Rows:
        """Return some of the rows."""
        if chosen.all():
            return self
        lengths = self.lengths
        entries = np.repeat(chosen, lengths)
        offsets = np.concatenate(([0], np.cumsum(lengths[chosen])))
        return Rows(
            attribute=self.attribute,
            classes=self.classes[chosen],
            sizes=self.sizes[chosen],
            offsets=offsets,
            codes=self.codes[entries],
            counts=self.counts[entries],
        )
