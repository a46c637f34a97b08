"""Statistics of a column, from which its role, kind and hierarchy are guessed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shoal.errors import ParameterError, Problems
from shoal.schema._reading import Reading

T = TypeVar("T")

PLAIN = Reading()
# of the distinct values, where a few records hold unreadable ones
_MOST = 0.8
TYPES = ("text", "integer", "number", "boolean", "date", "timestamp", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """Statistics of one column, computed where the data lives."""

    #: The column's name.
    name: str
    #: What the engine holds: ``text``, ``integer``, ``number`` (floating point and decimals), ``boolean``, ``date``,
    #: ``timestamp`` or ``other``.
    type: str
    #: The number of records, missing ones included.
    records: int
    #: The number of records without a value.
    missing: int
    #: The number of distinct values, the missing one not counted.
    distinct: int
    #: The share of pairs of records that the column tells apart: ``1 - sum c (c - 1) / (n (n - 1))`` over the numbers c
    #: of records per value, the missing value counted as one value; 0 for fewer than two records.
    separation: float
    #: The shares of the *distinct* values of a text column, in [0, 1], that read as a whole number, as a number, as an
    #: ISO day (``2024-12-31``). 1 where the type says so, 0 where it rules it out.
    integers: float = 0.0
    numbers: float = 0.0
    dates: float = 0.0
    #: The share of the distinct values of a text column that are digits only and start with a zero, as codes do.
    leading_zeros: float = 0.0
    #: The smallest and largest value of a column of numbers or days (also of a text column where all values read as
    #: such), or None. They are used to choose interval widths and are never written into a schema. Kept out of the
    #: repr: they are values of the data.
    minimum: int | float | dt.date | None = field(default=None, repr=False)
    maximum: int | float | dt.date | None = field(default=None, repr=False)
    #: The most common lengths, in characters, of the distinct values' texts, most common first, each with its share; at
    #: most three.
    lengths: tuple[tuple[int, float], ...] = ()
    #: The greatest length; 0 where it was not computed.
    longest: int = 0
    #: The number of records that are alone with their value.
    singles: int = 0
    #: How the values are written, and what a person should know of it. Statistics are of values that were read so.
    reading: Reading = PLAIN
    written: str = field(default="", repr=False)
    #: The number of records whose text is no number, or no day, where only a few are not.
    unreadable: int = 0
    #: What the values look like, by the names of the detectors, with the share of the distinct values that do.
    looks: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = Problems()
        if self.type not in TYPES:
            problems.add(f"`type` of `ColumnProfile` must be one of {', '.join(TYPES)}; got {self.type!r}")
        if not 0 <= self.missing <= self.records or not 0 <= self.distinct <= self.records - self.missing:
            problems.add("`missing` and `distinct` of `ColumnProfile` must be counts within `records`")
        for name in ("separation", "integers", "numbers", "dates", "leading_zeros"):
            if not 0 <= getattr(self, name) <= 1:
                problems.add(f"`{name}` of `ColumnProfile` must be in [0, 1]")
        problems.raise_as(ParameterError)

    @property
    def distinction(self) -> float:
        """The number of distinct values per record, in [0, 1]."""
        return self.distinct / self.records if self.records else 0.0

    @property
    def unique(self) -> float:
        """The number of distinct values per record that has one, in [0, 1]."""
        present = self.records - self.missing
        return self.distinct / present if present else 0.0

    @property
    def alone(self) -> float:
        """The share of records that are alone with their value, in [0, 1]."""
        return self.singles / self.records if self.records else 0.0

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.type == "integer" or (self.numeric and self.integers == (self.numbers or 1))

    @property
    def numeric(self) -> bool:
        """Whether all values read as numbers, but for a few that are unreadable."""
        tolerated = self.unreadable > 0 and self.numbers > max(_MOST, self.dates)
        return self.type in ("integer", "number") or (self.type == "text" and (self.numbers == 1 or tolerated))

    @property
    def dated(self) -> bool:
        """Whether all values read as days, but for a few that are unreadable."""
        tolerated = self.unreadable > 0 and self.dates > max(_MOST, self.numbers)
        return self.type in ("date", "timestamp") or (self.type == "text" and (self.dates == 1 or tolerated))

    def looks_like(self, name: str, least: float = 0.9) -> bool:
        """Return whether at least so large a share of the distinct values looks so."""
        return self.looks.get(name, 0.0) >= least


@dataclass(frozen=True, slots=True)
class Guess(Generic[T]):
    """What was guessed and why; no reason where the type of the column leaves no choice.

    Not ``known`` where nothing but caution speaks for it: a person may well know better.
    """

    value: T
    reason: str = ""
    known: bool = True
