"""The quasi-identifiers of a block: where its records lie, what stands for a cluster of them, and what that loses.

Whatever depends on all records (means, deviations, how often every value occurs) was counted before; so the distances
of two records are the same in a block as in the whole table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa

from shoal.hierarchies import Hierarchy
from shoal.kernels import Floats, Integers
from shoal.methods.classes._columns import LeafPlaces, coordinates_of_categories
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._typical import (
    as_numbers,
    concept_names,
    middle_concept,
    middles,
    squared_concept_errors,
    squared_errors,
    typical_concepts,
)
from shoal.schema import Attribute, Kind
from shoal.tables import ColumnLeaves, ColumnMoments, Coordinate

RANGE = 1e100
"""Means and deviations beyond it, or below its inverse, have squares that may not be numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockColumn(ABC):
    """What executors are told of one quasi-identifier."""

    attribute: Attribute
    #: The coordinates along which blocks may be cut.
    axes: tuple[Coordinate, ...]
    #: The sum of squared errors of releasing the middle of all records for each.
    spread: float

    @property
    @abstractmethod
    def type(self) -> str:
        """What Spark calls the type of released values."""

    @abstractmethod
    def places(self, values: Floats) -> Floats:
        """Return the place of every record, on the scale of all blocks: z-scores, or points of categories."""

    @abstractmethod
    def middles(self, values: Floats, partition: Partition, decimals: int | None) -> tuple[pa.Array, Floats]:
        """Return the middle of every cluster, and the squared error of every record."""

    @abstractmethod
    def moved(self, values: Floats, order: Integers) -> Floats:
        """Return the squared error of every record if it takes the value of another."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockNumbers(BlockColumn):
    """Numbers, days or ranks, of which a block holds the numbers, NaN where missing."""

    deviation: float

    @classmethod
    def of(cls, place: int, attribute: Attribute, known: ColumnMoments, records: int) -> Self | None:
        """Return the column at a place; None where numbers are too large or too small for their squares.

        Its coordinates are z-scores times the root of its weight, and whether a value is missing.
        """
        if abs(known.mean) >= RANGE or not (known.constant or 1 / RANGE < known.deviation < RANGE):
            return None
        found: list[Coordinate] = []
        root, share = float(np.sqrt(attribute.weight)), known.count / records
        if not known.constant:
            # a missing value lies at the mean, and makes the deviation of all smaller
            scale = root / (known.deviation * float(np.sqrt(share)))
            found.append(Coordinate(column=place, missing=False, centre=known.mean, scale=scale))
        if 0.0 < share < 1.0:
            scale = root / float(np.sqrt(share * (1.0 - share)))
            found.append(Coordinate(column=place, missing=True, centre=1.0 - share, scale=scale))
        return cls(
            attribute=attribute,
            axes=tuple(found),
            spread=float(records - (known.count if known.constant else 0)) if known.count else 0.0,
            deviation=known.deviation or 1.0,
        )

    @property
    def type(self) -> str:
        return {Kind.NUMERIC: "double", Kind.DATE: "date", Kind.ORDINAL: "string"}[self.attribute.kind]

    def places(self, values: Floats) -> Floats:
        """Return the coordinates of every record."""
        if not self.axes:
            return np.zeros((len(values), 0))
        return np.stack([axis.places(values) for axis in self.axes], axis=1)

    def middles(self, values: Floats, partition: Partition, decimals: int | None) -> tuple[pa.Array, Floats]:
        """Return the mean or median of every cluster, and the squared error of every record."""
        middle = middles(self.attribute, values, partition, decimals)
        released = as_numbers(self.attribute, middle)[partition.labels]
        return middle, squared_errors(values, released, self.deviation)

    def moved(self, values: Floats, order: Integers) -> Floats:
        return squared_errors(values, values[order], self.deviation)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockCategories(BlockColumn):
    """Categories, of which a block holds the leaves.

    Leaves are numbered in the order of the tree, so that they lie on a line on which siblings are neighbours: blocks
    are cut along it. Its scale is that of the coordinate in which the places of the categories differ most.
    """

    hierarchy: Hierarchy = field(repr=False)
    leaves: LeafPlaces = field(repr=False)

    @classmethod
    def of(
        cls, place: int, attribute: Attribute, known: ColumnMoments, found: ColumnLeaves, *, dimensions: int | None
    ) -> Self:
        """Return the column at a place, whose categories get at most so many coordinates; None: few."""
        leaves = LeafPlaces.of(found.hierarchy, found.counts, dimensions)
        widest = leaves.widest(found.counts)
        axes: tuple[Coordinate, ...] = ()
        if widest and not known.constant:
            scale = float(np.sqrt(attribute.weight * widest)) / known.deviation
            axes = (Coordinate(column=place, missing=False, centre=known.mean, scale=scale),)
        every = np.arange(found.hierarchy.size)
        middle = np.full_like(every, middle_concept(found.hierarchy, found.counts))
        spread = float(found.counts @ squared_concept_errors(found.hierarchy, every, middle))
        return cls(attribute=attribute, axes=axes, spread=spread, hierarchy=found.hierarchy, leaves=leaves)

    @property
    def type(self) -> str:
        return "string"

    def places(self, values: Floats) -> Floats:
        """Return the point of every record, whose distances are nearly the semantic ones."""
        return np.asarray(self.leaves.places(values.astype(np.int64)) * np.sqrt(self.attribute.weight))

    def middles(self, values: Floats, partition: Partition, decimals: int | None) -> tuple[pa.Array, Floats]:
        """Return the least marginal concept of every cluster, and the squared error of every record."""
        leaves = values.astype(np.int64)
        found = typical_concepts(self.hierarchy, leaves, partition)
        errors = squared_concept_errors(self.hierarchy, leaves, found[partition.labels])
        return concept_names(self.hierarchy).take(pa.array(found)), errors

    def moved(self, values: Floats, order: Integers) -> Floats:
        leaves = values.astype(np.int64)
        return squared_concept_errors(self.hierarchy, leaves, leaves[order])


def block_columns(
    attributes: Sequence[Attribute],
    moments: Sequence[ColumnMoments],
    leaves: dict[str, ColumnLeaves],
    records: int,
    largest: int | None,
) -> tuple[BlockColumn, ...] | None:
    """Return what executors are told of the quasi-identifiers; None where numbers are too large or too small.

    ``largest`` are the records of the largest block, which has to hold the coordinates of its categories; None: these
    have few.
    """
    dimensions = None if largest is None else coordinates_of_categories(largest, len(leaves))
    found: list[BlockColumn] = []
    for place, (attribute, known) in enumerate(zip(attributes, moments, strict=True)):
        column: BlockColumn | None
        if attribute.name in leaves:
            column = BlockCategories.of(place, attribute, known, leaves[attribute.name], dimensions=dimensions)
        else:
            column = BlockNumbers.of(place, attribute, known, records)
        if column is None:
            return None
        found.append(column)
    return tuple(found)
