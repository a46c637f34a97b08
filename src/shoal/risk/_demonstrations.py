"""Demonstrations: releases that keep the letter of k-anonymity and give people away all the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import ParameterError
from shoal.risk._boxes import Boxes, ColumnAxis
from shoal.risk._pair import Pair
from shoal.schema import Kind
from shoal.schema.rules import text
from shoal.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtremeValue:
    """The smallest or largest value of a column, and what a release shows of it."""

    #: The column, and ``smallest`` or ``largest``.
    column: str
    end: str
    #: The number of original records that hold it.
    people: int
    #: Whether it can be read off the release exactly: as a value, or as the end of a range that was drawn around the
    #: records of a class.
    exposed: bool
    #: The records of the release that show it.
    crowd: int

    @property
    def statement(self) -> str:
        """Say it in a sentence."""
        if not self.exposed:
            return f"The {self.end} `{self.column}` cannot be read off the release."
        whose = "one person" if self.people == 1 else f"{self.people:,} people"
        return (
            f"The {self.end} `{self.column}` appears in {self.crowd:,} released records but belongs to {whose}. "
            f"Anyone known to have it is known to be in the table, and the exact value is known."
        )


def extreme_values(pair: Pair) -> tuple[ExtremeValue, ...]:
    """Look for the extremes of ordered quasi-identifiers in a release [LQS10, section 3.2].

    Clustering with local recoding replaces the values of a class by the range from its smallest to its largest one. The
    ends of the range are then values of single people, however many records share the class: given ``[900K, 35M]`` and
    the knowledge that one person owns more than 10 million, that person is in the table, and owns 35 million. Ranges
    of a hierarchy that was declared beforehand show nothing of the kind. Cost: O(boxes).
    """
    return tuple(
        _extreme(pair, column, largest=largest)
        for column in pair.quasi_identifiers
        if pair.axes[column].places is not None
        for largest in (False, True)
    )


def _extreme(pair: Pair, column: int, *, largest: bool) -> ExtremeValue:
    axis = pair.axes[column]
    assert axis.places is not None  # noqa: S101 - asked for ordered columns only
    positions = axis.places[pair.original.low[:, column]]
    known = np.isfinite(positions)
    extreme = (positions[known].max(initial=-np.inf) if largest else positions[known].min(initial=np.inf)).item()
    low, high = pair.released.low[:, column], pair.released.high[:, column]
    end = high if largest else low
    shown = (axis.places[end] == extreme) & ((low == high) | _tight(axis, low, high))
    return ExtremeValue(
        column=axis.name,
        end="largest" if largest else "smallest",
        people=int(pair.original.counts[positions == extreme].sum()),
        exposed=bool(shown.any()),
        crowd=int(pair.released.counts[shown].sum()),
    )


def _tight(
    axis: ColumnAxis, low: np.typing.NDArray[np.int32], high: np.typing.NDArray[np.int32]
) -> np.typing.NDArray[np.bool_]:
    width = len(axis.labels) + 1
    keys = np.array([first * width + last for first, last in axis.tight], dtype=np.int64)
    return np.isin(low.astype(np.int64) * width + high, keys)


def clustered(table: Table, k: int) -> pa.Table:
    """Group k records each and release the range of every group [LQS10, section 3.2, algorithm 2]. Never publish this.

    Records are sorted by their ordered quasi-identifiers; other quasi-identifiers become ``*``. The last group takes
    what is left over.
    """
    schema = table.schema
    if schema is None or k < 1:
        raise ParameterError("`clustered` needs a table with a schema, and `k` at least 1.")
    ordered = [name for name in schema.quasi_identifiers if schema[name].kind in (Kind.NUMERIC, Kind.DATE)]
    if not ordered:
        raise ParameterError("`clustered` needs a numeric or date quasi-identifier.")
    names = [name for name in table.columns if name not in schema.identifiers]
    records = table.select(*names).to_arrow().sort_by([(name, "ascending") for name in ordered])
    group = np.minimum(np.arange(records.num_rows) // k, max(records.num_rows // k - 1, 0))
    for name in schema.quasi_identifiers:
        column = _ranges(records[name], group) if name in ordered else pa.array(["*"] * records.num_rows, pa.string())
        records = records.set_column(records.column_names.index(name), name, column)
    return records


def _ranges(column: pa.ChunkedArray, group: np.typing.NDArray[np.int64]) -> pa.Array:
    """Return the range of every group, ``[a, b]``; a group with a missing value, or with nothing, is ``*``."""
    grouped = pa.table({"group": group, "value": column.combine_chunks()}).group_by("group")
    ends = grouped.aggregate([("value", "min"), ("value", "max"), ("value", "count")])
    sizes = np.bincount(group, minlength=len(ends))
    low, high = text(ends["value_min"]).to_pylist(), text(ends["value_max"]).to_pylist()
    whole = ends["value_count"].to_numpy() == sizes[ends["group"].to_numpy()]
    labels = np.empty(len(sizes), dtype=object)
    labels[ends["group"].to_numpy()] = [
        (first if first == last else f"[{first}, {last}]") if complete else "*"
        for first, last, complete in zip(low, high, whole.tolist(), strict=True)
    ]
    return pa.array(labels[group], pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplication:
    """The information that k-duplication gives away although it meets k-anonymity on *all* columns."""

    #: What the release keeps: its smallest class on all columns.
    k: int
    #: Records of the table and of the release.
    records: int
    released: int
    #: People whose whole record is in the release as it is.
    unchanged: int
    #: Those of them whom nobody else resembles: the k equal records can only be theirs.
    reidentified: int

    @property
    def statement(self) -> str:
        """Say it in a sentence."""
        return (
            f"The release is {self.k}-anonymous on all columns, and {self.reidentified:,} of {self.records:,} people "
            f"appear in it with their whole record, recognisable to anybody who knows them."
        )


def k_duplicated(table: Table, k: int, *, seed: int = 0) -> pa.Table:
    """Release one record of every k similar ones, k times [LQS10, section 3.2, algorithm 1].

    Records are sorted by their values and cut into groups of k; one of each group is drawn. Never publish this.
    """
    if k < 1:
        raise ParameterError(f"`k` of `k_duplicated` must be at least 1; got {k}.")
    names = [name for name in table.columns if table.schema is None or name not in table.schema.identifiers]
    records = table.select(*names).to_arrow().sort_by([(name, "ascending") for name in names])
    groups = records.num_rows // k
    drawn = np.arange(groups) * k + np.random.default_rng(seed).integers(k, size=groups)
    return records.take(pa.array(np.repeat(drawn, k)))


def k_duplication(table: Table, k: int, *, seed: int = 0) -> Duplication:
    """Show what k-duplication of ``table`` gives away."""
    pair = Pair.of(table, tables.read(k_duplicated(table, k, seed=seed)))
    # the records that both hold; a released record is k copies of one that was drawn
    both = Boxes(
        low=np.concatenate([pair.original.low, pair.released.low]),
        high=np.concatenate([pair.original.low, pair.released.low]),
        counts=np.concatenate([pair.original.counts, np.zeros(len(pair.released), dtype=np.int64)]),
    )
    _, labels = both.group_by_columns(range(len(pair.axes)))
    before, after = labels[: len(pair.original)], labels[len(pair.original) :]
    owners = pair.original.counts[np.argsort(before)][after]
    return Duplication(
        k=int(pair.released.counts.min(initial=pair.released.records)),
        records=pair.original.records,
        released=pair.released.records,
        unchanged=int(owners.sum()),
        reidentified=int(np.count_nonzero(owners == 1)),
    )
