"""Conditions on records, and which records a query can depend on.

A condition is membership of an attribute's value in a set, joined by and, or and not. Missing values belong to a set or
not, like any other value, so there is no third truth value: ``not`` of a condition holds for exactly the records for
which the condition does not.

A region says for some attributes which values a record must have to matter to a query. It may promise too much (a
record in the region that does not matter), never too little: budgets rely on it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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


@dataclass(frozen=True, slots=True)
class In:
    """The attribute's value is in the set."""

    attribute: str
    values: ValueSet


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Condition


Condition = In | And | Or | Not


def region(condition: Condition | None, *, negated: bool = False) -> Region:
    """Return, per attribute, a set that holds the values of all records for which the condition holds.

    Conditions on different attributes joined by ``or`` restrict no attribute, so two filters may be disjoint without
    their regions showing it: budgets then pay the sum, which is safe.

    Examples
    --------
    >>> from shoal.schema.conditions import Texts
    >>> women = In("sex", Texts(frozenset({"F"})))
    >>> region(Not(women))["sex"]
    Texts(values=frozenset({'F'}), excluded=True, missing=True)
    """
    if condition is None:
        return EVERYBODY
    if isinstance(condition, Not):
        return region(condition.part, negated=not negated)
    if isinstance(condition, In):
        return {condition.attribute: ~condition.values if negated else condition.values}
    parts = [region(part, negated=negated) for part in condition.parts]
    return _common(parts) if isinstance(condition, Or) != negated else _all(parts)


def attributes(condition: Condition | None) -> frozenset[str]:
    """Return the attributes that a condition looks at."""
    if condition is None:
        return frozenset()
    if isinstance(condition, In):
        return frozenset({condition.attribute})
    parts = (condition.part,) if isinstance(condition, Not) else condition.parts
    return frozenset().union(*(attributes(part) for part in parts))


def _all(regions: Iterable[Region]) -> Region:
    limits: dict[str, Any] = {}
    for region in regions:
        for attribute, values in region.items():
            limits[attribute] = limits[attribute] & values if attribute in limits else values
    return limits


def _common(regions: list[Region]) -> Region:
    shared = set(regions[0]).intersection(*regions[1:])
    return {
        attribute: reduce(lambda a, b: a | b, [region[attribute] for region in regions])  # type: ignore[operator]
        for attribute in sorted(shared)
    }


Mask = npt.NDArray[np.bool_]


def holds(condition: Condition, member: Callable[[In], Mask]) -> Mask:
    """Return for which records a condition holds, given for which of them a membership does."""
    if isinstance(condition, In):
        return member(condition)
    if isinstance(condition, Not):
        return ~holds(condition.part, member)
    parts = [holds(part, member) for part in condition.parts]
    return reduce(np.logical_and if isinstance(condition, And) else np.logical_or, parts)


def certain_and_possible(condition: Condition, member: Callable[[In], tuple[Mask, Mask]]) -> tuple[Mask, Mask]:
    """Return for which coarse records a condition holds whatever their values are, and for which it may hold.

    ``member`` says the same of a membership. An answer may be more cautious than necessary, never less: parts of a
    condition that look at the same column are taken as if they looked at different ones.
    """
    if isinstance(condition, In):
        return member(condition)
    if isinstance(condition, Not):
        certain, possible = certain_and_possible(condition.part, member)
        return ~possible, ~certain
    parts = [certain_and_possible(part, member) for part in condition.parts]
    join = np.logical_and if isinstance(condition, And) else np.logical_or
    return reduce(join, [certain for certain, _ in parts]), reduce(join, [possible for _, possible in parts])


def members(values: ValueSet, column: pa.Array) -> Mask:
    """Return which values of a column, as the schema's kinds have them, are in a set; days are compared as days."""
    absent = pc.is_null(column).to_numpy(zero_copy_only=False)
    if isinstance(values, Texts):
        listed = pc.is_in(column.cast(pa.string()), value_set=pa.array(sorted(values.values), pa.string()))
        inside = listed.to_numpy(zero_copy_only=False) ^ values.excluded
    else:
        numbers = _numbers(column)
        inside = np.zeros(len(column), dtype=np.bool_)
        for (low, after_low), (high, after_high) in values.parts:
            above = numbers > low if after_low else numbers >= low
            below = numbers <= high if after_high else numbers < high
            inside |= above & below
    return np.where(absent, values.missing, inside)


def _numbers(column: pa.Array) -> npt.NDArray[np.float64]:
    if pa.types.is_date(column.type):
        since = column.cast(pa.date32()).cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(since + _EPOCH, dtype=np.float64)
    return np.asarray(column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False))


#: The ordinal of 1970-01-01: conditions count days from year 1 on.
_EPOCH = dt.date(1970, 1, 1).toordinal()
