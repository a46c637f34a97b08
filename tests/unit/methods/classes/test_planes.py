"""Median cuts: blocks of rows, and planes that are chosen by a sample and corrected by counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.methods.classes import blocks
from shoal.methods.classes._blocks import axes_cut, cut, recut, without_small
from shoal.tables import Block, Plane


def _blocks(block: Block, points: np.ndarray) -> list[int]:
    """Return the block of every point, by looking at one after the other."""
    found = []
    for point in points:
        part = block
        while isinstance(part, Plane):
            part = part.below if point[part.axis] < part.border else part.above
        found.append(part)
    return found


def _numbers(block: Block) -> list[int]:
    return [block] if isinstance(block, int) else [*_numbers(block.below), *_numbers(block.above)]


def _with_ties(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points, np.random.default_rng(5).random((len(points), 1))], axis=1)


def test_few_records_are_one_block() -> None:
    assert cut(_with_ties(np.arange(9.0)[:, None]), 9, 9) == 0


def test_the_attribute_with_the_greatest_variance_is_cut_in_halves() -> None:
    points = _with_ties(np.stack([np.arange(100.0), np.arange(100.0)[::-1] * 3], axis=1))
    planes = cut(points, 100, 50)
    assert planes == Plane(axis=1, border=150.0, below=0, above=1)


def test_late_attributes_are_cut_where_no_other_can_be() -> None:
    points = _with_ties(np.stack([np.arange(100.0) * 9, np.arange(100.0)], axis=1))
    assert axes_cut(cut(points, 100, 30)) == {0, 1} or axes_cut(cut(points, 100, 30)) == {0}
    assert axes_cut(cut(points, 100, 50, late={0})) == {1}
    same = _with_ties(np.stack([np.arange(100.0) * 9, np.ones(100)], axis=1))
    assert axes_cut(cut(same, 100, 50, late={0})) == {0}


def test_equal_records_are_parted_by_the_number_that_settles_ties() -> None:
    planes = cut(_with_ties(np.zeros((100, 3))), 100, 50)
    assert isinstance(planes, Plane)
    assert planes.axis == 3
    assert Counter(_blocks(planes, _with_ties(np.zeros((100, 3))))) == {0: 50, 1: 50}


def test_an_attribute_that_most_share_is_not_cut() -> None:
    heap = np.where(np.arange(100) < 90, 0.0, 1000.0)
    planes = cut(_with_ties(np.stack([heap, np.arange(100.0)], axis=1)), 100, 50)
    assert axes_cut(planes) == {1}


def test_blocks_that_are_too_large_are_cut_once_more() -> None:
    sample = _with_ties(np.arange(40.0)[:, None])
    planes = cut(sample, 400, 200)
    again = recut(planes, sample, {0: 150, 1: 250}, 200)
    assert again == Plane(axis=0, border=20.0, below=0, above=Plane(axis=0, border=30.0, below=1, above=2))


PLANES = Plane(
    axis=0,
    border=0.0,
    below=Plane(axis=1, border=0.0, below=0, above=1),
    above=Plane(axis=1, border=0.5, below=2, above=3),
)


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ({0: 9, 1: 9, 2: 9, 3: 9}, PLANES),
        # two that are small together make one
        (
            {0: 3, 1: 4, 2: 9, 3: 9},
            Plane(axis=0, border=0.0, below=0, above=Plane(axis=1, border=0.5, below=1, above=2)),
        ),
        # a block without records is not counted, and goes
        ({0: 9, 2: 9, 3: 9}, Plane(axis=0, border=0.0, below=0, above=Plane(axis=1, border=0.5, below=1, above=2))),
        # a part that is too small altogether goes to the other
        ({0: 1, 1: 1, 2: 9, 3: 9}, Plane(axis=1, border=0.5, below=0, above=1)),
        ({0: 1, 1: 1, 2: 1, 3: 1}, 0),
    ],
)
def test_blocks_that_are_too_small_go(sizes: dict[int, int], left: Block) -> None:
    assert without_small(PLANES, sizes, 5) == left


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(20, 120), st.integers(2, 60))
def test_no_block_is_too_small_whatever_the_sample_was(seed: int, least: int, most: int, seen: int) -> None:
    draw = np.random.default_rng(seed)
    points = _with_ties(draw.integers(0, 4, (400, 2)) * draw.exponential(1.0, (400, 2)).round(1))
    sample = points[draw.choice(400, seen, replace=False)]
    planes = cut(sample, 400, most)
    for _ in range(2):
        planes = recut(planes, sample, Counter(_blocks(planes, points)), most)
    left = without_small(planes, Counter(_blocks(planes, points)), least)
    sizes = Counter(_blocks(left, points))
    assert min(sizes.values()) >= least
    assert sorted(sizes) == _numbers(left)


# -- in memory


@pytest.mark.parametrize("multiple", [1, 7])
def test_blocks_are_disjoint_complete_and_not_too_large(multiple: int) -> None:
    values = np.random.default_rng(4).integers(0, 3, (1000, 2)).astype(float)
    parts = blocks(values, 100, multiple=multiple)
    assert sorted(np.concatenate(parts).tolist()) == list(range(1000))
    assert max(map(len, parts)) <= 100
    assert all(len(part) % multiple == 0 for part in parts[:-1])


def test_blocks_are_never_halved_below_the_least_size() -> None:
    parts = blocks(np.random.default_rng(5).normal(size=(1000, 1)), 100)
    assert min(map(len, parts)) >= 50


def test_equal_values_can_be_halved() -> None:
    assert [part.tolist() for part in blocks(np.zeros((4, 1)), 2)] == [[0, 1], [2, 3]]
