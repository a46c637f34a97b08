"""The points worth a look, and which one to take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.comparison import Point, non_dominated, recommend

FIGURES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20)


def _points(figures: list[tuple[float, float]], **extra: object) -> list[Point]:
    return [
        Point(
            number=number,
            method="generalize",
            promises=f"k = {number}",
            plan="plan",
            key=str(number),
            risk={"average": risk, "inference": 0.0},
            utility={"queries": lost},
            **extra,  # type: ignore[arg-type]
        )
        for number, (risk, lost) in enumerate(figures, start=1)
    ]


@pytest.mark.slow
@given(FIGURES)
def test_a_point_is_kept_unless_another_is_better(figures: list[tuple[int, int]]) -> None:
    best = set(non_dominated(_points(figures), "average", "queries"))
    for number, (risk, lost) in enumerate(figures, start=1):
        beaten = any(other != (risk, lost) and other[0] <= risk and other[1] <= lost for other in figures)
        assert (number in best) != beaten


@given(FIGURES)
def test_the_frontier_is_sorted_by_risk_and_the_choice_is_on_it(figures: list[tuple[int, int]]) -> None:
    points = _points(figures)
    best = non_dominated(points, "average", "queries")
    risks = [figures[number - 1][0] for number in best]
    losses = [figures[number - 1][1] for number in best]
    assert risks == sorted(risks)
    assert losses == sorted(losses, reverse=True)
    chosen, reasons = recommend(points, "average", "queries")
    assert chosen in best
    assert f"Take point {chosen} " in reasons[0]


@given(FIGURES, st.integers(0, 6))
def test_a_limit_is_kept_by_the_most_useful_point(figures: list[tuple[int, int]], limit: int) -> None:
    scaled = [(risk / 6, lost / 6) for risk, lost in figures]
    chosen, reasons = recommend(_points(scaled), "average", "queries", highest_risk=limit / 6)
    allowed = [each for each in scaled if each[0] <= limit / 6]
    if not allowed:
        assert chosen is None
        assert "No point has a risk of at most" in reasons[0]
    else:
        assert chosen is not None
        assert scaled[chosen - 1][0] <= limit / 6
        assert scaled[chosen - 1][1] == min(lost for _, lost in allowed)


def test_the_knee_is_taken() -> None:
    chosen, reasons = recommend(_points([(0.2, 1.0), (0.3, 0.1), (1.0, 0.0), (0.9, 0.9)]), "average", "queries")
    assert chosen == 2
    text = " ".join(reasons)
    assert "among the 3 choices that no other beats in both figures" in text
    assert "A safer choice is point 1" in text
    assert "A more useful choice is point 3" in text
    assert "No choice has a risk of at most 5.00%" in text
    assert "30.0%" in text


def test_points_that_failed_or_lack_a_figure_are_left_out() -> None:
    points = _points([(0.5, 0.5)])
    failed = Point(number=2, method="x", promises="", plan="", key="", failure="no")
    lacking = Point(
        number=3, method="x", promises="", plan="p", key="", risk={"average": 0.1}, utility={"queries": None}
    )
    assert non_dominated([*points, failed, lacking], "average", "queries") == (1,)
    chosen, reasons = recommend([failed, lacking], "average", "queries")
    assert chosen is None
    assert "nothing to recommend" in reasons[0]


def test_what_the_figures_do_not_cover_is_said() -> None:
    private = _points([(0.2, 1.0), (0.3, 0.1), (1.0, 0.0)])
    private[0] = Point(**{**private[0].to_json(), "private": True})
    risky = Point(**{**private[1].to_json(), "risk": {"average": 0.3, "inference": 0.4}})
    _, reasons = recommend([private[0], risky, private[2]], "average", "queries")
    assert any("Sensitive values are less safe" in text and "40.0%" in text for text in reasons)
    assert any("Only differential privacy (point 1)" in text for text in reasons)


def test_of_points_that_are_nearly_the_same_the_strongest_promise_is_taken() -> None:
    points = [
        replace(point, strengths={"k": k, "t(illness)": t})
        for point, (k, t) in zip(
            _points([(0.03, 0.1), (0.03, 0.101), (0.03, 0.1), (1.0, 0.0), (0.0, 1.0)]),
            [(2, 0.2), (10, 0.2), (5, 0.2), (10, 0.5), (2, 0.1)],
            strict=True,
        )
    ]
    chosen, reasons = recommend(points, "average", "queries")
    assert chosen == 2
    assert "Points 1 and 3 have nearly the same figures but promise less." in reasons[0]
    other_method = [replace(points[1], method="mondrian"), *points[:1], *points[2:]]
    assert recommend(other_method, "average", "queries")[0] == 3, "methods do not stand for one another"


def test_a_release_that_shows_who_is_in_the_table_is_told_but_not_taken() -> None:
    points = _points([(0.2, 0.2), (0.1, 0.1), (0.3, 0.3)])
    points[1] = replace(points[1], method="anatomy", shows_members=True)
    chosen, reasons = recommend(points, "average", "queries")
    assert chosen == 1
    assert "of those that hide who is in the table" in reasons[0]
    assert any("If others may see who is in the table, consider point 2" in text for text in reasons)
    chosen, reasons = recommend(points, "average", "queries", highest_risk=0.15)
    assert chosen is None
    assert "Point 2 (anatomy, k = 2) does, but shows who is in the table." in reasons[0]
    chosen, reasons = recommend(points[1:2], "average", "queries")
    assert chosen == 2
    assert any("It publishes the quasi-identifiers unchanged" in text for text in reasons)


def test_records_that_can_be_singled_out_are_told() -> None:
    point = replace(_points([(0.1, 0.1)])[0], risk={"average": 0.1, "singling-out": 0.67})
    _, reasons = recommend([point], "average", "queries")
    assert any("67.0% of the descriptions" in text for text in reasons)


def test_where_no_limit_is_given_the_most_useful_point_of_little_risk_is_taken() -> None:
    chosen, reasons = recommend(_points([(0.01, 0.5), (0.04, 0.2), (0.15, 0.1), (0.5, 0.0)]), "average", "queries")
    assert chosen == 2
    assert "the most useful one with a risk of at most 5.00%, the default limit" in reasons[0]


def test_a_hollow_release_is_not_recommended() -> None:
    points = _points([(0.04, 0.1), (0.01, 0.2)])
    first, _ = recommend(points, "average", "queries")
    assert first == 1
    hollow = [Point(**{**points[0].to_json(), "hollow": True, "found": 0.9}), points[1]]
    assert recommend(hollow, "average", "queries")[0] == 2
    every = [Point(**{**point.to_json(), "hollow": True}) for point in points]
    number, reasons = recommend(every, "average", "queries")
    assert number is None
    assert "The rehearsal refuses every release" in reasons[0]
