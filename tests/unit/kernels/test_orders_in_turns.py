from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import orders as kernel
from shoal.kernels._library import library


@pytest.mark.parametrize("run", [kernel.in_turns, kernel.in_turns_numpy])
def test_clusters_come_from_the_orders_in_turns(run) -> None:
    orders = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], np.int32)
    assert run(orders, 1).tolist() == [0, 2, 4, 3, 1]
    assert run(orders, 2).tolist() == [0, 0, 1, 1, 1]
    assert run(orders, 5).tolist() == [0] * 5


@pytest.mark.skipif(library() is None, reason="the C++ kernels were not built")
@pytest.mark.parametrize(("n", "count", "k"), [(1, 1, 1), (100, 3, 7), (1000, 16, 3), (50, 2, 40)])
def test_both_kernels_agree(n: int, count: int, k: int) -> None:
    rng = np.random.default_rng(n)
    orders = np.array([rng.permutation(n) for _ in range(count)], np.int32)
    assert kernel.in_turns(orders, k).tolist() == kernel.in_turns_numpy(orders, k).tolist()
