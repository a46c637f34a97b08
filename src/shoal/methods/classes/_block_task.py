"""What an executor of Spark does with the records of one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.kernels import Floats
from shoal.methods.classes._blocked import exchange
from shoal.methods.classes._partition import Partition, cluster_means
from shoal.methods.classes._typical import as_numbers, middles, squared_errors
from shoal.schema import Attribute, Kind
from shoal.tables import ROW, ColumnMoments, Coordinate

if TYPE_CHECKING:
    from shoal.methods.classes._microaggregation import Microaggregation

__all__ = ["BlockTask", "axes_of", "released_types"]

RANGE = 1e100
"""Means and deviations beyond it, or below its inverse, have squares that may not be numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTask:
    """Cluster a block and replace its quasi-identifiers by the middle of each cluster.

    Parameters
    ----------
    method, k
        How to cluster, and the least size.
    attributes, deviations
        The quasi-identifiers, and the standard deviation of each over all records.
    axes
        The coordinates of the records, on the scale of all blocks.
    """

    method: Microaggregation
    k: int
    attributes: tuple[Attribute, ...]
    deviations: tuple[float, ...]
    axes: tuple[Coordinate, ...]

    def cluster(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return what is released for every record, and its squared error."""
        numbers = self._numbers(rows)
        return self._released(rows, numbers, self.method.cluster_block(self._places(numbers), self.k))

    def draft(self, rows: pa.Table) -> pa.Table:
        """Cluster a block; return the cluster of every record, how wide it is, and where."""
        numbers = self._numbers(rows)
        places = self._places(numbers)
        partition = self.method.cluster_block(places, self.k)
        centres = cluster_means(places, partition)[partition.labels]
        squares = np.square(places - centres).sum(axis=1)
        width = np.bincount(partition.labels, weights=squares)[partition.labels]
        first = int(rows["block"][0].as_py()) << 32
        found = {"cluster": pa.array(first + partition.labels.astype(np.int64)), "width": pa.array(width)}
        kept = {name: rows[name] for name in ("block", ROW, *(f"v{i}" for i in range(len(numbers))))}
        return pa.table({**kept, **found, **{f"q{i}": pa.array(centres[:, i]) for i in range(len(self.axes))}})

    def repair(self, rows: pa.Table) -> pa.Table:
        """Exchange records between clusters that were drafted, and return what `cluster` does."""
        numbers = self._numbers(rows)
        drafted = Partition.numbered(rows["cluster"].to_numpy())
        partition = exchange(self._places(numbers), drafted).require(self.k, 2 * self.k - 1)
        return self._released(rows, numbers, partition)

    def _released(self, rows: pa.Table, numbers: list[Floats], partition: Partition) -> pa.Table:
        labels, errors = pa.array(partition.labels), np.zeros(len(partition))
        columns: dict[str, pa.Array] = {"block": rows["block"], "record": rows[ROW]}
        for i, attribute in enumerate(self.attributes):
            middle = middles(attribute, numbers[i], partition, self.method.decimals)
            columns[f"new{i}"] = middle.take(labels)
            released = as_numbers(attribute, middle)[partition.labels]
            errors += attribute.weight * squared_errors(numbers[i], released, self.deviations[i] or 1.0)
        return pa.table({**columns, "error": pa.array(errors)})

    def _numbers(self, rows: pa.Table) -> list[Floats]:
        return [_floats(rows[f"v{i}"]) for i in range(len(self.attributes))]

    def _places(self, numbers: list[Floats]) -> Floats:
        if not self.axes:
            return np.zeros((len(numbers[0]), 1))
        return np.stack([axis.places(numbers[axis.column]) for axis in self.axes], axis=1)


def axes_of(
    attributes: tuple[Attribute, ...], moments: list[ColumnMoments], records: int
) -> tuple[Coordinate, ...] | None:
    """Return the coordinates of records: z-scores times the roots of weights, and whether a value is missing.

    None where numbers are too large or too small for their squares.
    """
    found: list[Coordinate] = []
    for column, (attribute, known) in enumerate(zip(attributes, moments, strict=True)):
        root, share = float(np.sqrt(attribute.weight)), known.count / records
        if abs(known.mean) >= RANGE or not (known.constant or 1 / RANGE < known.deviation < RANGE):
            return None
        if not known.constant:
            # a missing value lies at the mean, and makes the deviation of all smaller
            scale = root / (known.deviation * float(np.sqrt(share)))
            found.append(Coordinate(column=column, missing=False, centre=known.mean, scale=scale))
        if 0.0 < share < 1.0:
            scale = root / float(np.sqrt(share * (1.0 - share)))
            found.append(Coordinate(column=column, missing=True, centre=1.0 - share, scale=scale))
    return tuple(found)


def released_types(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    """Return what Spark calls the types of middles."""
    names = {Kind.NUMERIC: "double", Kind.DATE: "date", Kind.ORDINAL: "string"}
    return tuple(names[attribute.kind] for attribute in attributes)


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.cast(pa.float64()).fill_null(float("nan")).to_numpy())
