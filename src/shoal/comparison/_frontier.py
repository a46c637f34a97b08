"""Which points are worth a look: those that no other beats."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.comparison._point import Point

__all__ = ["comparable", "non_dominated", "values"]


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
