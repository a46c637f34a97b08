from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import exchange as kernel
from shoal.kernels._library import library
from shoal.kernels.mdav import mdav
from shoal.kernels.nearest import nearest


def case(n: int, m: int, k: int, *, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    points = rng.integers(0, 5, (n, m)).astype(float) if ties else rng.normal(size=(n, m))
    labels = mdav(points, k)
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) for column in points.T], axis=1) / sizes[:, None]
    return points, labels, means, nearest(means, means, 5)[0]


def error(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.square(points[labels == c] - points[labels == c].mean(axis=0)).sum() for c in range(labels.max() + 1))


@pytest.mark.skipif(library() is None, reason="the C++ kernels were not built")
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
