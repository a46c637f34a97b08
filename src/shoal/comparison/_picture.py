"""The frontier of a comparison: as text for a terminal, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.comparison._frontier import comparable, values
from shoal.comparison._point import RISKS, UTILITIES, Point
from shoal.report import Chart
from shoal.report._markup import Html, element, join

__all__ = ["chart", "text_plot"]

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


def text_plot(
    points: Sequence[Point], risk: str, utility: str, best: Sequence[int], *, width: int = 64, height: int = 16
) -> str:
    """Draw the points, risk to the right and loss of utility upwards; ``[3]`` is a point that no other beats.

    A point whose place is taken stands a little beside it; where there is no room, unbeaten points and then low numbers
    go first, and others are not drawn.
    """
    shown = comparable(points, risk, utility)
    if not shown:
        return "There is no point to draw."
    across, up = zip(*(values(point, risk, utility) for point in shown), strict=True)
    cells = [[" "] * width for _ in range(height)]
    for point in sorted(shown, key=lambda each: (each.number not in best, each.number)):
        x, y = values(point, risk, utility)
        label = f"[{point.number}]" if point.number in best else str(point.number)
        row = cells[height - 1 - round(_share(y, up) * (height - 1))]
        _put(row, label, min(round(_share(x, across) * (width - 4)), width - len(label)))
    high, low = f"{max(up):.1%}", f"{min(up):.1%}"
    margin = max(len(high), len(low))
    lines = [UTILITIES[utility].title]
    for number, row in enumerate(cells):
        mark = high if number == 0 else low if number == height - 1 else ""
        lines.append(f"{mark:>{margin}} |{''.join(row).rstrip()}")
    left, right = f"{min(across):.2%}", f"{max(across):.2%}"
    lines.append(f"{'':>{margin}} +{'-' * width}")
    lines.append(f"{'':>{margin}}  {left}{right:>{width - len(left)}}")
    lines.append(f"{'':>{margin}}  {RISKS[risk].title}")
    return "\n".join(lines)


def _put(row: list[str], label: str, column: int) -> None:
    """Write a label into a row at a column, or as near to it as there is room, but not far away."""
    for shift in sorted(range(-_NEAR, _NEAR + 1), key=lambda each: (abs(each), -each)):
        start, end = column + shift, column + shift + len(label)
        if start >= 0 and end <= len(row) and not "".join(row[max(start - 1, 0) : end + 1]).strip():
            row[start:end] = label
            return


def _share(value: float, every: Sequence[float]) -> float:
    low, high = min(every), max(every)
    return (value - low) / (high - low) if high > low else 0.0


def chart(points: Sequence[Point], risk: str, utility: str, best: Sequence[int], recommended: int | None) -> Chart:
    """Draw the frontier: a form and a colour per method, points that no other beats filled and joined by a line."""
    shown = comparable(points, risk, utility)
    methods = list(dict.fromkeys(point.method for point in shown))
    right = _ceiling([values(point, risk, utility)[0] for point in shown])
    top = _ceiling([values(point, risk, utility)[1] for point in shown])

    def place(point: Point) -> tuple[float, float]:
        x, y = values(point, risk, utility)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right, _BOTTOM - (_BOTTOM - 20) * y / top

    line = [place(point) for number in best for point in shown if point.number == number]
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
    marks = [
        _mark(
            point,
            methods.index(point.method),
            place(point),
            (risk, utility),
            unbeaten=point.number in best,
            chosen=point.number == recommended,
        )
        for point in sorted(shown, key=lambda each: (each.number in best, each.number == recommended))
    ]
    return Chart(
        name="frontier",
        title=f"{UTILITIES[utility].title.capitalize()} against {RISKS[risk].title}",
        note="filled: no other point is better in both; ringed: recommended",
        width=_WIDTH,
        height=_BOTTOM + 48 + 20 * -(-len(methods) // _LEGEND),
        content=join(
            _axes(right, top, RISKS[risk].title, UTILITIES[utility].title),
            element("polyline", points=places, fill="none", class_="frontier"),
            marks,
            _labels([(point.number, *place(point)) for point in shown]),
            _legend(methods),
        ),
        header=("point", "plan", RISKS[risk].title, UTILITIES[utility].title),
        rows=tuple(
            (str(point.number), point.label, *(f"{value:.2%}" for value in values(point, risk, utility)))
            for point in shown
        ),
    )


def _ceiling(every: Sequence[float]) -> float:
    """Return a round number that no value exceeds."""
    most = max(every, default=0.0)
    if most <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(unit * step for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if unit * step >= most * (1 - 1e-9))


def _axes(right: float, top: float, across: str, up: str) -> Html:
    parts = [
        element("line", x1=_LEFT, y1=_BOTTOM, x2=_WIDTH - _RIGHT, y2=_BOTTOM, class_="rail"),
        element("line", x1=_LEFT, y1=20, x2=_LEFT, y2=_BOTTOM, class_="rail"),
        element("text", across, x=(_LEFT + _WIDTH) / 2, y=_BOTTOM + 34, text_anchor="middle"),
        element("text", up, x=-(_BOTTOM + 20) / 2, y=14, text_anchor="middle", transform="rotate(-90)"),
    ]
    for part in (0.0, 0.5, 1.0):
        x, y = _LEFT + (_WIDTH - _LEFT - _RIGHT) * part, _BOTTOM - (_BOTTOM - 20) * part
        parts.append(
            element("text", _tick(right * part), x=f"{x:.1f}", y=_BOTTOM + 17, text_anchor="middle", class_="figure")
        )
        parts.append(
            element("text", _tick(top * part), x=_LEFT - 7, y=f"{y + 4:.1f}", text_anchor="end", class_="figure")
        )
    return join(parts)


def _tick(value: float) -> str:
    return f"{100 * value:.3g}%"


def _mark(
    point: Point, method: int, place: tuple[float, float], figures: tuple[str, str], *, unbeaten: bool, chosen: bool
) -> Html:
    x, y = place
    lost, risk = values(point, *figures)[1], values(point, *figures)[0]
    said = f"{point.number} {point.label}: risk {risk:.2%}, utility lost {lost:.1%}"
    ring = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=11, class_="ring") if chosen else Html("")
    return element(
        "g",
        element("title", said),
        ring,
        _shape(method, x, y, unbeaten=unbeaten),
        class_="mark",
    )


def _labels(places: Sequence[tuple[int, float, float]]) -> Html:
    """Write the numbers of points beside them; points that lie together share a label."""
    together: list[list[tuple[int, float, float]]] = []
    for number, x, y in places:
        near = [each for each in together if abs(each[0][1] - x) < _TOGETHER and abs(each[0][2] - y) < _TOGETHER]
        if near:
            near[0].append((number, x, y))
        else:
            together.append([(number, x, y)])
    taken: list[tuple[float, float, float]] = []
    parts = []
    for each in together:
        text = ", ".join(str(number) for number, _, _ in each)
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
