"""The distribution of a released column, alone or beside the original's, as few bars as a reader can take in."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from shoal.report._document import Bar, ColumnFigures
from shoal.schema import Role
from shoal.tables import NumberSpread, ValueCounts, numbers_of
from shoal.utility import Bin, Distribution

#: columns with at most so many values have a bar for each
_FEW = 20
#: bars of the commonest values otherwise, and about as many of the histogram of numbers
_COMMON = 12
#: the share of records that a histogram shows without its tail
_MOST = 0.99
#: signs of a value that are read: a report shows fewer
_LENGTH = 400
#: bars of a column beside the original's at most, but for missing values
_BESIDE = 20


def column_figures(counted: ValueCounts, role: Role, records: int) -> ColumnFigures:
    """Return the values of a released column as bars.

    Numbers with many values become a histogram of equal widths; other columns with many values show the commonest.
    """
    distinct, held = counted.distinct, counted.present
    if distinct > _FEW and counted.numeric:
        bars = _histogram(numbers_of(counted), records)
    else:
        commonest = counted.commonest(_FEW if distinct <= _FEW else _COMMON, length=_LENGTH)
        bars = _bars(commonest, records, in_order=distinct <= _FEW)
        rest = held - sum(bar.records or 0 for bar in bars)
        if rest:
            bars.append(_bar(f"{distinct - len(bars):,} other values", rest, records, kind="rest"))
    if held < records:
        bars.append(_bar("missing", records - held, records, kind="missing"))
    return ColumnFigures(name=counted.name, role=role, distinct=distinct, bars=tuple(bars))


def _bars(found: pa.Table, records: int, *, in_order: bool) -> list[Bar]:
    rows = list(zip(found["value"].to_pylist(), found["records"].to_pylist(), strict=True))
    if in_order:
        rows.sort(key=lambda row: _natural(row[0]))
    return [_bar(value, count, records) for value, count in rows]


def _bar(label: str, count: int, records: int, *, kind: str = "value") -> Bar:
    return Bar.model_validate({"label": label, "kind": kind, "records": count, "released": count / max(records, 1)})


def _natural(text: str) -> list[tuple[int, float, str]]:
    """Return a key that sorts `[5, 10)` before `[10, 20)`."""
    parts = re.split(r"(\d{1,15}(?:\.\d{1,15})?)", text)
    return [(0, float(part), "") if number % 2 else (1, 0.0, part) for number, part in enumerate(parts)]


def _histogram(found: NumberSpread, records: int) -> list[Bar]:
    """Return bars of equal width with round ends; the last one takes the long tail that many amounts have."""
    extent = found.extent()
    most = found.reaching(_MOST, extent)
    step = _round_step(most / _COMMON - extent.least / _COMMON, whole=extent.whole)
    held = found.count_bins(step, most)
    ends = [position * step for position in range(min(held), max(held) + 1)]
    labels = [_between(low, low + step, whole=extent.whole) for low in ends]
    if extent.greatest >= ends[-1] + step:
        labels[-1] = f"{_end(ends[-1])} or more"
    counts = [held.get(position, 0) for position in range(min(held), max(held) + 1)]
    bars = [_bar(label, count, records) for label, count in zip(labels, counts, strict=True)]
    return [*bars, _bar("not finite", extent.aside, records, kind="rest")] if extent.aside else bars


def _round_step(width: float, *, whole: bool) -> float:
    """Return the least of 1, 2, 5, 10, 20, ... (and their tenths) that is at least ``width``."""
    if width < sys.float_info.min * 10:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(width))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= width * (1 - 1e-9))
    return max(step, 1.0) if whole else step


def _between(low: float, high: float, *, whole: bool) -> str:
    if whole:
        return _end(low) if high - low == 1 else f"{_end(low)} to {_end(high - 1)}"
    return f"{_end(low)} to {_end(high)}"


def _end(value: float) -> str:
    return f"{value:,.0f}" if 100 <= abs(value) < 1e15 and float(value).is_integer() else f"{value:,.6g}"


def compared_column(column: ColumnFigures, found: Distribution) -> ColumnFigures:
    """Return a column with the original's distribution beside the released one.

    Where values were grouped, the bars are the released groups, with the originals that lie in them; what was lost
    inside the groups has bars of its own.
    """
    ordered, level = found.wasserstein is not None, found.level
    bars = _beside(found.bins, ordered=ordered)
    return ColumnFigures(
        name=column.name,
        role=column.role,
        distinct=column.distinct,
        bars=bars if level is None else _beside(level.bins, ordered=ordered),
        total_variation=found.total_variation,
        wasserstein=found.wasserstein,
        between_groups=None if level is None else level.total_variation,
        inside=() if level is None else bars,
    )


def _beside(bins: Sequence[Bin], *, ordered: bool) -> tuple[Bar, ...]:
    return tuple(
        Bar(
            label=_bin_label(each),
            kind=_bin_kind(each),
            # sums of floats: all of it is not almost all of it
            released=round(each.released, 12),
            original=round(each.original, 12),
            place=each.place if ordered else None,
        )
        for each in (bins if ordered else _fewer(bins))
    )


def _fewer(bins: Sequence[Bin]) -> list[Bin]:
    """Return about twenty bars: the commonest values, and the rest together."""
    aside = [each for each in bins if each.first is None]
    values = [each for each in bins if each.first is not None]
    if len(values) > _BESIDE:
        # the commonest of the original: pictures of several releases of a table then show the same values
        common = sorted(values, key=lambda each: (each.rest, -each.original, -each.released))
        kept = {id(each) for each in common[: _BESIDE - 1]}
        rest = [value for value in values if id(value) not in kept]
        values = [*(value for value in values if id(value) in kept), _together(rest)]
    return [*values, *aside]


def _together(bins: Sequence[Bin]) -> Bin:
    return Bin(
        first=bins[0].first,
        last=bins[-1].last,
        original=sum(each.original for each in bins),
        released=sum(each.released for each in bins),
        rest=True,
    )


def _bin_kind(found: Bin) -> Literal["value", "missing", "rest"]:
    return "rest" if found.rest else "missing" if found.first is None else "value"


def _bin_label(found: Bin) -> str:
    if found.title is not None:
        return found.title
    if found.rest:
        return "other values"
    if found.first is None:
        return "missing"
    if found.edges is not None:
        whole = all(text.lstrip("-").isdigit() for text in (found.first, found.last or ""))
        return _between(*found.edges, whole=whole and all(edge.is_integer() for edge in found.edges))
    first, last = _short(found.first), _short(found.last)
    return first if first == last else f"{first} to {last}"


def _short(text: str | None) -> str:
    """Return a value as a label: a number with six digits at most, which a mean rarely has."""
    try:
        return f"{float(text or ''):.6g}" if len(text or "") > 8 else str(text)
    except ValueError:
        return str(text)
