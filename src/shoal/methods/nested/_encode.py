"""The known columns of a data set as codes: what a search recodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets import Dataset
from shoal.errors import HierarchyError, Problems
from shoal.hierarchies import Hierarchy, build, leaf_codes, outside
from shoal.kernels import Codes, Floats, Integers, Mask
from shoal.methods.nested._forest import Forest, dense_pairs
from shoal.schema.rules import text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownColumn:
    """A column that others may know, with its leaves row by row."""

    table: str
    name: str
    hierarchy: Hierarchy
    leaves: Codes
    weight: float

    @property
    def full_name(self) -> str:
        """The name of the column with that of its table."""
        return f"{self.table}.{self.name}"

    def shares(self, level: int | Integers) -> Floats:
        """Return the part of the domain that the value of every row covers at a level, or at the level of each leaf."""
        return np.asarray(self.leaf_shares(level)[self.leaves])

    def leaf_shares(self, level: int | Integers) -> Floats:
        """As `shares`, for every leaf of the hierarchy."""
        hierarchy = self.hierarchy
        if isinstance(level, int):
            return np.asarray(hierarchy.shares[level][hierarchy.codes[level]])
        found = np.zeros(len(level))
        for number in np.unique(level).tolist():
            mine = level == number
            found[mine] = hierarchy.shares[number][hierarchy.codes[number][mine]]
        return found

    def labels(self, level: int | Integers) -> pa.Array:
        """Return the label of every row at a level, or at the level of each leaf."""
        if isinstance(level, int):
            names = pa.array(self.hierarchy.labels[level], pa.string())
            return names.take(pa.array(self.hierarchy.codes[level][self.leaves]))
        return self.leaf_labels(level).take(pa.array(self.leaves))

    def leaf_labels(self, level: Integers) -> pa.Array:
        """Return the label of every leaf of the hierarchy, each at a level of its own."""
        hierarchy = self.hierarchy
        pairs = zip(hierarchy.labels, hierarchy.codes, strict=True)
        every = [pa.array(names, pa.string()).take(pa.array(codes)) for names, codes in pairs]
        places = level * len(level) + np.arange(len(level))
        return pa.concat_arrays(every).take(pa.array(places))

    def codes(self, level: int | Integers) -> Integers:
        """Return a number for the label of every row: rows with equal labels have equal numbers."""
        if isinstance(level, int):
            return np.asarray(self.hierarchy.codes[level][self.leaves], dtype=np.int64)
        names = self.leaf_labels(level).dictionary_encode(null_encoding="encode")
        return np.asarray(names.indices.to_numpy()[self.leaves], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedDataset:
    """A data set as trees whose labels can be made coarser."""

    dataset: Dataset
    columns: tuple[KnownColumn, ...]
    #: The trees with the finest labels.
    finest: Forest
    #: For every item of the trees its table, by its place among the tables of items, and its row there.
    tables: Integers
    rows: Integers

    def forest(self, levels: Sequence[int | Integers]) -> Forest:
        """Return the trees with the labels at one level for each column, or at one for each leaf of it."""
        codes = {name: self._codes(name, levels) for name in self.dataset.rows}
        labels, offset = np.zeros(len(self.tables), dtype=np.int64), 0
        for number, table in enumerate(self.dataset.schema.items):
            mine = self.tables == number
            own = codes[table.name]
            labels[mine] = own[self.rows[mine]] + offset
            offset += int(own.max(initial=-1)) + 1
        return self.finest.relabelled(codes[self.dataset.schema.root.name], labels)

    def of_persons(self, chosen: Mask) -> EncodedDataset:
        """Return the trees of some persons, with the same hierarchies."""
        people = np.flatnonzero(chosen)
        items = np.flatnonzero(chosen[self.finest.persons])
        tables, rows = self.tables[items], self.rows[items].copy()
        kept = {self.dataset.schema.root.name: people}
        for number, table in enumerate(self.dataset.schema.items):
            mine = tables == number
            kept[table.name] = np.sort(rows[mine])
            rows[mine] = np.searchsorted(kept[table.name], rows[mine])
        parents = {
            name: np.searchsorted(kept[self.dataset.schema[name].parent or ""], above[kept[name]])
            for name, above in self.dataset.parents.items()
        }
        contents = {name: content.take(pa.array(kept[name])) for name, content in self.dataset.rows.items()}
        return EncodedDataset(
            dataset=replace(self.dataset, rows=contents, parents=parents),
            columns=tuple(replace(column, leaves=column.leaves[kept[column.table]]) for column in self.columns),
            finest=self.finest.of(people, items),
            tables=tables,
            rows=rows,
        )

    def _codes(self, table: str, levels: Sequence[int | Integers]) -> Integers:
        """Return a number for the labels of every row of a table."""
        codes = np.zeros(len(self.dataset.rows[table]), dtype=np.int64)
        for column, level in zip(self.columns, levels, strict=True):
            if column.table == table:
                codes = dense_pairs(codes, column.codes(level))[0]
        for below in self.dataset.schema.size_columns(table).values():
            codes = dense_pairs(codes, self.dataset.count_below(below))[0]
        return codes


def encode_dataset(dataset: Dataset, secrets: Mapping[str, Sequence[str]] | None = None) -> EncodedDataset:
    """Encode the known columns of a data set; ``secrets`` are the values to watch, by ``table.column``.

    Raises
    ------
    HierarchyError
        If values are not in the hierarchy of their column; counts are told.
    """
    problems = Problems()
    columns = []
    for table in dataset.schema:
        for name in table.known:
            try:
                columns.append(_column(dataset, table.name, name))
            except HierarchyError as error:
                for problem in error.problems:
                    problems.add(f"table `{table.name}`, {problem}")
    problems.raise_as(HierarchyError)
    numbers, rows, persons, order = _items(dataset, columns)
    places = {name: np.full(len(content), -1, dtype=np.int64) for name, content in dataset.rows.items()}
    names = [table.name for table in dataset.schema.items]
    numbers, rows = numbers[order], rows[order]
    for number, name in enumerate(names):
        places[name][rows[numbers == number]] = np.flatnonzero(numbers == number)
    parents = np.full(len(rows), -1, dtype=np.int64)
    for number, table in enumerate(dataset.schema.items):
        if table.parent != dataset.schema.root.name:
            mine = numbers == number
            parents[mine] = places[table.parent or ""][dataset.parents[table.name][rows[mine]]]
    finest = Forest(
        classes=np.zeros(dataset.persons, dtype=np.int64),
        persons=persons[order],
        parents=parents,
        labels=np.zeros(len(rows), dtype=np.int64),
        secrets=tuple(
            _having(dataset, full_name, value, places, len(rows))
            for full_name, values in (secrets or {}).items()
            for value in values
        ),
    )
    # what follows from links alone is worked out once
    finest.starts, finest.ancestors, finest.depths, finest.holders  # noqa: B018
    return EncodedDataset(dataset=dataset, columns=tuple(columns), finest=finest, tables=numbers, rows=rows)


def _column(dataset: Dataset, table: str, name: str) -> KnownColumn:
    attribute = dataset.schema[table].columns[name]
    values = dataset.rows[table][name].combine_chunks().dictionary_encode(null_encoding="encode")
    indices = values.indices.to_numpy()
    counts = np.bincount(indices, minlength=len(values.dictionary)).astype(np.int64)
    missing = values.dictionary.null_count > 0
    folder = dataset.schema[table].columns.folder
    hierarchy = build(attribute, values.dictionary, folder=folder, counts=counts, missing=missing)
    lost = outside(hierarchy, values.dictionary, counts)
    if lost is not None:
        raise HierarchyError(lost)
    leaves = leaf_codes(hierarchy, values.dictionary)[indices]
    return KnownColumn(table=table, name=name, hierarchy=hierarchy, leaves=leaves, weight=attribute.weight)


def _items(dataset: Dataset, columns: Sequence[KnownColumn]) -> tuple[Integers, Integers, Integers, Integers]:
    """Return table, row and person of every item, and their order: by person, table and labels, never as they came."""
    owners = {dataset.schema.root.name: np.arange(dataset.persons)}
    numbers, rows, persons, ranks = [], [], [], []
    for number, table in enumerate(dataset.schema.items):
        length = len(dataset.rows[table.name])
        owners[table.name] = owners[table.parent or ""][dataset.parents[table.name]]
        numbers.append(np.full(length, number, dtype=np.int64))
        rows.append(np.arange(length))
        persons.append(owners[table.name])
        rank = np.zeros(length, dtype=np.int64)
        for column in columns:
            if column.table == table.name:
                rank = dense_pairs(rank, column.leaves.astype(np.int64))[0]
        ranks.append(rank)
    none = [np.zeros(0, dtype=np.int64)]
    table_of, row, person, rank = (np.concatenate(each or none) for each in (numbers, rows, persons, ranks))
    return table_of, row, person, np.lexsort((row, rank, table_of, person)).astype(np.int64)


def _having(
    dataset: Dataset, full_name: str, value: str, places: Mapping[str, Integers], items: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return which roots and which items have a secret value."""
    table, _, name = full_name.partition(".")
    equal = pc.equal(text(dataset.rows[table][name].combine_chunks()), value).fill_null(False)
    rows = np.flatnonzero(equal.to_numpy(zero_copy_only=False))
    roots, having = np.zeros(dataset.persons, dtype=np.bool_), np.zeros(items, dtype=np.bool_)
    if table == dataset.schema.root.name:
        roots[rows] = True
    else:
        having[places[table][rows]] = True
    return roots, having
