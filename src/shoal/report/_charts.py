"""Charts, drawn by hand as SVG.

A plotting library would put megabytes of script into every report and ask the reader to trust it. These pictures need
no script: a value shows on hovering (``<title>``), every chart has its figures as a table, and what differs in colour
differs in form too, for print and for colour-blind readers.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.exact import share
from shoal.report._document import Bar, BudgetFigures, ColumnFigures, LevelFigures, Risk, Step
from shoal.report._markup import CHART_CSS, Html, element, join, shorten
from shoal.report._text import band
from shoal.utility import CrossTable

_WIDTH, _ROW, _LABEL, _BAR = 360, 22, 128, 160
#: the room for bars where two figures stand beside them
_NARROW = 130
#: how much of the bars' room long labels may take
_MORE = 70
#: bars of an ordered column from which they stand upright, on one axis
_MANY = 9
_TALL, _TOP, _FOOT = 130, 16, 20
#: room for the names of rows, and for a picture of two columns
_ROWS, _SIDE, _CELL = 110, 250, 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture and the figures that it shows."""

    #: What it is called on the command line.
    name: str
    #: What it shows.
    title: str
    note: str = ""
    #: The drawing, without the ``svg`` element around it.
    width: int = _WIDTH
    height: int
    content: Html
    #: The same as a table.
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def svg(self, *, alone: bool = False) -> Html:
        """Return the picture; ``alone`` as a file of its own, else as part of a page that has the style."""
        style = element("style", CHART_CSS) if alone else Html("")
        return element(
            "svg",
            element("title", self.title),
            style,
            self.content,
            xmlns="http://www.w3.org/2000/svg",
            view_box=f"0 0 {self.width} {self.height}",
            width=self.width if alone else None,
            height=self.height if alone else None,
            role="img",
            class_="chart",
        )

    def _repr_svg_(self) -> str:
        return self.svg(alone=True)


def column_chart(column: ColumnFigures, *, top: float | None = None) -> Chart:
    """Draw the distribution of a column; with the original's beside it where the report has it.

    ``top`` is the share that a full bar stands for, so that pictures of several releases can be compared.
    """
    ordered = column.wasserstein is not None and sum(bar.kind == "value" for bar in column.bars) >= _MANY
    if ordered:
        return _histogram(column, column.bars, note=_note(column), top=top)
    return _rows_chart(f"column:{column.name}", column.name, "value", column.bars, note=_note(column), top=top)


def inside_chart(column: ColumnFigures) -> Chart | None:
    """Draw what was lost inside the groups of a column: its values, the released ones spread evenly over each group."""
    if not column.inside:
        return None
    changed = column.wasserstein if column.wasserstein is not None else column.total_variation
    said = "values moved by {} of their range on average" if column.wasserstein is not None else "changed by {}"
    note = f"if every value of a group were as likely: {said.format(share(changed or 0))}"
    if column.wasserstein is not None and sum(bar.kind == "value" for bar in column.inside) >= _MANY:
        return _histogram(column, column.inside, note=note, title=f"{column.name}, inside the groups")
    name, title = f"inside:{column.name}", f"{column.name}, inside the groups"
    return _rows_chart(name, title, "value", column.inside, note=note)


def largest_share(column: ColumnFigures) -> float:
    """Return the share of the longest bar of a column, but for values that have no bar of their own."""
    return _top(column.bars)


def _top(bars: Sequence[Bar]) -> float:
    """Return the share of the longest bar; many other values together would make all others short."""
    drawn = [bar for bar in bars if bar.kind != "rest" or not _has_pairs(bars)] or bars
    return max((max(bar.released, bar.original or 0) for bar in drawn), default=0) or 1


def _note(column: ColumnFigures) -> str:
    """Say in a line how far a column moved."""
    if column.between_groups is not None:
        return f"as released, beside the originals at the same level: changed by {share(column.between_groups)}"
    if column.wasserstein is not None:
        return f"values moved by {share(column.wasserstein)} of their range on average (Wasserstein distance)"
    if column.total_variation is not None:
        return f"changed by {share(column.total_variation)} (total variation)"
    if column.distinct is None:
        return ""
    return f"{column.distinct:,} distinct value{'' if column.distinct == 1 else 's'}"


def _rows_chart(
    name: str, title: str, about: str, bars: Sequence[Bar], *, note: str = "", top: float | None = None
) -> Chart:
    top = top or _top(bars)
    left = _left_edge([bar.label for bar in bars])
    header, rows = _as_table(about, bars)
    return Chart(
        name=name,
        title=title,
        note=note,
        height=_ROW * max(len(bars), 1) + 4,
        content=join(_bar(number, bar, top, pairs=_has_pairs(bars), left=left) for number, bar in enumerate(bars)),
        header=header,
        rows=rows,
    )


def _has_pairs(bars: Sequence[Bar]) -> bool:
    return any(bar.original is not None for bar in bars)


def _as_table(about: str, bars: Sequence[Bar]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the header and the rows of a table that shows the same as bars."""
    if _has_pairs(bars):
        rows = tuple((bar.label, share(bar.original or 0), share(bar.released)) for bar in bars)
        return (about, "original", "released"), rows
    return (about, "records", "share"), tuple((bar.label, f"{bar.records or 0:,}", share(bar.released)) for bar in bars)


def _bar(number: int, bar: Bar, top: float, *, pairs: bool, left: int) -> Html:
    y = number * _ROW + 2
    full = shorten(bar.label, 200)
    if pairs:
        original = bar.original or 0
        said = f"{full}: {share(original)} originally, {share(bar.released)} released"
        parts = ((2, original, "original"), (10, bar.released, "released"))
        # a bar of many values together would have to be cut: its figures say enough
        drawn = join(
            _rect(y + down, 7, part / top, class_, _NARROW, left=left)
            for down, part, class_ in parts
            if bar.kind != "rest" or part <= top
        )
        figure = f"{share(original)} | {share(bar.released)}"
    else:
        said = f"{full}: {bar.records or 0:,} records, {share(bar.released)}"
        drawn = _rect(y + 3, _ROW - 8, bar.released / top, "released" if bar.kind == "value" else "aside", left=left)
        figure = share(bar.released)
    return _row(number, bar.label, drawn, said=said, figure=figure, aside=bar.kind != "value", left=left)


def _row(
    number: int, label: str, drawn: Html, *, said: str, figure: str, aside: bool = False, left: int = _LABEL
) -> Html:
    """Return a row: its label, what is drawn, and a figure at the right."""
    y = number * _ROW + 2
    return element(
        "g",
        element("title", said),
        element("rect", x=0, y=y - 1, width=_WIDTH, height=_ROW, class_="row"),
        element(
            "text",
            _fitting(label, left - 8),
            x=left - 6,
            y=y + 15,
            text_anchor="end",
            unicode_bidi="isolate",
            class_="label aside" if aside else "label",
        ),
        drawn,
        element("text", figure, x=_WIDTH - 2, y=y + 15, text_anchor="end", class_="figure"),
        class_="mark",
    )


def _fitting(text: str, room: float) -> str:
    """Return as much of a text as fits, from its beginning: a label that does not is cut at its far end alone."""
    line = shorten(text, 40)
    while sum(map(_advance, line)) > room:
        line = f"{line.removesuffix('…')[:-1].rstrip()}…"
    return line


def _advance(sign: str) -> float:
    """Return about how wide a sign is, at 12 pixels, in the widest of the fonts that systems set pages in."""
    if unicodedata.east_asian_width(sign) in "WF":
        return 12.5
    if sign in " .,:;'|!()[]{}/\\Iijlftr-*":
        return 5.0
    return 11.0 if sign in "mwMW@%…<>=+~" else 8.7 if sign.isupper() else 7.6


def _left_edge(labels: Sequence[str]) -> int:
    """Return where bars begin: further to the right where labels are long."""
    longest = max((sum(map(_advance, shorten(label, 40))) for label in labels), default=0)
    return min(max(_LABEL, math.ceil(longest) + 9), _LABEL + _MORE)


def _rect(y: int, height: int, part: float, class_: str, room: int = _BAR, *, left: int = _LABEL) -> Html:
    width = max(part * (room - 4 + _LABEL - left), 1 if part else 0)
    return element("rect", x=left, y=y, width=f"{width:.1f}", height=height, rx=1, class_=class_)


def class_sizes_chart(after: Risk, before: Risk | None = None) -> Chart:
    """Draw how many records hide in classes of which size."""
    earlier = {size.smallest: size for size in before.sizes} if before else {}
    bars = tuple(
        Bar(
            label=band(size.smallest, size.largest),
            released=size.records / max(after.records, 1),
            records=size.records,
            original=earlier[size.smallest].records / max(before.records, 1) if before else None,
        )
        for size in after.sizes
    )
    return _rows_chart("class-sizes", "Share of records by the size of their class", "class size", bars)


def levels_chart(levels: Sequence[LevelFigures]) -> Chart:
    """Draw how far up its hierarchy every column went."""
    return Chart(
        name="levels",
        title="Levels chosen: from exact (left) to hidden (right)",
        height=_ROW * len(levels) + 4,
        content=join(_ladder(number, level) for number, level in enumerate(levels)),
        header=("column", "level", "released values"),
        rows=tuple(
            (level.column, f"{level.level} of {level.height}", ", ".join(shorten(text, 40) for text in level.examples))
            for level in levels
        ),
    )


def _ladder(number: int, level: LevelFigures) -> Html:
    y = number * _ROW + 2
    gap = (_BAR - 16) / max(level.height, 1)
    steps = join(
        element(
            "circle",
            cx=f"{_LABEL + 8 + gap * step:.1f}",
            cy=y + 11,
            r=6 if step == level.level else 3,
            class_="released" if step == level.level else "step",
        )
        for step in range(level.height + 1)
    )
    rail = element("line", x1=_LABEL + 8, x2=_LABEL + _BAR - 8, y1=y + 11, y2=y + 11, class_="rail")
    figure = f"{level.level} of {level.height}"
    said = f"{shorten(level.column, 200)}: level {figure}"
    return _row(number, level.column, join(rail, steps), said=said, figure=figure)


def budget_chart(steps: Sequence[Step], total: BudgetFigures) -> Chart:
    """Draw what every step spent of epsilon."""
    spending = [step for step in steps if step.epsilon or step.delta]
    marks = [
        _row(
            number,
            step.name,
            _rect(number * _ROW + 5, _ROW - 8, step.epsilon / (total.epsilon or 1), "released"),
            said=f"{step.name}: epsilon {step.epsilon:.4g}, delta {step.delta:.3g}",
            figure=f"{step.epsilon:.4g}",
        )
        for number, step in enumerate(spending)
    ]
    return Chart(
        name="budget",
        title=f"Epsilon by step, {total.epsilon:.4g} in total",
        height=_ROW * max(len(spending), 1) + 4,
        content=join(marks),
        header=("step", "epsilon", "delta"),
        rows=tuple((step.name, f"{step.epsilon:.6g}", f"{step.delta:.6g}") for step in spending),
    )


def _histogram(
    column: ColumnFigures, shown: Sequence[Bar], *, note: str, title: str = "", top: float | None = None
) -> Chart:
    """Draw the distribution of a column with an order upright: before and after on one axis, gaps where nothing is."""
    top = top or max(max(bar.released, bar.original or 0) for bar in shown) or 1
    positions = [bar.place if bar.place is not None else number for number, bar in enumerate(shown)]
    step = _WIDTH / (max(positions) + 1 - positions[0])
    bars = [
        _upright(bar, (position - positions[0]) * step, step, top)
        for bar, position in zip(shown, positions, strict=True)
    ]
    header, rows = _as_table("value", shown)
    return Chart(
        name=f"{'inside' if title else 'column'}:{column.name}",
        title=title or column.name,
        note=note,
        height=_TOP + _TALL + _FOOT,
        content=join(
            element("text", share(top), x=0, y=11, class_="figure"),
            element("line", x1=0, x2=_WIDTH, y1=_TOP + _TALL, y2=_TOP + _TALL, class_="rail"),
            bars,
            _ends([bar for bar in shown if bar.kind == "value"]),
        ),
        header=header,
        rows=rows,
    )


def _upright(bar: Bar, x: float, step: float, top: float) -> Html:
    said = f"{shorten(bar.label, 200)}: {share(bar.released)} released"
    if bar.original is not None:
        said = f"{shorten(bar.label, 200)}: {share(bar.original)} originally, {share(bar.released)} released"
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
    return [element("text", shorten(bar.label, 24), x=x, y=y, text_anchor=anchor) for x, bar, anchor in shown]


def cross_chart(found: CrossTable) -> Chart:
    """Draw how often values of two columns come together, before and after: the darker, the more records."""
    most = max((value for table in (found.original, found.released) for row in table for value in row), default=0) or 1
    tall = min(_CELL, max(8, 440 // max(len(found.rows), 1)))
    height = tall * len(found.rows)
    panels = [
        _panel(found, table, title, _ROWS + position * (_SIDE + 30), tall, most)
        for position, (title, table) in enumerate((("before", found.original), ("after", found.released)))
    ]
    names = [
        element("text", _fitting(name, _ROWS - 8), x=_ROWS - 6, y=20 + tall * row + tall / 2 + 4, text_anchor="end")
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
        rows=tuple(_most_changed_cells(found)[:20]),
    )


def _panel(
    found: CrossTable, table: Sequence[Sequence[float]], title: str, left: int, tall: float, most: float
) -> Html:
    wide = _SIDE / max(len(found.across), 1)
    cells = [
        element(
            "g",
            element("title", f"{shorten(name, 60)}, {shorten(other, 60)}: {share(value)} {title}"),
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
        (element("text", _fitting(name, _SIDE / 2 - 4), x=x, y=foot, text_anchor=anchor) for name, x, anchor in ends),
    )


def _most_changed_cells(found: CrossTable) -> list[tuple[str, ...]]:
    """Return the cells that changed most, first the most."""
    cells = [
        (name, other, before, after)
        for name, old, new in zip(found.rows, found.original, found.released, strict=True)
        for other, before, after in zip(found.across, old, new, strict=True)
    ]
    cells.sort(key=lambda cell: -abs(cell[3] - cell[2]))
    return [(name, other, share(before), share(after)) for name, other, before, after in cells]
