"""Pictures on two axes: the distribution of an ordered column, and two columns together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.exact import share
from shoal.report._charts import Chart, bar_row, column_note, rows_chart
from shoal.report._document import Bar, ColumnFigures
from shoal.report._markup import Html, element, join, shortened
from shoal.utility import CrossTable

#: bars of an ordered column from which they stand upright, on one axis
_MANY = 9
_WIDTH, _TALL, _TOP, _FOOT = 360, 130, 16, 20
#: room for the names of rows, and for a picture of two columns
_ROWS, _SIDE, _CELL = 110, 250, 22


def column_chart(column: ColumnFigures) -> Chart:
    """Draw the distribution of a column; with the original's beside it where the report has it."""
    ordered = column.wasserstein is not None and sum(bar.kind == "value" for bar in column.bars) >= _MANY
    return _histogram(column) if ordered else rows_chart(column)


def _histogram(column: ColumnFigures) -> Chart:
    """Draw the distribution of a column with an order upright: before and after on one axis, gaps where nothing is."""
    top = max(max(bar.released, bar.original or 0) for bar in column.bars) or 1
    places = [bar.place if bar.place is not None else number for number, bar in enumerate(column.bars)]
    step = _WIDTH / (max(places) + 1 - places[0])
    bars = [
        _upright(bar, (place - places[0]) * step, step, top) for bar, place in zip(column.bars, places, strict=True)
    ]
    pairs = any(bar.original is not None for bar in column.bars)
    return Chart(
        name=f"column:{column.name}",
        title=column.name,
        note=column_note(column),
        height=_TOP + _TALL + _FOOT,
        content=join(
            element("text", share(top), x=0, y=11, class_="figure"),
            element("line", x1=0, x2=_WIDTH, y1=_TOP + _TALL, y2=_TOP + _TALL, class_="rail"),
            bars,
            _ends([bar for bar in column.bars if bar.kind == "value"]),
        ),
        header=("value", "original", "released") if pairs else ("value", "records", "share"),
        rows=tuple(bar_row(bar, pairs=pairs) for bar in column.bars),
    )


def _upright(bar: Bar, x: float, step: float, top: float) -> Html:
    said = f"{shortened(bar.label, 200)}: {share(bar.released)} released"
    if bar.original is not None:
        said = f"{shortened(bar.label, 200)}: {share(bar.original)} originally, {share(bar.released)} released"
    shapes = [_column(x, step, 0.55, bar.released / top, "released" if bar.kind == "value" else "aside")]
    if bar.original is not None:
        shapes.append(_column(x, step, 0.9, bar.original / top, "original"))
    row = element("rect", x=f"{x:.1f}", y=_TOP, width=f"{step:.1f}", height=_TALL, class_="row")
    return element("g", element("title", said), row, shapes, class_="mark")


def _column(x: float, step: float, part: float, height: float, class_: str) -> Html:
    tall = max(height * _TALL, 1 if height else 0)
    return element(
        "rect",
        x=f"{x + step * (1 - part) / 2:.1f}",
        y=f"{_TOP + _TALL - tall:.1f}",
        width=f"{step * part:.1f}",
        height=f"{tall:.1f}",
        class_=class_,
    )


def _ends(bars: Sequence[Bar]) -> list[Html]:
    """Name the first, the middle and the last bar."""
    y = _TOP + _TALL + 15
    shown = [(0, bars[0], "start"), (_WIDTH, bars[-1], "end")]
    return [element("text", shortened(bar.label, 24), x=x, y=y, text_anchor=anchor) for x, bar, anchor in shown]


def cross_chart(found: CrossTable) -> Chart:
    """Draw how often values of two columns come together, before and after: the darker, the more records."""
    most = max((value for table in (found.original, found.released) for row in table for value in row), default=0) or 1
    tall = min(_CELL, max(8, 440 // max(len(found.rows), 1)))
    height = tall * len(found.rows)
    panels = [
        _panel(found, table, title, _ROWS + place * (_SIDE + 30), tall, most)
        for place, (title, table) in enumerate((("before", found.original), ("after", found.released)))
    ]
    names = [
        element("text", shortened(name, 17), x=_ROWS - 6, y=20 + tall * row + tall / 2 + 4, text_anchor="end")
        for row, name in enumerate(found.rows)
    ]
    return Chart(
        name=f"pair:{found.columns[0]}:{found.columns[1]}",
        title=f"{found.columns[0]} (down) and {found.columns[1]} (across)",
        note="share of records with both values; one scale for both pictures",
        width=_ROWS + 2 * _SIDE + 40,
        height=height + 44,
        content=join(names, panels),
        header=(found.columns[0], found.columns[1], "before", "after"),
        rows=tuple(_changed(found)[:20]),
    )


def _panel(
    found: CrossTable, table: Sequence[Sequence[float]], title: str, left: int, tall: float, most: float
) -> Html:
    wide = _SIDE / max(len(found.across), 1)
    cells = [
        element(
            "g",
            element("title", f"{shortened(name, 60)}, {shortened(other, 60)}: {share(value)} {title}"),
            element(
                "rect",
                x=f"{left + wide * column:.1f}",
                y=f"{20 + tall * row:.1f}",
                width=f"{wide - 1:.1f}",
                height=f"{tall - 1:.1f}",
                fill_opacity=f"{0.04 + 0.96 * math.sqrt(value / most):.3f}",
                class_="released",
            ),
            class_="mark",
        )
        for row, (name, values) in enumerate(zip(found.rows, table, strict=True))
        for column, (other, value) in enumerate(zip(found.across, values, strict=True))
    ]
    foot = 20 + tall * len(found.rows) + 14
    ends = [(found.across[0], left, "start"), (found.across[-1], left + _SIDE, "end")] if found.across else []
    return join(
        element("text", title, x=left, y=13),
        cells,
        (element("text", shortened(name, 18), x=x, y=foot, text_anchor=anchor) for name, x, anchor in ends),
    )


def _changed(found: CrossTable) -> list[tuple[str, ...]]:
    """Return the cells that changed most, first the most."""
    cells = [
        (name, other, before, after)
        for name, old, new in zip(found.rows, found.original, found.released, strict=True)
        for other, before, after in zip(found.across, old, new, strict=True)
    ]
    cells.sort(key=lambda cell: -abs(cell[3] - cell[2]))
    return [(name, other, share(before), share(after)) for name, other, before, after in cells]
