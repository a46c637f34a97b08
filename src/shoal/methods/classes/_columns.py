"""The quasi-identifiers of a table: as points to group by, and as what is released for a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.hierarchies import Hierarchy, text
from shoal.methods.classes._centroids import cluster_means
from shoal.methods.classes._concepts import semantic_distances, typical_concepts
from shoal.methods.classes._distance import standardize
from shoal.methods.classes._errors import Errors, concept_errors, number_errors
from shoal.methods.classes._geometry import embedding
from shoal.methods.classes._partition import Partition
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import EncodedRecords

__all__ = ["QuasiIdentifier", "as_numbers", "middles", "places_of", "quasi_identifiers"]

Numbers = NDArray[np.int64]
Points = NDArray[np.float64]

EMBEDDED = 400
"""Values of a categorical attribute that get a place of their own when records are grouped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QuasiIdentifier:
    """One quasi-identifier of all records.

    Parameters
    ----------
    attribute, hierarchy
        What it is and how it generalises.
    values, leaves
        Its distinct values, null included where there is one, and the leaf of each.
    places
        The value of each record.
    """

    attribute: Attribute
    hierarchy: Hierarchy
    values: pa.Array
    leaves: NDArray[np.int32]
    places: Numbers

    def points(self, dimensions: int | None = None) -> Points:
        """Return the place of every record, on a scale on which attributes count alike, times their weights.

        Categories get at most so many coordinates; without a number, the few in which they differ most.
        """
        numbers = self.numbers()
        if numbers is not None:
            missing = np.isnan(numbers)
            filled = np.where(missing, 0.0 if missing.all() else np.nanmean(numbers), numbers)
            columns = [filled] if not missing.any() else [filled, missing.astype(np.float64)]
            placed = standardize(np.stack(columns, axis=1))
        else:
            placed = self._embedded(dimensions)
        return np.asarray(placed * np.sqrt(self.attribute.weight))

    def numbers(self) -> Points | None:
        """Return the records as numbers, days or ranks, NaN where missing; None for names."""
        return None if self.attribute.kind is Kind.CATEGORICAL else as_numbers(self.attribute, self.values)[self.places]

    def averaged(self, partition: Partition, decimals: int | None = None) -> pa.Array:
        """Return the middle of each class: mean number or day, median rank, most typical concept; null if none.

        Days are rounded to whole ones, numbers to ``decimals`` where given.
        """
        numbers = self.numbers()
        if numbers is None:
            return self._concepts(partition)
        return middles(self.attribute, numbers, partition, decimals)

    def errors(self, middle: pa.Array, partition: Partition) -> Errors:
        """Return the squared errors of releasing ``middle``, which `averaged` gave, for the records of each class."""
        numbers = self.numbers()
        if numbers is not None:
            return number_errors(numbers, as_numbers(self.attribute, middle)[partition.labels])
        leaves = self.leaves[self.places]
        released = typical_concepts(self.hierarchy, leaves, partition)[partition.labels]
        return concept_errors(self.hierarchy, leaves, released, self._middle())

    def moved_errors(self, order: Numbers) -> Errors:
        """Return the squared errors of releasing for every record the value of another."""
        numbers = self.numbers()
        if numbers is not None:
            return number_errors(numbers, numbers[order])
        leaves = self.leaves[self.places]
        return concept_errors(self.hierarchy, leaves, leaves[order].astype(np.int64), self._middle())

    def _middle(self) -> int:
        leaves = self.leaves[self.places]
        return int(typical_concepts(self.hierarchy, leaves, Partition(np.zeros(len(leaves), dtype=np.int32)))[0])

    def generalized(self, partition: Partition) -> tuple[pa.Array, Points]:
        """Return the lowest common ancestor of each class, and the share of the domain that it covers.

        Codes never fall along the leaves, so the first and the last leaf of a class agree at a level exactly if all do.
        """
        leaves = self.leaves[self.places]
        ordered = leaves[partition.order()]
        low, high = (function.reduceat(ordered, partition.starts()) for function in (np.minimum, np.maximum))
        labels: list[str | None] = [None] * partition.count
        shares = np.empty(partition.count)
        waiting = np.ones(partition.count, dtype=np.bool_)
        for level, codes in enumerate(self.hierarchy.codes):
            common = np.flatnonzero(waiting & (codes[low] == codes[high]))
            waiting[common] = False
            shares[common] = self.hierarchy.shares[level][codes[low[common]]]
            for number, code in zip(common.tolist(), codes[low[common]].tolist(), strict=True):
                labels[number] = self.hierarchy.labels[level][code]
        return pa.array(labels, pa.string()), shares

    def _embedded(self, dimensions: int | None) -> Points:
        leaves = self.leaves[self.places]
        sizes = np.bincount(leaves, minlength=self.hierarchy.size)
        common = np.argsort(-sizes, kind="stable")[: min(EMBEDDED, int(np.count_nonzero(sizes)))]
        squared = np.square(semantic_distances(self.hierarchy, common))
        scaled = squared / max(float(squared.max()), np.finfo(float).tiny)
        weights = sizes[common]
        inner = embedding(scaled, weights) if dimensions is None else embedding(scaled, weights, dimensions, 0.0)
        placed = np.zeros((self.hierarchy.size, inner.shape[1]))  # rare values lie at the mean of all
        placed[common] = inner
        return placed[leaves]

    def _concepts(self, partition: Partition) -> pa.Array:
        found = typical_concepts(self.hierarchy, self.leaves[self.places], partition)
        labels = [label for level in self.hierarchy.labels for label in level]
        return pa.array(labels, pa.string()).take(pa.array(found))


def quasi_identifiers(schema: Schema, encoded: EncodedRecords) -> tuple[QuasiIdentifier, ...]:
    """Return the quasi-identifiers of encoded records."""
    return tuple(
        QuasiIdentifier(
            attribute=schema[dictionary.name],
            hierarchy=hierarchy,
            values=dictionary.values,
            leaves=dictionary.codes,
            places=encoded.places[:, j],
        )
        for j, (dictionary, hierarchy) in enumerate(zip(encoded.dictionaries, encoded.hierarchies, strict=True))
    )


def places_of(columns: tuple[QuasiIdentifier, ...], dimensions: int | None = None) -> Points:
    """Return the records as points; where no attribute gives them a place, they all have the same one.

    ``dimensions`` are the coordinates of a category at most; see `QuasiIdentifier.points`.
    """
    placed = np.concatenate([column.points(dimensions) for column in columns], axis=1)
    return np.ascontiguousarray(placed) if placed.shape[1] else np.zeros((len(placed), 1))


def as_numbers(attribute: Attribute, values: pa.Array) -> Points:
    """Return values as numbers, days or ranks, NaN where missing; not for names."""
    if attribute.kind is Kind.NUMERIC:
        found = values.cast(pa.float64(), safe=False)  # integers beyond 2^53 are rounded
    elif attribute.kind is Kind.DATE:
        found = values.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    else:
        found = pc.index_in(text(values), value_set=_ranking(attribute), skip_nulls=True).cast(pa.float64())
    return np.asarray(found.fill_null(float("nan")).to_numpy(zero_copy_only=False))


def middles(attribute: Attribute, numbers: Points, partition: Partition, decimals: int | None = None) -> pa.Array:
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


def _medians(numbers: Points, partition: Partition) -> Points:
    """Return the lower median of each class, missing values left out; 0 where there are only these."""
    order = np.lexsort((numbers, partition.labels))  # NaN comes last
    present = np.bincount(partition.labels, weights=~np.isnan(numbers), minlength=partition.count).astype(np.int64)
    middle = numbers[order][partition.starts() + np.maximum(present - 1, 0) // 2]
    return np.asarray(np.nan_to_num(middle))
