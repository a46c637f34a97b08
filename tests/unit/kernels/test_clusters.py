"""The C++ kernel, its NumPy twin and the slow reference give the same labels."""

from __future__ import annotations

import numpy as np
import pytest

from reference import microaggregation as reference
from shoal.kernels import clusters as kernel
from shoal.kernels import library
from shoal.kernels.nearest import nearest

needs_native = pytest.mark.skipif(library() is None, reason="the C++ kernels were not built")

SHAPES = [(1, 1, 1), (2, 3, 1), (7, 2, 7), (40, 3, 3), (300, 4, 3), (300, 1, 20), (1500, 6, 5), (700, 13, 100)]


def points(kind: str, n: int, m: int) -> np.ndarray:
    rng = np.random.default_rng(n * m)
    if kind == "scattered":
        return rng.normal(size=(n, m))
    if kind == "ties":
        return rng.integers(-2, 3, (n, m)).astype(float)
    if kind == "equal":
        return np.full((n, m), 7.25)
    if kind == "outlier":
        return np.concatenate([np.full((1, m), 1e9), rng.normal(size=(n - 1, m))])
    return rng.lognormal(0, 40, (n, m)) * 1e-100


@needs_native
@pytest.mark.parametrize("kind", ["scattered", "ties", "equal", "outlier", "extreme"])
@pytest.mark.parametrize(("n", "m", "k"), SHAPES)
def test_mdav_labels_are_the_same_from_both_kernels(kind: str, n: int, m: int, k: int) -> None:
    data = points(kind, n, m)
    assert kernel.mdav(data, k).tolist() == kernel.mdav_numpy(data, k).tolist()


@pytest.mark.slow
@needs_native
@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 100.0])
@pytest.mark.parametrize("kind", ["scattered", "ties", "equal"])
@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (7, 2, 7), (40, 3, 3), (300, 4, 3), (600, 2, 20)])
def test_vmdav_labels_are_the_same_from_both_kernels(kind: str, n: int, m: int, k: int, gamma: float) -> None:
    data = points(kind, n, m)
    assert kernel.vmdav(data, k, gamma).tolist() == kernel.vmdav_numpy(data, k, gamma).tolist()


@needs_native
def test_the_labels_do_not_depend_on_the_memory_layout() -> None:
    data = points("scattered", 400, 5)
    wide = np.zeros((400, 10))
    wide[:, ::2] = data
    expected = kernel.mdav(data, 4).tolist()
    assert kernel.mdav(np.asfortranarray(data), 4).tolist() == expected
    assert kernel.mdav(wide[:, ::2], 4).tolist() == expected


@pytest.mark.parametrize("run", [kernel.mdav, kernel.mdav_numpy])
@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (5, 2, 2), (9, 1, 3), (60, 2, 4), (61, 3, 10)])
def test_mdav_is_the_algorithm_of_the_paper(run, n: int, m: int, k: int) -> None:
    for kind in ("ties", "scattered"):
        data = points(kind, n, m)
        assert run(data, k).tolist() == reference.mdav(data.tolist(), k)


@pytest.mark.parametrize("run", [kernel.vmdav, kernel.vmdav_numpy])
@pytest.mark.parametrize("gamma", [0.2, 1.1, 3.0])
@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (5, 2, 2), (50, 2, 4), (41, 3, 5)])
def test_vmdav_is_the_slow_reference(run, gamma: float, n: int, m: int, k: int) -> None:
    data = points("scattered", n, m)
    assert run(data, k, gamma).tolist() == reference.vmdav(data.tolist(), k, gamma)


@pytest.mark.parametrize("run", [kernel.mdav, kernel.mdav_numpy])
def test_a_scale_of_all_values_changes_nothing(run) -> None:
    data = points("scattered", 100, 3)
    for power in (-900, -30, 40, 900):
        assert run(np.ldexp(data, power), 3).tolist() == run(data, 3).tolist()


@pytest.mark.parametrize("run", [kernel.mdav, kernel.mdav_numpy])
def test_an_outlier_does_not_spoil_the_centroid_of_the_others(run) -> None:
    rest = points("ties", 60, 2)
    data = np.concatenate([rest, np.full((3, 2), 2.0**30)])
    labels = run(data, 3)
    assert set(labels[-3:]) == {0}
    # Two clusters are made at a time, so the reference must see the outliers too.
    assert labels.tolist() == reference.mdav(data.tolist(), 3)


def case(n: int, m: int, k: int, *, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    points = rng.integers(0, 5, (n, m)).astype(float) if ties else rng.normal(size=(n, m))
    labels = kernel.mdav(points, k)
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) for column in points.T], axis=1) / sizes[:, None]
    return points, labels, means, nearest(means, means, 5)[0]


def error(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.square(points[labels == c] - points[labels == c].mean(axis=0)).sum() for c in range(labels.max() + 1))


@needs_native
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize(("n", "m", "k"), [(20, 2, 3), (400, 3, 4), (300, 6, 7)])
def test_both_kernels_make_the_same_exchanges(n: int, m: int, k: int, *, ties: bool) -> None:
    arguments = case(n, m, k, ties=ties)
    assert kernel.exchange(*arguments).tolist() == kernel.exchange_numpy(*arguments).tolist()


@pytest.mark.parametrize("run", [kernel.exchange, kernel.exchange_numpy])
def test_exchanges_keep_the_sizes_and_lower_the_error(run) -> None:
    points, labels, means, near = case(400, 3, 4, ties=False)
    after = run(points, labels, means, near)
    assert np.bincount(after).tolist() == np.bincount(labels).tolist()
    assert error(points, after) < error(points, labels)


@pytest.mark.parametrize("run", [kernel.exchange, kernel.exchange_numpy])
def test_nothing_is_exchanged_without_neighbours(run) -> None:
    points, labels, means, near = case(30, 2, 3, ties=False)
    assert run(points, labels, means, np.full_like(near, -1)).tolist() == labels.tolist()


@pytest.mark.parametrize("run", [kernel.in_turns, kernel.in_turns_numpy])
def test_clusters_come_from_the_orders_in_turns(run) -> None:
    orders = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], np.int32)
    assert run(orders, 1).tolist() == [0, 2, 4, 3, 1]
    assert run(orders, 2).tolist() == [0, 0, 1, 1, 1]
    assert run(orders, 5).tolist() == [0] * 5


@needs_native
@pytest.mark.parametrize(("n", "count", "k"), [(1, 1, 1), (100, 3, 7), (1000, 16, 3), (50, 2, 40)])
def test_both_kernels_take_the_same_turns(n: int, count: int, k: int) -> None:
    rng = np.random.default_rng(n)
    orders = np.array([rng.permutation(n) for _ in range(count)], np.int32)
    assert kernel.in_turns(orders, k).tolist() == kernel.in_turns_numpy(orders, k).tolist()
