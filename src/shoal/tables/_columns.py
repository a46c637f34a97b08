"""Columns of the distinct tuples: what the engine hands over, and what it becomes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, ParameterError, Problems
from shoal.hierarchies import Hierarchy, build, leaf_codes, outside
from shoal.kernels import Codes, Counts
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.rules import text
from shoal.tables._classes import SensitiveAttribute
from shoal.tables._engine import key, quiet
from shoal.tables._holders import count_places
from shoal.tables._table import Table

Words = npt.NDArray[np.int64]
_TEXT = 1 << 30  # bytes; one array of Arrow's smaller type of text holds twice as many
_BITS = 62  # of a word; signed 64-bit integers are what all engines have


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TupleColumn:
    """A column of the distinct tuples: its distinct values, and which of them each tuple has."""

    name: str
    values: pa.Array
    indices: npt.NDArray[np.integer]
    counts: Counts

    @property
    def missing(self) -> bool:
        """Whether some tuple has no value."""
        return bool(self.values.null_count > 0)


def distinct_tuples(table: Table, names: tuple[str, ...]) -> tuple[list[TupleColumn], Counts]:
    """Let the engine count the distinct tuples, and encode each of their columns."""
    records = table.expression
    keys = {f"c{i}": key(records[name]) for i, name in enumerate(names)}
    with quiet(table.source.name):
        rows = table.engine.fetch_encoded(records.group_by(**keys).aggregate(records=records.count()))
    counts = rows["records"].to_numpy().astype(np.int64)
    return [_tuple_column(name, rows[f"c{i}"], counts) for i, name in enumerate(names)], counts


def _tuple_column(name: str, values: pa.ChunkedArray, counts: Counts) -> TupleColumn:
    """Join the dictionaries of a column's chunks, in the order in which values first occur."""
    if not pa.types.is_dictionary(values.type):
        return column_of(name, values, counts)
    parts = [chunk.dictionary for chunk in values.chunks] or [pa.array([], values.type.value_type)]
    if sum(part.nbytes for part in parts) > _TEXT:
        parts = [part.cast(pa.large_string()) for part in parts]
    every = pa.concat_arrays(parts)
    distinct = pc.unique(every)
    positions = pc.index_in(every, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int32)
    indices, start = np.empty(len(values), dtype=np.int32), 0
    for chunk in values.chunks:
        own, positions = positions[: len(chunk.dictionary)], positions[len(chunk.dictionary) :]
        indices[start : start + len(chunk)] = own[chunk.indices.to_numpy()]
        start += len(chunk)
    records = count_places(indices, counts, len(distinct))
    return TupleColumn(name=name, values=distinct, indices=indices, counts=records)


def column_of(name: str, values: pa.ChunkedArray, counts: Counts) -> TupleColumn:
    """Encode a column, of whose rows ``counts`` are the records."""
    if pa.types.is_dictionary(values.type):  # how DuckDB hands out enumerations
        values = values.cast(values.type.value_type)
    encoded = values.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # Arrow leaves chunks where one array would overflow
        encoded = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in encoded.chunks])
    encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    indices = encoded.indices.to_numpy().astype(np.int32)
    records = count_places(indices, counts, len(encoded.dictionary))
    return TupleColumn(name=name, values=encoded.dictionary, indices=indices, counts=records)


def column_hierarchies(
    schema: Schema, columns: list[TupleColumn], population: Sequence[TupleColumn] = ()
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
            problems.take(error)
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
    return encoded.dictionary, count_places(indices, counts, len(encoded.dictionary) + 1)[:-1]


def leaves_of(column: TupleColumn, hierarchy: Hierarchy) -> tuple[Codes, int]:
    """Return the leaf of every tuple, and the number of leaves."""
    return leaf_codes(hierarchy, column.values)[column.indices], hierarchy.size


def by_value(column: TupleColumn, codes: Codes) -> Codes:
    """Return the code of every distinct value of a column, given that of every tuple."""
    found = np.empty(len(column.values), dtype=np.int32)
    found[column.indices] = codes
    return found


def merge_tuples(columns: list[tuple[Codes, int]], counts: Counts) -> tuple[Codes, Counts, Counts]:
    """Sort the tuples by their codes and add up those that are the same; also return where each went."""
    order, new = Packing.of([size for _, size in columns]).order([codes for codes, _ in columns])
    starts = np.flatnonzero(new)
    merged = np.empty((len(starts), len(columns)), dtype=np.int32, order="F")
    for number, (codes, _) in enumerate(columns):
        merged[:, number] = codes[order[starts]]
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.cumsum(new) - 1
    return merged, np.add.reduceat(counts[order], starts) if len(starts) else counts[:0], positions


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Where the code of each column lies: in which word, and how far from its right end.

    The first column is the most significant, so that words sort as tuples do.

    Examples
    --------
    >>> packing = Packing.of([10, 3])
    >>> packing.pack([np.array([7, 7]), np.array([0, 2])])
    [array([28, 30])]
    """

    words: tuple[int, ...]
    shifts: tuple[int, ...]
    bits: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], apart: Container[int] = ()) -> Packing:
        """Lay out columns with codes in ``[0, size)``; one word as long as they fit, a new one for those ``apart``."""
        bits = tuple(max(size - 1, 0).bit_length() for size in sizes)
        words: list[int] = []
        used = [0]
        for column, width in enumerate(bits):
            if used[-1] + width > _BITS or (column in apart and words):
                used.append(0)
            words.append(len(used) - 1)
            used[-1] += width
        shifts = []
        for word, width in zip(words, bits, strict=True):
            used[word] -= width
            shifts.append(used[word])
        return cls(words=tuple(words), shifts=tuple(shifts), bits=bits)

    @property
    def number(self) -> int:
        """The number of words."""
        return max(self.words, default=-1) + 1

    def part(self, column: int, codes: npt.NDArray[np.integer]) -> Words:
        """Return what the codes of one column add to its word."""
        return codes.astype(np.int64) << self.shifts[column]

    def pack(self, columns: Sequence[npt.NDArray[np.integer]]) -> list[Words]:
        """Return the words of the tuples."""
        packed = [np.zeros(len(columns[0]), dtype=np.int64) for _ in range(self.number)]
        for column, codes in enumerate(columns):
            packed[self.words[column]] += self.part(column, codes)
        return packed

    def add_to_words(self, parts: Sequence[Any]) -> list[Any]:
        """Return the words, given what every column adds to its word, as expressions of an engine."""
        of_words: list[list[Any]] = [[] for _ in range(self.number)]
        for word, part in zip(self.words, parts, strict=True):
            of_words[word].append(part)
        return [reduce(add, own) for own in of_words]

    def code(self, column: int, word: Any) -> Any:
        """Return the codes of one column, given its word: an array, or an expression of an engine."""
        return (word >> self.shifts[column]) & ((1 << self.bits[column]) - 1)

    def order(self, columns: Sequence[npt.NDArray[np.integer]]) -> tuple[Words, npt.NDArray[np.bool_]]:
        """Return the order that sorts the tuples, and where in it a new tuple starts."""
        words = self.pack(columns)
        order = np.lexsort(words[::-1]) if len(words) > 1 else np.argsort(words[0], kind="stable")
        new = np.zeros(len(order), dtype=np.bool_)
        new[:1] = True
        for word in words:
            new[1:] |= np.diff(word[order]) != 0
        return order, new


def sensitive_codes(
    schema: Schema, columns: list[TupleColumn]
) -> tuple[tuple[SensitiveAttribute, ...], list[tuple[Codes, int]]]:
    """Return the attributes, and per attribute the code of every tuple and the number of codes."""
    attributes, codes = [], []
    for column in columns:
        declared = schema[column.name]
        attribute, leaves = _without_hierarchy(declared, column)
        if declared.hierarchy is not None:
            (hierarchy,) = column_hierarchies(schema, [column])
            by_tree = leaf_codes(hierarchy, column.values)
            # the order of a tree that puts values together which are apart would make them look closer
            if not attribute.ordered or bool(np.all(np.diff(leaves[np.argsort(by_tree)]) >= 0)):
                labels, leaves = hierarchy.labels[0], by_tree
                attribute = replace(attribute, size=hierarchy.size, labels=labels, hierarchy=hierarchy)
        attributes.append(attribute)
        codes.append((leaves[column.indices], attribute.size))
    return tuple(attributes), codes


def _without_hierarchy(declared: Attribute, column: TupleColumn) -> tuple[SensitiveAttribute, Codes]:
    """Number the distinct values in their order, the missing one last."""
    written = text(column.values)
    ranks = _order(declared, column.values, written)
    # values with the same text are the same value
    order = np.lexsort((written.is_null().to_numpy(zero_copy_only=False).astype(np.int8), ranks))
    labels = written.take(pa.array(order)).to_pylist()
    new = np.array([not i or label != labels[i - 1] for i, label in enumerate(labels)], dtype=np.int32)
    codes = np.empty(len(labels), dtype=np.int32)
    codes[order] = np.cumsum(new, dtype=np.int32) - 1
    distinct = tuple(label for label, first in zip(labels, new, strict=True) if first)
    ordered = declared.kind is not Kind.CATEGORICAL
    return SensitiveAttribute(name=declared.name, size=len(distinct), ordered=ordered, labels=distinct), codes


def _order(declared: Attribute, values: pa.Array, written: pa.Array) -> npt.NDArray[np.int64]:
    """Return the rank of every value: by number, by day, as declared, else by text; null last."""
    if declared.kind is Kind.ORDINAL:
        assert declared.domain is not None  # noqa: S101 - Attribute asks for it
        keys = pc.index_in(written, value_set=pa.array(declared.domain.values, pa.string()), skip_nulls=True)
    elif declared.kind is Kind.CATEGORICAL:
        keys = written
    else:
        keys = values
    ranks = pc.rank(keys, sort_keys="ascending", tiebreaker="dense")
    return np.asarray(ranks.to_numpy(), dtype=np.int64)


def schema_of(table: Table) -> Schema:
    """Return the schema of a table that must have one."""
    if table.schema is None:
        raise ParameterError(
            f"{table.source.name} has no schema, so Shoal does not know what its columns mean.",
            hint="write one with `shoal draft`, then pass it: read(..., schema=...)",
        )
    return table.schema


def check_columns(table: Table, names: tuple[str, ...], others: tuple[str, ...]) -> None:
    problems = Problems()
    if not names:
        problems.add("at least one column must be a quasi-identifier")
    for name in (*names, *others):
        if name not in table.columns:
            problems.add(f"{table.source.name} has no column `{name}`")
    for name in dict.fromkeys(name for name in names if name in others):
        problems.add(f"column `{name}` cannot be both a quasi-identifier and sensitive")
    problems.raise_as(ParameterError)
