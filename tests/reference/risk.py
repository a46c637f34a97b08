"""Risk written down record by record, and pairs of tables made of numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.schema import Attribute, Kind, Role

Point = tuple[int, ...]
Box = tuple[tuple[int, int], ...]

SIZES = (4, 3, 5)
ROLES = (Role.QUASI_IDENTIFIER, Role.QUASI_IDENTIFIER, Role.SENSITIVE)


def holds(box: Box, point: Point) -> bool:
    """Return whether a box holds a point."""
    return all(low <= value <= high for (low, high), value in zip(box, point, strict=True))


def only(row: Sequence, columns: Sequence[int]) -> tuple:
    """Return some of the columns of a record."""
    return tuple(row[column] for column in columns)


def pair_of(
    points: Sequence[Point],
    boxes: Sequence[Box],
    *,
    sizes: Sequence[int] = SIZES,
    roles: Sequence[Role] = ROLES,
    ordered: Sequence[int] = (),
) -> Pair:
    """Return the pair of some records and their release; columns in ``ordered`` are numbers 0, 1, ..."""
    axes = tuple(
        ColumnAxis.of(
            Attribute(name=f"c{column}", role=role, kind=Kind.NUMERIC if column in ordered else Kind.CATEGORICAL),
            tuple(str(value) for value in range(size)),
        )
        for column, (size, role) in enumerate(zip(sizes, roles, strict=True))
    )
    return Pair(
        axes=axes, original=_boxes([_box(point) for point in points], len(sizes)), released=_boxes(boxes, len(sizes))
    )


def _box(point: Point) -> Box:
    return tuple((value, value) for value in point)


def _boxes(boxes: Sequence[Box], columns: int) -> Boxes:
    counted = Counter(boxes)
    rows = np.array(sorted(counted), dtype=np.int32).reshape(len(counted), columns, 2)
    return Boxes(
        low=np.asfortranarray(rows[:, :, 0]),
        high=np.asfortranarray(rows[:, :, 1]),
        counts=np.array([counted[box] for box in sorted(counted)], dtype=np.int64),
    )


@st.composite
def points(draw: st.DrawFn, sizes: Sequence[int] = SIZES, minimum: int = 1, maximum: int = 25) -> list[Point]:
    """Draw records."""
    return draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=minimum, max_size=maximum))


@st.composite
def boxes(draw: st.DrawFn, sizes: Sequence[int] = SIZES, minimum: int = 1, maximum: int = 25) -> list[Box]:
    """Draw released records."""
    ends = st.tuples(
        *(
            st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(lambda pair: tuple(sorted(pair)))
            for size in sizes
        )
    )
    return draw(st.lists(ends, min_size=minimum, max_size=maximum))


def linked(points: Sequence[Point], boxes: Sequence[Box], columns: Sequence[int]) -> tuple[float, float, float]:
    """Return the shares of people with a fitting record, with exactly one, and the expected share of right links."""
    found = [
        sum(holds(only(box, columns), only(point, columns)) for box in boxes)
        for point in points  # type: ignore[arg-type]
    ]
    number = len(points)
    return (
        sum(fits > 0 for fits in found) / number,
        sum(fits == 1 for fits in found) / number,
        sum(1 / fits for fits in found if fits) / number,
    )


def worst_linked(points: Sequence[Point], boxes: Sequence[Box], known: Sequence[int], number: int) -> float:
    """Return the expected share of right links by the most telling set of ``number`` columns."""
    return max(linked(points, boxes, chosen)[2] for chosen in itertools.combinations(known, number))


def guesses(classes: Sequence[int], values: Sequence[int]) -> tuple[float, float, float, int]:
    """Return right guesses without and with the class, the best chance in a class, and records with certain values."""
    whole = Counter(values)
    by_class: dict[int, Counter[int]] = {}
    for owner, value in zip(classes, values, strict=True):
        by_class.setdefault(owner, Counter())[value] += 1
    return (
        max(whole.values()) / len(values),
        sum(max(counts.values()) for counts in by_class.values()) / len(values),
        max(max(counts.values()) / counts.total() for counts in by_class.values()),
        sum(counts.total() for counts in by_class.values() if len(counts) == 1),
    )
