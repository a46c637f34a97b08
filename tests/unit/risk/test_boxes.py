"""Which leaves a released value covers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.hierarchies import build
from shoal.risk._boxes import ColumnAxis, Cover, cover
from shoal.schema import Attribute, Dates, Domain, Groups, Intervals, Kind

AGE = Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10)))
AGES = pa.array([20, 21, 24, 25, 33])


def _axis(attribute: Attribute, values: pa.Array, *, missing: bool = False) -> ColumnAxis:
    hierarchy = build(attribute, values, missing=missing)
    return ColumnAxis.of(attribute, hierarchy.labels[0], hierarchy)


def _ranges(found: Cover) -> list[tuple[int, int]]:
    return list(zip(found.low.tolist(), found.high.tolist(), strict=True))


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        ("24", (2, 2)),
        ("24.0", (2, 2)),
        ("[20, 25)", (0, 2)),
        ("[20, 30)", (0, 3)),
        ("*", (0, 4)),
        (None, (0, 4)),
        ("[21, 33]", (1, 4)),
        ("[21, 33)", (1, 3)),
        ("(20, 25]", (1, 3)),
        ("< 24", (0, 1)),
        ("<= 24", (0, 2)),
        ("> 24", (3, 4)),
        (">= 24", (2, 4)),
        ("[22, 23]", (5, 5)),
        ("22.5", (5, 5)),
        ("many", (5, 5)),
    ],
)
def test_a_released_number_covers(released: str | None, expected: tuple[int, int]) -> None:
    assert _ranges(cover(_axis(AGE, AGES), (released,))) == [expected]


def test_values_that_only_the_release_has_are_values_of_their_own() -> None:
    found = cover(_axis(AGE, AGES), ("22.5", "20", "many", "1e3"))
    assert _ranges(found) == [(5, 5), (0, 0), (6, 6), (7, 7)]
    assert found.axis.is_perturbed
    assert found.axis.labels[5:] == ("22.5", "many", "1e3")
    assert found.axis.places is not None
    assert found.axis.places[[5, 7]].tolist() == [22.5, 1000.0]


def test_a_missing_value_is_itself_where_the_original_misses_some() -> None:
    axis = _axis(AGE, AGES, missing=True)
    assert _ranges(cover(axis, (None, "*", "[20, 30)"))) == [(5, 5), (0, 5), (0, 3)]


def test_days_are_read_as_days() -> None:
    attribute = Attribute(name="day", kind=Kind.DATE, hierarchy=Dates(levels=("month", "year")))
    axis = _axis(attribute, pa.array(["2024-01-05", "2024-01-31", "2024-02-01", "2025-06-30"]))
    found = cover(axis, ("2024-01", "2024", "[2024-01-31, 2025-06-30]", "2024-01-20", ">= 2024-02-01"))
    assert _ranges(found) == [(0, 1), (0, 2), (1, 3), (4, 4), (2, 3)]


def test_ranges_of_ordinal_values_follow_the_declared_order() -> None:
    attribute = Attribute(name="stage", kind=Kind.ORDINAL, domain=Domain(values=("low", "middle", "high")))
    axis = _axis(attribute, pa.array(["low", "middle", "high"]))
    assert _ranges(cover(axis, ("[low, middle]", "high", "*"))) == [(0, 1), (2, 2), (0, 2)]
    assert axis.places is not None
    assert axis.places.tolist() == [0.0, 1.0, 2.0]


def test_a_value_of_a_level_covers_the_leaves_below_it() -> None:
    attribute = Attribute(name="town", hierarchy=Groups(levels=((("north", ("a", "b")), ("south", ("c",))),)))
    axis = _axis(attribute, pa.array(["a", "b", "c"]))
    assert _ranges(cover(axis, ("north", "b", "south"))) == [(0, 1), (1, 1), (2, 2)]


def test_intervals_mean_nothing_in_a_categorical_column() -> None:
    axis = _axis(Attribute(name="town"), pa.array(["a", "b"]))
    found = cover(axis, ("[a, b]", "a"))
    assert _ranges(found) == [(2, 2), (0, 0)]
    assert found.axis.tight == frozenset()


def test_ranges_with_values_as_ends_are_remembered() -> None:
    found = cover(_axis(AGE, AGES), ("[20, 24]", "[20, 25)", "[19, 24]"))
    assert found.axis.tight == {(0, 2)}


def test_no_value_is_shown() -> None:
    shown = repr(cover(_axis(Attribute(name="town"), pa.array(["secret"])), ("hidden",)).axis)
    assert "secret" not in shown
    assert "hidden" not in shown
