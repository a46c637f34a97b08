"""The statistics of a column and the notation of its values, from which guesses are made."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from shoal.errors import ParameterError, Problems, quoted
from shoal.schema._domain import PLAIN, Reading, date_pattern

T = TypeVar("T")

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
    #: The values in ascending order where they are bands of numbers such as ``25-34``. Kept out of the repr.
    bands: tuple[str, ...] = field(default=(), repr=False)
    #: The mean of a column of numbers; 0 where it was not computed.
    mean: float = field(default=0.0, repr=False)
    #: What the file says that the column is, as SPSS and Stata do; and the languages of the names of its table.
    title: str = ""
    languages: frozenset[str] | None = None
    #: Which states the values are, where they are nothing else: ``US states``.
    states: str = ""

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
    def unrepeated(self) -> float:
        """The share of the records with a value that are alone with it, in [0, 1]."""
        present = self.records - self.missing
        return self.singles / present if present else 0.0

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


# fmt: off
_MISSING = frozenset((
    "?", "??", "-", "--", ".", "..", "na", "n/a", "n.a.", "n.a", "n. a.", "#n/a", "#na", "#null!", "null", "nul",
    "nan", "<na>", "(null)", "missing", "k.a.", "k. a.", "keine angabe", "ns/nc", "s/d", "n.d.", "nd", "no data",
    "not available", "sin dato", "sin datos", "non disponible", "non renseigne",
))
# fmt: on
_CODES = (9, 99, 999, 9999, 99999, 999999, 9999999, 99999999, 8, 88, 888, -1, -7, -8, -9, -77, -88, -99, -999, -9999)
# a code stands apart from the quantities by at least this part of their range
_APART = 0.25
# fmt: off
DATE_FORMATS = (
    "dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "yyyy/mm/dd", "yyyy.mm.dd", "yyyymmdd",
)
# fmt: on
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_SHORT = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2}")
_YEARS = range(1850, 2101)
_ENOUGH = 5
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# $45,000, 45 % or 34 years; no codes such as A45
_UNIT = r"[$€£¥₹%°]|(?i:usd|eur|gbp|chf|years?|yrs?|jahre?|ans|anos|años|anni|jaar|lat|months?|monate|days?|tage"
_UNIT += r"|hours?|hrs?|minutes?|min|weeks?|kg|lbs?|cm|mm|km|m|mg|g|ml|mmhg|bpm)"
_WITH_UNIT = re.compile(rf"[+-]?(?:({_UNIT})\s*)?[+-]?\d[\d.,' ]*(?:(?<!\s)\s?({_UNIT}))?")
_STATE = re.compile(r"[A-Z]{2}")
# commas that always stand before three digits, and never after a lone zero, are between thousands
_COMMAS = re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)")
_WRITTEN = {
    (".", ","): re.compile(_COMMAS.pattern + r"(\.\d+)?"),
    (",", None): re.compile(r"[+-]?\d+(,\d+)?"),
    (",", "."): re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?"),
    (".", " "): re.compile(r"[+-]?(\d{1,3}( \d{3})+|\d+)(\.\d+)?"),
    (",", " "): re.compile(r"[+-]?(\d{1,3}( \d{3})+|\d+)(,\d+)?"),
    (".", "'"): re.compile(r"[+-]?(\d{1,3}('\d{3})+|\d+)(\.\d+)?"),
}


def habits(texts: Mapping[str, int], *, decimal: str | None = None, date_format: str | None = None) -> Guess[Reading]:
    """Return how values are written, and what a person should know of it.

    ``texts`` are the most common values, each with its number of records; ``decimal`` is the decimal sign of the file,
    and ``date_format`` how days are written where a person has said so: columns that fit hold days.

    Examples
    --------
    >>> habits({"31.12.2024": 3, "1.6.2023": 1, "14.02.2024": 1, "n/a": 9}).value.date_format
    'dd.mm.yyyy'
    """
    # North Dakota
    states = len(texts) > _ENOUGH and 2 * sum(_STATE.fullmatch(text.strip()) is not None for text in texts) > len(texts)
    absent = _MISSING - {"nd"} if states else _MISSING
    missing = tuple(text for text in texts if text.strip().lower() in absent)
    rest = [text.strip() for text in texts if text not in missing]
    verb = "stands" if len(missing) == 1 else "stand"
    spoken = f"{quoted(map(str.strip, missing))} {verb} for a missing value" if missing else ""
    if date_format is not None and rest and all(_is_day(text, date_format) for text in rest):
        guess = Guess(Reading(date_format=date_format), f"its dates are written {date_format}, as specified")
    else:
        guess = _written(rest, texts, decimal)
    reading = replace(guess.value, missing_values=(*missing, *guess.value.missing_values))
    return Guess(reading, "; ".join(filter(None, (spoken, guess.reason))))


def _written(rest: Sequence[str], texts: Mapping[str, int], decimal: str | None) -> Guess[Reading]:
    """Return how the values that are not missing are written."""
    # a point next to a decimal comma is between thousands
    plain = [text.replace(".", "'").replace(",", ".") for text in rest] if decimal == "," else rest
    if not rest or all(_NUMBER.fullmatch(text) for text in plain):
        codes = _end_codes({float(text): texts.get(each, 0) for text, each in zip(plain, rest, strict=True)})
        days = _date_format([text for text in rest if len(text) == 8]) if len(rest) >= 20 and not codes else None
        if days is not None and days.value and all(len(text) == 8 for text in rest):
            return Guess(Reading(date_format=days.value), days.reason)
        alike = "looks like a code for a missing value" if len(codes) == 1 else "look like codes for missing values"
        told = f"{quoted(codes)} {alike}"
        # said by the column: what a file is guessed to have does not count under differential privacy
        mark = "," if decimal == "," and any("," in text for text in rest) else None
        return Guess(Reading(missing_values=codes, decimal=mark), told if codes else "")
    days = _date_format(rest)
    if days is not None:
        return Guess(Reading(date_format=days.value), days.reason)
    if (unit := _unit(rest)) is not None:
        bare = [text.replace(unit, "").strip() for text in rest]
        guess = _written(bare, dict(zip(bare, (texts.get(text, 0) for text in rest), strict=True)), decimal)
        with_unit = Reading(decimal=guess.value.decimal, thousands=guess.value.thousands, unit=unit)
        return Guess(with_unit, f"its numbers have the unit `{unit}`")
    for (mark, between), pattern in sorted(_WRITTEN.items(), key=lambda each: each[0][0] != decimal):
        if all(pattern.fullmatch(text) for text in rest):
            comma = ["a decimal comma"] if mark == "," in "".join(rest) else []
            signs = [*comma, "a thousands separator"] if between else comma
            told = f"its numbers have {' and '.join(signs)}"
            if between == "," and all(text.count(",") < 2 and "." not in text for text in rest):
                told = 'its commas seem to separate thousands: if they are decimal commas, set `decimal = ","` instead'
            return Guess(Reading(decimal=mark, thousands=between), told)
    return Guess(PLAIN)


def _unit(texts: Sequence[str]) -> str | None:
    """Return the sign or the word that stands before or after the number in every text."""
    units = {match and (match[1] or match[2]) for match in map(_WITH_UNIT.fullmatch, texts)}
    unit = units.pop() if len(units) == 1 else None
    return unit if unit and len(texts) >= _ENOUGH else None


def _date_format(texts: Sequence[str]) -> Guess[str | None] | None:
    """Return the one format in which all texts are days; no format but a reason where that cannot be told."""
    fitting = {pattern: sum(_is_day(text, pattern) for text in texts) for pattern in DATE_FORMATS}
    whole = [each for each, number in fitting.items() if number == len(texts)]
    if len(texts) < 2 or all(_ISO.fullmatch(text) for text in texts):
        return None
    if len(whole) == 1:
        return Guess(whole[0], f"its dates are written {whole[0]}")
    if whole:
        return Guess(None, "it is unclear which part of its dates is the day and which is the month: set `date_format`")
    if all(_SHORT.fullmatch(text) for text in texts):
        return Guess(None, "its dates have years of two digits: write them with four")
    iso = sum(_ISO.fullmatch(text) is not None for text in texts)
    best = sorted((iso, *fitting.values()))[-2:]
    if len(texts) >= _ENOUGH and min(best) > 0 and sum(best) == len(texts):
        return Guess(None, "its dates are written in several ways: write them in one")
    return None


def _is_day(text: str, date_format: str) -> bool:
    pattern, groups = date_pattern(date_format) or ("", {})
    match = re.match(pattern, text)
    if match is None:
        return False
    try:
        day = dt.date(*(int(match[groups[part]]) for part in ("yyyy", "mm", "dd")))
    except ValueError:
        return False
    return day.year in _YEARS


def _end_codes(numbers: Mapping[float, int]) -> tuple[str, ...]:
    """Return numbers such as 999 that stand apart at an end of the range and are there more than once."""
    codes: list[str] = []
    for code in _CODES:
        if numbers.get(code, 0) < 2:
            continue
        others = sorted(number for number in numbers if str(int(code)) not in codes and number != code)
        if len(others) < _ENOUGH:
            continue
        gap = code - others[-1] if code > 0 else others[0] - code
        if gap >= max(2, _APART * (others[-1] - others[0])) or (code < 0 <= others[0] and gap >= 1):
            codes.append(str(code))
    return tuple(codes)
