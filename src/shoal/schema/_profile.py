"""What a column looks like, in numbers that name no person: what a schema is drafted from."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from shoal.errors import ParameterError, Problems

__all__ = ["ColumnProfile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """Statistics of one column, computed where the data lives.

    Parameters
    ----------
    name
        The column's name.
    type
        What the engine holds: ``text``, ``integer``, ``number`` (floating point and decimals), ``boolean``,
        ``date``, ``timestamp`` or ``other``.
    records
        The number of records, missing ones included.
    missing
        The number of records without a value.
    distinct
        The number of distinct values, the missing one not counted.
    separation
        The share of pairs of records that the column tells apart: ``1 - sum c (c - 1) / (n (n - 1))`` over the
        numbers c of records per value, the missing value counted as one value; 0 for fewer than two records.
    integers, numbers, dates
        The shares of the *distinct* values of a text column, in [0, 1], that read as a whole number, as a number, as
        an ISO day (``2024-12-31``). 1 where the type says so, 0 where it rules it out.
    leading_zeros
        The share of the distinct values of a text column that are digits only and start with a zero, as codes do.
    minimum, maximum
        The smallest and largest value of a column of numbers or days (also of a text column where all values read
        as such), or None. They are used to choose interval widths and are never written into a schema.
    lengths
        The most common lengths, in characters, of the distinct values' texts, most common first, each with its
        share; at most three.
    longest
        The greatest length; 0 where it was not computed.
    """

    name: str
    type: str
    records: int
    missing: int
    distinct: int
    separation: float
    integers: float = 0.0
    numbers: float = 0.0
    dates: float = 0.0
    leading_zeros: float = 0.0
    # kept out of the repr: they are values of the data
    minimum: int | float | dt.date | None = field(default=None, repr=False)
    maximum: int | float | dt.date | None = field(default=None, repr=False)
    lengths: tuple[tuple[int, float], ...] = ()
    longest: int = 0

    def __post_init__(self) -> None:
        problems = Problems()
        if self.type not in TYPES:
            problems.add(f"`type` of `ColumnProfile` must be one of {', '.join(TYPES)}; got {self.type!r}")
        if not 0 <= self.missing <= self.records or not 0 <= self.distinct <= self.records - self.missing:
            problems.add("`missing` and `distinct` of `ColumnProfile` must be counts within `records`")
        for share in ("separation", "integers", "numbers", "dates", "leading_zeros"):
            if not 0 <= getattr(self, share) <= 1:
                problems.add(f"`{share}` of `ColumnProfile` must be in [0, 1]")
        problems.raise_as(ParameterError)

    @property
    def distinction(self) -> float:
        """The number of distinct values per record, in [0, 1]."""
        return self.distinct / self.records if self.records else 0.0


TYPES = ("text", "integer", "number", "boolean", "date", "timestamp", "other")
