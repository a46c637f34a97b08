"""Records on Spark, block by block: what goes to the driver is a few sums and a sample, never all records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.hierarchies import Hierarchy, leaf_codes
from shoal.kernels import Codes, Counts, Floats
from shoal.schema import Attribute, Kind
from shoal.tables._apply import look_up
from shoal.tables._by_record import release_beside, taken_from
from shoal.tables._classes import Classes, ClassHistogram, SensitiveAttribute
from shoal.tables._columns import by_value, column_hierarchies, distinct_tuples, sensitive_codes
from shoal.tables._engine import ROW, compute, figures, key, quiet
from shoal.tables._expressions import Value, cases, descending, function, literal
from shoal.tables._holders import count_places
from shoal.tables._people import CrowdCounts, crowds, gather_values, kinds
from shoal.tables._relations import TableQuery
from shoal.tables._spark import SparkEngine, hash_numbers
from shoal.tables._table import Table, number_records
from shoal.tables._types import INTEGER
from shoal.tables._values import class_sizes

Task = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMoments:
    """What is known of a column of numbers: how many there are, and where they lie."""

    count: int
    mean: float
    deviation: float
    constant: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnLeaves:
    """What is known of a column of categories: how they generalise, and how many records every leaf has."""

    hierarchy: Hierarchy
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """A coordinate of the records: a column (or whether its value is missing) less ``centre``, times ``scale``."""

    column: int
    missing: bool
    centre: float
    scale: float

    def places(self, numbers: Floats) -> Floats:
        """Return the coordinate of records whose numbers are these, NaN where missing."""
        absent = np.isnan(numbers)
        values = absent * 1.0 if self.missing else np.where(absent, self.centre, numbers)
        return np.asarray((values - self.centre) * self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """A part of space, cut in two: records whose coordinate is less than ``border`` lie below.

    The axis after the last settles ties: a number in [0, 1) that looks random and that no column tells.
    """

    axis: int
    border: float
    below: Block
    above: Block


Block = int | Plane
"""A block, by its number, or how space is cut into blocks."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Blocks:
    """The records of a table on Spark as numbers that can be divided into blocks."""

    #: The table, with numbers on its records, and its engine.
    table: Table
    engine: SparkEngine
    #: The columns that are numbers here: numbers, days since 1970, ranks, and leaves of categories in the order of
    #: their tree.
    names: tuple[str, ...]
    #: The records: their number and ``v0``, ``v1``, ..., null where missing; a missing category has a leaf.
    numbers: TableQuery = field(repr=False)
    #: What is known of the columns of categories.
    leaves: dict[str, ColumnLeaves]
    #: The sensitive attributes asked for, whose codes are ``s0``, ``s1``, ... of the records, and how many records have
    #: each code.
    sensitive: tuple[SensitiveAttribute, ...] = ()
    totals: tuple[Counts, ...] = ()
    #: The sensitive attributes that are released by the labels of their codes here, not by their values.
    relabelled: tuple[SensitiveAttribute, ...] = ()
    #: Whether ``who`` of the records says whose they are; then it is the hash of this that settles ties.
    persons: bool = False

    def combinations(self, names: Sequence[str]) -> tuple[Codes, Counts]:
        """Return the different combinations of codes of sensitive attributes, ascending, and the records of each."""
        keys = [self._secret(name) for name in names]
        counted = self.numbers.group_by(keys).aggregate(records=self.numbers.count())
        rows = compute(self.table, counted.order_by(keys))
        codes = np.stack([rows[key].to_numpy() for key in keys], axis=1).astype(np.int32)
        return codes, rows["records"].to_numpy().astype(np.int64)

    def replace_codes(
        self,
        names: Sequence[str],
        combinations: tuple[Codes, Counts],
        attributes: Sequence[SensitiveAttribute],
        codes: Codes | Counts,
    ) -> Blocks:
        """Give sensitive attributes other codes, by the combination that a record has.

        ``attributes`` are what those of ``names`` become, in the same order, and are released by their labels; further
        ones are added. ``codes`` are the codes of every combination, a column for each of ``attributes``.
        """
        old, counts = combinations
        positions = [self._secret(name) for name in names]
        positions += [f"s{len(self.sensitive) + j}" for j in range(len(attributes) - len(names))]
        known = {f"is{j}": pa.array(column) for j, column in enumerate(old.T)}
        known |= {f"becomes{j}": pa.array(column.astype(np.int32)) for j, column in enumerate(codes.T)}
        with quiet(self.table.source.name):
            rows = self.table.engine.stage(pa.table(known))
            same = [self.numbers[position] == rows[f"is{j}"] for j, position in enumerate(positions[: len(names)])]
            joined = self.numbers.inner_join(rows, same)
            new = {position: joined[f"becomes{j}"] for j, position in enumerate(positions)}
            kept = {name: joined[name] for name in self.numbers.columns if name not in new}
            stored = self.table.engine.keep(joined.select(**kept, **new))
        columns = {f"s{j}": each for j, each in enumerate(zip(self.sensitive, self.totals, strict=True))}
        for position, attribute, column in zip(positions, attributes, codes.T, strict=True):
            columns[position] = attribute, count_places(column, counts, attribute.size)
        secrets, totals = zip(*columns.values(), strict=True)
        return replace(
            self, numbers=stored, sensitive=secrets, totals=totals, relabelled=tuple(attributes[: len(names)])
        )

    def _secret(self, name: str) -> str:
        return f"s{[attribute.name for attribute in self.sensitive].index(name)}"

    def moments(self) -> tuple[int, list[ColumnMoments]]:
        """Return the number of records and what is known of every column, from one aggregate."""
        asked: dict[str, Any] = {"records": self.numbers.count()}
        for i in range(len(self.names)):
            column = self.numbers[f"v{i}"]
            asked |= {f"n{i}": column.count(), f"m{i}": column.mean(), f"s{i}": column.deviation()}
            asked |= {f"low{i}": column.min(), f"high{i}": column.max()}
        row = figures(self.table, self.numbers.aggregate(**asked))
        moments = [
            ColumnMoments(
                count=int(row[f"n{i}"]),
                mean=float(row[f"m{i}"] or 0.0),
                deviation=float(row[f"s{i}"] or 0.0),
                constant=row[f"low{i}"] == row[f"high{i}"],
            )
            for i in range(len(self.names))
        ]
        return int(row["records"]), moments

    def sample(self, axes: Sequence[Coordinate], share: float) -> Floats:
        """Return the coordinates of about this share of the records, and last the number that settles ties.

        The sample is chosen by a hash of the records' numbers: it is the same at a second look.
        """
        coordinates = {f"p{i}": each for i, each in enumerate(self._coordinates(axes))}
        chosen = self.numbers.select(ROW, **coordinates)
        if share < 1.0:
            chosen = chosen.filter(hash_numbers(self.numbers[ROW], 0) < share)
        rows = compute(self.table, chosen.order_by(ROW))
        return np.stack([rows[name].to_numpy() for name in coordinates], axis=1)

    def sizes(self, axes: Sequence[Coordinate], block: Block, *, persons: bool = False) -> dict[int, int]:
        """Return how many records, or persons, every block has; blocks without any are left out."""
        placed = self._assign_blocks(axes, block)
        number = placed["who"].nunique() if persons else placed.count()
        rows = compute(self.table, placed.group_by("block").aggregate(number=number))
        return dict(zip(rows["block"].to_pylist(), rows["number"].to_pylist(), strict=True))

    def classes(self, axes: Sequence[Coordinate], block: Block) -> tuple[list[int], Classes]:
        """Return the numbers of the blocks, and the blocks as classes."""
        placed = self._assign_blocks(axes, block)
        histograms: dict[str, ClassHistogram] = {}
        for j, attribute in enumerate(self.sensitive):
            keys = ["block", f"s{j}"]
            rows = compute(self.table, placed.group_by(keys).aggregate(records=placed.count()).order_by(keys))
            numbers, starts = np.unique(rows["block"].to_numpy(), return_index=True)
            codes, counts = rows[f"s{j}"].to_numpy().astype(np.int32), rows["records"].to_numpy().astype(np.int64)
            offsets = np.append(starts, len(rows)).astype(np.int64)
            histograms[attribute.name] = ClassHistogram(
                attribute=attribute, offsets=offsets, codes=codes, counts=counts
            )
            sizes = np.add.reduceat(counts, starts)
        return numbers.tolist(), Classes(sizes=sizes, sensitive=histograms)

    def cluster(
        self, axes: Sequence[Coordinate], block: Block, function: Task, columns: Mapping[str, str], keys: Sequence[str]
    ) -> ClusteredBlocks:
        """Let the executors put the records of each block into classes, and say what is released for each.

        ``function`` gets ``block``, :data:`ROW`, ``v0``, ``v1``, ... and ``s0``, ``s1``, ... of the records of one
        block, ascending by their numbers; it gives ``block``, ``record``, ``columns``, of which Spark knows the types,
        ``error``, a number to add up, and ``s0``, ``s1``, ... and ``who`` as they were. ``cluster``, where it is one of
        the columns, is a number that no other block gives: that of the block times 2^32, and those from 0 on. ``keys``
        are the columns that tell classes apart.
        """
        more = {f"s{j}": "int" for j in range(len(self.sensitive))} | ({"who": "string"} if self.persons else {})
        rows = self._apply(self._assign_blocks(axes, block), "block", function, _task_columns(columns) | more)
        return ClusteredBlocks(blocks=self, rows=rows, keys=tuple(keys))

    def draft(self, axes: Sequence[Coordinate], block: Block, function: Task) -> DraftedBlocks:
        """Let the executors cluster the records of each block, to be repaired afterwards.

        ``function`` gets what that of `cluster` gets; it gives the same columns and ``cluster``, a number that no other
        block gives, ``width``, the squared error of the cluster, and ``q0``, ``q1``, ..., the place of its middle.
        """
        types = {"block": "int", ROW: "bigint"} | {f"v{i}": "double" for i in range(len(self.names))}
        types |= {"cluster": "bigint", "width": "double"} | {f"q{i}": "double" for i in range(len(axes))}
        rows = self._apply(self._assign_blocks(axes, block), "block", function, types)
        return DraftedBlocks(blocks=self, rows=rows, axes=len(axes))

    def _apply(self, records: TableQuery, group: str, function: Task, types: Mapping[str, str]) -> TableQuery:
        made = ", ".join(f"{name} {kind}" for name, kind in types.items())
        with quiet(self.table.source.name):
            return self.engine.by_group(records, group, ROW, function, made)

    def _coordinates(self, axes: Sequence[Coordinate]) -> list[Any]:
        coordinates: list[Any] = []
        for axis in axes:
            column = self.numbers[f"v{axis.column}"]
            value = column.isnull().cast("float64") if axis.missing else column.fill_null(axis.centre)
            coordinates.append((value - axis.centre) * axis.scale)
        whose = function("xxhash64", INTEGER, self.numbers["who"]) if self.persons else self.numbers[ROW]
        return [*coordinates, hash_numbers(whose, 1)]

    def _assign_blocks(self, axes: Sequence[Coordinate], block: Block) -> TableQuery:
        return self.numbers.mutate(block=_block_of(self._coordinates(axes), block).cast("int32"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DraftedBlocks:
    """Clusters that the executors made block by block, to be repaired across the borders of blocks."""

    blocks: Blocks
    rows: TableQuery
    axes: int

    def widest(self, number: int) -> tuple[Floats, Counts]:
        """Return the widths of some clusters, greatest first, and how many records each has."""
        clusters = self.rows.group_by("cluster").aggregate(width=self.rows["width"].max(), records=self.rows.count())
        rows = compute(self.blocks.table, clusters.order_by([descending("width"), "cluster"]).limit(number))
        return rows["width"].to_numpy(), rows["records"].to_numpy().astype(np.int64)

    def repair(
        self, block: Block, width: float, function: Task, columns: Mapping[str, str], keys: Sequence[str]
    ) -> ClusteredBlocks:
        """Gather whole clusters into other blocks, and let the executors finish each.

        Clusters wider than ``width`` come together, whatever their place; others by the places of their middles.
        ``function`` gets the columns of `draft`, and gives those that `Blocks.cluster` asks for; ``cluster`` is that of
        the draft.
        """
        coordinates = [*(self.rows[f"q{i}"] for i in range(self.axes)), hash_numbers(self.rows["cluster"], 1)]
        position = (self.rows["width"] > width).ifelse(-1, _block_of(coordinates, block))
        placed = self.rows.mutate(gathered=position.cast("int32"))
        rows = self.blocks._apply(placed, "gathered", function, _task_columns(columns))
        return ClusteredBlocks(blocks=self.blocks, rows=rows, keys=tuple(keys))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClusteredBlocks:
    """What the executors made of the blocks: what is released of every record, stored where it was made."""

    blocks: Blocks
    rows: TableQuery
    #: The columns that tell classes apart.
    keys: tuple[str, ...]

    def summary(self) -> tuple[int, int, float]:
        """Return how many blocks there were, the records of the largest, and the sum of the errors."""
        each = self.rows.group_by("block").aggregate(records=self.rows.count(), error=self.rows["error"].sum())
        asked = {"blocks": each.count(), "largest": each["records"].max(), "error": each["error"].sum()}
        row = figures(self.blocks.table, each.aggregate(**asked))
        return int(row["blocks"]), int(row["largest"]), float(row["error"])

    def class_sizes(self) -> tuple[Counts, Counts]:
        """Return the different sizes of the released classes, and how many classes have each."""
        return class_sizes(replace(self.blocks.table, expression=self.rows), list(self.keys))

    def crowds(self) -> CrowdCounts:
        """Return how many persons the released classes have, and what their records tell."""
        return crowds(replace(self.blocks.table, expression=self.rows), self.keys, "who")

    def histograms(self) -> dict[str, tuple[Classes, Counts]]:
        """Return, for every sensitive attribute, the classes that differ in its values, and how many are alike.

        Executors gather the values of every class; what a class is released as stays with them.
        """
        histograms = {}
        for j, attribute in enumerate(self.blocks.sensitive):
            counted = self.rows.group_by([*self.keys, f"s{j}"]).aggregate(records=self.rows.count())
            most = int(self.blocks.totals[j].sum()) + 1
            pairs = counted.mutate(pair=counted[f"s{j}"].cast("int64") * most + counted["records"])
            times, lists = kinds(self.blocks.table, gather_values(pairs, list(self.keys), "pair"))
            flat = lists.flatten().to_numpy()
            offsets = np.append(0, np.cumsum(lists.value_lengths().to_numpy())).astype(np.int64)
            codes, counts = (flat // most).astype(np.int32), (flat % most).astype(np.int64)
            values = {attribute.name: ClassHistogram(attribute=attribute, offsets=offsets, codes=codes, counts=counts)}
            histograms[attribute.name] = Classes(sizes=np.add.reduceat(counts, offsets[:-1]), sensitive=values), times
        return histograms

    def release_columns(self, names: Sequence[str], *, key: bytes | None) -> Table:
        """Return the released table: columns of the blocks replaced by ``new0``, ``new1``, ..., others as they are."""
        rows, relabelled = self._attach_labels(self.rows)
        replaced = relabelled | {name: f"new{i}" for i, name in enumerate(self.blocks.names)}
        return release_beside(self.blocks.table, rows, names, replaced, key=key)

    def _attach_labels(self, rows: TableQuery) -> tuple[TableQuery, dict[str, str]]:
        """Return rows with the labels of attributes that are released by them, and what these columns are called."""
        labels: dict[str, str] = {}
        for attribute in self.blocks.relabelled:
            code, position = rows[self.blocks._secret(attribute.name)], f"label{len(labels)}"
            label = self.blocks.table.engine.look_labels_up(code, pa.array(attribute.labels, pa.string()))
            rows, labels[attribute.name] = rows.mutate(**{position: label}), position
        return rows, labels

    def release_exchanged(self, names: Sequence[str], moved: Sequence[str], *, key: bytes | None) -> Table:
        """Return the released table: ``moved`` columns come, together, from the record that is called ``other``."""
        table = self.blocks.table
        with quiet(table.source.name):
            labelled, replaced = self._attach_labels(self.rows)
            rows, taken = taken_from(table, self.rows, "other", [name for name in moved if name not in replaced])
            if replaced:
                labels = labelled.select(*replaced.values(), labelled=labelled["record"])
                rows = rows.inner_join(labels, [rows["other"] == labels["labelled"]])
        return release_beside(table, rows, names, taken | replaced, key=key)

    def with_classes(self, parts: Sequence[Sequence[str]], link: str, *, key: bytes | None) -> list[Table]:
        """Return tables of some columns each, and first in each the class of every record, numbered from 1 on."""
        table = self.blocks.table
        with quiet(table.source.name):
            counts = self.rows.group_by("block").aggregate(classes=self.rows["cluster"].nunique())
            found = compute(table, counts.order_by("block"))
            ends = np.cumsum(found["classes"].to_numpy())
            before = pa.array(np.append(0, ends[:-1]).astype(np.int64))
            known = table.engine.stage(pa.table({"of": found["block"], "before": before}))
            joined = self.rows.inner_join(known, [self.rows["block"] == known["of"]])
            number = joined["cluster"] - joined["block"].cast("int64") * 2**32 + joined["before"] + 1
            rows, replaced = self._attach_labels(joined.mutate(number=number))
            replaced[link] = "number"
        return [release_beside(table, rows, (link, *names), replaced, key=key) for names in parts]


def in_blocks(
    table: Table, names: Sequence[str], sensitive: Sequence[str] = (), person: str | None = None
) -> Blocks | None:
    """Return the records as numbers to divide into blocks, with the codes of ``sensitive`` columns, and with whose they
    are by the column ``person``; None where that cannot be done.

    It takes a table on Spark, with a schema, of whose columns ``names`` all are categories, numbers, days, or texts
    with a declared order. Records are stored on the executors with numbers on them, as :func:`number_records` does.
    """
    schema, engine = table.schema, table.engine
    if schema is None or not isinstance(engine, SparkEngine):
        return None
    categories = [name for name in names if schema[name].kind is Kind.CATEGORICAL]
    if any(_as_number(table, schema[name]) is None for name in names):
        return None
    table = number_records(table)
    asked = {f"v{i}": _as_number(table, schema[name]) for i, name in enumerate(names)}
    asked |= {f"s{j}": key(table.expression[name]) for j, name in enumerate(sensitive)}
    asked |= {} if person is None else {"who": key(table.expression[person]).cast("string")}
    chosen = table.expression.select(ROW, **asked)
    columns = {name: distinct_tuples(table, (name,))[0][0] for name in (*categories, *sensitive)}
    hierarchies = column_hierarchies(schema, [columns[name] for name in categories])
    attributes, coded = sensitive_codes(schema, [columns[name] for name in sensitive])
    leaves: dict[str, ColumnLeaves] = {}
    totals: list[Counts] = []
    looked: dict[str, pa.Table] = {}
    for name, hierarchy in zip(categories, hierarchies, strict=True):
        codes = leaf_codes(hierarchy, columns[name].values)
        leaves[name] = ColumnLeaves(
            hierarchy=hierarchy, counts=count_places(codes, columns[name].counts, hierarchy.size)
        )
        looked[f"v{names.index(name)}"] = pa.table({"value": columns[name].values, "leaf": codes.astype(np.float64)})
    for j, (name, (own, size)) in enumerate(zip(sensitive, coded, strict=True)):
        codes = by_value(columns[name], own)
        totals.append(count_places(codes, columns[name].counts, size))
        looked[f"s{j}"] = pa.table({"value": columns[name].values, "leaf": codes})
    with quiet(table.source.name):
        for position, rows in looked.items():
            joined = look_up(table, chosen, position, rows)
            chosen = joined.select(**{name: joined["leaf" if name == position else name] for name in chosen.columns})
        # every later step reads the leaves, and need not look them up again
        stored = table.engine.keep(chosen) if looked else chosen
    return Blocks(
        table=table,
        engine=engine,
        names=tuple(names),
        numbers=stored,
        leaves=leaves,
        sensitive=attributes,
        totals=tuple(totals),
        persons=person is not None,
    )


def _task_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return all columns that executors make of records, and what Spark calls their types."""
    return {"block": "int", "record": "bigint", **columns, "error": "double"}


def _as_number(table: Table, attribute: Attribute) -> Any:
    """Return a column as numbers, of categories the values, which are looked up; None where it cannot be."""
    column: Value = table.expression[attribute.name]
    kind = column.type()
    if attribute.kind is Kind.CATEGORICAL:
        return key(column)
    if attribute.kind is Kind.ORDINAL:
        declared = attribute.domain.values if attribute.domain is not None and kind.is_string() else None
        # whole numbers: Spark takes 1.0 for a decimal
        ranks = [(column == value, rank) for rank, value in enumerate(declared or ())]
        return cases(*ranks).cast("float64") if ranks else None
    if kind.is_boolean():
        return column.cast("int8").cast("float64")
    if kind.is_numeric():
        return column.cast("float64")
    if kind.is_timestamp():
        column, kind = column.date(), column.date().type()
    if kind.is_date():
        return column.delta(dt.date(1970, 1, 1)).cast("float64")
    return None


def _block_of(coordinates: Sequence[Any], block: Block) -> Any:
    if isinstance(block, int):
        return literal(block, "int32")
    below, above = (_block_of(coordinates, part) for part in (block.below, block.above))
    return (coordinates[block.axis] < block.border).ifelse(below, above)
