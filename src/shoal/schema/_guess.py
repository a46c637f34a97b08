"""Guess the kind and the hierarchy of a column from its name and its statistics."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shoal.errors import ParameterError, Problems
from shoal.exact import share
from shoal.schema._domain import Kind
from shoal.schema._rule import HierarchyRule
from shoal.schema.rules import Dates, Intervals, Mask

__all__ = [
    "ColumnProfile",
    "Guess",
    "code_name",
    "guess_hierarchy",
    "guess_kind",
    "household_key",
    "identifier_name",
    "key_name",
    "person_key",
    "quasi_identifier_name",
    "sensitive_name",
]

T = TypeVar("T")

TYPES = ("text", "integer", "number", "boolean", "date", "timestamp", "other")
_CODE_LENGTHS = range(3, 13)


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
        for name in ("separation", "integers", "numbers", "dates", "leading_zeros"):
            if not 0 <= getattr(self, name) <= 1:
                problems.add(f"`{name}` of `ColumnProfile` must be in [0, 1]")
        problems.raise_as(ParameterError)

    @property
    def distinction(self) -> float:
        """The number of distinct values per record, in [0, 1]."""
        return self.distinct / self.records if self.records else 0.0


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
        return Guess(Kind.CATEGORICAL, f"{share(profile.dates)} of its values read as dates: correct the others")
    numeric = profile.type in ("integer", "number") or (profile.type == "text" and profile.numbers == 1)
    if not numeric:
        return Guess(Kind.CATEGORICAL)
    if _is_code(profile):
        return Guess(Kind.CATEGORICAL, "its digits look like a code, not a quantity")
    if profile.distinct <= 2:
        return Guess(Kind.CATEGORICAL, "with only two different numbers it looks like a code, not a quantity")
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
    if code_name(profile.name):
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
    return Guess(Intervals(widths=tuple(_exact(width) for width in widths)), "the interval widths fit its range")


def _round_number(width: float) -> float:
    """Return the next of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... at or above ``width``."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _exact(width: float) -> float:
    # 0.30000000000000004 is not a width that a person would write
    return int(width) if width == int(width) else float(f"{width:.12g}")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IDENTIFIERS = _set(
    "ssn sin nin nhs mrn email mail phone telephone tel mobile fax passport iban bic account license licence plate vin "
    "url ip ipaddress mac imei username login surname firstname lastname fullname forename address street insurance "
    "signature photo fingerprint"
)
_KEYS = _set("id uuid guid key identifier nr nbr no number pid uid")
_HOUSEHOLDS = _set("household hh family dwelling home")
_HOUSEHOLD_KEYS = _set("hid hhid householdid familyid")
_PLAIN_KEYS = _set("id uuid guid key identifier pid uid")
# `name` alone is a person's; `product name` and `drug name` are not
_PEOPLE = _set(
    "first last full given family middle maiden patient person customer client employee user student mother father "
    "contact doctor physician"
)
_QUASI_IDENTIFIERS = _set(
    "age sex gender birth born birthday birthdate birthyear dob yob zip zipcode postcode postal plz race ethnicity "
    "ethnic nationality citizenship country state county city town municipality district region province canton "
    "neighborhood neighbourhood marital education degree occupation job profession workclass employer employment "
    "industry household children family language height weight death latitude longitude lat lon location school "
    "university department rank"
)
_SENSITIVE = _set(
    "diagnosis diagnoses disease illness condition disorder icd icd9 icd10 icd11 procedure treatment medication drug "
    "drugs prescription result lab hiv test symptom outcome severity income salary wage wages pay earnings revenue "
    "charge charges cost costs price amount balance debt loan credit tax taxes asset assets wealth benefit benefits "
    "religion political party orientation crime conviction offence offense grade grades score iq rating disability "
    "abortion pregnancy alcohol los stay"
)
_CODES = _set("zip zipcode postcode postal plz code codes icd icd9 icd10 icd11 naics isco fips cpt")


def identifier_name(name: str) -> bool:
    """Return whether a name means a person's name, number, address or account."""
    words = _words(name)
    alone = bool(words) and words <= {"name", "names"}
    return alone or bool(words & _IDENTIFIERS) or ("name" in words and bool(words & _PEOPLE))


def key_name(name: str) -> bool:
    """Return whether a name means a key, which identifies persons where it is nearly unique."""
    return bool(_words(name) & _KEYS)


def person_key(name: str) -> bool:
    """Return whether a key stands for a person, not for a ward or a shop: `id`, `patient_nbr`, `customer id`."""
    words = _words(name)
    of_people = bool(words & _KEYS) and bool(words & _PEOPLE) and "of" not in words
    return bool(words) and (words <= _PLAIN_KEYS or of_people) and not household_key(name)


def household_key(name: str) -> bool:
    """Return whether a name means the key of a household: `hid`, `household_id`."""
    words = _words(name)
    return bool(words & _HOUSEHOLD_KEYS) or (bool(words & _HOUSEHOLDS) and bool(words & _KEYS - {"number", "no"}))


def quasi_identifier_name(name: str) -> bool:
    """Return whether a name means something that neighbours, colleagues or registers know."""
    return bool(_words(name) & _QUASI_IDENTIFIERS)


def sensitive_name(name: str) -> bool:
    """Return whether a name means something that people keep to themselves."""
    return bool(_words(name) & _SENSITIVE)


def code_name(name: str) -> bool:
    """Return whether a name means a code: digits that are not a quantity."""
    return bool(_words(name) & _CODES)


def _words(name: str) -> frozenset[str]:
    """Split ``admissionDate``, ``admission_date`` and ``Admission Date`` alike; a plural counts as its singular."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words = re.findall(r"[^\W_]+", parted.lower())
    return frozenset(words) | {word[:-1] for word in words if word.endswith("s")}
