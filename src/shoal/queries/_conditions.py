"""Conditions on records: membership of an attribute's value in a set, joined by and, or and not.

Missing values belong to a set or not, like any other value, so there is no third truth value: ``not`` of a condition
holds for exactly the records for which the condition does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from shoal.queries._regions import EVERYBODY, Region, ValueSet

__all__ = ["And", "Condition", "In", "Not", "Or", "attributes", "region"]


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
    >>> from shoal.queries._regions import Texts
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
    found: dict[str, Any] = {}
    for each in regions:
        for attribute, values in each.items():
            found[attribute] = found[attribute] & values if attribute in found else values
    return found


def _common(regions: list[Region]) -> Region:
    shared = set(regions[0]).intersection(*regions[1:])
    return {
        attribute: reduce(lambda a, b: a | b, [each[attribute] for each in regions])  # type: ignore[operator]
        for attribute in sorted(shared)
    }
