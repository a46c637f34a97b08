from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import orders as kernel
from shoal.kernels._library import library


@pytest.mark.parametrize("run", [kernel.optimal_runs, kernel.optimal_runs_numpy])
def test_runs_follow_the_gaps_of_the_values(run) -> None:
    assert run(np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]), 3).tolist() == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("run", [kernel.optimal_runs, kernel.optimal_runs_numpy])
def test_a_large_common_part_of_the_values_does_not_hide_their_errors(run) -> None:
    values = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0])
    assert run(values + 2.0**40, 2).tolist() == run(values, 2).tolist()


@pytest.mark.skipif(library() is None, reason="the C++ kernels were not built")
@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (9, 5), (10, 5), (500, 1), (500, 7), (40_000, 3)])
def test_both_kernels_agree(n: int, k: int) -> None:
    values = np.sort(np.random.default_rng(n).integers(0, 1 + n // 3, n).astype(float))
    assert kernel.optimal_runs(values, k).tolist() == kernel.optimal_runs_numpy(values, k).tolist()
