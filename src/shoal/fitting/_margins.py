"""Tables as numbers: which classes each shows, how often, and how much noise there is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy
from shoal.kernels import Floats

Codes = npt.NDArray[np.int64]

#: What a value has at least, so that other tables can tell that it has more.
LEAST = 0.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Told:
    """The classes of which a table tells something, with the estimated numbers of their records.

    These are X + m, where m is what a class lost on average and ``variance`` that of the loss: unbiased for classes
    that are counted even if no record shows them; of others only those that are shown, too high for small ones.
    """

    codes: Codes
    sizes: Floats
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin(_Told):
    """A table of some columns, by position, each at one level."""

    columns: tuple[int, ...]
    levels: tuple[int, ...]
    #: All records that it tells of, in so many classes; those that are not among ``codes`` included.
    total: float
    classes: int
    #: Whether it tells of all classes that there can be.
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint(_Told):
    """The table of all columns: each class has levels of its own, one row each."""

    levels: Codes


@dataclass(frozen=True, eq=False)
class Margins:
    """All tables of a release, and the hierarchies of their columns."""

    hierarchies: tuple[Hierarchy, ...]
    lows: tuple[int, ...]
    tables: tuple[Margin, ...]
    joint: Joint | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(hierarchy.attribute for hierarchy in self.hierarchies)

    def size(self, column: int, level: int | None = None) -> int:
        """Return how many values a column has at a level; by default at its lowest."""
        return len(self.hierarchies[column].labels[self.lows[column] if level is None else level])

    def lift(self, column: int, level: int) -> Codes:
        """Return, for the values of a column at its lowest level, their codes at a higher one."""
        hierarchy, low = self.hierarchies[column], self.lows[column]
        leaves = np.arange(hierarchy.size, dtype=np.int32)
        lifted = np.zeros(self.size(column), dtype=np.int64)
        lifted[hierarchy.generalize(leaves, low)] = hierarchy.generalize(leaves, level)
        return lifted

    @property
    def whole(self) -> list[Margin]:
        """Tables that tell of all classes that there can be."""
        return [table for table in self.tables if table.whole]

    @property
    def records_variance(self) -> float:
        """How uncertain the number of records is, where there are such tables."""
        return 1 / sum(1 / (table.classes * table.variance) for table in self.whole)

    @cached_property
    def records(self) -> float:
        """How many records there are, by tables that tell of all classes; those of fewest classes count most."""
        if self.whole:
            noise = [1 / (table.classes * table.variance) for table in self.whole]
            return max(float(np.average([table.total for table in self.whole], weights=noise)), LEAST)
        return max(*(table.total for table in self.tables), LEAST)

    def of_column(self, column: int) -> Floats:
        """Return the estimated records of every value of a column; values that are not shown share what is left."""
        table = min(
            (
                table
                for table in self.tables
                if column in table.columns and table.levels[table.columns.index(column)] == self.lows[column]
            ),
            key=lambda each: len(each.columns),
        )
        position = table.columns.index(column)
        counts = np.bincount(table.codes[:, position], weights=table.sizes, minlength=self.size(column))
        known = np.bincount(table.codes[:, position], minlength=self.size(column)) > 0
        rest = max(self.records - float(counts.sum()), 0.0)
        counts = np.maximum(counts, LEAST)
        if not known.all():
            counts[~known] = max(rest / int((~known).sum()), LEAST)
        return counts.astype(np.float64)
