from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import _library, walk
from shoal.kernels.walk import BoxAttribute, Proportions, Screening, Start

compiled = pytest.mark.skipif(_library.library() is None, reason="the compiled kernels are not built")
SCORES = [walk.score_numpy, pytest.param(walk.score_native, marks=compiled)]
SCREENS = [walk.screen_numpy, pytest.param(walk.screen_native, marks=compiled)]


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


@pytest.mark.parametrize("screen", SCREENS)
def test_a_node_is_left_out_if_its_classes_are_too_small(screen: object) -> None:
    floors = [np.array([0.0, 10.0])]
    found, bounds = screen(
        two_values([2, 2, 3, 3]), floors, Screening(smallest=5, allowed=10, loss=1.0, scale=10.0, best=0.5)
    )
    assert found.tolist() == [0]
    assert bounds.tolist() == [0.4]
    assert not len(
        screen(two_values([2, 2, 3, 3]), floors, Screening(smallest=5, allowed=3, loss=1.0, scale=10.0, best=0.5))[0]
    )


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("asked", "lost"),
    [
        (Proportions(surplus=0.4), 0),
        (Proportions(surplus=0.2), 8),
        (Proportions(upper_factor=1.2, upper_offset=0.0), 8),
        (Proportions(lower=0.3), 4),
    ],
)
def test_a_class_with_other_proportions_is_lost(screen: object, asked: Proportions, lost: int) -> None:
    # p = (1, 0) and (1/4, 3/4) against q = (5/8, 3/8)
    found, bounds = screen(
        two_values([4, 0, 1, 3]),
        [np.array([0.0, 8.0])],
        Screening(smallest=1, allowed=8, loss=1.0, scale=8.0, best=1.0, orders=[[asked]]),
    )
    assert bounds[found.tolist().index(0)] == lost / 8


@compiled
@pytest.mark.parametrize("seed", range(12))
def test_distances_that_are_carried_along_decide_as_those_computed_anew(seed: int) -> None:
    """Orders of several stages, each of several rounds in which the release moves; the twin compares all anew."""
    numbers = np.random.default_rng(seed)
    halves = tuple(np.arange(size, dtype=np.int32) // 2 for size in (16, 8, 4, 2))
    axes = tuple(
        BoxAttribute(shift=shift, bits=4, maps=halves, costs=tuple(np.full(16 >> s, s / 8) for s in range(5)))
        for shift in (7, 3)
    )
    keys = np.flatnonzero(numbers.random(1 << 11) < 0.6).astype(np.uint64)
    skewed = np.where((keys >> np.uint64(7)) % 5 == keys % 8, 30, 1)
    start = Start(keys, numbers.integers(1, 9, len(keys)) * skewed, axes, 3)
    floors = [np.arange(5) / 8 * int(start.counts.sum())] * 2
    t = (0.1, 0.2, 0.35, 0.6)[seed % 4]
    stages = [Proportions(surplus=min(factor * t, 1.0), exact=True) for factor in (27 / 8, 9 / 4, 3 / 2, 1)]
    asked = Screening(
        smallest=5 + seed,
        allowed=int(start.counts.sum()),
        loss=1.0,
        scale=float(start.counts.sum()),
        best=0.9,
        orders=[stages[-1:], stages],
    )
    found, bounds = walk.screen_native(start, floors, asked)
    expected, wanted = walk.screen_numpy(start, floors, asked)
    assert len(found)
    assert found.tolist() == expected.tolist()
    assert bounds == pytest.approx(wanted, abs=1e-12)
