"""Utility written down record by record: every released record stands for all points of its box."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from reference.risk import Box, Point


def spread(boxes: Sequence[Box]) -> dict[Point, Fraction]:
    """Return how many released records there are at every point, each box spread evenly over its points."""
    result: dict[Point, Fraction] = {}
    for box in boxes:
        points = list(itertools.product(*(range(low, high + 1) for low, high in box)))
        for point in points:
            result[point] = result.get(point, Fraction(0)) + Fraction(1, len(points))
    return result


def marginal(masses: dict[Point, Fraction], column: int, size: int) -> list[Fraction]:
    """Return the share of every value of a column."""
    total = sum(masses.values())
    shares = [Fraction(0)] * size
    for point, mass in masses.items():
        shares[point[column]] += mass / total
    return shares


def total_variation(first: Sequence[Fraction], second: Sequence[Fraction]) -> float:
    """Return half the sum of the differences."""
    return float(sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2)


def hellinger(first: Sequence[Fraction], second: Sequence[Fraction]) -> float:
    """Return the Hellinger distance."""
    return math.sqrt(max(0.0, 1 - sum(math.sqrt(a * b) for a, b in zip(first, second, strict=True))))


def correlation(masses: dict[Point, Fraction], i: int, j: int) -> float | None:
    """Return Pearson's correlation of two columns of numbers."""
    total = sum(masses.values())

    def mean(function) -> Fraction:  # type: ignore[no-untyped-def]
        return sum((mass * function(point) for point, mass in masses.items()), Fraction(0)) / total

    x, y = mean(lambda point: point[i]), mean(lambda point: point[j])
    variances = mean(lambda p: (p[i] - x) ** 2) * mean(lambda p: (p[j] - y) ** 2)
    return float(mean(lambda p: (p[i] - x) * (p[j] - y))) / math.sqrt(variances) if variances else None


def cramer(masses: dict[Point, Fraction], i: int, j: int) -> float | None:
    """Return Cramér's V of two columns, every value a group."""
    total = sum(masses.values())
    rows, columns, cells = Counter(), Counter(), Counter()  # type: ignore[var-annotated]
    for point, mass in masses.items():
        rows[point[i]] += mass
        columns[point[j]] += mass
        cells[point[i], point[j]] += mass
    least = min(len(rows), len(columns)) - 1
    if least < 1:
        return None
    chi = sum(
        (cells[a, b] - rows[a] * columns[b] / total) ** 2 / (rows[a] * columns[b] / total)
        for a in rows
        for b in columns
    )
    return math.sqrt(chi / (total * least))


def count(masses: dict[Point, Fraction], columns: Sequence[int], ranges: Sequence[tuple[int, int]]) -> float:
    """Return the expected number of records in ranges of some columns."""
    return float(
        sum(
            mass
            for point, mass in masses.items()
            if all(first <= point[column] <= last for column, (first, last) in zip(columns, ranges, strict=True))
        )
    )
