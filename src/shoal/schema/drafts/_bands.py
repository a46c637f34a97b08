"""Columns that hold bands of numbers: ``[70-80)``, ``(39,49]``, ``25-34``, ``65+``, ``30 to 39 years``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.schema.rules import Groups

_FEWEST, _MOST = 3, 60
# neighbours are put together two by two, then four by four, and so on
_LEVELS = (2, 4, 8)
_NUMBER = r"[$€£]?\s*(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s*[%k]?"
_UNITS = r"(?:\s*(?:years?|yrs?|y\.?o\.?|jahren?|ans|anos|años|anni|jaar|lat|months?|days?|hours?|old))*"
_BETWEEN = re.compile(
    rf"([\[(]?)\s*{_NUMBER}{_UNITS}\s*(?:-|\u2013|,|;|\.\.|to|bis|until|hasta|até|à|a|t/m)\s*{_NUMBER}{_UNITS}\s*([\])]?)"
)
_FROM = re.compile(
    rf"(?:>=?|≥|over|above|über|ab|from|más de|plus de|ouder dan)\s*{_NUMBER}{_UNITS}"
    rf"|{_NUMBER}{_UNITS}\s*(?:\+|plus|and (?:over|older|above|more)|or (?:over|older|more)|und (?:älter|mehr)|"
    r"et plus|y más|e mais|e oltre|en ouder|i więcej)"
    rf"{_UNITS}"
)
_TO = re.compile(
    rf"(?:<=?|≤|under|below|less than|up to|unter|bis|moins de|menos de|meno di|tot|do)\s*{_NUMBER}{_UNITS}"
    rf"|{_NUMBER}{_UNITS}\s*(?:and (?:under|younger|less)|or (?:under|younger|less)|und jünger|et moins)"
)


@dataclass(frozen=True, slots=True, order=True)
class Band:
    """The numbers between two ends; how it is written says which of them belong to it."""

    low: float
    high: float
    #: As in ``[`` and ``)``: both ends belong where nothing is written.
    opening: str = "["
    closing: str = "]"


def read_band(text: str) -> Band | None:
    """Return the numbers that a text stands for, or None where it is no band.

    Examples
    --------
    >>> read_band("(39,49]"), read_band("65+").low, read_band("J45")
    (Band(low=39.0, high=49.0, opening='(', closing=']'), 65.0, None)
    """
    text = text.strip().lower()
    if match := _BETWEEN.fullmatch(text):
        low, high = _value(match[2]), _value(match[3])
        return Band(low, high, match[1] or "[", match[4] or "]") if low <= high else None
    if match := _FROM.fullmatch(text):
        return Band(_value(match[1] or match[2]), math.inf)
    if match := _TO.fullmatch(text):
        return Band(-math.inf, _value(match[1] or match[2]), closing=")" if text.startswith(("<", "under")) else "]")
    return None


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def bands(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts in ascending order if they are bands that do not overlap; some may be single numbers.

    Examples
    --------
    >>> bands(["65+", "18-24", "25-64"]), bands(["J45", "I21", "K35"])
    (('18-24', '25-64', '65+'), ())
    """
    pairs: list[tuple[Band, str]] = []
    real = 0
    for text in texts:
        band = read_band(text)
        real += band is not None
        if band is None and re.fullmatch(r"\d+(\.\d+)?", text.strip()):
            band = Band(float(text), float(text))
        if band is None or len(pairs) == _MOST:
            return ()
        pairs.append((band, text))
    pairs.sort()
    apart = all(one.high <= other.low for (one, _), (other, _) in itertools.pairwise(pairs))
    return tuple(text for _, text in pairs) if real >= _FEWEST and apart and 2 * real > len(pairs) else ()


def joined(texts: Sequence[str]) -> Groups | None:
    """Return a hierarchy of bands in ascending order: two neighbours together, then four, then eight."""
    members = [(text, read_band(text) or Band(float(text), float(text))) for text in texts]
    levels = []
    for _ in _LEVELS:
        if len(members) < _FEWEST:
            break
        pairs = [members[place : place + 2] for place in range(0, len(members), 2)]
        if len(pairs[-1]) == 1:  # a group of its own would be no coarser
            single = pairs.pop()
            pairs[-1] += single
        if len(pairs) == 1:  # that is what `*` says
            break
        merged = [(_label(group[0][1], group[-1][1]), group) for group in pairs]
        levels.append(tuple((label, tuple(text for text, _ in group)) for label, group in merged))
        members = [(label, _hull(group[0][1], group[-1][1])) for label, group in merged]
    return Groups(levels=tuple(levels)) if levels else None


def _hull(first: Band, last: Band) -> Band:
    return Band(first.low, last.high, first.opening, last.closing)


def _label(first: Band, last: Band) -> str:
    if last.high == math.inf:
        return f">= {first.low:g}" if first.opening == "[" else f"> {first.low:g}"
    if first.low == -math.inf:
        return f"<= {last.high:g}" if last.closing == "]" else f"< {last.high:g}"
    return f"{first.opening}{first.low:g}, {last.high:g}{last.closing}"
