"""Columns of the distinct tuples: what the engine hands over, and what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, Problems
from shoal.hierarchies import Hierarchy, build, leaf_codes, outside, text
from shoal.schema import Schema
from shoal.tables._engine import quiet
from shoal.tables._packing import Packing
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Codes", "Column", "Counts", "column_hierarchies", "distinct_tuples", "key", "leaves_of", "merged"]

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """A column of the distinct tuples: its distinct values, and which of them each tuple has."""

    name: str
    values: pa.Array
    indices: Counts
    counts: Counts

    @property
    def missing(self) -> bool:
        """Whether some tuple has no value."""
        return bool(self.values.null_count > 0)


def key(column: ir.Value) -> ir.Value:
    """Return a column such that equal values are the same value: the zero of floating point has two signs."""
    kind = column.type()
    return (column + 0.0).cast(kind) if kind.is_floating() else column


def distinct_tuples(table: Table, names: tuple[str, ...]) -> tuple[list[Column], Counts]:
    """Let the engine count the distinct tuples, and encode each of their columns."""
    records = table.expression
    keys = {f"c{i}": key(records[name]) for i, name in enumerate(names)}
    with quiet(table.source.name):
        rows = table.engine.fetch(records.group_by(**keys).aggregate(records=records.count()))
    counts = rows["records"].to_numpy().astype(np.int64)
    return [_column(name, rows[f"c{i}"], counts) for i, name in enumerate(names)], counts


def _column(name: str, values: pa.ChunkedArray, counts: Counts) -> Column:
    if pa.types.is_dictionary(values.type):  # how DuckDB hands out enumerations
        values = values.cast(values.type.value_type)
    encoded = values.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # Arrow leaves chunks where one array would overflow
        encoded = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in encoded.chunks])
    encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    indices = encoded.indices.to_numpy().astype(np.int64)
    records = np.bincount(indices, weights=counts, minlength=len(encoded.dictionary)).astype(np.int64)
    return Column(name=name, values=encoded.dictionary, indices=indices, counts=records)


def column_hierarchies(
    schema: Schema, columns: list[Column], population: Sequence[Column] = ()
) -> tuple[Hierarchy, ...]:
    """Make the hierarchies for the values of the table and of the population, or say all that is wrong."""
    problems = Problems()
    made = []
    for number, column in enumerate(columns):
        seen = [column, *population[number : number + 1]]
        values = pa.concat_arrays(_alike([part.values for part in seen]))
        values, counts = _distinct(values, np.concatenate([part.counts for part in seen]))
        missing = any(part.missing for part in seen)
        try:
            hierarchy = build(schema[column.name], values, folder=schema.folder, counts=counts, missing=missing)
        except HierarchyError as error:
            for problem in error.problems:
                problems.add(problem)
            continue
        lost = outside(hierarchy, values, counts)
        if lost is not None:
            problems.add(lost)
        made.append(hierarchy)
    problems.raise_as(HierarchyError)
    return tuple(made)


def _alike(parts: list[pa.Array]) -> list[pa.Array]:
    """Return the values of the table and of the population in one type: text, where their types differ."""
    return parts if len({part.type for part in parts}) == 1 else [text(part) for part in parts]


def _distinct(values: pa.Array, counts: Counts) -> tuple[pa.Array, Counts]:
    encoded = values.dictionary_encode()
    indices = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
    total = np.bincount(indices, weights=counts, minlength=len(encoded.dictionary) + 1).astype(np.int64)
    return encoded.dictionary, total[: len(encoded.dictionary)]


def leaves_of(column: Column, hierarchy: Hierarchy) -> tuple[Codes, int]:
    """Return the leaf of every tuple, and the number of leaves."""
    return leaf_codes(hierarchy, column.values)[column.indices], hierarchy.size


def merged(columns: list[tuple[Codes, int]], counts: Counts) -> tuple[Codes, Counts]:
    """Sort the tuples by their codes and add up those that are the same."""
    order, new = Packing.of([size for _, size in columns]).order([codes for codes, _ in columns])
    starts = np.flatnonzero(new)
    merged = np.empty((len(starts), len(columns)), dtype=np.int32, order="F")
    for number, (codes, _) in enumerate(columns):
        merged[:, number] = codes[order[starts]]
    return merged, np.add.reduceat(counts[order], starts) if len(starts) else counts[:0]
