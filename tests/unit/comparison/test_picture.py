"""The frontier in text, and as a picture where Plotly is installed."""

from __future__ import annotations

import importlib.util

import pytest

from shoal.comparison import Point
from shoal.comparison._picture import figure, text_plot
from shoal.errors import MissingExtraError


def _point(number: int, risk: float, lost: float) -> Point:
    return Point(
        number=number,
        method="generalize" if number < 3 else "mondrian",
        promises=f"k = {number}",
        plan="p",
        key="",
        risk={"average": risk},
        utility={"queries": lost},
    )


POINTS = [_point(1, 0.0, 0.8), _point(2, 0.5, 0.4), _point(3, 1.0, 0.0), _point(4, 1.0, 0.8)]


def test_points_stand_where_their_figures_say() -> None:
    drawn = text_plot(POINTS, "average", "queries", (1, 2, 3), width=40, height=9).splitlines()
    assert drawn[0] == "error of random counts (mean)"
    rows = {number: row for row, line in enumerate(drawn) for number in ("[1]", "[2]", "[3]") if number in line}
    assert rows == {"[1]": 1, "[2]": 5, "[3]": 9}
    assert drawn[1].startswith("80.0% |[1]")
    assert drawn[1].rstrip().endswith("4")
    assert drawn[9].startswith(" 0.0% |")
    assert "0.00%" in drawn[11]
    assert drawn[11].endswith("100.00%")
    assert drawn[12].strip() == "average risk of re-identification"
    assert all(len(line) <= 48 for line in drawn)


def test_points_on_the_same_place_stand_side_by_side_unbeaten_ones_first() -> None:
    drawn = text_plot([_point(1, 0.5, 0.5), _point(2, 0.5, 0.5)], "average", "queries", (2,))
    assert "|[2] 1" in drawn
    many = text_plot([_point(number, 0.5, 0.5) for number in range(1, 9)], "average", "queries", (7,))
    assert "[7]" in many
    assert "8" not in many.replace("80", "")


def test_nothing_to_draw_is_said() -> None:
    assert text_plot([], "average", "queries", ()) == "There is no point to draw."


def test_one_point_is_drawn() -> None:
    assert "[1]" in text_plot(POINTS[:1], "average", "queries", (1,))


@pytest.mark.skipif(importlib.util.find_spec("plotly") is not None, reason="Plotly is installed")
def test_a_picture_needs_plotly() -> None:
    with pytest.raises(MissingExtraError, match="Plotly"):
        figure(POINTS, "average", "queries", (1, 2, 3))


@pytest.mark.skipif(importlib.util.find_spec("plotly") is None, reason="needs Plotly: pip install 'shoal[report]'")
def test_a_picture_has_a_trace_per_method_and_the_frontier() -> None:
    made = figure(POINTS, "average", "queries", (1, 2, 3))
    assert [trace.name for trace in made.data] == ["generalize", "mondrian", "not beaten"]
    assert list(made.data[-1].x) == [0.0, 0.5, 1.0]
