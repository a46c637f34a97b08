"""How a column writes its values: what stands for a missing one, and how its dates and numbers look."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from shoal.schema._reading import Reading, date_pattern
from shoal.schema.drafts._profile import Guess

# fmt: off
_MISSING = frozenset((
    "?", "??", "-", "--", ".", "..", "na", "n/a", "n.a.", "n.a", "n. a.", "#n/a", "#na", "#null!", "null", "nul",
    "nan", "<na>", "(null)", "missing", "k.a.", "k. a.", "keine angabe", "ns/nc", "s/d", "n.d.", "nd", "no data",
    "not available", "sin dato", "sin datos", "non disponible", "non renseigne",
))
# fmt: on
_CODES = (9, 99, 999, 9999, 99999, 999999, -1, -8, -9, -88, -99, -999, -9999)
# a code stands apart from the quantities by at least this part of their range
_APART = 0.25
DATE_FORMATS = (
    "dd.mm.yyyy",
    "dd/mm/yyyy",
    "mm/dd/yyyy",
    "dd-mm-yyyy",
    "mm-dd-yyyy",
    "yyyy/mm/dd",
    "yyyy.mm.dd",
    "yyyymmdd",
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_YEARS = range(1850, 2101)
_ENOUGH = 5
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WRITTEN = {
    (",", None): re.compile(r"[+-]?\d+(,\d+)?"),
    (",", "."): re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?"),
    (".", ","): re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?"),
    (".", " "): re.compile(r"[+-]?(\d{1,3}( \d{3})+|\d+)(\.\d+)?"),
    (",", " "): re.compile(r"[+-]?(\d{1,3}( \d{3})+|\d+)(,\d+)?"),
    (".", "'"): re.compile(r"[+-]?(\d{1,3}('\d{3})+|\d+)(\.\d+)?"),
}


def habits(texts: Mapping[str, int], *, decimal: str | None = None, date_format: str | None = None) -> Guess[Reading]:
    """Return how values are written, and what a person should know of it.

    Parameters
    ----------
    texts
        The most common values as text, each with its number of records.
    decimal
        The decimal sign of the file.
    date_format
        How days are written, where a person has said so: columns that fit hold days.

    Examples
    --------
    >>> habits({"31.12.2024": 3, "1.6.2023": 1, "14.02.2024": 1, "n/a": 9}).value.date_format
    'dd.mm.yyyy'
    """
    missing = tuple(text for text in texts if text.strip().lower() in _MISSING)
    rest = [text.strip() for text in texts if text not in missing]
    spoken = f"{_quoted(missing)} {'stands' if len(missing) == 1 else 'stand'} for a missing value" if missing else ""
    if date_format is not None and rest and all(_is_day(text, date_format) for text in rest):
        told = f"its dates are written {date_format}, as was said"
        return Guess(Reading(missing_values=missing, date_format=date_format), _joined(spoken, told))
    plain = [text.replace(",", ".") for text in rest] if decimal == "," else rest
    if not rest or all(_NUMBER.fullmatch(text) for text in plain):
        codes = _end_codes({float(text): texts.get(each, 0) for text, each in zip(plain, rest, strict=True)})
        days = _date_format([text for text in rest if len(text) == 8]) if len(rest) >= 20 and not codes else None
        if days is not None and days.value and all(len(text) == 8 for text in rest):
            return Guess(Reading(missing_values=missing, date_format=days.value), _joined(spoken, days.reason))
        told = (
            f"{_quoted(codes)} {'looks' if len(codes) == 1 else 'look'} like a code for a missing value"
            if codes
            else ""
        )
        return Guess(Reading(missing_values=(*missing, *codes)), _joined(spoken, told))
    days = _date_format(rest)
    if days is not None:
        return Guess(Reading(missing_values=missing, date_format=days.value), _joined(spoken, days.reason))
    for (mark, between), pattern in _WRITTEN.items():
        if all(pattern.fullmatch(text) for text in rest):
            told = "its numbers have a decimal comma" if mark == "," else "its numbers have signs between thousands"
            return Guess(Reading(missing_values=missing, decimal=mark, thousands=between), _joined(spoken, told))
    return Guess(Reading(missing_values=missing), spoken)


def _date_format(texts: Sequence[str]) -> Guess[str | None] | None:
    """Return the one format in which all texts are days; no format but a reason where that cannot be told."""
    fitting = {each: sum(_is_day(text, each) for text in texts) for each in DATE_FORMATS}
    whole = [each for each, number in fitting.items() if number == len(texts)]
    if len(texts) < 2 or all(_ISO.fullmatch(text) for text in texts):
        return None
    if len(whole) == 1:
        return Guess(whole[0], f"its dates are written {whole[0]}")
    if whole:
        return Guess(None, "its dates do not show which is the day and which the month: set `date_format`")
    iso = sum(_ISO.fullmatch(text) is not None for text in texts)
    best = sorted((iso, *fitting.values()))[-2:]
    if len(texts) >= _ENOUGH and min(best) > 0 and sum(best) == len(texts):
        return Guess(None, "its dates are written in several ways: write them in one")
    return None


def _is_day(text: str, date_format: str) -> bool:
    pattern, groups = date_pattern(date_format) or ("", {})
    found = re.match(pattern, text)
    if found is None:
        return False
    try:
        day = dt.date(*(int(found[groups[part]]) for part in ("yyyy", "mm", "dd")))
    except ValueError:
        return False
    return day.year in _YEARS


def _end_codes(numbers: Mapping[float, int]) -> tuple[str, ...]:
    """Return numbers such as 999 that stand apart at an end of the range and are there more than once."""
    found: list[str] = []
    for code in _CODES:
        if numbers.get(code, 0) < 2:
            continue
        others = sorted(number for number in numbers if str(int(code)) not in found and number != code)
        if len(others) < _ENOUGH:
            continue
        gap = code - others[-1] if code > 0 else others[0] - code
        if gap >= max(2, _APART * (others[-1] - others[0])) or (code < 0 <= others[0] and gap >= 1):
            found.append(str(code))
    return tuple(found)


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"`{text.strip()}`" for text in texts)


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)
