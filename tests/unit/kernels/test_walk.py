from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import _library, walk
from shoal.kernels.walk import BoxAttribute, Start

compiled = pytest.mark.skipif(_library.library() is None, reason="the compiled kernels are not built")
SCORES = [walk.score_numpy, pytest.param(walk.score_native, marks=compiled)]


def two_values(counts: list[int]) -> Start:
    """One attribute of two values that become one; below it a sensitive attribute of two values."""
    axis = BoxAttribute(shift=1, bits=1, maps=(np.zeros(2, dtype=np.int32),), costs=(np.zeros(2), np.ones(1)))
    return Start(np.arange(4, dtype=np.uint64), np.array(counts), (axis,), 1)


@pytest.mark.parametrize("score", SCORES)
def test_sizes_beyond_the_table_gain_the_slope(score: object) -> None:
    found = score(two_values([1, 0, 5, 0]), np.array([0.0, 1.0]), slope=10.0)
    # sizes 1 and 5, then one class of which everything is lost
    assert found.tolist() == [1.0 + 41.0, 0.0]


@pytest.mark.parametrize("score", SCORES)
def test_the_best_value_of_a_class_counts_once(score: object) -> None:
    found = score(two_values([3, 2, 1, 1]), np.arange(10.0), slope=1.0, base=2.0, best_value=True)
    assert found.tolist() == [2 * 3 + 2 * 1, 4.0]
