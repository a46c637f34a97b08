"""Guess the role of a column, its kind and its hierarchy, each with a reason; on the safe side where nothing helps."""

from __future__ import annotations

import datetime as dt
import math

from shoal.exact import share
from shoal.schema._domain import Kind
from shoal.schema._rule import HierarchyRule
from shoal.schema._schema import Role
from shoal.schema.drafts._bands import joined
from shoal.schema.drafts._names import CODES, COUNTS, DURATIONS, Topic, means, means_key, word_set, words
from shoal.schema.drafts._places import regions_of
from shoal.schema.drafts._profile import ColumnProfile, Guess
from shoal.schema.rules import Cuts, Dates, Intervals, Mask, Regions

# fewer than one record in a hundred shares its value: a key of persons, not of wards or shops
_NEARLY_UNIQUE = 0.99
# a key with so many values per record is of persons or households that have several records
_OF_PEOPLE = 0.1
# a column that most records leave empty is no key
_MOSTLY = 0.5
# so many values are no kinds or places
_MANY = 100
# that all values of a handful of records differ, or are the same, says nothing
ENOUGH = 20
# so many records that are alone with their value make it a way to find people
TELLING = 0.05
# people write what they like where so many of the texts are there once, and a label where fewer are
_FREELY, _ANSWERS = 0.3, 5
_WRITE_IN = word_set("specify other text verbatim describe please sonstiges andere autre precisez otro especifique")
# names of people, though many records share them
_NAMES = 0.6
#: what a person can do with a weight that is not released by default
WEIGHT_CHOICES = 'round it and give it the role "weight", make it a quasi-identifier if it is body weight, or drop it'
_NAMING = (
    "e-mail addresses",
    "web addresses",
    "tokens or hashes",
    "device addresses",
    "IP addresses",
    "phone numbers",
    "bank account or card numbers",
    "national numbers of persons",
)


def guess_role(profile: ColumnProfile, kind: Kind, topic: Topic | None) -> Guess[Role]:
    """Return the role of a column and why.

    What is not recognised is left out, and so are free texts; what is recognised and can neither be coarsened nor
    safely be released as it is must be decided by a person. No column is released because nothing is known about it.
    """
    apart = f"it distinguishes {share(profile.separation)} of all pairs of records"
    if profile.type == "other":
        return Guess(Role.DROP, "its values are not text, numbers or dates")
    if not profile.distinct:
        return Guess(Role.DROP, "it has no values")
    telling = topic is not None and topic.role in (Role.WEIGHT, Role.IDENTIFIER)
    constant = profile.distinct == 1 and not profile.missing and profile.records >= ENOUGH
    if constant and not telling and _naming(profile) is None:
        return Guess(Role.INSENSITIVE, "all its values are the same")
    guess = _naming(profile) or (_by_topic(profile, kind, topic, apart) if topic else None)
    if guess is not None:
        return guess
    return (
        _free_text(profile) or _key(profile) or _written_freely(profile, topic) or _unknown(profile, kind, topic, apart)
    )


def _naming(profile: ColumnProfile) -> Guess[Role] | None:
    """Values that name a person decide before any name of a column does; days do not, however they are written."""
    if profile.dated:
        return None
    for look in _NAMING:
        if profile.looks_like(look):
            return Guess(Role.IDENTIFIER, f"its values look like {look}")
    if profile.looks_like("coordinates"):
        return Guess(Role.QUASI_IDENTIFIER, "its values look like coordinates, which can point to a single address")
    if profile.looks_like("names of people") and profile.unique >= 0.5 and profile.distinct >= ENOUGH:
        return Guess(Role.IDENTIFIER, "its values look like names of people, and few records share one")
    return None


def _by_topic(profile: ColumnProfile, kind: Kind, topic: Topic, apart: str) -> Guess[Role] | None:
    named = f"its name suggests {topic.means}"
    if (
        topic.role is Role.IDENTIFIER
        and means(profile.name, COUNTS)
        and profile.numeric
        and profile.unique < _NEARLY_UNIQUE
    ):
        return None
    if topic.role is Role.SENSITIVE:
        return _secret(profile, kind, named)
    if topic.role is Role.QUASI_IDENTIFIER:
        if (guess := _free_text(profile) or _written_freely(profile, topic)) is not None:
            return guess
        if "id" in words(profile.name) and profile.distinct >= _MANY and (guess := _key(profile)) is not None:
            return guess
        return Guess(topic.role, f"{named}, which others may know; {apart}")
    if topic.role is Role.WEIGHT:
        return _weight(profile, named)
    return Guess(topic.role, named)


def _secret(profile: ColumnProfile, kind: Kind, named: str) -> Guess[Role]:
    """A secret that is exact enough to find people by it is not released without a word."""
    if kind is Kind.DATE:
        return Guess(Role.QUASI_IDENTIFIER, f"{named}, but others may know when something happened; {_alone(profile)}")
    if (guess := _free_text(profile)) is not None:
        return Guess(Role.DROP, f"{named}; {guess.reason}")
    if kind is Kind.CATEGORICAL and means_key(profile.name) and (guess := _key(profile)) is not None:
        return guess
    if kind is Kind.CATEGORICAL and profile.alone >= TELLING and profile.records >= ENOUGH:
        return Guess(Role.DECIDE, f"{named}, but it singles people out: {_alone(profile)}")
    if profile.alone >= TELLING:
        return Guess(Role.SENSITIVE, f"{named}; its exact values single people out: {_alone(profile)}")
    return Guess(Role.SENSITIVE, f"{named}, which people keep private")


def _weight(profile: ColumnProfile, named: str) -> Guess[Role] | None:
    """A weight is released as it is; one by which people could be found is rounded when all of the draft is known."""
    if not profile.numeric:
        return None
    if profile.missing:
        return Guess(Role.DECIDE, f"{named}, but some records have none: {WEIGHT_CHOICES}")
    return Guess(Role.WEIGHT, f"{named}, which is used to estimate risks for the population")


def _free_text(profile: ColumnProfile) -> Guess[Role] | None:
    if profile.looks_like("free texts", 0.5) and (profile.unique >= _OF_PEOPLE or profile.distinct > 1000):
        return Guess(Role.DROP, "free text may name people: code it, or give it a role if none is named")
    return None


def _written_freely(profile: ColumnProfile, topic: Topic | None) -> Guess[Role] | None:
    """Leave out texts of which nearly each is another one, and names of people: nobody has looked at all of them."""
    place = topic is not None and topic.key in ("place", "place-of-address", "birth", "event", "death")
    coded = profile.numeric or profile.dates >= 0.5 or profile.bands or profile.looks_like("classification codes")
    if profile.type != "text" or place or coded:
        return None
    if means(profile.name, _WRITE_IN) and profile.distinct > _ANSWERS:
        return Guess(Role.DROP, "its name suggests that people wrote what they liked")
    if profile.distinct < ENOUGH:
        return None
    if topic is None and profile.distinct >= _MANY and profile.looks_like("names of people", _NAMES):
        return Guess(Role.DROP, "its values look like names of people")
    if profile.unrepeated >= _FREELY:
        why = f"{share(profile.unrepeated)} of its values are there only once"
        return Guess(Role.DROP, f"people seem to write what they like: {why}")
    return None


def _key(profile: ColumnProfile) -> Guess[Role] | None:
    if profile.type not in ("text", "integer") or (profile.numeric and not profile.whole):
        return None
    if means_key(profile.name) and profile.unique >= _NEARLY_UNIQUE:
        return Guess(Role.IDENTIFIER, "its name suggests a key, and almost no two records share a value")
    if means_key(profile.name) and profile.unique >= _OF_PEOPLE and profile.distinct >= ENOUGH:
        return Guess(Role.IDENTIFIER, "its name suggests a key for people or households with several records each")
    if profile.unique == 1 and profile.distinct >= max(ENOUGH, _MOSTLY * profile.records) and not profile.dated:
        return Guess(Role.IDENTIFIER, "no two records have the same value", known=False)
    return None


def _unknown(profile: ColumnProfile, kind: Kind, topic: Topic | None, apart: str) -> Guess[Role]:
    """Leave out what is not recognised, unless its values say what it is: days, or countries."""
    if kind is Kind.DATE:
        return Guess(Role.QUASI_IDENTIFIER, f"others may know when something happened; {apart}")
    if profile.states:
        return Guess(Role.QUASI_IDENTIFIER, f"its values are {profile.states}, which others may know; {apart}")
    if topic is None and profile.looks_like("countries", 0.95) and profile.distinct > 2:
        return Guess(Role.QUASI_IDENTIFIER, f"its values are countries, which others may know; {apart}")
    if kind is Kind.CATEGORICAL and profile.distinction >= 0.5 and profile.records >= ENOUGH:
        return Guess(Role.DROP, f"meaning unknown, and it singles people out: {_alone(profile)}")
    return Guess(Role.DROP, "meaning unknown", known=False)


def _alone(profile: ColumnProfile) -> str:
    return f"{share(profile.alone)} of the records have a value that no other record has"


_CODE_LENGTHS = range(3, 13)
# a number of more digits is not held exactly, and counts nothing that people have
_DIGITS = 15
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
    if profile.bands:
        return Guess(Kind.ORDINAL, "its values are bands of numbers, listed in their order")
    if not profile.numeric:
        return Guess(Kind.CATEGORICAL)
    if _is_code(profile):
        return Guess(Kind.CATEGORICAL, "its digits look like a code")
    nominal = means_key(profile.name) or (topic is not None and topic.nominal)
    if nominal and profile.whole and not (means(profile.name, COUNTS) or means(profile.name, DURATIONS)):
        return Guess(Kind.CATEGORICAL, "the numbers are codes")
    if profile.distinct == 1:
        return Guess(Kind.CATEGORICAL)
    if profile.distinct == 2:
        return Guess(Kind.CATEGORICAL, "two different numbers look like a code")
    return Guess(Kind.NUMERIC)


def guess_hierarchy(profile: ColumnProfile, kind: Kind, topic: Topic | None) -> Guess[HierarchyRule | None]:
    """Return a default hierarchy for a quasi-identifier, None for ``value -> *``."""
    if kind is Kind.DATE:
        return Guess(_dates(profile))
    if kind is Kind.NUMERIC:
        return _numbers(profile)
    if profile.bands:
        return Guess(joined(profile.bands), "neighbouring bands are put together")
    if profile.states:
        return Guess(regions_of(profile.states, profile.longest), f"its {profile.states} are grouped by regions")
    if profile.looks_like("countries", 0.7 if topic and topic.nominal else 0.95) and profile.distinct > 2:
        return Guess(Regions(), "its countries are grouped by regions of the world")
    length = _code_length(profile)
    if length and profile.looks_like("NUTS codes") and topic is not None and topic.nominal:
        return Guess(Mask(length=length, masked=tuple(range(1, length - 1))), "its NUTS codes are nested regions")
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
    """Return whether values are digits of a code: so by name, too many, or all of one length with leading zeros."""
    if means(profile.name, CODES):
        return profile.type in ("text", "integer")
    number = isinstance(profile.minimum, int | float) and profile.type == "text"
    if number and profile.longest > _DIGITS and profile.minimum >= 10**_DIGITS:
        return True
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
    if profile.whole and low >= 0 and high <= _LARGEST_COUNT and means(profile.name, COUNTS):
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
