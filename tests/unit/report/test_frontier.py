"""The frontier in text, and as a picture."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

from shoal.report import Axis, Dot, frontier_chart, frontier_text

SVG = "{http://www.w3.org/2000/svg}"


RISK = Axis(title="average risk", short="risk")
COST = Axis(title="error of random counts (mean)", short="utility lost")


def _dot(number: int, risk: float, cost: float, *, best: bool = False, chosen: bool = False) -> Dot:
    group = "generalize" if number < 3 else "mondrian"
    label = f"{group}, k = {number}"
    return Dot(number=str(number), label=label, group=group, risk=risk, cost=cost, best=best, chosen=chosen)


def _parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - drawn by us


DOTS = [
    _dot(1, 0.0, 0.8, best=True),
    _dot(2, 0.5, 0.4, best=True, chosen=True),
    _dot(3, 1.0, 0.0, best=True),
    _dot(4, 1.0, 0.8),
]


def test_points_stand_where_their_figures_say() -> None:
    drawn = frontier_text(DOTS, RISK, COST, width=40, height=9).splitlines()
    assert drawn[0] == "error of random counts (mean)"
    rows = {number: row for row, line in enumerate(drawn) for number in ("[1]", "[2]", "[3]") if number in line}
    assert rows == {"[1]": 1, "[2]": 5, "[3]": 9}
    assert drawn[1].startswith("80.0% |[1]")
    assert drawn[1].rstrip().endswith("4")
    assert drawn[9].startswith("   0% |")
    assert drawn[11].split() == ["0%", "100%"]
    assert drawn[12].strip() == "average risk"
    assert all(len(line) <= 48 for line in drawn)


def test_points_on_the_same_place_stand_side_by_side_unbeaten_ones_first() -> None:
    drawn = frontier_text([_dot(1, 0.5, 0.5), _dot(2, 0.5, 0.5, best=True)], RISK, COST)
    assert "|[2] 1" in drawn
    many = frontier_text([_dot(number, 0.5, 0.5, best=number == 7) for number in range(1, 9)], RISK, COST)
    assert "[7]" in many
    assert "8" not in many.replace("80", "")


def test_nothing_to_draw_is_said() -> None:
    assert frontier_text([], RISK, COST) == "There is no point to draw."


def test_one_point_is_drawn() -> None:
    assert "[1]" in frontier_text(DOTS[:1], RISK, COST)


def test_a_picture_has_a_form_per_method_and_marks_what_no_other_beats() -> None:
    made = frontier_chart(DOTS, RISK, COST)
    drawn = _parsed(made.svg(alone=True))
    marks = [each for each in drawn.iter(f"{SVG}g") if each.get("class") == "mark"]
    assert len(marks) == 4
    forms = [next(part for part in each if "point" in (part.get("class") or "")) for each in marks]
    assert [form.tag.removeprefix(SVG) for form in forms].count("circle") == 2, "generalize"
    assert [form.tag.removeprefix(SVG) for form in forms].count("polygon") == 2, "mondrian"
    assert sum("beaten" in form.get("class", "") for form in forms) == 1
    ringed = [each for each in marks if any(part.get("class") == "ring" for part in each)]
    assert len(ringed) == 1
    assert ringed[0][0].text == "2 generalize, k = 2: risk 50.0%, utility lost 40.0%"
    line = next(drawn.iter(f"{SVG}polyline")).get("points", "").split()
    assert len(line) == 3
    assert made.rows[3] == ("4", "mondrian, k = 4", "100%", "80.0%"), "the same figures are there as a table"


def test_points_that_lie_together_share_a_label() -> None:
    made = frontier_chart([_dot(1, 0.5, 0.5, best=True), _dot(2, 0.501, 0.5), _dot(3, 1.0, 0.0, best=True)], RISK, COST)
    texts = [each.text for each in _parsed(made.svg(alone=True)).iter(f"{SVG}text")]
    assert "1, 2" in texts
    assert "3" in texts


def test_names_in_a_picture_are_escaped() -> None:
    hostile = dataclasses.replace(DOTS[0], group="<script>alert(1)</script>", label="<script>alert(2)</script>")
    text = str(frontier_chart([hostile], RISK, COST).svg())
    assert "<script" not in text
    _parsed(text)


def test_a_picture_without_points_is_empty() -> None:
    assert frontier_chart([], RISK, COST).rows == ()


def test_figures_that_are_no_shares_are_told_as_numbers() -> None:
    loss = Axis(title="discernibility", short="discernibility", share=False)
    made = frontier_chart([Dot(label="levels 1, 2", risk=1 / 2161, cost=12_345.6)], RISK, loss)
    texts = [each.text for each in _parsed(made.svg(alone=True)).iter(f"{SVG}text")]
    assert "15,000" in "".join(f"{each}" for each in texts) or "1.5e+04" in texts
    title = next(each for each in _parsed(made.svg()).iter(f"{SVG}g")).find(f"{SVG}title")
    assert title is not None
    assert title.text == "levels 1, 2: risk 0.0463%, discernibility 12,345.6"
