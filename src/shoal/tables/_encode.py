"""From records to distinct tuples of codes with counts: the one look that search needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, HierarchyError, ParameterError, Problems
from shoal.hierarchies import Hierarchy, build, leaf_codes, outside, text
from shoal.schema import Attribute, Kind, Schema
from shoal.tables._engine import quiet
from shoal.tables._frequencies import Frequencies, SensitiveAttribute
from shoal.tables._packing import Packing
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Dictionary", "Encoded", "encode"]

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dictionary:
    """The distinct values of a column, null included where there is one, and the leaf code of each."""

    name: str
    values: pa.Array
    codes: Codes

    def __repr__(self) -> str:
        return f"<Dictionary of `{self.name}`: {len(self.values):,} values>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoded:
    """Frequencies, and what is needed to find the tuple of a record again.

    Parameters
    ----------
    frequencies
        The distinct tuples with counts, ascending by codes (quasi-identifiers first).
    dictionaries
        One per quasi-identifier, in the order of the frequencies.
    """

    frequencies: Frequencies
    dictionaries: tuple[Dictionary, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Column:
    """A column of the distinct tuples: its distinct values, and which of them each tuple has."""

    name: str
    values: pa.Array
    indices: Counts
    counts: Counts

    @property
    def missing(self) -> bool:
        return bool(self.values.null_count > 0)


def encode(
    table: Table,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    population: Table | None = None,
) -> Encoded:
    """Count the distinct tuples of a table.

    Parameters
    ----------
    table
        A table with a schema.
    quasi_identifiers, sensitive
        The columns to look at; those of the schema where not given. Ask only for sensitive columns that a model
        needs: one with many distinct values makes about as many tuples as there are records.
    population
        A table of the population that the records were drawn from; it needs the quasi-identifiers only. Its records
        are counted per tuple of quasi-identifiers, at the first tuple that has them.

    Raises
    ------
    HierarchyError
        If values are not in the hierarchy of their column; the message counts them.

    Notes
    -----
    The engine groups the records once, O(records); the rest is vectorised over the distinct tuples, and the few
    distinct values of every column are looked up in its hierarchy once. Values that are written differently but have
    the same leaf (``39`` and ``39.0``) end up in the same tuple.
    """
    schema = _schema(table)
    names = tuple(schema.quasi_identifiers if quasi_identifiers is None else quasi_identifiers)
    others = tuple(schema.sensitive if sensitive is None else sensitive)
    _check(table, names, others)
    columns, counts = _tuples(table, (*names, *others))
    known, known_counts = ([], None) if population is None else _population(population, schema, names)
    hierarchies = _hierarchies(schema, columns[: len(names)], known)
    coded = [_leaves(column, hierarchy) for column, hierarchy in zip(columns, hierarchies, strict=False)]
    attributes, sensitive_codes = _sensitive(schema, columns[len(names) :])
    codes, counts = _merge([*coded, *sensitive_codes], counts)
    frequencies = Frequencies(
        hierarchies=hierarchies,
        codes=codes[:, : len(names)],
        counts=counts,
        sensitive=attributes,
        sensitive_codes=codes[:, len(names) :],
    )
    if known_counts is not None:
        other = [_leaves(column, hierarchy) for column, hierarchy in zip(known, hierarchies, strict=True)]
        frequencies = _with_population(frequencies, *_merge(other, known_counts))
    dictionaries = tuple(
        Dictionary(name=column.name, values=column.values, codes=leaf_codes(hierarchy, column.values))
        for column, hierarchy in zip(columns, hierarchies, strict=False)
    )
    return Encoded(frequencies=frequencies, dictionaries=dictionaries)


def _schema(table: Table) -> Schema:
    if table.schema is None:
        raise ParameterError(
            f"{table.source.name} has no schema, so nobody knows what its columns mean.",
            hint="`shoal draft` writes one; then read(..., schema=...)",
        )
    return table.schema


def _check(table: Table, names: tuple[str, ...], others: tuple[str, ...]) -> None:
    problems = Problems()
    if not names:
        problems.add("at least one column must be a quasi-identifier")
    for name in (*names, *others):
        if name not in table.columns:
            problems.add(f"{table.source.name} has no column `{name}`")
    for name in dict.fromkeys(name for name in names if name in others):
        problems.add(f"column `{name}` cannot be a quasi-identifier and sensitive at once")
    problems.raise_as(ParameterError)


# -- on the engine


def key(column: ir.Value) -> ir.Value:
    """Return a column such that equal values are the same value: the zero of floating point has two signs."""
    kind = column.type()
    return (column + 0.0).cast(kind) if kind.is_floating() else column


def _tuples(table: Table, names: tuple[str, ...]) -> tuple[list[_Column], Counts]:
    """Let the engine count the distinct tuples, and encode each of their columns."""
    records = table.expression
    keys = {f"c{i}": key(records[name]) for i, name in enumerate(names)}
    with quiet(table.source.name):
        rows = table.engine.fetch(records.group_by(**keys).aggregate(records=records.count()))
    counts = rows["records"].to_numpy().astype(np.int64)
    return [_column(name, rows[f"c{i}"], counts) for i, name in enumerate(names)], counts


def _column(name: str, values: pa.ChunkedArray, counts: Counts) -> _Column:
    if pa.types.is_dictionary(values.type):  # how DuckDB hands out enumerations
        values = values.cast(values.type.value_type)
    encoded = values.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # Arrow leaves chunks where one array would overflow
        encoded = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in encoded.chunks])
    encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    indices = encoded.indices.to_numpy().astype(np.int64)
    records = np.bincount(indices, weights=counts, minlength=len(encoded.dictionary)).astype(np.int64)
    return _Column(name=name, values=encoded.dictionary, indices=indices, counts=records)


def _population(population: Table, schema: Schema, names: tuple[str, ...]) -> tuple[list[_Column], Counts]:
    absent = [name for name in names if name not in population.columns]
    if absent:
        raise DataError(
            f"the population {population.source.name} has no column {', '.join(f'`{name}`' for name in absent)}."
        )
    wanted = Schema(attributes=tuple(schema[name] for name in names), folder=schema.folder)
    return _tuples(population.select(*names).with_schema(wanted), names)


# -- codes


def _hierarchies(schema: Schema, columns: list[_Column], population: list[_Column]) -> tuple[Hierarchy, ...]:
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


def _leaves(column: _Column, hierarchy: Hierarchy) -> tuple[Codes, int]:
    return leaf_codes(hierarchy, column.values)[column.indices], hierarchy.size


def _sensitive(
    schema: Schema, columns: list[_Column]
) -> tuple[tuple[SensitiveAttribute, ...], list[tuple[Codes, int]]]:
    attributes, codes = [], []
    for column in columns:
        declared = schema[column.name]
        if declared.hierarchy is not None:
            (hierarchy,) = _hierarchies(schema, [column], [])
            attribute, leaves = _with_hierarchy(declared, hierarchy, column)
        else:
            attribute, leaves = _without_hierarchy(declared, column)
        attributes.append(attribute)
        codes.append((leaves[column.indices], attribute.size))
    return tuple(attributes), codes


def _with_hierarchy(declared: Attribute, hierarchy: Hierarchy, column: _Column) -> tuple[SensitiveAttribute, Codes]:
    attribute = SensitiveAttribute(
        name=declared.name,
        size=hierarchy.size,
        ordered=declared.kind is not Kind.CATEGORICAL,
        labels=hierarchy.labels[0],
        hierarchy=hierarchy,
    )
    return attribute, leaf_codes(hierarchy, column.values)


def _without_hierarchy(declared: Attribute, column: _Column) -> tuple[SensitiveAttribute, Codes]:
    """Number the distinct values in their order, the missing one last."""
    written = text(column.values)
    ranks = _order(declared, column.values, written)
    # values with the same text are the same value
    order = np.lexsort((written.is_null().to_numpy(zero_copy_only=False).astype(np.int8), ranks))
    labels = written.take(pa.array(order)).to_pylist()
    new = np.array(
        [label != before for label, before in zip(labels, [object(), *labels], strict=False)], dtype=np.int32
    )
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


def _merge(columns: list[tuple[Codes, int]], counts: Counts) -> tuple[Codes, Counts]:
    """Sort the tuples by their codes and add up those that are the same."""
    order, new = Packing.of([size for _, size in columns]).order([codes for codes, _ in columns])
    starts = np.flatnonzero(new)
    merged = np.empty((len(starts), len(columns)), dtype=np.int32, order="F")
    for number, (codes, _) in enumerate(columns):
        merged[:, number] = codes[order[starts]]
    return merged, np.add.reduceat(counts[order], starts) if len(starts) else counts[:0]


def _with_population(frequencies: Frequencies, codes: Codes, counts: Counts) -> Frequencies:
    """Add the population's counts; a tuple that only the population holds gets no records."""
    sizes = [hierarchy.size for hierarchy in frequencies.hierarchies]
    width = len(sizes)
    ours = len(frequencies.counts)
    # ours first: where both hold a tuple, its group starts with one of ours
    every = np.concatenate([frequencies.codes, codes])
    order, new = Packing.of(sizes).order([every[:, j] for j in range(width)])
    first = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    owner = np.empty(len(order), dtype=np.int64)
    owner[order] = first
    population = np.zeros(len(every), dtype=np.int64)
    np.add.at(population, owner[ours:], counts)
    kept = np.concatenate([np.arange(ours), ours + np.flatnonzero(owner[ours:] >= ours)])
    added = len(kept) - ours
    sensitive = np.concatenate(
        [frequencies.sensitive_codes, np.zeros((added, len(frequencies.sensitive)), dtype=np.int32)]
    )
    return Frequencies(
        hierarchies=frequencies.hierarchies,
        codes=np.asfortranarray(every[kept]),
        counts=np.concatenate([frequencies.counts, np.zeros(added, dtype=np.int64)]),
        sensitive=frequencies.sensitive,
        sensitive_codes=np.asfortranarray(sensitive),
        population=population[kept],
    )
