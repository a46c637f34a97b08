"""The task of an executor: put the records of a block into classes, with their typical values and losses.

Whatever depends on all records (means, deviations, how often every value occurs) was counted before; so the distances
of two records are the same in a block as in the whole table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from shoal.hierarchies import Hierarchy
from shoal.kernels import Counts, Floats, Integers
from shoal.methods.classes._blocks import exchange
from shoal.methods.classes._columns import LeafPlaces, coordinates_of_categories
from shoal.methods.classes._near_classes import Strategy, microaggregate_points
from shoal.methods.classes._partition import Partition, cluster_means
from shoal.methods.classes._typical import (
    as_numbers,
    concept_names,
    middle_concept,
    middles,
    squared_concept_errors,
    squared_errors,
    typical_concepts,
)
from shoal.models import KAnonymity, Model
from shoal.schema import Attribute, Kind
from shoal.tables import (
    ROW,
    ColumnLeaves,
    ColumnMoments,
    Coordinate,
    SensitiveAttribute,
)

if TYPE_CHECKING:
    from shoal.methods.classes._block_forms import BlockForm
    from shoal.methods.classes._by_block import BlockMethod


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRecords:
    """The records of one block, and the requirements for their classes."""

    task: BlockTask
    #: Where they lie, and the codes of their sensitive values.
    points: Floats
    codes: Integers
    #: The person of every record, all of whose records are in this block; None where everybody has one.
    persons: Integers | None

    @property
    def totals(self) -> dict[str, Counts]:
        """How often every sensitive value occurs in the whole table."""
        names = [attribute.name for attribute in self.task.sensitive]
        return dict(zip(names, self.task.totals, strict=True))

    def microaggregate(self, strategy: Strategy, clusters: Callable[[int], Partition] | None = None) -> Partition:
        """Return homogeneous classes of the least size that keep the promises; see `microaggregate_points`."""
        models = (KAnonymity(self.task.k), *self.task.models)
        return microaggregate_points(
            self.points, self.task.sensitive, self.codes, models, strategy, clusters, self.persons, totals=self.totals
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTask:
    """Put the records of a block into classes, and give these their form."""

    #: How to make classes, and the least size.
    method: BlockMethod
    k: int
    form: BlockForm
    #: Promises about sensitive attributes, these, and how many records of the table have each value.
    models: tuple[Model, ...] = ()
    sensitive: tuple[SensitiveAttribute, ...] = ()
    totals: tuple[Counts, ...] = ()

    def cluster(self, rows: pa.Table) -> pa.Table:
        """Put a block into classes that keep every promise; return what is released for every record, and its squared
        error.
        """
        numbers = self._numbers(rows)
        partition = self.method.partition_block(self._records(rows, numbers))
        return self._release_rows(rows, numbers, partition, self._first(rows) + partition.labels.astype(np.int64))

    def _records(self, rows: pa.Table, numbers: list[Floats]) -> BlockRecords:
        codes = [rows[f"s{j}"].to_numpy() for j in range(len(self.sensitive))]
        return BlockRecords(
            task=self,
            points=self._places(numbers),
            codes=np.stack(codes, axis=1) if codes else np.empty((rows.num_rows, 0), np.int32),
            persons=_numbers_of(rows["who"]) if "who" in rows.column_names else None,
        )

    @staticmethod
    def _first(rows: pa.Table) -> int:
        """Return the number of the first class of a block: no other block numbers its classes so."""
        return int(rows["block"][0].as_py()) << 32

    def draft(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return the cluster of every record, how wide it is, and where."""
        numbers = self._numbers(rows)
        records = self._records(rows, numbers)
        positions, partition = records.points, self.method.partition_block(records)
        centres = cluster_means(positions, partition)[partition.labels]
        squares = np.square(positions - centres).sum(axis=1)
        width = np.bincount(partition.labels, weights=squares)[partition.labels]
        middles = cluster_means(self._coordinates(numbers), partition)[partition.labels]
        columns = {"cluster": pa.array(self._first(rows) + partition.labels.astype(np.int64)), "width": pa.array(width)}
        kept = {name: rows[name] for name in ("block", ROW, *(f"v{i}" for i in range(len(numbers))))}
        return pa.table({**kept, **columns, **{f"q{i}": pa.array(position) for i, position in enumerate(middles.T)}})

    def repair(self, rows: pa.Table) -> pa.Table:
        """Exchange records between clusters that were drafted, and return what `cluster` does."""
        numbers = self._numbers(rows)
        names, labels = np.unique(rows["cluster"].to_numpy(), return_inverse=True)
        drafted = Partition(labels.astype(np.int32))
        partition = exchange(self._places(numbers), drafted).require(self.k, 2 * self.k - 1)
        return self._release_rows(rows, numbers, partition, names[partition.labels])

    def _release_rows(self, rows: pa.Table, numbers: list[Floats], partition: Partition, names: Integers) -> pa.Table:
        made, errors = self.form.values(rows, numbers, partition, names)
        kept = {
            name: rows[name]
            for name in (*(f"s{j}" for j in range(len(self.sensitive))), "who")
            if name in rows.column_names
        }
        return pa.table({"block": rows["block"], "record": rows[ROW], **made, "error": pa.array(errors), **kept})

    def _numbers(self, rows: pa.Table) -> list[Floats]:
        return [_floats(rows[f"v{i}"]) for i in range(len(self.form.columns))]

    def _places(self, numbers: list[Floats]) -> Floats:
        """Return where records lie; where no column gives them a place, they all have the same one."""
        placed = [each.places(values) for each, values in zip(self.form.columns, numbers, strict=True)]
        coordinates = np.concatenate(placed, axis=1)
        return np.ascontiguousarray(coordinates) if coordinates.shape[1] else np.zeros((len(coordinates), 1))

    def _coordinates(self, numbers: list[Floats]) -> Floats:
        """Return the coordinates that blocks are cut along."""
        axes = [axis.places(numbers[axis.column]) for column in self.form.columns for axis in column.axes]
        return np.stack(axes, axis=1) if axes else np.zeros((len(numbers[0]), 0))


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64()).fill_null(float("nan")).to_numpy())


def _numbers_of(names: pa.ChunkedArray) -> Integers:
    """Return numbers from 0 on that differ where names do."""
    return np.unique(names.to_numpy(), return_inverse=True)[1].astype(np.int64)


RANGE = 1e100
"""Means and deviations beyond it, or below its inverse, have squares that may not be numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockColumn(ABC):
    """The description of one quasi-identifier that executors get."""

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
    def measure_errors(self, values: Floats, order: Integers) -> Floats:
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
        coordinates: list[Coordinate] = []
        root, share = float(np.sqrt(attribute.weight)), known.count / records
        if not known.constant:
            # a missing value lies at the mean, and makes the deviation of all smaller
            scale = root / (known.deviation * float(np.sqrt(share)))
            coordinates.append(Coordinate(column=place, missing=False, centre=known.mean, scale=scale))
        if 0.0 < share < 1.0:
            scale = root / float(np.sqrt(share * (1.0 - share)))
            coordinates.append(Coordinate(column=place, missing=True, centre=1.0 - share, scale=scale))
        return cls(
            attribute=attribute,
            axes=tuple(coordinates),
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

    def measure_errors(self, values: Floats, order: Integers) -> Floats:
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
        concepts = typical_concepts(self.hierarchy, leaves, partition)
        errors = squared_concept_errors(self.hierarchy, leaves, concepts[partition.labels])
        return concept_names(self.hierarchy).take(pa.array(concepts)), errors

    def measure_errors(self, values: Floats, order: Integers) -> Floats:
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
    columns: list[BlockColumn] = []
    for position, (attribute, known) in enumerate(zip(attributes, moments, strict=True)):
        column: BlockColumn | None
        if attribute.name in leaves:
            column = BlockCategories.of(position, attribute, known, leaves[attribute.name], dimensions=dimensions)
        else:
            column = BlockNumbers.of(position, attribute, known, records)
        if column is None:
            return None
        columns.append(column)
    return tuple(columns)
