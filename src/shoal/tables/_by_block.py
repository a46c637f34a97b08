"""Records on Spark, block by block: what goes to the driver is a few sums and a sample, never all records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.hierarchies import Hierarchy, leaf_codes
from shoal.kernels import Counts
from shoal.schema import Kind, Schema
from shoal.tables._apply import look_up
from shoal.tables._classes import Classes, ClassHistogram, SensitiveAttribute
from shoal.tables._columns import by_value, column_hierarchies, distinct_tuples, sensitive_codes
from shoal.tables._engine import ROW, builtin, key, quiet, sorted_by_values
from shoal.tables._keyed import check_identifiers, pseudonyms
from shoal.tables._people import CrowdCounts, crowds, gathered, kinds
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table, numbered
from shoal.tables._values import class_sizes

if TYPE_CHECKING:
    import ibis.expr.types as ir


Points = npt.NDArray[np.float64]
Task = Callable[[pa.Table], pa.Table]
TIES = 2.0**53  # different numbers that settle ties: as many as there are whole numbers in floating point


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

    def places(self, numbers: Points) -> Points:
        """Return the coordinate of records whose numbers are these, NaN where missing."""
        absent = np.isnan(numbers)
        return np.asarray(
            ((absent * 1.0 if self.missing else np.where(absent, self.centre, numbers)) - self.centre) * self.scale
        )


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

    #: The table, with numbers on its records.
    table: Table
    #: The columns that are numbers here: numbers, days since 1970, ranks, and leaves of categories in the order of
    #: their tree.
    names: tuple[str, ...]
    #: The records: their number and ``v0``, ``v1``, ..., null where missing; a missing category has a leaf.
    numbers: ir.Table = field(repr=False)
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

    def combinations(self, names: Sequence[str]) -> tuple[npt.NDArray[np.int32], Counts]:
        """Return the different combinations of codes of sensitive attributes, ascending, and the records of each."""
        keys = [self._secret(name) for name in names]
        counted = self.numbers.group_by(keys).aggregate(records=self.numbers.count())
        with quiet(self.table.source.name):
            rows = self.table.engine.fetch(counted.order_by(keys))
        codes = np.stack([rows[key].to_numpy() for key in keys], axis=1).astype(np.int32)
        return codes, rows["records"].to_numpy().astype(np.int64)

    def recoded(
        self,
        names: Sequence[str],
        combinations: tuple[npt.NDArray[np.int32], Counts],
        attributes: Sequence[SensitiveAttribute],
        codes: npt.NDArray[np.integer],
    ) -> Blocks:
        """Give sensitive attributes other codes, by the combination that a record has.

        Parameters
        ----------
        names, combinations
            The sensitive attributes, and what `combinations` gave for them.
        attributes
            What they become, in the same order; further ones are added. Those with labels are released by these.
        codes
            The codes of every combination, a column for each of ``attributes``.
        """
        old, counts = combinations
        places = [self._secret(name) for name in names]
        places += [f"s{j}" for j in range(len(self.sensitive), len(self.sensitive) + len(attributes) - len(names))]
        known = {f"is{j}": pa.array(column) for j, column in enumerate(old.T)}
        known |= {f"becomes{j}": pa.array(column.astype(np.int32)) for j, column in enumerate(codes.T)}
        with quiet(self.table.source.name):
            rows = self.table.engine.stage(pa.table(known))
            same = [self.numbers[place] == rows[f"is{j}"] for j, place in enumerate(places[: len(names)])]
            joined = self.numbers.inner_join(rows, same)
            new = {place: joined[f"becomes{j}"] for j, place in enumerate(places)}
            kept = {name: joined[name] for name in self.numbers.columns if name not in new}
            stored = self.table.engine.keep(joined.select(**kept, **new))
        found = {f"s{j}": each for j, each in enumerate(zip(self.sensitive, self.totals, strict=True))}
        for place, attribute, column in zip(places, attributes, codes.T, strict=True):
            found[place] = attribute, np.bincount(column, weights=counts, minlength=attribute.size).astype(np.int64)
        secrets, totals = zip(*found.values(), strict=True)
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
            asked |= {f"n{i}": column.count(), f"m{i}": column.mean(), f"s{i}": column.std(how="pop")}
            asked |= {f"low{i}": column.min(), f"high{i}": column.max()}
        with quiet(self.table.source.name):
            (row,) = self.table.engine.fetch(self.numbers.aggregate(**asked)).to_pylist()
        found = [
            ColumnMoments(
                count=int(row[f"n{i}"]),
                mean=float(row[f"m{i}"] or 0.0),
                deviation=float(row[f"s{i}"] or 0.0),
                constant=row[f"low{i}"] == row[f"high{i}"],
            )
            for i in range(len(self.names))
        ]
        return int(row["records"]), found

    def sample(self, axes: Sequence[Coordinate], share: float) -> Points:
        """Return the coordinates of about this share of the records, and last the number that settles ties.

        The sample is chosen by a hash of the records' numbers: it is the same at a second look.
        """
        coordinates = self._coordinates(axes)
        chosen = self.numbers.select(
            **{ROW: self.numbers[ROW]}, **{f"p{i}": each for i, each in enumerate(coordinates)}
        )
        if share < 1.0:
            chosen = chosen.filter(_hashed(self.numbers[ROW], 0) < share)
        with quiet(self.table.source.name):
            rows = self.table.engine.fetch(chosen.order_by(ROW))
        return np.stack([rows[f"p{i}"].to_numpy() for i in range(len(coordinates))], axis=1)

    def sizes(self, axes: Sequence[Coordinate], block: Block, *, persons: bool = False) -> dict[int, int]:
        """Return how many records, or persons, every block has; blocks without any are left out."""
        placed = self._placed(axes, block)
        number = placed["who"].nunique() if persons else placed.count()
        with quiet(self.table.source.name):
            rows = self.table.engine.fetch(placed.group_by("block").aggregate(number=number))
        return dict(zip(rows["block"].to_pylist(), rows["number"].to_pylist(), strict=True))

    def classes(self, axes: Sequence[Coordinate], block: Block) -> tuple[list[int], Classes]:
        """Return the numbers of the blocks, and the blocks as classes."""
        placed = self._placed(axes, block)
        numbers: list[int] = []
        found: dict[str, ClassHistogram] = {}
        for j, attribute in enumerate(self.sensitive):
            counted = placed.group_by(["block", f"s{j}"]).aggregate(records=placed.count())
            with quiet(self.table.source.name):
                rows = self.table.engine.fetch(counted.order_by(["block", f"s{j}"]))
            numbers, offsets = _starts(rows["block"].to_numpy())
            codes, counts = rows[f"s{j}"].to_numpy().astype(np.int32), rows["records"].to_numpy().astype(np.int64)
            found[attribute.name] = ClassHistogram(attribute=attribute, offsets=offsets, codes=codes, counts=counts)
            sizes = np.add.reduceat(counts, offsets[:-1])
        return numbers, Classes(sizes=sizes, sensitive=found)

    def cluster(
        self,
        axes: Sequence[Coordinate],
        block: Block,
        function: Task,
        columns: Mapping[str, str],
        keys: Sequence[str],
    ) -> ClusteredBlocks:
        """Let the executors put the records of each block into classes, and say what is released for each.

        Parameters
        ----------
        function
            Gets ``block``, :data:`ROW`, ``v0``, ``v1``, ... and ``s0``, ``s1``, ... of the records of one block,
            ascending by their numbers; gives ``block``, ``record``, the columns below, ``error``, a number to add up,
            and ``s0``, ``s1``, ... and ``who`` as they were.
        columns
            What is made of every record, and what Spark calls the types of these columns. ``cluster``, where it is one
            of them, is a number that no other block gives: that of the block times 2^32, and those from 0 on.
        keys
            The columns that tell classes apart.
        """
        more = "".join(f", s{j} int" for j in range(len(self.sensitive))) + (", who string" if self.persons else "")
        rows = self._apply(self._placed(axes, block), "block", function, _released_types(columns) + more)
        return ClusteredBlocks(blocks=self, rows=rows, keys=tuple(keys))

    def draft(self, axes: Sequence[Coordinate], block: Block, function: Task) -> DraftedBlocks:
        """Let the executors cluster the records of each block, to be repaired afterwards.

        ``function`` gets what that of `cluster` gets; it gives the same columns and ``cluster``, a number that no other
        block gives, ``width``, the squared error of the cluster, and ``q0``, ``q1``, ..., the place of its middle.
        """
        numbers = [f"v{i} double" for i in range(len(self.names))]
        places = [f"q{i} double" for i in range(len(axes))]
        types = ["block int", f"{ROW} bigint", *numbers, "cluster bigint", "width double", *places]
        rows = self._apply(self._placed(axes, block), "block", function, ", ".join(types))
        return DraftedBlocks(blocks=self, rows=rows, axes=len(axes))

    def _apply(self, records: ir.Table, group: str, function: Task, types: str) -> ir.Table:
        engine = self.table.engine
        assert isinstance(engine, SparkEngine)  # noqa: S101 - in_blocks asks
        with quiet(self.table.source.name):
            return engine.by_group(records, group, ROW, function, types)

    def _coordinates(self, axes: Sequence[Coordinate]) -> list[Any]:
        found: list[Any] = []
        for axis in axes:
            column = self.numbers[f"v{axis.column}"]
            value = column.isnull().cast("float64") if axis.missing else column.fill_null(axis.centre)
            found.append((value - axis.centre) * axis.scale)
        whose = builtin("xxhash64", ("string",), "int64")(self.numbers["who"]) if self.persons else self.numbers[ROW]
        return [*found, _hashed(whose, 1)]

    def _placed(self, axes: Sequence[Coordinate], block: Block) -> ir.Table:
        coordinates = self._coordinates(axes)
        return self.numbers.mutate(block=_block_of(coordinates, block).cast("int32"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DraftedBlocks:
    """Clusters that the executors made block by block, to be repaired across the borders of blocks."""

    blocks: Blocks
    rows: ir.Table
    axes: int

    def widest(self, number: int) -> tuple[Points, npt.NDArray[np.int64]]:
        """Return the widths of some clusters, greatest first, and how many records each has."""
        import ibis

        clusters = self.rows.group_by("cluster").aggregate(width=self.rows["width"].max(), records=self.rows.count())
        asked = clusters.order_by([ibis.desc("width"), "cluster"]).limit(number)
        with quiet(self.blocks.table.source.name):
            rows = self.blocks.table.engine.fetch(asked)
        return rows["width"].to_numpy(), rows["records"].to_numpy().astype(np.int64)

    def repaired(
        self, block: Block, width: float, function: Task, columns: Mapping[str, str], keys: Sequence[str]
    ) -> ClusteredBlocks:
        """Gather whole clusters into other blocks, and let the executors finish each.

        Clusters wider than ``width`` come together, whatever their place; others by the places of their middles.
        ``function`` gets the columns of `draft`, and gives those that `Blocks.cluster` asks for; ``cluster`` is that of
        the draft.
        """
        coordinates = [*(self.rows[f"q{i}"] for i in range(self.axes)), _hashed(self.rows["cluster"], 1)]
        place = (self.rows["width"] > width).ifelse(-1, _block_of(coordinates, block))
        gathered = self.rows.mutate(gathered=place.cast("int32"))
        made = self.blocks._apply(gathered, "gathered", function, _released_types(columns))
        return ClusteredBlocks(blocks=self.blocks, rows=made, keys=tuple(keys))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClusteredBlocks:
    """What the executors made of the blocks: what is released of every record, stored where it was made."""

    blocks: Blocks
    rows: ir.Table
    #: The columns that tell classes apart.
    keys: tuple[str, ...]

    def summary(self) -> tuple[int, int, float]:
        """Return how many blocks there were, the records of the largest, and the sum of the errors."""
        sizes = self.rows.group_by("block").aggregate(records=self.rows.count(), error=self.rows["error"].sum())
        asked = sizes.aggregate(blocks=sizes.count(), largest=sizes["records"].max(), error=sizes["error"].sum())
        with quiet(self.blocks.table.source.name):
            (row,) = self.blocks.table.engine.fetch(asked).to_pylist()
        return int(row["blocks"]), int(row["largest"]), float(row["error"])

    def class_sizes(self) -> tuple[Counts, Counts]:
        """Return the different sizes of the released classes, and how many classes have each."""
        return class_sizes(replace(self.blocks.table, expression=self.rows), list(self.keys))

    def crowds(self) -> CrowdCounts:
        """Return how many persons the released classes have, and what the records of a person tell."""
        return crowds(replace(self.blocks.table, expression=self.rows), self.keys, "who")

    def histograms(self) -> dict[str, tuple[Classes, Counts]]:
        """Return, for every sensitive attribute, the classes that differ in its values, and how many are alike.

        Executors gather the values of every class; what a class is released as stays with them.
        """
        found = {}
        for j, attribute in enumerate(self.blocks.sensitive):
            counted = self.rows.group_by([*self.keys, f"s{j}"]).aggregate(records=self.rows.count())
            most = int(self.blocks.totals[j].sum()) + 1
            pairs = counted.mutate(pair=counted[f"s{j}"].cast("int64") * most + counted["records"])
            with quiet(self.blocks.table.source.name):
                times, lists = kinds(self.blocks.table, gathered(pairs, list(self.keys), "pair"))
            flat = lists.flatten().to_numpy()
            offsets = np.append(0, np.cumsum(lists.value_lengths().to_numpy())).astype(np.int64)
            codes, counts = (flat // most).astype(np.int32), (flat % most).astype(np.int64)
            values = ClassHistogram(attribute=attribute, offsets=offsets, codes=codes, counts=counts)
            sizes = np.add.reduceat(counts, offsets[:-1])
            found[attribute.name] = Classes(sizes=sizes, sensitive={attribute.name: values}), times
        return found

    def released(self, names: Sequence[str], *, key: bytes | None) -> Table:
        """Return the released table: columns of the blocks replaced by ``new0``, ``new1``, ..., others as they are,
        ordered by all of them.
        """
        rows, relabelled = self._relabelled(self.rows)
        replaced = relabelled | {name: f"new{i}" for i, name in enumerate(self.blocks.names)}
        return _release_joined(self.blocks.table, rows, names, replaced, key=key)

    def _relabelled(self, rows: ir.Table) -> tuple[ir.Table, dict[str, str]]:
        """Return rows with the labels of attributes that are released by them, and what these columns are called."""
        found: dict[str, str] = {}
        for attribute in self.blocks.relabelled:
            code, place = rows[self.blocks._secret(attribute.name)], f"label{len(found)}"
            label = self.blocks.table.engine.labelled(code, pa.array(attribute.labels, pa.string()))
            rows, found[attribute.name] = rows.mutate(**{place: label}), place
        return rows, found

    def exchanged(self, names: Sequence[str], moved: Sequence[str], *, key: bytes | None) -> Table:
        """Return the released table: ``moved`` columns come, together, from the record that is called ``other``."""
        table = self.blocks.table
        with quiet(table.source.name):
            labelled, replaced = self._relabelled(self.rows)
            stay = {name: f"moved{i}" for i, name in enumerate(moved) if name not in replaced}
            theirs = {place: table.expression[name] for name, place in stay.items()}
            given = table.engine.apart(table.expression.select(giver=table.expression[ROW], **theirs))
            rows = self.rows.inner_join(given, [self.rows["other"] == given["giver"]])
            if replaced:
                labels = labelled.select(
                    labelled=labelled["record"], **{each: labelled[each] for each in replaced.values()}
                )
                labels = table.engine.apart(labels)
                rows = rows.inner_join(labels, [rows["other"] == labels["labelled"]])
        return _release_joined(table, rows, names, stay | replaced, key=key)

    def with_classes(self, parts: Sequence[Sequence[str]], link: str, *, key: bytes | None) -> list[Table]:
        """Return tables of some columns each, and first in each the class of every record, numbered from 1 on."""
        table = self.blocks.table
        with quiet(table.source.name):
            counts = self.rows.group_by("block").aggregate(classes=self.rows["cluster"].nunique())
            found = table.engine.fetch(counts.order_by("block"))
            ends = np.cumsum(found["classes"].to_numpy())
            first = pa.table({"of": found["block"], "before": pa.array(np.append(0, ends[:-1]).astype(np.int64))})
            known = table.engine.stage(first)
            joined = self.rows.inner_join(known, [self.rows["block"] == known["of"]])
            number = joined["cluster"] - joined["block"].cast("int64") * 2**32 + joined["before"] + 1
            rows, replaced = self._relabelled(joined.mutate(number=number))
            replaced[link] = "number"
        return [_release_joined(table, rows, (link, *names), replaced, key=key) for names in parts]


def in_blocks(
    table: Table, names: Sequence[str], sensitive: Sequence[str] = (), person: str | None = None
) -> Blocks | None:
    """Return the records as numbers to divide into blocks, with the codes of ``sensitive`` columns, and with whose they
    are by the column ``person``; None where that cannot be done.

    It takes a table on Spark, with a schema, of whose columns ``names`` all are categories, numbers, days, or texts
    with a declared order. Records are stored on the executors with numbers on them, as :func:`numbered` does.

    Raises
    ------
    HierarchyError
        If values are not in the hierarchy of their column; the message counts them.
    """
    schema = table.schema
    if schema is None or not isinstance(table.engine, SparkEngine):
        return None
    categories = [name for name in names if schema[name].kind is Kind.CATEGORICAL]
    if any(_as_number(table, schema, name) is None for name in names if name not in categories):
        return None
    table = numbered(table)
    numbers = {
        f"v{i}": key(table.expression[name]) if name in categories else _as_number(table, schema, name)
        for i, name in enumerate(names)
    }
    secret = {f"s{j}": key(table.expression[name]) for j, name in enumerate(sensitive)}
    whose = {} if person is None else {"who": key(table.expression[person]).cast("string")}
    chosen = table.expression.select(**{ROW: table.expression[ROW]}, **numbers, **secret, **whose)
    leaves = _leaves(table, schema, categories)
    secrets = [_values(table, schema, name) for name in sensitive]
    looked = {f"v{names.index(name)}": known for name, (known, _) in leaves.items()}
    looked |= {f"s{j}": known for j, (known, _, _) in enumerate(secrets)}
    with quiet(table.source.name):
        for column, known in looked.items():
            joined = look_up(table, chosen, column, known)
            chosen = joined.drop(column, "value").rename(**{column: "leaf"})
        # every later step reads the leaves, and need not look them up again
        stored = table.engine.keep(chosen) if looked else chosen
    return Blocks(
        table=table,
        names=tuple(names),
        numbers=stored,
        leaves={name: found for name, (_, found) in leaves.items()},
        sensitive=tuple(attribute for _, attribute, _ in secrets),
        totals=tuple(counts for _, _, counts in secrets),
        persons=person is not None,
    )


def sampled(table: Table, most: int) -> Table:
    """Return about so many records of a table on Spark, chosen by a hash of their numbers; other tables as they are."""
    records = table.count() if isinstance(table.engine, SparkEngine) else 0
    if records <= most:
        return table
    table = numbered(table)
    with quiet(table.source.name):
        return replace(table, expression=table.expression.filter(_hashed(table.expression[ROW], 0) < most / records))


def _values(table: Table, schema: Schema, name: str) -> tuple[pa.Table, SensitiveAttribute, Counts]:
    """Return the distinct values of a sensitive column with the code of each, and how many records every code has."""
    columns, _ = distinct_tuples(table, (name,))
    (attribute,), ((codes, size),) = sensitive_codes(schema, columns)
    own = by_value(columns[0], codes)
    counts = np.bincount(own, weights=columns[0].counts, minlength=size).astype(np.int64)
    return pa.table({"value": columns[0].values, "leaf": own}), attribute, counts


def _starts(numbers: npt.NDArray[np.integer]) -> tuple[list[int], Counts]:
    """Return the different numbers of an ascending array, and where each starts, with its end."""
    found, starts = np.unique(numbers, return_index=True)
    return found.tolist(), np.append(starts, len(numbers)).astype(np.int64)


def _leaves(table: Table, schema: Schema, names: Sequence[str]) -> dict[str, tuple[pa.Table, ColumnLeaves]]:
    """Return the distinct values of columns with the leaf of each, and how many records every leaf has."""
    columns = [column for name in names for column in distinct_tuples(table, (name,))[0]]
    found: dict[str, tuple[pa.Table, ColumnLeaves]] = {}
    for column, hierarchy in zip(columns, column_hierarchies(schema, columns), strict=True):
        codes = leaf_codes(hierarchy, column.values)
        counts = np.bincount(codes, weights=column.counts, minlength=hierarchy.size).astype(np.int64)
        known = pa.table({"value": column.values, "leaf": codes.astype(np.float64)})
        found[column.name] = known, ColumnLeaves(hierarchy=hierarchy, counts=counts)
    return found


def _released_types(columns: Mapping[str, str]) -> str:
    made = "".join(f"{name} {kind}, " for name, kind in columns.items())
    return f"block int, record bigint, {made}error double"


# -- expressions


def _as_number(table: Table, schema: Schema, name: str) -> Any:
    import ibis

    attribute = schema[name]
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        return _number(table, name)
    column = table.expression[name]
    declared = attribute.domain.values if attribute.domain is not None else None
    if attribute.kind is not Kind.ORDINAL or declared is None or not column.type().is_string():
        return None
    # whole numbers: Spark takes 1.0 for a decimal
    return ibis.cases(*((column == value, rank) for rank, value in enumerate(declared))).cast("float64")


def _number(table: Table, name: str) -> Any:
    import ibis

    column = table.expression[name]
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int8").cast("float64")
    if kind.is_numeric():
        return column.cast("float64")
    if kind.is_timestamp():
        column, kind = column.date(), column.date().type()
    if kind.is_date():
        return column.delta(ibis.date("1970-01-01"), unit="day").cast("float64")
    return None


def _hashed(numbers: ir.IntegerValue, seed: int) -> Any:
    """Return a number in [0, 1) that looks random and depends on nothing but a whole number; seeds give others."""
    mixed = builtin("xxhash64", ("int64", "int64"), "int64")(numbers, seed)
    return (mixed & (int(TIES) - 1)).cast("float64") / TIES


def _block_of(coordinates: Sequence[Any], block: Block) -> Any:
    import ibis

    if isinstance(block, int):
        return ibis.literal(block, type="int32")
    below, above = (_block_of(coordinates, part) for part in (block.below, block.above))
    return (coordinates[block.axis] < block.border).ifelse(below, above)


def _release_joined(
    table: Table, rows: ir.Table, names: Sequence[str], replaced: Mapping[str, str], *, key: bytes | None = None
) -> Table:
    """As :func:`~shoal.tables.release_records`, for new values that lie beside the table.

    ``rows`` has the number of every record as ``record``; ``replaced`` says which of its columns stands for a column.
    """
    check_identifiers(table, names, key)
    with quiet(table.source.name):
        records = pseudonyms(table, table.expression, list(names), key)
        # new names, so that no column of the table can be taken for one of the new values
        kept = {f"old{i}": records[name] for i, name in enumerate(names) if name not in replaced}
        old = records.select(old_record=records[ROW], **kept)
        new = rows.select(
            new_record=rows["record"],
            **{f"new{i}": rows[replaced[name]] for i, name in enumerate(names) if name in replaced},
        )
        joined = old.inner_join(new, [old["old_record"] == new["new_record"]])
        chosen = {name: joined[f"new{i}" if name in replaced else f"old{i}"] for i, name in enumerate(names)}
        return replace(table, expression=sorted_by_values(joined.select(**chosen)), schema=None, left_out=0)
