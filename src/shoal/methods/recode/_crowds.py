"""The persons of the classes of a node, counted up to the number that models ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal.kernels import Codes, Counts, Mask
from shoal.tables import Frequencies, tallied


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """Which classes have ``enough`` persons, and the persons of those that have not.

    The persons of a merged class are not the sum of those of its parts. But as soon as one part has enough, so has the
    class; and where none has, the persons of all parts are known, and so are those of the class. So nodes are rolled up
    from each other as with records, exactly, and the less there is to keep the higher they are.
    """

    #: The number of persons that is asked for.
    enough: int
    #: Which classes have as many.
    full: Mask
    #: ``class * number + person`` of the persons of all other classes, ascending.
    keys: Counts
    #: The number of all persons, and how many each stands for; see :class:`~shoal.tables.Holders`.
    number: int
    times: Counts | None

    @classmethod
    def of(cls, frequencies: Frequencies, labels: Codes, classes: int, enough: int) -> Crowd | None:
        """Count the persons of classes of tuples; None where records need not be told from persons."""
        if frequencies.holders is None:
            return None
        owners, persons = frequencies.holders.grouped(labels)
        number, times = frequencies.holders.number, frequencies.holders.times
        open_ = cls(
            enough=enough,
            full=np.zeros(classes, dtype=np.bool_),
            keys=owners * number + persons,
            number=number,
            times=times,
        )
        return open_._settled()

    def rolled_up(self, labels: Codes, classes: int) -> Crowd:
        """Return the crowd of larger classes, given the one that every class goes to."""
        full = np.zeros(classes, dtype=np.bool_)
        full[labels[self.full]] = True
        owners = labels[self.keys // self.number].astype(np.int64)
        open_ = ~full[owners]
        keys = np.unique(owners[open_] * self.number + self.keys[open_] % self.number)
        return replace(self, full=full, keys=keys)._settled()

    @property
    def persons(self) -> Counts:
        """The persons of every class, or ``enough`` where there are more."""
        return np.asarray(np.where(self.full, self.enough, self._counted()), dtype=np.int64)

    def _settled(self) -> Crowd:
        full = self.full | (self._counted() >= self.enough)
        return replace(self, full=full, keys=self.keys[~full[self.keys // self.number]])

    def _counted(self) -> Counts:
        weights = None if self.times is None else self.times[self.keys % self.number]
        return tallied(self.keys // self.number, weights, len(self.full))
