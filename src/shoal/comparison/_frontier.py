"""Which points are worth a look, those that no other beats, and the rules to choose among them."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.comparison._point import Point

#: figures that differ by less than this share of their range are nearly the same to a reader
_ALIKE = 0.02


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


class Choice:
    """Points that have both figures, those of them worth a look, and which one to take.

    Parameters
    ----------
    points
        The points.
    risk, utility
        The names of the two figures.

    Attributes
    ----------
    frontier
        The points that no other beats, by risk.
    representatives
        One of those that are nearly the same: the one with the strongest promises.
    """

    def __init__(self, points: Sequence[Point], risk: str, utility: str) -> None:
        self.points, self.risk, self.utility = tuple(points), risk, utility
        numbers = non_dominated(points, risk, utility)
        by_number = {point.number: point for point in points}
        self.frontier = [by_number[number] for number in numbers]
        both = [self.values(point) for point in points]
        self._widths = [max(each[axis] for each in both) - min(each[axis] for each in both) or 1.0 for axis in (0, 1)]
        kept = dict.fromkeys(self.strongest(point, points).number for point in self.frontier)
        self.representatives = sorted((by_number[number] for number in kept), key=self.values)

    def values(self, point: Point) -> tuple[float, float]:
        """Return both figures of a point."""
        return values(point, self.risk, self.utility)

    def strongest(self, point: Point, points: Sequence[Point]) -> Point:
        """Return a point of the same method with nearly the same figures whose promises are the strongest."""
        alike = [other for other in points if self._alike(point, other) and _stronger(other, point)]
        return max(alike, key=lambda other: [_stronger(other, each) for each in alike].count(True), default=point)

    def _alike(self, one: Point, other: Point) -> bool:
        apart = [abs(a - b) for a, b in zip(self.values(one), self.values(other), strict=True)]
        return one.method == other.method and all(
            gap <= _ALIKE * width for gap, width in zip(apart, self._widths, strict=True)
        )

    def nearest(self) -> Point:
        """Return the point nearest to "no risk and nothing lost"."""
        both = [self.values(point) for point in self.representatives]
        lows = [min(each[axis] for each in both) for axis in (0, 1)]
        widths = [max(each[axis] for each in both) - lows[axis] or 1.0 for axis in (0, 1)]

        def distance(position: int) -> float:
            return sum(((both[position][axis] - lows[axis]) / widths[axis]) ** 2 for axis in (0, 1))

        order = sorted(range(len(both)), key=lambda position: (distance(position), both[position]))
        return self.representatives[order[0]]

    def most_useful(self, highest: float) -> Point | None:
        """Return the most useful point whose risk is at most ``highest``, or a stronger one that is nearly the same."""
        allowed = [point for point in self.points if self.values(point)[0] <= highest]
        if not allowed:
            return None
        return self.strongest(min(allowed, key=lambda point: self.values(point)[::-1]), allowed)


def _stronger(one: Point, other: Point) -> bool:
    """Return whether all promises of a point are at least as strong as those of another."""
    if not one.strengths or one.strengths.keys() != other.strengths.keys():
        return one.number == other.number
    return all(
        value >= other.strengths[symbol] if symbol[0] in "kl" else value <= other.strengths[symbol]
        for symbol, value in one.strengths.items()
    )
