"""Words of the pages: numbers as text, hierarchies, models and roles; and the rendering of pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from shoal import exact
from shoal.errors import ParameterProblem
from shoal.exact import ExpectedValue
from shoal.methods.shorthand import AUDIENCES
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


def in_plain_words(problem: str) -> str:
    """Return a problem as the page says it: one with a parameter without class names and brackets of intervals.

    Examples
    --------
    >>> from shoal.errors import ParameterProblem
    >>> from shoal.exact import ExpectedValue
    >>> k = ExpectedValue(kind="whole", interval="[1, inf)")
    >>> in_plain_words(ParameterProblem.of("KAnonymity", "k", k, "0"))
    'must be a whole number, 1 or more; got 0.'
    >>> in_plain_words(ParameterProblem.of("KAnonymity", "k", k))
    'is needed.'
    """
    if not isinstance(problem, ParameterProblem):
        return problem
    if problem.given is None:
        return "is needed."
    expected = problem.expected
    words = expected.in_plain_words() if isinstance(expected, ExpectedValue) else str(expected)
    return f"must be {words}; got {problem.given}."


def field_problem(problem: str) -> dict[str, str | None]:
    """Return a problem for the part of the page that it is about, with the parameter that it names, if it is one."""
    name = problem.name if isinstance(problem, ParameterProblem) else None
    return {"parameter": name, "problem": in_plain_words(problem)}


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
_environment.tests["contains"] = lambda values, value: value in values


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
    "effort": (
        "Work of the search, at most",
        "In units of about a second; the same release on every machine. Empty: search until nothing is better.",
    ),
    "time_limit": (
        "Seconds to search, at most",
        "The best one found by then is taken, which depends on how busy the machine is. Empty: no limit.",
    ),
    "steps": ("Combinations to look at, at most", "Empty: no limit."),
    "cells": ("Hide single values", "Records that would be left out stay, with * in some places."),
    "links": ("Records of one person", "Kept: a pseudonym shows which records belong to one person."),
    "first_price": ("Price of leaving a record out, at first", "A low one releases only what is cheap in a round."),
    "growth": ("Growth of that price", "The factor applied to it when a round saves too little."),
    "saving": ("Smallest saving of a round", "Small shares take more rounds and lose less."),
    "relaxed": ("Groups may overlap", "MethodCapabilities more detail; the ranges of groups may then overlap."),
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
        "audience": "partners",
        "text": f"People who signed an agreement, on one of your machines. Groups of {AUDIENCES['partners'].k}.",
        "short": {"k": AUDIENCES["partners"].k},
        "suppression_limit": 0.02,
    },
    {
        "name": "Researchers",
        "audience": "researchers",
        "text": f"A data set handed to a research group. Groups of {AUDIENCES['researchers'].k}, two secrets in each.",
        "short": {"k": AUDIENCES["researchers"].k, "l": AUDIENCES["researchers"].varied},
        "suppression_limit": 0.05,
    },
    {
        "name": "The public",
        "audience": "public",
        "text": f"On the internet, for everyone and for ever. Groups of {AUDIENCES['public'].k} that look like the "
        "whole table.",
        "short": {"k": AUDIENCES["public"].k, "t": 0.3},
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
