"""Non-uniform entropy: the information about original values that is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.quality._coverage import coverage_of_levels, coverage_of_recoding
from shoal.quality._measure import CellObjective, Costs, Measure
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class NonUniformEntropy(Measure):
    """The share of the bits of the quasi-identifiers that the release does not tell.

    A value a, released as g, costs ``-log2 P[a | g] = log2 f(g) - log2 f(a)`` bits, f counting the records of the
    input that a value covers; a suppressed value was released as ``*``, with f(*) = n. ``value = sum over records
    and attributes of w_j bits / the same with everything released as *``. In [0, 1] (De Waal and Willenborg 1999;
    [Bild24, 2.1.5]). The weights w apply to bits: an attribute with many different values counts for more. Cost of
    a value O(tuples + classes * attributes + labels).

    As an objective it adds up over cells, because the term of the original values is the same for every release.
    So it is known from the levels alone, up to suppression, and it prunes. Where ``balance`` is not 1/2, that term
    is taken to be its mean over all records: a suppressed record then costs the same whatever its values are.

    Examples
    --------
    >>> NonUniformEntropy(weights={"age": 2.0}).weights
    {'age': 2.0}
    """

    name: ClassVar[str] = "non-uniform-entropy"

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        original, factors = self._scale(frequencies)
        cells = np.zeros(recoding.number)
        for column, coverage in enumerate(coverage_of_recoding(recoding, frequencies)):
            costs = factors[column] * (_bits(coverage.records) - original[column])
            cells += costs[recoding.codes[:, column]]
        return self.mean(recoding, frequencies, cells)

    def objective(self, frequencies: Frequencies) -> CellObjective:
        generalization, suppression = self.factors
        original, factors = self._scale(frequencies)
        tables = tuple(
            tuple(generalization * factor * (_bits(coverage.records) - bits) for coverage in levels)
            for levels, bits, factor in zip(coverage_of_levels(frequencies), original, factors, strict=True)
        )
        return CellObjective.of(frequencies, tables, loss=suppression)

    def _scale(self, frequencies: Frequencies) -> tuple[list[float], npt.NDArray[np.float64]]:
        """Return the mean of log2 f over the original values, and the weight of a bit, by attribute."""
        records = max(frequencies.records, 1)
        leaves = [levels[0].records for levels in coverage_of_levels(frequencies)]
        # Written so that an attribute with one value has exactly 0 bits.
        entropies = np.array(
            [float((counts * (-_bits(counts) + np.log2(records))).sum()) / records for counts in leaves]
        )
        weights = self.proportions(frequencies)
        everything = float((weights * entropies).sum())
        original = (np.log2(records) - entropies).tolist()
        return original, weights / everything if everything > 0 else np.zeros(len(weights))


def _bits(records: npt.NDArray[np.int64]) -> Costs:
    # A value that covers no record is not released.
    return np.log2(np.maximum(records, 1))
