"""Models that look at the values of one sensitive attribute in each class, and the histograms that they look at."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.exact import COLUMN
from shoal.kernels import Counts
from shoal.models._model import Achieved, Mask, Model
from shoal.tables import Classes, SensitiveAttribute, tally


@dataclass(frozen=True, slots=True, repr=False)
class SensitiveModel(Model):
    """A model of one sensitive attribute: a verdict on every row of its histogram."""

    attribute: str = field(metadata=COLUMN)

    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return the kept classes that satisfy the model; the reference is the distribution of the kept classes."""
        rows = Rows.of(classes, self.attribute, kept)
        verdict = np.zeros(len(classes), dtype=np.bool_)
        if len(rows):
            verdict[rows.classes] = self.decide_rows(rows)
        return verdict

    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        return self.strongest_of(Rows.of(classes, self.attribute, released))

    @abstractmethod
    def decide_rows(self, rows: Rows) -> Mask:
        """Return which rows, of at least one, satisfy the model in a release of exactly these rows."""

    @abstractmethod
    def strongest_of(self, rows: Rows) -> Achieved:
        """Return the strongest parameters that hold in a release of exactly these rows, of at least one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The histogram of one sensitive attribute, for the classes of a release alone; no row is empty.

    Row ``i`` is the class ``classes[i]``; it has ``sizes[i]`` votes, with the values ``codes[offsets[i]:offsets[i +
    1]]``, ascending, each ``counts[...]`` times. A vote is a record, or where a person may have several, a share of the
    person's one vote in the class, so small that all are whole; these may be Python integers.
    """

    attribute: SensitiveAttribute
    classes: Counts
    #: the people of every row
    crowds: Counts
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
            crowds=classes.crowds,
            sizes=classes.sizes
            if histogram.votes is None
            else classes.crowds.astype(histogram.votes.dtype) * classes.vote,
            offsets=histogram.offsets,
            codes=histogram.codes,
            counts=histogram.counts if histogram.votes is None else histogram.votes,
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
        """The number of votes of the release."""
        return int(self.sizes.sum())

    def totals(self) -> Counts:
        """Return the number of votes of the release per value: the reference distribution of closeness."""
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
            crowds=self.crowds[chosen],
            sizes=self.sizes[chosen],
            offsets=offsets,
            codes=self.codes[entries],
            counts=self.counts[entries],
        )
