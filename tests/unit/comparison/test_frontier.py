"""The points worth a look, and which one to take."""

from __future__ import annotations

from hypothesis import given, settings
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


@settings(deadline=None)
@given(FIGURES)
def test_a_point_is_kept_unless_another_is_better(figures: list[tuple[int, int]]) -> None:
    best = set(non_dominated(_points(figures), "average", "queries"))
    for number, (risk, lost) in enumerate(figures, start=1):
        beaten = any(other != (risk, lost) and other[0] <= risk and other[1] <= lost for other in figures)
        assert (number in best) != beaten


@settings(deadline=None)
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
    assert f"Point {chosen} " in reasons[0]


@settings(deadline=None)
@given(FIGURES, st.integers(0, 6))
def test_a_limit_is_kept_by_the_most_useful_point(figures: list[tuple[int, int]], limit: int) -> None:
    scaled = [(risk / 6, lost / 6) for risk, lost in figures]
    chosen, reasons = recommend(_points(scaled), "average", "queries", highest_risk=limit / 6)
    allowed = [each for each in scaled if each[0] <= limit / 6]
    if not allowed:
        assert chosen is None
        assert "No point stays" in reasons[0]
    else:
        assert chosen is not None
        assert scaled[chosen - 1][0] <= limit / 6
        assert scaled[chosen - 1][1] == min(lost for _, lost in allowed)


def test_the_knee_is_taken() -> None:
    chosen, reasons = recommend(_points([(0.0, 1.0), (0.1, 0.1), (1.0, 0.0), (0.9, 0.9)]), "average", "queries")
    assert chosen == 2
    text = " ".join(reasons)
    assert "3 points that no other point beats" in text
    assert "next safer one is point 1" in text
    assert "next more useful one is point 3" in text
    assert "10.00%" in text


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
    private = _points([(0.0, 1.0), (0.1, 0.1), (1.0, 0.0)])
    private[0] = Point(**{**private[0].to_json(), "private": True})
    risky = Point(**{**private[1].to_json(), "risk": {"average": 0.1, "inference": 0.4}})
    _, reasons = recommend([private[0], risky, private[2]], "average", "queries")
    assert any("Sensitive values are less safe" in text and "40%" in text for text in reasons)
    assert any("Only differential privacy (point 1)" in text for text in reasons)
