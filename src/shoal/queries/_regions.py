"""Which records a query can depend on, attribute by attribute.

A region says for some attributes which values a record must have to matter to a query. It may promise too much (a
record in the region that does not matter), never too little: budgets rely on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["EVERYBODY", "Cut", "Ranges", "Region", "Texts", "ValueSet", "from_json", "to_json"]

Cut = tuple[float, int]
"""A place between numbers: (x, 0) lies directly before x, (x, 1) directly after."""

FIRST: Cut = (-math.inf, 0)
LAST: Cut = (math.inf, 1)


@dataclass(frozen=True, slots=True)
class Texts:
    """A set of texts: those listed, or all but those listed; and whether missing values belong to it."""

    values: frozenset[str]
    excluded: bool = False
    missing: bool = False

    def __and__(self, other: Texts) -> Texts:
        missing = self.missing and other.missing
        if self.excluded and other.excluded:
            return Texts(self.values | other.values, True, missing)
        if self.excluded:
            return Texts(other.values - self.values, False, missing)
        return Texts(self.values - other.values if other.excluded else self.values & other.values, False, missing)

    def __or__(self, other: Texts) -> Texts:
        return ~(~self & ~other)

    def __invert__(self) -> Texts:
        return Texts(self.values, not self.excluded, not self.missing)

    def to_json(self) -> dict[str, Any]:
        """Return the set as plain data."""
        return {"texts": sorted(self.values), "excluded": self.excluded, "missing": self.missing}


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of numbers: disjoint ranges in ascending order; and whether missing values belong to it.

    Examples
    --------
    >>> from_40, below_40 = Ranges((((40, 0), LAST),)), Ranges(((FIRST, (40, 0)),))
    >>> (from_40 & below_40).parts
    ()
    """

    parts: tuple[tuple[Cut, Cut], ...]
    missing: bool = False

    def __and__(self, other: Ranges) -> Ranges:
        both = ((max(a, c), min(b, d)) for a, b in self.parts for c, d in other.parts if max(a, c) < min(b, d))
        return Ranges(tuple(sorted(both)), self.missing and other.missing)

    def __or__(self, other: Ranges) -> Ranges:
        return ~(~self & ~other)

    def __invert__(self) -> Ranges:
        ends = [FIRST, *(cut for part in self.parts for cut in part), LAST]
        gaps = zip(ends[::2], ends[1::2], strict=True)
        return Ranges(tuple((a, b) for a, b in gaps if a < b), not self.missing)

    def to_json(self) -> dict[str, Any]:
        """Return the set as plain data; infinite ends are null."""
        return {"ranges": [[_end(a), _end(b)] for a, b in self.parts], "missing": self.missing}


ValueSet = Texts | Ranges
Region = Mapping[str, ValueSet]
EVERYBODY: Region = {}


def to_json(region: Region) -> dict[str, Any]:
    """Return a region as plain data."""
    return {attribute: values.to_json() for attribute, values in sorted(region.items())}


def from_json(data: Mapping[str, Any]) -> Region:
    """Return the region that `to_json` wrote."""
    return {attribute: _values(values) for attribute, values in data.items()}


def _values(data: Mapping[str, Any]) -> ValueSet:
    if "texts" in data:
        return Texts(frozenset(data["texts"]), data["excluded"], data["missing"])
    return Ranges(tuple(_part(part) for part in data["ranges"]), data["missing"])


def _part(ends: Iterable[Any]) -> tuple[Cut, Cut]:
    low, high = ends
    return (FIRST if low is None else (low[0], low[1])), (LAST if high is None else (high[0], high[1]))


def _end(cut: Cut) -> list[float] | None:
    return None if math.isinf(cut[0]) else [cut[0], cut[1]]
