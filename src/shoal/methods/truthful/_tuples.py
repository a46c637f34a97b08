"""Classes of a scheme as distinct tuples of released values, and what the operator makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.hierarchies import Hierarchy
from shoal.mechanisms import RandomSource, binomial
from shoal.methods.truthful.parameters import Parameters

__all__ = ["Tuples", "sample"]

Codes = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Distinct tuples of generalised values, each with a number of records.

    Parameters
    ----------
    hierarchies
        One per column.
    levels, codes
        One row per tuple, one column per column: the level of the value and its code at that level.
    counts
        Records per tuple.
    """

    hierarchies: tuple[Hierarchy, ...]
    levels: Codes
    codes: Codes
    counts: Integers

    def __len__(self) -> int:
        return len(self.counts)

    def chosen(self, rows: npt.NDArray[np.bool_] | Integers) -> Tuples:
        """Return some of the tuples."""
        return Tuples(
            hierarchies=self.hierarchies, levels=self.levels[rows], codes=self.codes[rows], counts=self.counts[rows]
        )

    def with_counts(self, counts: Integers) -> Tuples:
        """Return the same tuples with other numbers of records."""
        return replace(self, counts=counts)

    @cached_property
    def positions(self) -> Integers:
        """The position of every value in ``labels``, one column per column."""
        columns = [
            np.cumsum([0, *map(len, hierarchy.labels)])[self.levels[:, j]] + self.codes[:, j]
            for j, hierarchy in enumerate(self.hierarchies)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0), dtype=np.int64)

    def labels(self, column: int) -> tuple[str | None, ...]:
        """Return the values of all levels of a column, the finest level first."""
        return tuple(label for level in self.hierarchies[column].labels for label in level)

    def shares(self, column: int) -> Floats:
        """Return the part of the domain that each value of a column covers, one per tuple."""
        return np.asarray(np.concatenate(self.hierarchies[column].shares)[self.positions[:, column]])


def sample(tuples: Tuples, parameters: Parameters, source: RandomSource) -> Tuples:
    """Draw X ~ Bin(c, beta) for every class of c records; release X copies if X >= k, nothing otherwise.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy for the epsilon, delta and definition of ``parameters``, given the scheme:
    [LQS10 Thm 1] (seed 002) = [Bild24 Thm 3] (seed 003). Sampling records one by one and counting them per class gives
    independent binomial counts; which of the equal records of a class were sampled cannot be seen.

    Assumptions
    -----------
    The scheme was chosen without these random bits. All released columns are part of the tuples.

    Notes
    -----
    Exact (`shoal.mechanisms.binomial`); about two random bits per record. Classes of fewer than k records cannot
    release anything and are not drawn.
    """
    possible = tuples.chosen(tuples.counts >= parameters.k)
    drawn = possible.with_counts(binomial(possible.counts, parameters.beta, source=source))
    return drawn.chosen(drawn.counts >= parameters.k)
