"""Rank swapping: values of a column change places with values of near ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import ParameterError
from shoal.kernels import Integers
from shoal.masking._step import Columns, MaskingStep, column_of, numbers_of
from shoal.mechanisms import RandomSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwap(MaskingStep):
    """Let every value of a numeric column change places with one at most a share of all ranks away (Moore 1996).

    Every value stays in the column, so its distribution does not change. Nothing is promised: who knows how far values
    move looks only at that window of ranks (Nin, Herranz and Torra 2008), and columns that are swapped apart narrow it
    together.

    Parameters
    ----------
    column
        The column; missing values stay where they are.
    share
        How far a value may move, as a share of all its ranks, in (0, 1]: a fraction, no percentage.

    Examples
    --------
    >>> RankSwap(column="income", share=0.05).columns
    ('income',)
    """

    name: ClassVar[str] = "rank-swap"
    column: str
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ParameterError(f"`share` of `RankSwap` must be in (0, 1]; got {self.share}.")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def detail(self, table: Columns) -> dict[str, object]:
        """Return how many ranks a value moves at most."""
        present = int((~np.isnan(numbers_of(table, self.column))).sum())
        return {"ranks": max(1, int(self.share * present)) if present else 0}

    def describe(self) -> str:
        """Say what the step does."""
        return f"Rank swapping of `{self.column}`: values moved at most {self.share:g} of all ranks."

    def promise(self, detail: Mapping[str, object]) -> str:
        """Say that nothing is promised, and how far a value moves at most."""
        return (
            f"Nothing is promised of `{self.column}`: the value that a record had is within {detail['ranks']:,} ranks "
            "of the one that it has now."
        )

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that the ranks are not those of as many values, if they are not."""
        return None if self.detail(table) == detail else f"`{self.column}` has more or fewer values than its ranks say"

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str, str]:
        """Return the changed column, what was done in one sentence, and what is promised."""
        numbers = numbers_of(table, self.column)
        present = np.flatnonzero(~np.isnan(numbers))
        drawn = source.uint64(2 * len(present))
        order = present[np.lexsort((drawn[: len(present)], numbers[present]))]
        detail = self.detail(table)
        most = int(str(detail["ranks"]))
        partner = swapped_ranks(len(present), most, drawn[len(present) :])
        rows = np.arange(len(numbers))
        rows[order] = order[partner]
        moved = float(np.abs(partner - np.arange(len(partner))).mean() / max(len(partner), 1)) if len(partner) else 0.0
        changed = column_of(table, self.column).take(pa.array(rows))
        said = (
            f"Rank swapping of `{self.column}`: values changed places with ones at most {most:,} ranks away, "
            f"{moved:.3g} of all ranks on average."
        )
        return {self.column: changed}, said, self.promise(detail)


def swapped_ranks(number: int, most: int, drawn: np.ndarray) -> Integers:
    """Return the rank that every rank changes places with: the lowest that is free with a free one near above it."""
    partner = np.arange(number)
    free = np.ones(number, dtype=np.bool_)
    for rank in range(number):
        if not free[rank]:
            continue
        near = np.flatnonzero(free[rank + 1 : rank + 1 + most]) + rank + 1
        if len(near):
            other = int(near[int(drawn[rank]) % len(near)])
            partner[rank], partner[other] = other, rank
            free[other] = False
        free[rank] = False
    return partner
