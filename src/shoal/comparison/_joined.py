"""A release in two tables that a class links, as the records that an analyst or an intruder makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.methods.base import Part
from shoal.risk import UNIT, Pair
from shoal.tables import Table

__all__ = ["JoinedRecords", "joined"]

#: rows that a joined table has at most, but for a few values of everybody: joining a class of 1,000 gives a million
_ROWS = 400_000
_FEWEST = 8
_LIKELY, _STANDS_FOR = "shoal: probability", "shoal: stands for"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedRecords:
    """Released records in memory.

    Parameters
    ----------
    table
        The records; of two tables, every person with values of the class, and two columns: how likely it is, and
        how many values of the class it stands for.
    separated
        Whether they were in two tables.
    """

    table: Table
    separated: bool = False

    def pairs(self, original: Pair) -> tuple[Pair, Pair]:
        """Return the table with this release: as candidates for an intruder, and as shares for an analyst."""
        if not self.separated:
            pair = original.with_release(self.table)
            return pair, pair
        several = original.with_release(self.table, weights=_STANDS_FOR)
        counts = np.maximum(np.rint(several.released.counts / UNIT), 1).astype(np.int64)
        candidates = replace(several, released=replace(several.released, counts=counts))
        return candidates, original.with_release(self.table, weights=_LIKELY)


def joined(identifying: Part, confidential: Part, *, rows: int = _ROWS, seed: int = 0) -> JoinedRecords:
    """Join two tables by their class: every person with every value of the class, or with some where that is too much.

    Where a class has more values than there is room for, a person gets every so many-th of the values in order, from a
    random start: the share of each value of the first confidential column stays as it is in the class, to one in the
    number taken.
    Cost: O(people * values taken).
    """
    people, values = identifying.table.to_arrow(), confidential.table.to_arrow()
    link = identifying.class_column or ""
    columns = [name for name in values.column_names if name != link]
    values = values.sort_by([(link, "ascending"), *((name, "ascending") for name in columns[:1])])
    people = people.sort_by(link)
    classes, starts, sizes = np.unique(values[link].to_numpy(), return_index=True, return_counts=True)
    of = np.searchsorted(classes, people[link].to_numpy())
    taken = np.minimum(sizes[of], max(_FEWEST, rows // max(people.num_rows, 1)))
    person = np.repeat(np.arange(people.num_rows), taken)
    place = np.arange(len(person)) - np.repeat(np.cumsum(taken) - taken, taken)
    shift = np.random.default_rng(seed).random(people.num_rows)[person]
    size, number = sizes[of][person], taken[person]
    chosen = starts[of][person] + np.minimum((place + shift) * size / number, size - 1).astype(np.int64)
    table = people.drop_columns([link]).take(pa.array(person))
    for name in columns:
        table = table.append_column(name, values[name].take(pa.array(chosen)))
    table = table.append_column(_LIKELY, pa.array(1 / number)).append_column(_STANDS_FOR, pa.array(size / number))
    return JoinedRecords(table=tables.read(table), separated=True)
