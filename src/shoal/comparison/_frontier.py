"""Which points are worth a look, and which one to take."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.comparison._point import RISKS, UTILITIES, Point

__all__ = ["non_dominated", "recommend"]


def non_dominated(points: Sequence[Point], risk: str, utility: str) -> tuple[int, ...]:
    """Return the numbers of the points that no other beats: as good in both figures, and better in one.

    Ordered by risk. Of points with the same figures all are returned.
    """
    compared = [(*values(point, risk, utility), point.number) for point in comparable(points, risk, utility)]
    best = [
        (first, second, number)
        for first, second, number in compared
        if not any(a <= first and b <= second and (a < first or b < second) for a, b, _ in compared)
    ]
    return tuple(number for _, _, number in sorted(best))


def comparable(points: Sequence[Point], risk: str, utility: str) -> list[Point]:
    """Return the points that have both figures."""
    return [
        point
        for point in points
        if point.failure is None and point.risk.get(risk) is not None and point.utility.get(utility) is not None
    ]


def values(point: Point, risk: str, utility: str) -> tuple[float, float]:
    """Return both figures of a point that has them."""
    first, second = point.risk[risk], point.utility[utility]
    assert first is not None  # noqa: S101 - asked of comparable points only
    assert second is not None  # noqa: S101
    return first, second


def recommend(
    points: Sequence[Point], risk: str, utility: str, *, highest_risk: float | None = None
) -> tuple[int | None, tuple[str, ...]]:
    """Choose a point and say why, in sentences.

    With ``highest_risk``: the most useful point that does not exceed it. Without: of the points that no other beats,
    the one nearest to "no risk and nothing lost", both figures scaled to the range that these points span.
    """
    candidates = comparable(points, risk, utility)
    if not candidates:
        return None, ("No point has both figures, so there is nothing to recommend.",)
    frontier = [point for number in non_dominated(points, risk, utility) for point in points if point.number == number]
    if highest_risk is None:
        chosen = _nearest(frontier, risk, utility)
        why = [
            f"Point {chosen.number} ({chosen.label}) is the best compromise of the {len(frontier)} points that no "
            f"other point beats in both figures."
            if len(frontier) > 1
            else f"Point {chosen.number} ({chosen.label}) beats all others, or equals them, in both figures."
        ]
    else:
        allowed = [point for point in frontier if values(point, risk, utility)[0] <= highest_risk]
        if not allowed:
            lowest = frontier[0]
            return None, (
                f"No point stays at or below a risk of {highest_risk:.2%}; the lowest is "
                f"{values(lowest, risk, utility)[0]:.2%} of point {lowest.number} ({lowest.label}).",
            )
        chosen = min(allowed, key=lambda point: values(point, risk, utility)[::-1])
        why = [
            f"Point {chosen.number} ({chosen.label}) is the most useful one with a risk of at most {highest_risk:.2%}."
        ]
    return chosen.number, (*why, *_reasons(chosen, frontier, points, risk, utility))


def _nearest(frontier: Sequence[Point], risk: str, utility: str) -> Point:
    both = [values(point, risk, utility) for point in frontier]
    lows = [min(each[axis] for each in both) for axis in (0, 1)]
    widths = [max(each[axis] for each in both) - lows[axis] or 1.0 for axis in (0, 1)]

    def distance(position: int) -> float:
        return sum(((both[position][axis] - lows[axis]) / widths[axis]) ** 2 for axis in (0, 1))

    return frontier[min(range(len(frontier)), key=lambda position: (distance(position), both[position]))]


def _reasons(chosen: Point, frontier: Sequence[Point], points: Sequence[Point], risk: str, utility: str) -> list[str]:
    first, second = values(chosen, risk, utility)
    sentences = [
        f"With it, {RISKS[risk].sentence.format(f'{first:.2%}')}, and "
        f"{UTILITIES[utility].sentence.format(f'{second:.1%}')}."
    ]
    position = next(i for i, point in enumerate(frontier) if point.number == chosen.number)
    if position:
        sentences.append(_versus("safer", frontier[position - 1], chosen, risk, utility))
    if position + 1 < len(frontier):
        sentences.append(_versus("more useful", frontier[position + 1], chosen, risk, utility))
    inferred = chosen.risk.get("inference")
    if inferred is not None and inferred > 0.1 and risk != "inference":
        sentences.append(
            f"Sensitive values are less safe than records: {RISKS['inference'].sentence.format(f'{inferred:.0%}')}. "
            f"l-diversity or t-closeness limits that."
        )
    private = [str(point.number) for point in points if point.private and point.failure is None]
    if private:
        sentences.append(
            f"The figures are about the intruders that were tried. Only differential privacy (point "
            f"{', '.join(private)}) promises something about all others; that promise does not cover a choice by these "
            f"figures, which look at the data: choose on other data, or beforehand."
        )
    return sentences


def _versus(word: str, other: Point, chosen: Point, risk: str, utility: str) -> str:
    (risk_other, utility_other), (risk_chosen, utility_chosen) = (
        values(point, risk, utility) for point in (other, chosen)
    )
    return (
        f"The next {word} one is point {other.number} ({other.label}): risk {risk_other:.2%} instead of "
        f"{risk_chosen:.2%}, {UTILITIES[utility].title} {utility_other:.1%} instead of {utility_chosen:.1%}."
    )
