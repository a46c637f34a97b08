"""A demonstration: publishing records unchanged, k times each, is k-anonymous."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import ParameterError
from shoal.risk._boxes import Boxes
from shoal.risk._pair import Pair
from shoal.tables import Table

__all__ = ["Duplication", "k_duplicated", "k_duplication"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplication:
    """What k-duplication gives away although it keeps the letter of k-anonymity on *all* columns.

    Parameters
    ----------
    k
        What the release keeps: its smallest class on all columns.
    records, released
        Records of the table and of the release.
    unchanged
        People whose whole record is in the release as it is.
    reidentified
        Those of them whom nobody else resembles: the k equal records can only be theirs.
    """

    k: int
    records: int
    released: int
    unchanged: int
    reidentified: int

    @property
    def statement(self) -> str:
        """Say it in a sentence."""
        return (
            f"The release is {self.k}-anonymous on all columns, and {self.reidentified:,} of {self.records:,} people "
            f"are in it with their whole record, recognisable by anybody who knows them."
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
    _, labels = both.grouped(range(len(pair.axes)))
    before, after = labels[: len(pair.original)], labels[len(pair.original) :]
    owners = pair.original.counts[np.argsort(before)][after]
    return Duplication(
        k=int(pair.released.counts.min(initial=pair.released.records)),
        records=pair.original.records,
        released=pair.released.records,
        unchanged=int(owners.sum()),
        reidentified=int(np.count_nonzero(owners == 1)),
    )
