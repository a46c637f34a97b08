from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import library
from shoal.kernels import nearest as kernel

needs_native = pytest.mark.skipif(library() is None, reason="the C++ kernels were not built")


def cases(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    if kind == "ties":
        return rng.integers(0, 4, (900, 3)).astype(float), rng.integers(0, 4, (50, 3)).astype(float)
    return rng.normal(size=(900, 3)), rng.normal(size=(50, 3))


@needs_native
@pytest.mark.parametrize("kind", ["ties", "scattered"])
@pytest.mark.parametrize("count", [1, 4, 1000])
def test_both_kernels_find_the_same_neighbours(kind: str, count: int) -> None:
    points, queries = cases(kind)
    for left, right in zip(
        kernel.nearest(points, queries, count), kernel.nearest_numpy(points, queries, count), strict=True
    ):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("run", [kernel.nearest, kernel.nearest_numpy])
def test_neighbours_come_nearest_first_and_lower_rows_win_ties(run) -> None:
    rows, distances = run(np.array([[3.0], [1.0], [1.0], [9.0]]), np.array([[2.0]]), 5)
    assert rows.tolist() == [[0, 1, 2, 3, -1]]
    assert distances.tolist() == [[1.0, 1.0, 1.0, 49.0, np.inf]]


@pytest.mark.parametrize("run", [kernel.nearest, kernel.nearest_numpy])
def test_a_limit_leaves_farther_points_out(run) -> None:
    rows, _ = run(np.array([[0.0], [1.0], [5.0]]), np.array([[0.0], [5.0]]), 2, np.array([1.0, 0.5]))
    assert rows.tolist() == [[0, 1], [2, -1]]


@pytest.mark.parametrize("run", [kernel.nearest, kernel.nearest_numpy])
def test_no_points_have_no_neighbours(run) -> None:
    assert run(np.empty((0, 2)), np.zeros((1, 2)), 1)[0].tolist() == [[-1]]


@pytest.mark.parametrize("kind", ["ties", "scattered"])
def test_counts_within_a_distance_are_those_of_a_full_scan(kind: str) -> None:
    points, queries = cases(kind)
    limits = np.linspace(0.0, 4.0, len(queries))
    expected = (np.square(points[None] - queries[:, None]).sum(axis=2) <= limits[:, None]).sum(axis=1)
    assert kernel.count_within(points, queries, limits).tolist() == expected.tolist()
    assert kernel.count_within_numpy(points, queries, limits).tolist() == expected.tolist()


@needs_native
def test_neighbours_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    points, queries = np.random.default_rng(2).normal(size=(500, 4)), np.random.default_rng(3).normal(size=(2000, 4))
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(kernel, "threads", lambda threads=threads: threads)
        results.append(kernel.nearest(points, queries, 3)[0].tolist())
    assert results[0] == results[1] == results[2]


def test_at_least_one_processor_is_used() -> None:
    assert kernel.threads() >= 1
