"""Whose records the tuples of a table on Spark hold: persons with the same records are counted together, over there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError
from shoal.kernels import Codes, Counts, Mask
from shoal.tables._apply import all_looked_up
from shoal.tables._columns import Packing, TupleColumn
from shoal.tables._engine import key, quiet
from shoal.tables._holders import Holders
from shoal.tables._spark import SparkEngine
from shoal.tables._table import Table

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TupleFinder:
    """The distinct tuples of a table, and how to find that of a record."""

    columns: Sequence[TupleColumn]
    #: The code of every distinct value of each column, and how many codes there are.
    codes: Sequence[Codes]
    sizes: Sequence[int]
    #: The codes of every tuple, one row for each, and its records.
    rows: Codes
    counts: Counts

    def numbered(self, table: Table) -> ir.Table:
        """Return the records with the number of their tuple, ``place``."""
        packing = Packing.of(self.sizes)
        known: dict[str, dict[str, Any]] = {
            column.name: {f"value{i}": column.values, f"part{i}": pa.array(packing.part(i, codes))}
            for i, (column, codes) in enumerate(zip(self.columns, self.codes, strict=True))
        }
        words = packing.pack([self.rows[:, i] for i in range(len(self.sizes))])
        staged = table.engine.stage(
            pa.table({"place": np.arange(len(self.rows)), **{f"tuple{i}": word for i, word in enumerate(words)}})
        )
        records = all_looked_up(table, known)
        parts: list[list[Any]] = [[] for _ in words]
        for i, word in enumerate(packing.words):
            parts[word].append(records[f"part{i}"])
        same = [sum(own[1:], start=own[0]) == staged[f"tuple{i}"] for i, own in enumerate(parts)]
        return records.inner_join(staged, same)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """The different profiles of persons: which tuples somebody has records of, and how many of each.

    A pair of tuple and number is one whole number, and a profile the pairs in ascending order.
    """

    holders: Holders
    #: The persons (``whose``) with their profiles (``pairs``), on the engine.
    persons: ir.Table = field(repr=False)
    #: The profile of every person of ``holders``.
    pairs: pa.Array = field(repr=False)
    column: str

    def only(self, table: Table, kept: Mask) -> Table:
        """Return the records of the persons who have some of the profiles; who they are, the executors find out."""
        with quiet(table.source.name):
            staged = table.engine.stage(pa.table({"kept": self.pairs.filter(pa.array(kept))}))
            chosen = self.persons.semi_join(staged, self.persons["pairs"] == staged["kept"])
            records = table.expression
            return replace(table, expression=records.semi_join(chosen, key(records[self.column]) == chosen["whose"]))


def profiled(table: Table, tuples: TupleFinder, column: str, home: str | None = None) -> Profiles:
    """Let the executors find the different profiles of the values of a column, and how many values have each.

    With ``home``, the households are counted together whose members have the same profiles.

    Raises
    ------
    DataError
        If the table holds other records than those whose tuples were counted.
    """
    assert isinstance(table.engine, SparkEngine)  # noqa: S101 - others hand over the pairs
    with quiet(table.source.name):
        persons = _persons(table, tuples, column, home)
        unit = persons if home is None else gathered(persons, ["home"], "pairs")
        times, lists = kinds(table, unit)
    homes: Counts | None = None
    if home is not None:
        homes = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        times, lists = times[homes], lists.flatten()
    pairs = lists.flatten().to_numpy().astype(np.int64)
    number = max(len(tuples.rows), 1)
    held = Holders.of(pairs % number, pc.list_parent_indices(lists).to_numpy(), pairs // number, len(lists))
    holders = replace(held, homes=homes, times=times)
    if int(holders.records.sum()) != int(tuples.counts.sum()):
        raise DataError(f"{table.source.name} changed while it was read.")
    return Profiles(holders=holders, persons=persons, pairs=lists, column=column)


def _persons(table: Table, tuples: TupleFinder, column: str, home: str | None) -> ir.Table:
    records = tuples.numbered(table)
    names = {"whose": column} if home is None else {"home": home, "whose": column}
    rows = records.select(**{name: key(records[each]) for name, each in names.items()}, place=records["place"])
    counted = rows.group_by([*names, "place"]).aggregate(records=rows.count())
    pair = counted["records"] * len(tuples.rows) + counted["place"]
    return gathered(counted.mutate(pair=pair), [*names], "pair")


def gathered(rows: ir.Table, by: Sequence[str], name: str) -> ir.Table:
    """Return the values of a column that belong together, in ascending order, as ``pairs``."""
    found = rows.group_by([*by]).aggregate(pairs=rows[name].collect())
    return found.mutate(pairs=found["pairs"].sort())


def kinds(table: Table, rows: ir.Table) -> tuple[Counts, pa.Array]:
    """Return how many rows have the same ``pairs``, and these, from the engine of a table."""
    found = table.engine.fetch(rows.group_by("pairs").aggregate(times=rows.count()))
    lists = found["pairs"].combine_chunks()
    lists = lists if isinstance(lists, pa.Array) else pa.concat_arrays(lists.chunks)
    return found["times"].to_numpy().astype(np.int64), lists
