"""Guess the kind and the hierarchy of a column."""

from __future__ import annotations

import datetime as dt
import math

from shoal.exact import share
from shoal.schema._domain import Kind
from shoal.schema._rule import HierarchyRule
from shoal.schema.drafts._names import Topic, means_code, means_count, means_duration, means_key
from shoal.schema.drafts._profile import ColumnProfile, Guess
from shoal.schema.rules import Cuts, Dates, Intervals, Mask, Regions

_CODE_LENGTHS = range(3, 13)
# numbers of people, rooms or visits
_LARGEST_COUNT = 60
# one value reaches far beyond the rest: as incomes do
_DIGITS_BEYOND = 2
# numbers beyond this range are not quantities of people, and no intervals are proposed for them
_SMALLEST, _LARGEST = 1e-30, 1e30
_FINE, _COARSE = (1, 2, 5), (1,)


def guess_kind(profile: ColumnProfile, topic: Topic | None) -> Guess[Kind]:
    """Return the kind of a column; ordinal columns need a declared order, which no statistic shows."""
    if profile.type in ("date", "timestamp"):
        return Guess(Kind.DATE)
    if profile.dated:
        return Guess(Kind.DATE, "its values read as dates")
    if profile.type == "text" and profile.dates >= 0.9:
        return Guess(Kind.CATEGORICAL, f"{share(profile.dates)} of its values read as dates: correct the others")
    if not profile.numeric:
        return Guess(Kind.CATEGORICAL)
    if _is_code(profile):
        return Guess(Kind.CATEGORICAL, "its digits look like a code, not a quantity")
    nominal = means_key(profile.name) or (topic is not None and topic.nominal)
    if nominal and profile.whole and not (means_count(profile.name) or means_duration(profile.name)):
        return Guess(Kind.CATEGORICAL, "its numbers are names of something, not quantities")
    if profile.distinct == 1:
        return Guess(Kind.CATEGORICAL)
    if profile.distinct == 2:
        return Guess(Kind.CATEGORICAL, "with only two different numbers it looks like a code, not a quantity")
    return Guess(Kind.NUMERIC)


def guess_hierarchy(profile: ColumnProfile, kind: Kind, topic: Topic | None) -> Guess[HierarchyRule | None]:
    """Return a default hierarchy for a quasi-identifier, None for ``value -> *``."""
    if kind is Kind.DATE:
        return Guess(_dates(profile))
    if kind is Kind.NUMERIC:
        return _numbers(profile)
    if profile.looks_like("countries", 0.7 if topic and topic.nominal else 0.95) and profile.distinct > 2:
        return Guess(Regions(), "its countries are grouped by regions of the world")
    length = _code_length(profile)
    coded = _is_code(profile) or profile.looks_like("classification codes") or _nominal_numbers(profile, topic)
    if length and coded:
        return Guess(Mask(length=length, masked=tuple(range(1, length))), f"its codes have up to {length} characters")
    if profile.distinct > 20:
        return Guess(None, f"with {profile.distinct:,} values it needs a hierarchy: name a `file` that groups them")
    return Guess(None)


def _nominal_numbers(profile: ColumnProfile, topic: Topic | None) -> bool:
    """Return whether numbers of one length name something, as ISCO does: their first digits are the broad group."""
    one_length = bool(profile.lengths) and profile.lengths[0][1] >= 0.8
    return topic is not None and topic.nominal and profile.whole and one_length and profile.distinct > 10


def _is_code(profile: ColumnProfile) -> bool:
    """Return whether values are digits of a code: so by name, or all of one length with leading zeros."""
    if means_code(profile.name):
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


def _numbers(profile: ColumnProfile) -> Guess[HierarchyRule | None]:
    low, high = profile.minimum, profile.maximum
    if low is None or high is None or isinstance(low, dt.date) or isinstance(high, dt.date):
        return Guess(None)
    spread = float(high) - float(low)
    if not _SMALLEST < spread < _LARGEST or max(abs(float(low)), abs(float(high))) > _LARGEST:
        return Guess(None)
    if profile.whole and low >= 0 and high <= _LARGEST_COUNT and means_count(profile.name):
        return Guess(_count_cuts(float(high)), "the cut points fit a count")
    if low >= 0 and high >= 1000 and _reaches_far(profile):
        return Guess(_round_cuts(float(high)), "round cut points, because a few values are far larger than the others")
    return Guess(_intervals(profile, spread))


def _reaches_far(profile: ColumnProfile) -> bool:
    """Return whether most values have fewer digits than the largest one."""
    typical = profile.lengths[0][0] if profile.lengths and profile.whole else None
    return typical is not None and len(str(int(float(profile.maximum or 0)))) - typical >= _DIGITS_BEYOND  # type: ignore[arg-type]


def _count_cuts(high: float) -> Cuts | None:
    """Return cut points for a count: none, one, two, three or four, and so on."""
    fine = tuple(cut for cut in (1, 2, 3, 5, 10, 20, 50) if cut <= high)
    coarse = tuple(cut for cut in (1, 3, 10) if cut <= high)
    levels = [level for level in (fine, coarse, (1,)) if level]
    kept = [level for place, level in enumerate(levels) if place == 0 or set(level) < set(levels[place - 1])]
    return Cuts(levels=tuple(kept)) if kept else None


def _round_cuts(high: float) -> Cuts:
    """Return 1, 2, 5, 10, 20, 50, ... below the largest value, then powers of ten; no quantile of the data."""
    powers = range(2, math.floor(math.log10(high)) + 1)
    fine, coarse = (
        tuple(step * 10**power for power in powers for step in steps if step * 10**power <= high)
        for steps in (_FINE, _COARSE)
    )
    levels = [fine, coarse] if set(coarse) < set(fine) else [fine]
    if len(coarse) > 1:
        levels.append(coarse[len(coarse) // 2 :][:1])
    return Cuts(levels=tuple(levels))


def _intervals(profile: ColumnProfile, spread: float) -> Intervals:
    width = _round_number(spread / 20)
    if profile.whole:
        width = max(width, 2)
    widths = [width]
    while len(widths) < 4 and widths[-1] * 2 < spread:
        widths.append(widths[-1] * 2)
    return Intervals(widths=tuple(_exact(width) for width in widths))


def _round_number(width: float) -> float:
    """Return the next of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... at or above ``width``."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _exact(width: float) -> float:
    # 0.30000000000000004 is not a width that a person would write
    return int(width) if width == int(width) else float(f"{width:.12g}")
