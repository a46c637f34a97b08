"""Cubes: counted once, the same figures afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from shoal.queries._cubes import Codes, Cube, CubeAxis, Kept, Numbers, axis_of
from shoal.schema.conditions import LAST, And, In, Not, Ranges, Texts

AGES = np.array([31.0, 45, np.nan, 45, 78])
SEXES = Codes(np.array([0, 1, 0, 2, 1], dtype=np.uint8), {"F": 0, "M": 1})
OLDER = In("age", Ranges((((40, 0), LAST),)))


@pytest.fixture
def cube() -> Cube:
    axes = {"age": axis_of(Numbers(AGES), most=10), "sex": axis_of(SEXES, most=10)}
    return Cube.of({name: axis for name, axis in axes.items() if axis is not None}, 5)


def test_cells_count_combinations_and_missing_values(cube: Cube) -> None:
    assert cube.counts.shape == (4, 3)
    assert cube.count(None) == 5
    assert cube.count(OLDER) == 3
    assert cube.count(Not(OLDER)) == 2
    assert cube.count(In("age", Ranges((), missing=True))) == 1
    assert cube.count(And((OLDER, In("sex", Texts(frozenset("M")))))) == 2
    assert cube.count(In("sex", Texts(frozenset(), missing=True))) == 1


def test_counts_along_a_column(cube: Cube) -> None:
    sexes, counts = cube.chosen(OLDER, "sex")
    assert sexes.values.tolist() == [0, 1, 2]
    assert counts is not None
    assert counts.tolist() == [0, 2, 1]


def test_sums_are_exact_beyond_what_floats_hold(cube: Cube) -> None:
    units = np.array([2**60 + 1, 1, 5, 2, 3], dtype=np.int64)
    present = np.array([True, True, False, True, True])
    sums, counts = cube.sums(np.array([0, 4, 6, 5, 10])[present], units[present])
    assert int(sums.sum()) == 2**60 + 7
    assert int(counts.sum()) == 4


def test_a_column_of_many_values_has_no_axis() -> None:
    assert axis_of(Numbers(AGES), most=3) is None
    assert axis_of(SEXES, most=2) is None
    kept = axis_of(Numbers(AGES), most=4)
    assert isinstance(kept, CubeAxis)
    assert kept.length == 4


def test_no_records_have_an_empty_axis() -> None:
    axis = axis_of(Numbers(np.empty(0)), most=4)
    assert axis is not None
    assert Cube.of({"age": axis}, 0).count(OLDER) == 0


def test_what_is_kept_is_made_once_and_the_oldest_goes_first() -> None:
    kept: Kept[str, int] = Kept(2)
    made: list[str] = []

    def make(name: str) -> int:
        return kept.get(name, lambda: made.append(name) or len(name))  # type: ignore[func-returns-value]

    threads = [threading.Thread(target=make, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["a"]
    assert [make(name) for name in ("bb", "a", "ccc", "a", "bb")] == [2, 1, 3, 1, 2]
    assert made == ["a", "bb", "ccc", "bb"]
