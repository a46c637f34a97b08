"""Risk against what it costs: the frontier as text for a terminal, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.exact import share
from shoal.report._charts import Chart
from shoal.report._markup import Html, element, join

#: columns of text that a point may stand away from its place
_NEAR = 6

_WIDTH, _LEFT, _RIGHT, _BOTTOM = 720, 84, 44, 340
#: methods in a row of the legend
_LEGEND = 5
#: forms of methods: corners, none for a circle, and where the first one points
_SHAPES = ((0, 0), (4, 45), (3, -90), (4, 0), (3, 90), (5, -90), (6, 0), (3, 0))
_COLOURS = 7
#: pixels within which points share a label
_TOGETHER = 20
#: about the width of a letter, in pixels
_LETTER = 6.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One point of the picture: its risk, its cost, and its look."""

    #: What stands beside it; nothing where it is empty.
    number: str = ""
    #: What it is.
    label: str
    #: Its method, which has a form and a colour of its own.
    group: str = ""
    #: Where it stands; lower is better for both.
    risk: float
    cost: float
    #: Whether no other is better in both.
    best: bool = False
    #: Whether it is the one that is taken or recommended.
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of the picture: its title in full and in short, and whether it is a share."""

    title: str
    short: str
    share: bool = True

    def tell(self, value: float) -> str:
        """Return a value as text."""
        return share(value) if self.share else f"{value:,.6g}"

    def tick(self, value: float) -> str:
        """Return a round value beside the axis."""
        return f"{100 * value:.3g}%" if self.share else f"{value:,.3g}"


def frontier_text(dots: Sequence[Dot], risk: Axis, cost: Axis, *, width: int = 64, height: int = 16) -> str:
    """Draw the choices, risk to the right and cost upwards; ``[3]`` is one that no other beats.

    A choice whose place is taken stands a little beside it; where there is no room, unbeaten ones and then earlier ones
    go first, and others are not drawn.
    """
    if not dots:
        return "There is no point to draw."
    across, up = [dot.risk for dot in dots], [dot.cost for dot in dots]
    cells = [[" "] * width for _ in range(height)]
    for dot in sorted(dots, key=lambda each: not each.best):
        label = f"[{dot.number}]" if dot.best else dot.number
        row = cells[height - 1 - round(_part(dot.cost, up) * (height - 1))]
        _put(row, label, min(round(_part(dot.risk, across) * (width - 4)), width - len(label)))
    high, low = cost.tell(max(up)), cost.tell(min(up))
    margin = max(len(high), len(low))
    lines = [cost.title]
    for number, row in enumerate(cells):
        mark = high if number == 0 else low if number == height - 1 else ""
        lines.append(f"{mark:>{margin}} |{''.join(row).rstrip()}")
    left, right = risk.tell(min(across)), risk.tell(max(across))
    lines.append(f"{'':>{margin}} +{'-' * width}")
    lines.append(f"{'':>{margin}}  {left}{right:>{width - len(left)}}")
    lines.append(f"{'':>{margin}}  {risk.title}")
    return "\n".join(lines)


def _put(row: list[str], label: str, column: int) -> None:
    """Write a label into a row at a column, or as near to it as there is room, but not far away."""
    for shift in sorted(range(-_NEAR, _NEAR + 1), key=lambda each: (abs(each), -each)):
        start, end = column + shift, column + shift + len(label)
        if start >= 0 and end <= len(row) and not "".join(row[max(start - 1, 0) : end + 1]).strip():
            row[start:end] = label
            return


def _part(value: float, every: Sequence[float]) -> float:
    low, high = min(every), max(every)
    return (value - low) / (high - low) if high > low else 0.0


def frontier_chart(dots: Sequence[Dot], risk: Axis, cost: Axis, *, ringed: str = "recommended") -> Chart:
    """Draw the frontier: a form and a colour per method, choices that no other beats filled and joined by a line.

    ``ringed`` says what the choice with a ring is.
    """
    groups = list(dict.fromkeys(dot.group for dot in dots))
    named = [group for group in groups if group]
    right, top = _ceiling([dot.risk for dot in dots]), _ceiling([dot.cost for dot in dots])
    places = [
        (_LEFT + (_WIDTH - _LEFT - _RIGHT) * dot.risk / right, _BOTTOM - (_BOTTOM - 20) * dot.cost / top)
        for dot in dots
    ]
    drawn = sorted(zip(dots, places, strict=True), key=lambda each: (each[0].best, each[0].chosen))
    line = sorted(place for dot, place in drawn if dot.best)
    return Chart(
        name="frontier",
        title=f"{cost.title.capitalize()} against {risk.title}",
        note=f"filled: no other point is better in both; ringed: {ringed}",
        width=_WIDTH,
        height=_BOTTOM + 48 + 20 * -(-len(named) // _LEGEND),
        content=join(
            _axes(right, top, risk, cost),
            element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in line), fill="none", class_="frontier"),
            [_mark(dot, groups.index(dot.group), place, risk, cost) for dot, place in drawn],
            _labels([(dot.number, *place) for dot, place in zip(dots, places, strict=True) if dot.number]),
            _legend(named),
        ),
        header=("point", "plan", risk.title, cost.title),
        rows=tuple((dot.number, dot.label, risk.tell(dot.risk), cost.tell(dot.cost)) for dot in dots),
    )


def _ceiling(every: Sequence[float]) -> float:
    """Return a round number that no value exceeds."""
    most = max(every, default=0.0)
    if most <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(unit * step for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if unit * step >= most * (1 - 1e-9))


def _axes(right: float, top: float, risk: Axis, cost: Axis) -> Html:
    parts = [
        element("line", x1=_LEFT, y1=_BOTTOM, x2=_WIDTH - _RIGHT, y2=_BOTTOM, class_="rail"),
        element("line", x1=_LEFT, y1=20, x2=_LEFT, y2=_BOTTOM, class_="rail"),
        element("text", risk.title, x=(_LEFT + _WIDTH) / 2, y=_BOTTOM + 34, text_anchor="middle"),
        element("text", cost.title, x=-(_BOTTOM + 20) / 2, y=14, text_anchor="middle", transform="rotate(-90)"),
    ]
    for part in (0.0, 0.5, 1.0):
        x, y = f"{_LEFT + (_WIDTH - _LEFT - _RIGHT) * part:.1f}", f"{_BOTTOM - (_BOTTOM - 20) * part + 4:.1f}"
        across, up = risk.tick(right * part), cost.tick(top * part)
        parts.append(element("text", across, x=x, y=_BOTTOM + 17, text_anchor="middle", class_="figure"))
        parts.append(element("text", up, x=_LEFT - 7, y=y, text_anchor="end", class_="figure"))
    return join(parts)


def _mark(dot: Dot, group: int, place: tuple[float, float], risk: Axis, cost: Axis) -> Html:
    x, y = place
    name = f"{dot.number} {dot.label}".strip()
    said = f"{name}: {risk.short} {risk.tell(dot.risk)}, {cost.short} {cost.tell(dot.cost)}"
    ring = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=11, class_="ring") if dot.chosen else Html("")
    return element("g", element("title", said), ring, _shape(group, x, y, unbeaten=dot.best), class_="mark")


def _labels(places: Sequence[tuple[str, float, float]]) -> Html:
    """Write the numbers of points beside them; points that lie together share a label."""
    together: list[list[tuple[str, float, float]]] = []
    for number, x, y in places:
        near = [each for each in together if abs(each[0][1] - x) < _TOGETHER and abs(each[0][2] - y) < _TOGETHER]
        if near:
            near[0].append((number, x, y))
        else:
            together.append([(number, x, y)])
    taken: list[tuple[float, float, float]] = []
    parts = []
    for each in together:
        text = ", ".join(number for number, _, _ in each)
        x, high, low = max(x for _, x, _ in each) + 9, min(y for *_, y in each) - 8, max(y for *_, y in each) + 18
        free = [y for y in (high, low, high - 14) if not any(_meet((x, y, _LETTER * len(text)), box) for box in taken)]
        place = (x, free[0] if free else high, _LETTER * len(text))
        taken.append(place)
        parts.append(element("text", text, x=f"{place[0]:.1f}", y=f"{place[1]:.1f}", class_="figure"))
    return join(parts)


def _meet(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """Return whether two texts (left end, line, length) overlap."""
    apart = one[0] + one[2] < other[0] or other[0] + other[2] < one[0]
    return not apart and abs(one[1] - other[1]) < 2 * _LETTER


def _shape(method: int, x: float, y: float, *, unbeaten: bool) -> Html:
    """Return the form of a method; methods beyond the sixteenth look like earlier ones."""
    sides, turn = _SHAPES[method % len(_SHAPES)]
    class_ = f"{'point' if unbeaten else 'point beaten'} method{method % _COLOURS}"
    if not sides:
        return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5.5, class_=class_)
    corners = [
        (x + 6.5 * math.cos(angle), y + 6.5 * math.sin(angle))
        for angle in (math.radians(turn) + 2 * math.pi * corner / sides for corner in range(sides))
    ]
    return element("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_=class_)


def _legend(methods: Sequence[str]) -> Html:
    parts = []
    for number, method in enumerate(methods):
        x = _LEFT + (number % _LEGEND) * (_WIDTH - _LEFT) / _LEGEND
        y = _BOTTOM + 54 + 20 * (number // _LEGEND)
        parts.append(_shape(number, x, y, unbeaten=True))
        parts.append(element("text", method, x=f"{x + 12:.1f}", y=f"{y + 4:.1f}"))
    return join(parts)
