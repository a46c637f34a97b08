"""The frontier of a comparison as text for a terminal, and as an interactive picture where Plotly is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.comparison._frontier import comparable, values
from shoal.comparison._point import RISKS, UTILITIES, Point
from shoal.errors import MissingExtraError

__all__ = ["figure", "text_plot"]

#: columns of text that a point may stand away from its place
_NEAR = 6


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


def figure(points: Sequence[Point], risk: str, utility: str, best: Sequence[int]) -> Any:
    """Return a Plotly figure: one trace per method, the frontier as a line.

    Raises
    ------
    MissingExtraError
        If Plotly is not installed.
    """
    try:
        import plotly.graph_objects as go  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtraError("Plotly", extra="report") from None
    shown = comparable(points, risk, utility)
    picture = go.Figure()
    symbols = ("circle", "square", "diamond", "cross", "triangle-up", "star", "x", "pentagon")
    for number, method in enumerate(dict.fromkeys(point.method for point in shown)):
        mine = [point for point in shown if point.method == method]
        across, up = zip(*(values(point, risk, utility) for point in mine), strict=True)
        picture.add_scatter(
            x=across,
            y=up,
            mode="markers+text",
            name=method,
            text=[str(point.number) for point in mine],
            hovertext=[point.label for point in mine],
            textposition="top center",
            marker={"size": 10, "symbol": symbols[number % len(symbols)]},
        )
    line = [values(point, risk, utility) for number in best for point in shown if point.number == number]
    if line:
        across, up = zip(*line, strict=True)
        picture.add_scatter(
            x=across, y=up, mode="lines", name="not beaten", line={"dash": "dot", "shape": "hv"}, hoverinfo="skip"
        )
    picture.update_layout(
        xaxis={"title": RISKS[risk].title, "tickformat": ".1%"},
        yaxis={"title": UTILITIES[utility].title, "tickformat": ".0%"},
    )
    return picture
