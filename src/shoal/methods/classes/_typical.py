"""Typical values of classes (mean, median or most typical concept), and their errors.

Errors are SSE and SST of one attribute, on a scale of its own: numbers count in standard deviations, concepts by their
semantic distance over the greatest that their hierarchy allows, so that the sums of different attributes can be added
[SC13 (6.6), (6.7)].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy, semantic_distance
from shoal.kernels import Floats, Integers
from shoal.methods.classes._partition import Partition, cluster_means
from shoal.schema import Attribute, Kind
from shoal.schema.rules import text

CELLS = 4_000_000
"""Distances between concepts and values that are worth computing; beyond, the commonest value stands for a class."""
CHUNK = 1 << 12  # classes whose counts of concepts are held at a time


def as_numbers(attribute: Attribute, values: pa.Array) -> Floats:
    """Return values as numbers, days or ranks, NaN where missing; not for names."""
    if attribute.kind is Kind.NUMERIC:
        numbers = values.cast(pa.float64(), safe=False)  # integers beyond 2^53 are rounded
    elif attribute.kind is Kind.DATE:
        numbers = values.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    else:
        numbers = pc.index_in(text(values), value_set=_ranking(attribute), skip_nulls=True).cast(pa.float64())
    return np.asarray(numbers.fill_null(float("nan")).to_numpy(zero_copy_only=False))


def middles(attribute: Attribute, numbers: Floats, partition: Partition, decimals: int | None = None) -> pa.Array:
    """Return the mean number or day or the median rank of each class, from what `as_numbers` gives; null if none."""
    missing = np.isnan(numbers)
    present = np.bincount(partition.labels, weights=~missing, minlength=partition.count)
    if attribute.kind is Kind.ORDINAL:
        middle = _medians(numbers, partition)
        return _ranking(attribute).take(pa.array(middle.astype(np.int64), mask=present == 0))
    means = cluster_means(np.where(missing, 0.0, numbers)[:, None], partition)[:, 0] if not missing.any() else None
    if means is None:
        sums = np.bincount(partition.labels, weights=np.where(missing, 0.0, numbers), minlength=partition.count)
        means = sums / np.maximum(present, 1)
    if attribute.kind is Kind.DATE:
        return pa.array(np.rint(means).astype(np.int32), mask=present == 0).cast(pa.date32())
    return pa.array(means if decimals is None else np.round(means, decimals), mask=present == 0)


def _ranking(attribute: Attribute) -> pa.Array:
    assert attribute.domain is not None  # noqa: S101 - ordinal attributes have one
    return pa.array(attribute.domain.values, pa.string())


def _medians(numbers: Floats, partition: Partition) -> Floats:
    """Return the lower median of each class, missing values left out; 0 where there are only these."""
    order = np.lexsort((numbers, partition.labels))  # NaN comes last
    present = np.bincount(partition.labels, weights=~np.isnan(numbers), minlength=partition.count).astype(np.int64)
    middle = numbers[order][partition.starts() + np.maximum(present - 1, 0) // 2]
    return np.asarray(np.nan_to_num(middle))


def typical_concepts(hierarchy: Hierarchy, leaves: NDArray[np.integer], partition: Partition) -> Integers:
    """Return the least marginal concept of each class [SC13 (6.4)], numbered level by level from the leaves on.

    Marginality is the sum of the distances to the values of the class; they are added as whole multiples of 2^-32, so
    that the order of summation decides nothing, and the lowest number wins a tie. Hierarchies with very many values
    take the commonest value instead. O(classes * values * concepts).
    """
    present, positions = np.unique(leaves, return_inverse=True)
    fixed = _fixed_point_distances(hierarchy, present)
    if fixed is None:
        return _commonest(leaves, partition)
    if int(partition.sizes.max()) >= 1 << 20:  # beyond, sums of whole numbers in floating point are no longer exact
        fixed = fixed.astype(np.int64)
    result = np.empty(partition.count, dtype=np.int64)
    order, starts = partition.order(), np.append(partition.starts(), len(partition))
    for first in range(0, partition.count, CHUNK):
        last = min(first + CHUNK, partition.count)
        rows = order[starts[first] : starts[last]]
        counts = np.zeros((last - first, len(present)), dtype=fixed.dtype)
        np.add.at(counts, (partition.labels[rows] - first, positions[rows]), 1)
        result[first:last] = (counts @ fixed).argmin(axis=1)
    return result


def middle_concept(hierarchy: Hierarchy, counts: Integers) -> int:
    """Return the least marginal concept of all records, as `typical_concepts` does, given those of every leaf.

    Beyond 2^31 records the distances are taken less finely, so that their sums fit.
    """
    present = np.flatnonzero(counts)
    fixed = _fixed_point_distances(hierarchy, present)
    if fixed is None:
        return int(counts.argmax())
    coarse = max(0, int(counts.sum()).bit_length() - 31)
    return int((counts[present] @ (fixed.astype(np.int64) >> coarse)).argmin())


def concept_names(hierarchy: Hierarchy) -> pa.Array:
    """Return what concepts are called, level by level from the leaves on."""
    return pa.array([label for level in hierarchy.labels for label in level], pa.string())


def _fixed_point_distances(hierarchy: Hierarchy, leaves: NDArray[np.integer]) -> Floats | None:
    """Return the distances of leaves to all concepts in multiples of 2^-32; None where there are too many."""
    concepts = sum(len(labels) for labels in hierarchy.labels)
    if len(leaves) * concepts > CELLS:
        return None
    return np.asarray(np.rint(semantic_distance(hierarchy, np.arange(concepts)[:, None], leaves) * 2.0**32).T)


def _commonest(leaves: NDArray[np.integer], partition: Partition) -> Integers:
    size = int(leaves.max()) + 1
    keys, counts = np.unique(partition.labels.astype(np.int64) * size + leaves, return_counts=True)
    # the last of each class after sorting by count; of equal counts the lowest code
    order = np.lexsort((-(keys % size), counts, keys // size))
    last = np.append(np.flatnonzero(np.diff(keys[order] // size)), len(order) - 1)
    return np.asarray(keys[order[last]] % size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The sum of squared errors of a release, and the one of releasing the middle of all records for each."""

    sse: float = 0.0
    sst: float = 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(sse=self.sse + other.sse, sst=self.sst + other.sst)

    def multiply(self, weight: float) -> Errors:
        """Return the errors of an attribute that counts so many times."""
        return Errors(sse=weight * self.sse, sst=weight * self.sst)

    def measures(self) -> dict[str, float]:
        """Return the measures by name; nothing lost is 0, whatever there was to lose."""
        return {"sse": self.sse, "sse/sst": self.sse / self.sst if self.sst else 0.0}


def number_errors(original: Floats, released: Floats) -> Errors:
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


def squared_errors(original: Floats, released: Floats, deviation: float) -> Floats:
    """Return the squared error of every number, in standard deviations; missing values as in `number_errors`."""
    absent, gone = np.isnan(original), np.isnan(released)
    differences = np.where(absent | gone, absent != gone, (original - released) / deviation)
    return np.asarray(np.square(differences))


def concept_errors(hierarchy: Hierarchy, leaves: NDArray[np.integer], released: Integers, middle: int) -> Errors:
    """Return the squared errors of concepts that stand for leaves, over the square of the greatest distance.

    ``released`` are concepts, numbered level by level from the leaves on; ``middle`` is the least marginal one of all.
    """
    apart = squared_concept_errors(hierarchy, leaves, released)
    spread = squared_concept_errors(hierarchy, leaves, np.full(len(leaves), middle))
    return Errors(sse=float(apart.sum()), sst=float(spread.sum()))


def squared_concept_errors(hierarchy: Hierarchy, leaves: NDArray[np.integer], released: Integers) -> Floats:
    """Return the squared error of every leaf for which a concept is released; see `concept_errors`."""
    ancestors = 2 * hierarchy.levels - 2  # of two leaves with nothing but the root in common, the root left out
    width = np.log2(1 + ancestors / (ancestors + 1)) or 1.0
    return np.asarray(np.square(semantic_distance(hierarchy, leaves, released) / width))
