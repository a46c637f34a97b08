"""Scores, large regions and the weight of trees: by hand, and NumPy and C++ alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import truthful as reference
from reference.truthful import Column
from shoal.kernels import library
from shoal.kernels import walk as kernel
from shoal.kernels.walk import BoxAttribute, Start
from shoal.methods.recode import Box, Lattice

UNIT = 2.0**-20
FLAT = Column(((0, 1), (0, 0)))
TALL = Column(((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))

compiled = pytest.mark.skipif(library() is None, reason="the compiled kernels are not built")
SCORES = [kernel.score_numpy, pytest.param(kernel.score, marks=compiled)]
IMPLEMENTATIONS = [
    pytest.param((kernel.large_regions_numpy, kernel.weigh_trees_numpy), id="numpy"),
    pytest.param(
        (kernel.large_regions, kernel.weigh_trees),
        id="native",
        marks=compiled,
    ),
]


def box(columns: list[Column], records: list[tuple[int, ...]]) -> Box:
    lattice = Lattice(reference.frequencies(columns, records))
    costs = tuple(tuple(np.arange(len(labels)) + 0.0 for labels in h.labels) for h in lattice.frequencies.hierarchies)
    return Box(lattice, lattice.bottom, lattice.top, costs)


def random_box(seed: int) -> Box:
    draw = np.random.default_rng(seed)
    columns = [TALL, FLAT, TALL]
    records = [tuple(int(draw.integers(0, column.leaves)) for column in columns) for _ in range(60)]
    return box(columns, records)


@pytest.mark.parametrize("kernels", IMPLEMENTATIONS)
def test_every_class_of_every_node_is_found_if_it_is_large(kernels: tuple) -> None:
    records = [(0, 0)] * 5 + [(1, 0)] * 2 + [(2, 1)] * 3
    found = box([TALL, FLAT], records)
    regions = kernels[0](found.start, 3)
    for node in range(len(regions.offsets) - 1):
        inside = slice(*regions.offsets[node : node + 2])
        levels = found.levels(node)
        expected = sorted(size for size in reference.classes([TALL, FLAT], records, levels).values() if size >= 3)
        assert sorted(regions.sizes[inside].tolist()) == expected
        assert (np.diff(regions.keys[inside].astype(np.int64)) > 0).all()


@pytest.mark.parametrize("kernels", IMPLEMENTATIONS)
def test_the_weight_of_all_trees_is_the_sum_over_all_trees(kernels: tuple) -> None:
    columns = [TALL, FLAT]
    records = [(0, 0)] * 5 + [(1, 0)] * 4 + [(2, 1)] * 3 + [(3, 1)] + [(3, 0)] * 6
    found = box(columns, records)
    regions = kernels[0](found.start, 3)
    stops = regions.sizes * round(0.1 / UNIT)
    top = kernels[1](found.start, regions, stops, UNIT)[-1] * UNIT
    total = sum(
        prior * math.exp(sum(0.1 * size for cell in cells if (size := reference.inside(columns, records, cell)) >= 3))
        for prior, cells in reference.trees(columns, ((2, 0), (1, 0)))
    )
    assert top == pytest.approx(math.log(total), abs=1e-4)


@compiled
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("smallest", [1, 4, 30, 1000])
def test_both_implementations_agree(seed: int, smallest: int) -> None:
    found = random_box(seed)
    first, second = (large(found.start, smallest) for large in (kernel.large_regions_numpy, kernel.large_regions))
    assert all(np.array_equal(left, right) for left, right in zip(first, second, strict=True))
    stops = first.sizes * 2**20
    weights = kernel.weigh_trees_numpy(found.start, first, stops, 2.0**-32)
    # the libraries' exponentials may differ in the last bit, which moves a rounded logarithm by a unit at most
    assert np.abs(weights - kernel.weigh_trees(found.start, second, stops, 2.0**-32)).max(initial=0) <= 60


def test_a_target_makes_the_largest_value_the_size() -> None:
    keys = np.array([0b00, 0b01, 0b10, 0b11], dtype=np.uint64)  # one attribute of one bit, then the target's bit
    start = Start(keys, np.array([5, 2, 1, 3]), random_axes(), target=1)
    regions = kernel.large_regions(start, 4)
    # apart, the values have at most 5 and 3 records; together, value 0 of the target has 6
    assert regions.sizes.tolist() == [5, 6]
    assert regions.keys.tolist() == [0, 0]


def random_axes() -> tuple:
    from shoal.kernels.walk import BoxAttribute

    return (BoxAttribute(shift=1, bits=1, maps=(np.array([0, 0], dtype=np.int32),), costs=(np.zeros(2), np.zeros(1))),)


def test_a_region_without_large_children_weighs_as_if_they_weighed_one() -> None:
    found = box([FLAT], [(0,)] * 2 + [(1,)] * 2)
    regions = kernel.large_regions(found.start, 3)
    assert regions.sizes.tolist() == [4]
    weights = kernel.weigh_trees(found.start, regions, np.array([0]), UNIT)
    assert weights.tolist() == [0], "1/2 + 1/2 * 1 * 1 is 1"


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
