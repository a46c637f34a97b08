"""Guess the kind and the hierarchy of a column from its statistics."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from shoal.schema import _names
from shoal.schema._attribute import Kind
from shoal.schema._profile import ColumnProfile
from shoal.schema._rules import Dates, HierarchyRule, Intervals, Mask

__all__ = ["Guess", "guess_hierarchy", "guess_kind"]

T = TypeVar("T")

_CODE_LENGTHS = range(3, 13)


@dataclass(frozen=True, slots=True)
class Guess(Generic[T]):
    """What was guessed and why; no reason where the type of the column leaves no choice."""

    value: T
    reason: str = ""


def guess_kind(profile: ColumnProfile) -> Guess[Kind]:
    """Return the kind of a column; ordinal columns need a declared order, which no statistic shows."""
    if profile.type in ("date", "timestamp"):
        return Guess(Kind.DATE)
    if profile.type == "text" and profile.dates == 1:
        return Guess(Kind.DATE, "all its values read as dates")
    if profile.type == "text" and profile.dates >= 0.9:
        return Guess(Kind.CATEGORICAL, f"{_share(profile.dates)} of its values read as dates: mend the others")
    numeric = profile.type in ("integer", "number") or (profile.type == "text" and profile.numbers == 1)
    if not numeric:
        return Guess(Kind.CATEGORICAL)
    if _is_code(profile):
        return Guess(Kind.CATEGORICAL, "its digits are a code, not a quantity")
    if profile.distinct <= 2:
        return Guess(Kind.CATEGORICAL, "two numbers are names rather than quantities")
    return Guess(Kind.NUMERIC, "all its values read as numbers" if profile.type == "text" else "")


def guess_hierarchy(profile: ColumnProfile, kind: Kind) -> Guess[HierarchyRule | None]:
    """Return a default hierarchy for a quasi-identifier, None for ``value -> *``."""
    if kind is Kind.DATE:
        return Guess(_dates(profile))
    if kind is Kind.NUMERIC:
        return _intervals(profile)
    length = _code_length(profile)
    if length and _is_code(profile):
        return Guess(Mask(length=length, masked=tuple(range(1, length))), f"its codes have up to {length} characters")
    if profile.distinct > 20:
        return Guess(None, f"with {profile.distinct:,} values it needs a hierarchy: name a `file` that groups them")
    return Guess(None)


def _is_code(profile: ColumnProfile) -> bool:
    """Return whether values are digits of a code: so by name, or all of one length with leading zeros."""
    if _names.code_name(profile.name):
        return profile.type in ("text", "integer")
    same_length = bool(profile.lengths) and profile.lengths[0][1] == 1
    return profile.type == "text" and profile.integers == 1 and same_length and profile.leading_zeros > 0


def _code_length(profile: ColumnProfile) -> int | None:
    longest = profile.longest or max((length for length, _ in profile.lengths), default=0)
    return longest if longest in _CODE_LENGTHS else None


def _dates(profile: ColumnProfile) -> Dates:
    low, high = profile.minimum, profile.maximum
    if not (isinstance(low, dt.date) and isinstance(high, dt.date)):
        return Dates()
    years = high.year - low.year
    first = ("day", "month") if profile.type == "timestamp" else ("month",)
    if years < 1:
        return Dates(levels=(*first, "quarter"))
    return Dates(levels=(*first, "quarter", "year") if years < 10 else (*first, "year", "decade"))


def _intervals(profile: ColumnProfile) -> Guess[HierarchyRule | None]:
    low, high = profile.minimum, profile.maximum
    if low is None or high is None or isinstance(low, dt.date) or isinstance(high, dt.date):
        return Guess(None)
    spread = float(high) - float(low)
    if not (math.isfinite(spread) and spread > 0):
        return Guess(None)
    whole = profile.type == "integer" or (profile.type == "text" and profile.integers == 1)
    width = _round_number(spread / 20)
    if whole:
        width = max(width, 2)
    widths = [width]
    while len(widths) < 4 and widths[-1] * 2 < spread:
        widths.append(widths[-1] * 2)
    return Guess(Intervals(widths=tuple(_exact(width) for width in widths)), "interval widths fit its range")


def _round_number(width: float) -> float:
    """Return the next of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... at or above ``width``."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _exact(width: float) -> float:
    # 0.30000000000000004 is not a width that a person would write
    return int(width) if width == int(width) else float(f"{width:.12g}")


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
