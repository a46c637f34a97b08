"""The distribution of a released column beside the original's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from shoal.report._document import Bar, ColumnFigures
from shoal.utility import Bin, Distribution

__all__ = ["compared_column"]

#: bars of a column at most, but for missing values
_BARS = 20


def compared_column(column: ColumnFigures, found: Distribution) -> ColumnFigures:
    """Return a column with the original's distribution beside the released one."""
    return ColumnFigures(
        name=column.name,
        role=column.role,
        distinct=column.distinct,
        bars=tuple(
            Bar(label=_label(each), kind=_kind(each), released=each.released, original=each.original)
            for each in _fewer(found.bins, ordered=found.wasserstein is not None)
        ),
        total_variation=found.total_variation,
        wasserstein=found.wasserstein,
    )


def _fewer(bins: Sequence[Bin], *, ordered: bool) -> list[Bin]:
    """Return at most about twenty bars: neighbours together where values have an order, else the commonest."""
    aside = [each for each in bins if each.first is None and not each.rest]
    values = [each for each in bins if each.first is not None or each.rest]
    if len(values) > _BARS and ordered:
        width = math.ceil(len(values) / _BARS)
        values = [_together(values[start : start + width]) for start in range(0, len(values), width)]
    elif len(values) > _BARS:
        common = sorted(values, key=lambda each: (each.rest, -each.original - each.released))
        kept = {id(each) for each in common[: _BARS - 1]}
        rest = _together([each for each in values if id(each) not in kept], rest=True)
        values = [*(each for each in values if id(each) in kept), rest]
    return [*values, *aside]


def _together(bins: Sequence[Bin], *, rest: bool = False) -> Bin:
    return Bin(
        first=bins[0].first,
        last=bins[-1].last,
        original=sum(each.original for each in bins),
        released=sum(each.released for each in bins),
        rest=rest,
    )


def _kind(found: Bin) -> Literal["value", "missing", "rest"]:
    return "rest" if found.rest else "missing" if found.first is None else "value"


def _label(found: Bin) -> str:
    if found.rest:
        return "other values"
    if found.first is None:
        return "missing"
    first, last = _end(found.first), _end(found.last)
    return first if first == last else f"{first} to {last}"


def _end(text: str | None) -> str:
    """Return a value as a label: a number with six digits at most, which a mean rarely has."""
    try:
        return f"{float(text or ''):.6g}" if len(text or "") > 8 else str(text)
    except ValueError:
        return str(text)
