"""How far released values are from those they stand for: SSE and SST of one attribute, on a scale of its own.

Numbers count in standard deviations, concepts by their semantic distance over the greatest that their hierarchy allows,
so that the sums of different attributes can be added [SC13 (6.6), (6.7)].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy

__all__ = ["Errors", "concept_errors", "number_errors", "squared_errors"]

Numbers = NDArray[np.int64]
Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The sum of squared errors of a release, and the one of releasing the middle of all records for each."""

    sse: float = 0.0
    sst: float = 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(sse=self.sse + other.sse, sst=self.sst + other.sst)

    def weighted(self, weight: float) -> Errors:
        """Return the errors of an attribute that counts so many times."""
        return Errors(sse=weight * self.sse, sst=weight * self.sst)

    def measures(self) -> dict[str, float]:
        """Return the measures by name; nothing lost is 0, whatever there was to lose."""
        return {"sse": self.sse, "sse/sst": self.sse / self.sst if self.sst else 0.0}


def number_errors(original: Points, released: Points) -> Errors:
    """Return the squared errors of numbers, in standard deviations of the original ones.

    NaN is a missing value. One against a number, either way, counts as one standard deviation, two against each other
    as nothing.

    Examples
    --------
    >>> number_errors(np.array([0.0, 2.0, 10.0, 12.0]), np.array([1.0, 1.0, 11.0, 11.0])).measures()["sse/sst"]
    0.038461538461538464
    """
    absent = np.isnan(original)
    known = original[~absent]
    if not len(known):
        return Errors()
    # a power of two changes no ratio and keeps the squares of very large or small numbers in range
    exponent = -int(np.frexp(np.abs(known).max())[1])
    original, released, known = (np.ldexp(values, exponent) for values in (original, released, known))
    mean, deviation = float(known.mean()), float(known.std()) or 1.0
    sse = float(squared_errors(original, released, deviation).sum())
    sst = float(np.square((known - mean) / deviation).sum()) + float(absent.sum())
    return Errors(sse=sse, sst=sst)


def squared_errors(original: Points, released: Points, deviation: float) -> Points:
    """Return the squared error of every number, in standard deviations; missing values as in `number_errors`."""
    absent, gone = np.isnan(original), np.isnan(released)
    differences = np.where(absent | gone, absent != gone, (original - released) / deviation)
    return np.asarray(np.square(differences))


def concept_errors(hierarchy: Hierarchy, leaves: NDArray[np.integer], released: Numbers, middle: int) -> Errors:
    """Return the squared errors of concepts that stand for leaves, over the square of the greatest distance.

    Parameters
    ----------
    hierarchy, leaves
        The attribute, and the value of every record.
    released
        What is released for every record: a concept, numbered level by level from the leaves on.
    middle
        The least marginal concept of all records.
    """
    ancestors = 2 * hierarchy.levels - 2  # of two leaves with nothing but the root in common, the root left out
    width = np.log2(1 + ancestors / (ancestors + 1)) or 1.0
    apart = _distances(hierarchy, leaves, released) / width
    spread = _distances(hierarchy, leaves, np.full(len(leaves), middle)) / width
    return Errors(sse=float(np.square(apart).sum()), sst=float(np.square(spread).sum()))


def _distances(hierarchy: Hierarchy, leaves: NDArray[np.integer], concepts: Numbers) -> Points:
    """Return the semantic distance of every leaf and its concept [SC13 (6.6)]."""
    sizes = [len(labels) for labels in hierarchy.labels]
    level = np.searchsorted(np.cumsum(sizes), concepts, side="right")
    firsts = [np.searchsorted(codes, np.arange(size)) for codes, size in zip(hierarchy.codes, sizes, strict=True)]
    below = np.concatenate(firsts)[concepts]  # any leaf below a concept tells its ancestors
    common = np.zeros(len(leaves))
    for height, codes in enumerate(hierarchy.codes):
        common += (codes[below] == codes[leaves]) & (level <= height)
    union = 2 * hierarchy.levels - level - common
    return np.asarray(np.log2(1 + (union - common) / union))
