from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shoal.kernels import library, screening
from shoal.kernels.screening import Ground, Proportions, Screening
from shoal.kernels.walk import BoxAttribute, Start

compiled = pytest.mark.skipif(library() is None, reason="the compiled kernels are not built")
SCREENS = [
    screening.screen_numpy,
    pytest.param(screening.screen_native, marks=compiled),
    pytest.param(screening.screen_histograms, marks=compiled),
]


def two_values(counts: list[int]) -> Start:
    """One attribute of two values that become one; below it a sensitive attribute of two values."""
    axis = BoxAttribute(shift=1, bits=1, maps=(np.zeros(2, dtype=np.int32),), costs=(np.zeros(2), np.ones(1)))
    return Start(np.arange(4, dtype=np.uint64), np.array(counts), (axis,), 1)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_node_is_left_out_if_its_classes_are_too_small(screen: Any) -> None:
    floors = [np.array([0.0, 10.0])]
    found, bounds, *_ = screen(
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
        (Proportions(distance=0.4), 0),
        (Proportions(distance=0.2), 8),
        (Proportions(upper_factor=1.2, upper_offset=0.0), 8),
        (Proportions(lower=0.3), 4),
    ],
)
def test_a_class_with_other_proportions_is_lost(screen: Any, asked: Proportions, lost: int) -> None:
    # p = (1, 0) and (1/4, 3/4) against q = (5/8, 3/8)
    found, bounds, *_ = screen(
        two_values([4, 0, 1, 3]),
        [np.array([0.0, 8.0])],
        Screening(smallest=1, allowed=8, loss=1.0, scale=8.0, best=1.0, orders=[[asked]]),
    )
    assert bounds[found.tolist().index(0)] == lost / 8


GROUNDS = (
    None,
    Ground((0,) * 8, tuple(range(1, 9)), 7, ordered=True),
    Ground((*range(8), 0, 3, 6), (*range(1, 9), 3, 6, 8), 2),
)
GROUNDS_OF_MANY = (
    Ground(tuple(range(100)), tuple(range(1, 101)), 1),
    Ground((0,) * 100, tuple(range(1, 101)), 99, ordered=True),
)


@compiled
@pytest.mark.parametrize("screen", [screening.screen_native, screening.screen_histograms])
@pytest.mark.parametrize("seed", range(12))
def test_distances_that_are_carried_along_decide_as_those_computed_anew(seed: int, screen: Any) -> None:
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
    ground = GROUNDS[seed // 4] if screen is screening.screen_histograms else None
    stages = [
        Proportions(distance=min(factor * Fraction(str(t)), Fraction(1)), exact=True, ground=ground)
        for factor in (Fraction(27, 8), Fraction(9, 4), Fraction(3, 2), Fraction(1))
    ]
    asked = Screening(
        smallest=5 + seed,
        allowed=int(start.counts.sum()),
        loss=1.0,
        scale=float(start.counts.sum()),
        best=0.9,
        orders=[stages[-1:], stages],
    )
    found, bounds, *_ = screen(start, floors, asked)
    expected, wanted, *_ = screening.screen_numpy(start, floors, asked)
    assert len(found)
    assert found.tolist() == expected.tolist()
    assert bounds == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("screen", SCREENS)
def test_what_is_far_from_all_may_stay_where_the_others_go(screen: Any) -> None:
    # at first (1, 0) and (0, 1) are both far from (3/5, 2/5); without the second the first is all there is
    stages = [Proportions(distance=Fraction(t, 20), exact=True) for t in (9, 4)]
    asked = Screening(smallest=1, allowed=400, loss=1.0, scale=1000.0, best=1.0, orders=[stages[-1:], stages])
    found, bounds, *_ = screen(two_values([600, 0, 0, 400]), [np.array([0.0, 2000.0])], asked)
    assert (found.tolist(), bounds.tolist()) == ([0], [0.4])


@compiled
@pytest.mark.parametrize("ground", [GROUNDS[0], GROUNDS[2]])
@pytest.mark.parametrize("seed", range(12))
def test_what_coarse_nodes_force_finer_ones_to_lose_rules_out_no_good_node(seed: int, ground: Ground | None) -> None:
    """Half of the values stand for the lower part of an attribute, and few records may be suppressed."""
    numbers = np.random.default_rng(seed)
    halves = tuple(np.arange(size, dtype=np.int32) // 2 for size in (16, 8, 4, 2))
    axes = tuple(
        BoxAttribute(shift=shift, bits=4, maps=halves, costs=tuple(np.full(16 >> s, s / 8) for s in range(5)))
        for shift in (7, 3)
    )
    keys = np.flatnonzero(numbers.random(1 << 11) < 0.6).astype(np.uint64)
    skewed = np.where(((keys >> np.uint64(7)) < numbers.integers(3, 13)) == (keys % 8 < 4), 1 + 3 * (seed % 4), 1)
    start = Start(keys, numbers.integers(1, 9, len(keys)) * skewed, axes, 3)
    records = int(start.counts.sum())
    stages = [Proportions(distance=Fraction(t, 40), exact=True, ground=ground) for t in (18, 12, 8)]
    for share in (0.02, 0.1, 0.4):
        asked = Screening(
            smallest=3,
            allowed=int(share * records),
            loss=1.0,
            scale=float(records),
            best=1.5,
            orders=[stages[-1:], stages],
        )
        found, bounds, *_ = screening.screen_histograms(start, [np.arange(5) / 8 * records] * 2, asked)
        expected, wanted, *_ = screening.screen_numpy(start, [np.arange(5) / 8 * records] * 2, asked)
        assert len(found)
        assert list(found) == expected.tolist()
        assert bounds == pytest.approx(wanted, abs=1e-12)


@compiled
@pytest.mark.parametrize("ground", GROUNDS_OF_MANY)
@pytest.mark.parametrize("seed", range(8))
def test_classes_that_list_many_values_are_screened_as_by_the_twin(seed: int, ground: Ground | None) -> None:
    """A hundred values, the first ones frequent; the lower half of an attribute has the last ones more often."""
    numbers = np.random.default_rng(seed)
    halves = tuple(np.arange(size, dtype=np.int32) // 2 for size in (16, 8, 4, 2))
    axes = tuple(
        BoxAttribute(shift=shift, bits=4, maps=halves, costs=tuple(np.full(16 >> s, s / 8) for s in range(5)))
        for shift in (11, 7)
    )
    keys = np.flatnonzero(numbers.random(1 << 15) < 0.2).astype(np.uint64)
    keys = keys[keys % 128 < 100]
    skewed = 1 + 400 // (1 + keys % 128) * np.where(keys >> np.uint64(11) < 1 + seed, 1, 3)
    start = Start(keys, skewed.astype(np.int64), axes, 7)
    records = int(start.counts.sum())
    stages = [Proportions(distance=Fraction(t, 40), exact=True, ground=ground) for t in (12, 8, 6)]
    for share in (0, 0.1, 1):
        asked = Screening(
            smallest=300, allowed=int(share * records), loss=1.0, scale=float(records), best=1.5, orders=[stages]
        )
        found, bounds, *_ = screening.screen(start, [np.arange(5) / 8 * records] * 2, asked)
        relaxed = asked._replace(orders=[[each.relaxed() for each in stages]])
        expected, wanted, *_ = screening.screen_numpy(start, [np.arange(5) / 8 * records] * 2, relaxed)
        assert len(found)
        assert list(found) == expected.tolist()
        assert bounds == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(("t", "lost"), [(Fraction(3, 8), 0), (Fraction(3, 8) - Fraction(1, 10**11), 8)])
def test_a_class_just_at_the_distance_is_decided_exactly(screen: Any, t: Fraction, lost: int) -> None:
    # both classes are at 3/8, which no rounding may move
    order = [Proportions(distance=t, exact=True)]
    asked = Screening(smallest=1, allowed=8, loss=1.0, scale=8.0, best=1.0, orders=[order])
    found, bounds, *_ = screen(two_values([4, 0, 1, 3]), [np.array([0.0, 8.0])], asked)
    assert bounds[found.tolist().index(0)] == lost / 8


@compiled
def test_a_sweep_that_takes_too_long_is_given_up() -> None:
    asked = Screening(smallest=1, allowed=8, loss=1.0, scale=8.0, best=1.0)
    floors = [np.array([0.0, 8.0])]
    assert screening.screen_histograms(two_values([4, 0, 1, 3]), floors, asked, budget=3).finished is False
    assert screening.screen_histograms(two_values([4, 0, 1, 3]), floors, asked, budget=4).looks == 4


@compiled
@pytest.mark.parametrize(
    ("values", "classes", "records", "counted"),
    [
        (64, 1000, 10**6, True),
        (64, 10**6, 10**6, False),
        (65, 10**6, 10**6, True),
        (65, 10**7, 10**8, False),
        (2, 2, 2**31, False),
    ],
)
def test_values_are_counted_where_they_and_their_numbers_fit(
    values: int, classes: int, records: int, counted: bool
) -> None:
    assert screening.counts_values(values, classes, 8, records) is counted
