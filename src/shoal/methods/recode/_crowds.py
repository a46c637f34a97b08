"""The persons of the classes of a node, counted up to the number that models ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels import Codes, Counts, Mask
from shoal.tables import Frequencies

__all__ = ["Crowd"]


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
    #: The number of all persons.
    number: int

    @classmethod
    def of(cls, frequencies: Frequencies, labels: Codes, classes: int, enough: int) -> Crowd | None:
        """Count the persons of classes of tuples; None where records need not be told from persons."""
        if frequencies.holders is None:
            return None
        owners, persons = frequencies.holders.grouped(labels)
        number = frequencies.holders.number
        return cls._settled(owners * number + persons, np.zeros(classes, dtype=np.bool_), number, enough)

    def rolled_up(self, labels: Codes, classes: int) -> Crowd:
        """Return the crowd of larger classes, given the one that every class goes to."""
        full = np.zeros(classes, dtype=np.bool_)
        full[labels[self.full]] = True
        owners = labels[self.keys // self.number].astype(np.int64)
        open_ = ~full[owners]
        keys = np.unique(owners[open_] * self.number + self.keys[open_] % self.number)
        return self._settled(keys, full, self.number, self.enough)

    @property
    def persons(self) -> Counts:
        """The persons of every class, or ``enough`` where there are more."""
        found = np.bincount(self.keys // self.number, minlength=len(self.full))
        return np.asarray(np.where(self.full, self.enough, found), dtype=np.int64)

    @classmethod
    def _settled(cls, keys: Counts, full: Mask, number: int, enough: int) -> Crowd:
        full = full | (np.bincount(keys // number, minlength=len(full)) >= enough)
        return cls(enough=enough, full=full, keys=keys[~full[keys // number]], number=number)
