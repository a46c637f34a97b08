from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import library, recoding

compiled = pytest.mark.skipif(library() is None, reason="the compiled kernels are not built")
GROUPS = [recoding.group_numpy, pytest.param(recoding.group, marks=compiled)]
ROLLS = [recoding.roll_up_numpy, pytest.param(recoding.roll_up, marks=compiled)]


@pytest.mark.parametrize("group", GROUPS)
def test_no_rows_have_no_tuples(group: object) -> None:
    found = group(np.zeros((2, 0), dtype=np.int32), (3, 4))
    assert len(found.first) == len(found.labels) == 0


@pytest.mark.parametrize("group", GROUPS)
def test_tuples_of_more_than_64_bits_keep_their_order(group: object) -> None:
    size = 2**31 - 1
    codes = np.array([[size - 1, 0, size - 1], [5, size - 1, 5], [size - 1, 3, 0]], dtype=np.int32)
    assert group(codes, (size, size, size)).labels.tolist() == [2, 0, 1]


@pytest.mark.parametrize("group", GROUPS)
def test_many_possible_tuples_are_sorted_and_few_are_counted_with_the_same_result(group: object) -> None:
    codes = np.array([[7, 0, 7, 3], [1, 1, 1, 0]], dtype=np.int32)
    few, many = group(codes, (8, 2)), group(codes, (8, 10_000))
    assert few.labels.tolist() == many.labels.tolist() == [2, 0, 2, 1]
    assert few.first.tolist() == many.first.tolist() == [1, 3, 0]


@pytest.mark.parametrize("roll_up", ROLLS)
def test_a_class_is_what_the_leading_attributes_tell_apart(roll_up: object) -> None:
    columns = np.array([[0, 1, 2, 3], [0, 1, 0, 1]], dtype=np.int32)
    halves = np.array([0, 0, 1, 1], dtype=np.int32)
    counts = np.array([[1, 2, 3, 4], [10, 20, 30, 40]])
    found = roll_up(
        recoding.MappedTuples(
            columns, [halves, np.arange(2, dtype=np.int32)], (2, 2), counts, 1, [np.array([0.5, 0.25])]
        )
    )
    assert found.columns.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert found.starts.tolist() == [0, 2]
    assert found.sizes.tolist() == [[3, 7], [30, 70]]
    assert found.costs.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("roll_up", ROLLS)
def test_a_long_run_in_another_order_is_sorted(roll_up: object) -> None:
    size = 3_000
    columns = np.array([np.zeros(size), np.arange(size)[::-1]], dtype=np.int32)
    maps = [np.zeros(2, dtype=np.int32), np.arange(size, dtype=np.int32)]
    found = roll_up(recoding.MappedTuples(columns, maps, (1, size), np.ones((1, size), dtype=np.int64), 2))
    assert found.columns[1].tolist() == list(range(size))


@compiled
def test_without_compiled_kernels_numpy_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.array([[1, 0, 1]], dtype=np.int32)
    monkeypatch.setattr(recoding, "library", lambda: None)
    monkeypatch.setattr(recoding, "run", None)
    assert recoding.group(codes, (2,)).labels.tolist() == [1, 0, 1]
