"""What the pages say: numbers as text, hierarchies in words, what models and roles mean; and how pages are rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from shoal import exact
from shoal.report import ticks
from shoal.schema import Flat, read_rule
from shoal.web._commands import file_word

NOTHING = "\N{EN DASH}"


def share(value: float | None) -> str:
    """Return a share in percent."""
    return NOTHING if value is None else exact.share(value)


def number(value: float | None) -> str:
    """Return a number with thousands separated."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def size(value: int) -> str:
    """Return a size in the unit that fits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value = value / 1000  # type: ignore[assignment]
    return ""


def rule_words(rule: Mapping[str, Any] | None) -> str:
    """Say a hierarchy in a few words."""
    return (read_rule(rule) if rule else Flat()).explain()


def when(text: str) -> str:
    """Return a time to the minute."""
    return f"{text[:10]} {text[11:16]} UTC"


_BOUNDS = re.compile(r"(?:(an integer|a number|a finite number) )?in ([\[(])([^,\]]+), ([^\])]+)([\])])")
_NEEDED = re.compile(r"^`\w+` needs the parameter `(\w+)`")
_OWNER = re.compile(r"^`(\w+)` of `\w+` ")


def in_plain_words(problem: str) -> str:
    """Return a problem with a parameter as the page says it: no class names, no brackets of intervals.

    Examples
    --------
    >>> in_plain_words("`k` of `KAnonymity` must be an integer in [1, inf); got 0")
    '`k` must be a whole number, 1 or more; got 0'
    >>> in_plain_words("`KAnonymity` needs the parameter `k`.")
    '`k` is needed.'
    """
    problem = _NEEDED.sub(r"`\1` is needed", problem)
    return _BOUNDS.sub(_bounds, _OWNER.sub(r"`\1` ", problem))


def _bounds(found: re.Match[str]) -> str:
    kind = {"an integer": "a whole number"}.get(found[1] or "", "a number")
    low, high = found[3].strip(), found[4].strip()
    at_least = f"{low} or more" if found[2] == "[" else f"more than {low}"
    at_most = f"{high} or less" if found[5] == "]" else f"less than {high}"
    parts = [part for part, end in ((at_least, low), (at_most, high)) if "inf" not in end]
    return f"{kind}, {' and '.join(parts)}" if parts else kind


_FILTERS: tuple[Callable[..., Any], ...] = (file_word, number, rule_words, share, size, ticks, when)
#: every cell of the data is escaped here
_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {each.__name__: each for each in _FILTERS}


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from its template."""
    return HTMLResponse(_environment.get_template(f"{name}.html").render(**values), status)


FAMILIES = {
    "recode": "Make values coarser",
    "classes": "Keep values, mix or average them in groups",
    "truthful": "Differential privacy",
    "noise": "Differential privacy",
}

#: what the options of methods are called on the page, and what they do
OPTIONS: dict[str, tuple[str, str]] = {
    "quality": ("Measure to minimise", "What counts as lost."),
    "suppression_limit": ("Largest share of records left out", "0.05 leaves out at most one record in twenty."),
    "time_limit": (
        "Seconds to search, at most",
        "The best one found by then is taken. Empty: search until nothing is better.",
    ),
    "steps": ("Combinations to look at, at most", "Empty: no limit."),
    "cells": ("Hide single values", "Records that would be left out stay, with * in some places."),
    "links": ("Records of one person", "Kept: a pseudonym shows which records belong to one person."),
    "first_price": ("Price of leaving a record out, at first", "A low one releases only what is cheap in a round."),
    "growth": ("Growth of that price", "The factor applied to it when a round saves too little."),
    "saving": ("Smallest saving of a round", "Small shares take more rounds and lose less."),
    "relaxed": ("Groups may overlap", "Keeps more detail; the ranges of groups may then overlap."),
    "intervals": ("Free intervals", "Numbers and dates are cut where the data suggests, not by their levels."),
    "foresight": ("Foresight", "The largest groups that are split by looking ahead; 0 is fastest."),
    "form": ("What is released", ""),
    "grouping": ("Group by", "Near in what others may know, or near in the secret."),
    "attribute": ("Secret", ""),
    "attributes": ("Secrets", "Several can be chosen with Ctrl."),
    "buckets": ("Buckets, at most", "Empty: as many as the promise allows."),
    "class_size": ("People in a group, about", "Empty: tried out."),
    "block": ("Records in a block, at most", "Larger tables are divided; 0: never."),
    "strategy": ("How secrets are mixed", "Merge first is fastest; best tries all."),
    "decimals": ("Decimals of averages", "Empty: as they come out."),
    "categories": ("Distance of words", "Semantic: by their levels. Points: by the order of their levels."),
    "size": ("Columns in a group, at most", ""),
    "inner": ("Within each group of columns", ""),
    "gamma": ("Readiness to grow", "0.2 for scattered records, 1.1 for natural groups."),
    "score": ("What a good result is", ""),
    "scheme": ("Levels", "Full-domain: one per column. Multi-dimensional: different ones in different places."),
    "search": ("Search", "Draw is proved; walk is as published, for comparison."),
    "target": ("Column to predict", ""),
    "operator": ("How records are left out", "Trim keeps far more than sampling."),
    "tables": ("Tables", "One per column, or pairs of columns too, or also one of all columns."),
    "pairs": ("Pairs of columns", "Empty: four times the number of columns, fewer where epsilon is below 1."),
    "noise": ("Noise", "Auto takes the one with the least error."),
    "sets": ("Columns averaged together", ""),
    "split": ("How epsilon is shared out", ""),
    "reference_points": ("Reference points", ""),
    "mechanism": ("How secrets are randomised", ""),
}

PRESETS: tuple[dict[str, Any], ...] = (
    {
        "name": "Trusted colleagues",
        "text": "People who signed an agreement, on one of your machines. Groups of 3.",
        "k": 3,
        "l": None,
        "t": None,
        "suppression_limit": 0.02,
    },
    {
        "name": "Researchers",
        "text": "A data set handed to a research group. Groups of 5, two secrets in each.",
        "k": 5,
        "l": 2,
        "t": None,
        "suppression_limit": 0.05,
    },
    {
        "name": "The public",
        "text": "On the internet, for everyone and for ever. Groups of 11 that look like the whole table.",
        "k": 11,
        "l": None,
        "t": 0.3,
        "suppression_limit": 0.05,
    },
)

ROLES: tuple[tuple[str, str, str], ...] = (
    ("identifier", "Names a person", "names, personal numbers: removed"),
    ("person", "Whose record it is", "the same person may have several records; group sizes count persons: removed"),
    ("household", "Whose household it is", "which persons belong together: removed"),
    ("quasi-identifier", "Others may know it", "age, sex, place, dates: made coarser until people look alike"),
    ("sensitive", "Secret", "what nobody should learn about a person: kept as it is"),
    ("insensitive", "Neither", "kept as it is"),
    ("weight", "Sampling weight", "how many people of the population a record stands for: kept as it is"),
    ("stratum", "Sampling stratum", "where the record was drawn; others may know it: treated like age or place"),
    ("drop", "Not needed", "removed, whatever it says"),
    ("decide", "To decide", "nothing is released until you choose one of the others"),
)
