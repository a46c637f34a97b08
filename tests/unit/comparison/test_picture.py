"""The frontier in text, and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from shoal.comparison import Point
from shoal.comparison._picture import chart, text_plot

SVG = "{http://www.w3.org/2000/svg}"


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


def _parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - drawn by us


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


def test_a_picture_has_a_form_per_method_and_marks_what_no_other_beats() -> None:
    made = chart(POINTS, "average", "queries", (1, 2, 3), 2)
    drawn = _parsed(made.svg(alone=True))
    marks = [each for each in drawn.iter(f"{SVG}g") if each.get("class") == "mark"]
    assert len(marks) == 4
    forms = [next(part for part in each if "point" in (part.get("class") or "")) for each in marks]
    assert [form.tag.removeprefix(SVG) for form in forms].count("circle") == 2, "generalize"
    assert [form.tag.removeprefix(SVG) for form in forms].count("polygon") == 2, "mondrian"
    assert sum("beaten" in form.get("class", "") for form in forms) == 1
    ringed = [each for each in marks if any(part.get("class") == "ring" for part in each)]
    assert len(ringed) == 1
    assert ringed[0][0].text == "2 generalize, k = 2: risk 50.00%, utility lost 40.0%"
    line = next(drawn.iter(f"{SVG}polyline")).get("points", "").split()
    assert len(line) == 3
    assert made.rows[3] == ("4", "mondrian, k = 4", "100.00%", "80.00%"), "the same figures are there as a table"


def test_points_that_lie_together_share_a_label() -> None:
    made = chart([_point(1, 0.5, 0.5), _point(2, 0.501, 0.5), _point(3, 1.0, 0.0)], "average", "queries", (1, 3), None)
    texts = [each.text for each in _parsed(made.svg(alone=True)).iter(f"{SVG}text")]
    assert "1, 2" in texts
    assert "3" in texts


def test_names_in_a_picture_are_escaped() -> None:
    hostile = Point(**{**POINTS[0].to_json(), "method": "<script>alert(1)</script>"})
    text = str(chart([hostile], "average", "queries", (1,), 1).svg())
    assert "<script" not in text
    _parsed(text)


def test_a_picture_without_points_is_empty() -> None:
    assert chart([], "average", "queries", (), None).rows == ()
