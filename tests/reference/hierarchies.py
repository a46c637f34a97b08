"""Hierarchies the slow and obvious way: one value at a time, in exact arithmetic, from the words of the rules.

Numbers are read as the decimal numbers that people see, so 0.3 is three tenths.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

from shoal.schema import Cuts, Dates, Flat, Groups, Intervals, Mask, Regions, Taxonomy
from shoal.schema.rules._regions import country


def exact(number: int | float | str) -> Fraction:
    return Fraction(Decimal(str(number)))


def path(rule, value) -> list:
    """Return what stands for ``value`` at the levels between itself and ``*``.

    An interval is a pair of exact ends (None for an open one), a truncated day is its first and last day; other rules
    give labels.
    """
    match rule:
        case None | Flat():
            return []
        case Intervals():
            return [_interval(exact(value), exact(width), exact(rule.origin)) for width in rule.widths]
        case Cuts():
            return [_between(exact(value), [exact(cut) for cut in level]) for level in rule.levels]
        case Dates():
            return [_period(value, level) for level in rule.levels]
        case Mask():
            return [_masked(value, rule, hidden) for hidden in rule.masked]
        case Groups():
            return _grouped(value, rule)
        case Taxonomy():
            return _taxonomy(value, dict(rule.pairs))
        case Regions():
            found = dict(zip(("sub-region", "region"), country(value) or ("elsewhere", "elsewhere"), strict=True))
            return [found[level] for level in rule.levels]
    raise NotImplementedError(type(rule).__name__)


def _interval(value: Fraction, width: Fraction, origin: Fraction) -> tuple[Fraction, Fraction]:
    low = origin + (value - origin) // width * width
    return low, low + width


def _between(value: Fraction, cuts: list[Fraction]) -> tuple[Fraction | None, Fraction | None]:
    below = [cut for cut in cuts if cut <= value]
    above = [cut for cut in cuts if cut > value]
    return (below[-1] if below else None), (above[0] if above else None)


def _period(day: dt.date, level: str) -> tuple[dt.date, dt.date]:
    """Return the first day of the period and the first day after it, by walking over the calendar."""
    inside = {
        "day": lambda other: other == day,
        "month": lambda other: (other.year, other.month) == (day.year, day.month),
        "quarter": lambda other: (other.year, (other.month - 1) // 3) == (day.year, (day.month - 1) // 3),
        "year": lambda other: other.year == day.year,
        "decade": lambda other: other.year // 10 == day.year // 10,
    }[level]
    first = last = day
    while inside(first - dt.timedelta(days=1)):
        first -= dt.timedelta(days=1)
    while inside(last):
        last += dt.timedelta(days=1)
    return first, last


def _masked(value: str, rule: Mask, hidden: int) -> str:
    padded = value.ljust(rule.length) if rule.side == "right" else value.rjust(rule.length)
    characters = list(padded)
    for place in range(rule.length):
        from_masked_side = rule.length - 1 - place if rule.side == "right" else place
        if from_masked_side < hidden:
            characters[place] = rule.symbol
    return "".join(characters)


def _grouped(value: str, rule: Groups) -> list[str]:
    found, member = [], value
    for level in rule.levels:
        member = next(label for label, members in level if member in members)
        found.append(member)
    return found


def _taxonomy(value: str, parents: dict[str, str]) -> list[str]:
    def chain(concept: str) -> list[str]:
        """Return the concept and all above it, the root last."""
        return [concept] if concept not in parents else [concept, *chain(parents[concept])]

    concepts = set(parents) | set(parents.values())
    roots = [concept for concept in concepts if concept not in parents]
    leaves = [concept for concept in concepts if concept not in parents.values()]
    height = max(len(chain(leaf)) for leaf in leaves)
    full = [value] * (height - len(chain(value))) + chain(value)
    return full[1:-1] if len(roots) == 1 else full[1:]


def list_share(leaves: int, total: int) -> Fraction:
    return Fraction(leaves - 1, total - 1) if total > 1 else Fraction(0)


def width_share(low, high, minimum, maximum) -> Fraction:
    """Return the part of [minimum, maximum] that lies in [low, high]; None is an open end."""
    if maximum == minimum:
        return Fraction(0)
    low = minimum if low is None else min(max(low, minimum), maximum)
    high = maximum if high is None else min(max(high, minimum), maximum)
    return Fraction(high - low) / Fraction(maximum - minimum)
