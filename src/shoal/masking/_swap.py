"""Swapping: values change places with values of near ranks, households with alike ones elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError, quoted
from shoal.kernels import Codes, Counts, Floats, Integers
from shoal.masking._step import Columns, ColumnStep, MaskingStep, generator, numbers_of, plain_text
from shoal.mechanisms import RandomSource
from shoal.tables import group


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwap(ColumnStep):
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
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ParameterError(f"`share` of `RankSwap` must be in (0, 1]; got {self.share}.")

    def detail(self, table: Columns) -> dict[str, object]:
        """Return how many ranks a value moves at most."""
        present = int((~np.isnan(numbers_of(table, self.column))).sum())
        return {"ranks": max(1, int(self.share * present)) if present else 0}

    def describe(self) -> str:
        return f"Rank swapping of `{self.column}`: values moved at most {self.share:g} of all ranks."

    def promise(self, detail: Mapping[str, object]) -> str:
        """Say that nothing is promised, and how far a value moves at most."""
        return (
            f"Nothing is promised about `{self.column}`: the value that a record had is within {detail['ranks']:,} "
            "ranks of the one that it has now."
        )

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that the ranks are not those of as many values, if they are not."""
        return None if self.detail(table) == detail else f"`{self.column}` has more or fewer values than its ranks say"

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        numbers = numbers_of(table, self.column)
        present = np.flatnonzero(~np.isnan(numbers))
        drawn = source.uint64(2 * len(present))
        order = present[np.lexsort((drawn[: len(present)], numbers[present]))]
        most = int(str(self.detail(table)["ranks"]))
        partner = swapped_ranks(len(present), most, drawn[len(present) :])
        rows = np.arange(len(numbers))
        rows[order] = order[partner]
        moved = float(np.abs(partner - np.arange(len(partner))).mean() / max(len(partner), 1)) if len(partner) else 0.0
        changed = table[self.column].take(pa.array(rows))
        said = (
            f"Rank swapping of `{self.column}`: values changed places with values at most {most:,} ranks away, "
            f"{moved:.3g} of all ranks on average."
        )
        return {self.column: changed}, said


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSwap(MaskingStep):
    """Exchange the geography of whole households, those at risk first, as census offices do.

    A household is at risk at a level of the geography if a member shares the values of ``risk`` with fewer than ``k``
    persons of the same area. It must change places, at the first such level, with a household of another area that
    agrees on ``similar``. Further households change places, those at greater risk first, until ``rate`` of all did.

    Nothing is promised. Which households were swapped stays secret, but census swapping has been undone in part
    (arXiv 2312.11283), and households without a partner stay where they are.

    Parameters
    ----------
    household
        The column that says which records are of one household.
    geography
        The columns that change places, from the coarsest to the finest.
    risk
        What an intruder may know of a person.
    similar
        What households that change places have in common, such as their size; all members are compared.
    k, rate
        Counts below k are a risk; the share of households that change places at least, in [0, 1].

    Examples
    --------
    >>> RecordSwap(household="h", geography=("region",), risk=("age",), similar=("size",)).columns
    ('region',)
    """

    name: ClassVar[str] = "record-swap"
    household: str
    geography: tuple[str, ...]
    risk: tuple[str, ...]
    similar: tuple[str, ...]
    k: int = 3
    rate: float = 0.05

    def __post_init__(self) -> None:
        problems = []
        if not self.geography or not self.risk or not self.similar:
            problems.append("`RecordSwap` needs columns of `geography`, `risk` and `similar`.")
        if {*self.geography} & {self.household, *self.risk, *self.similar}:
            problems.append("`geography` of `RecordSwap` changes places and cannot be a column of its other parts.")
        if self.k < 1 or not 0 <= self.rate <= 1:
            problems.append(
                f"`k` of `RecordSwap` must be at least 1 and `rate` in [0, 1]; got {self.k} and {self.rate}."
            )
        if problems:
            raise ParameterError(problems)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.geography

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.household, *self.geography, *self.risk, *self.similar)

    def describe(self) -> str:
        return (
            f"Record swapping: households of `{self.household}` changed {quoted(self.geography)} with households alike "
            f"in {quoted(self.similar)}: all at risk that found one (counts of {quoted(self.risk)} below {self.k}), "
            f"and at least {self.rate:g} of all where possible."
        )

    def promise(self, detail: Mapping[str, object]) -> str:
        del detail
        return (
            "Nothing is promised about the geography: the only protection is that nobody knows which households moved."
        )

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        homes = _encode_columns(table, (self.household,))[:, 0].astype(np.int64)
        areas = _encode_columns(table, self.geography)
        first = np.unique(homes, return_index=True)[1]
        if (areas != areas[first][homes]).any():
            raise DataError(f"households of `{self.household}` have members in several areas; all must share one")
        levels, scores = self._risks(table, homes, areas)
        moved, must, lost = _exchange_geography(
            areas[first],
            _signatures(_encode_columns(table, self.similar), homes),
            levels,
            scores,
            math.ceil(self.rate * len(first)),
            generator(source),
        )
        rows = pa.array(first[moved][homes])
        changed = {name: table[name].take(rows) for name in self.geography}
        number = int((moved != np.arange(len(moved))).sum())
        alone = f" {lost:,} of those at risk found none and stayed." if lost else ""
        said = (
            f"Record swapping: {number:,} of {len(first):,} households changed {quoted(self.geography)} with a "
            f"similar household; {must:,} were at risk (counts below {self.k}).{alone}"
        )
        return changed, said

    def _risks(self, table: Columns, homes: Integers, areas: Codes) -> tuple[Integers, Floats]:
        """Return the first level at which every household is at risk (-1: none), and its risk at the finest level."""
        known = _encode_columns(table, self.risk)
        levels = np.full(int(homes.max()) + 1, -1)
        fewest: Counts = np.zeros(len(levels), dtype=np.int64)
        for level in range(len(self.geography)):
            labels = group(np.concatenate([areas[:, : level + 1], known], axis=1))[0]
            counts = np.bincount(labels)[labels]
            fewest = np.full(len(levels), len(homes))
            np.minimum.at(fewest, homes, counts)
            levels[(levels < 0) & (fewest < self.k)] = level
        return levels, 1 / fewest


def _exchange_geography(
    areas: Codes, alike: Integers, levels: Integers, scores: Floats, number: int, draw: np.random.Generator
) -> tuple[Integers, int, int]:
    """Return whose geography every household gets, how many were at risk, and how many of these found no partner."""
    moved = np.arange(len(areas))
    free = np.ones(len(areas), dtype=np.bool_)
    must = levels >= 0
    finest = areas.shape[1] - 1
    # those at risk first, at the coarsest level first; then by risk; at random among equals
    order = np.lexsort((draw.random(len(areas)), -scores, np.where(must, levels, finest + 1)))
    lost = 0
    for one in order.tolist():
        if not free[one]:
            continue
        if not must[one] and int((~free).sum()) >= number:
            break
        level = int(levels[one]) if must[one] else finest
        able = free & (alike == alike[one]) & (areas[:, : level + 1] != areas[one, : level + 1]).any(axis=1)
        others = np.flatnonzero(able)
        if not len(others):
            lost += int(must[one])
            continue
        other = int(others[draw.integers(len(others))])
        moved[one], moved[other] = other, one
        free[one] = free[other] = False
    return moved, int(must.sum()), lost


def _signatures(codes: Codes, homes: Integers) -> Integers:
    """Number households by what their members have, in any order."""
    members = group(codes)[0]
    order = np.lexsort((members, homes))
    parts = np.split(members[order], np.flatnonzero(np.diff(homes[order])) + 1)
    names: dict[tuple[int, ...], int] = {}
    return np.array([names.setdefault(tuple(part.tolist()), len(names)) for part in parts])


def _encode_columns(table: Columns, names: tuple[str, ...]) -> Codes:
    """Return columns as codes; a missing value is a value of its own."""
    codes = [
        np.unique(
            plain_text(table[name]).fill_null("").to_numpy(zero_copy_only=False).astype(str),
            return_inverse=True,
        )[1]
        for name in names
    ]
    return np.stack(codes, axis=1).astype(np.int32)
