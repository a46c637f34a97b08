"""Blocks of near records, in memory and by planes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.methods.classes import Partition, _blocks, blocked_mdav, blocks, exchange, mdav, squared_error
from shoal.methods.classes._blocks import axes_cut, cut, recut, without_small
from shoal.tables import Block, Plane


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blocks, "LEAST_BLOCK", 50)


def test_few_records_are_one_block_of_plain_mdav() -> None:
    values = np.random.default_rng(0).normal(size=(500, 3))
    assert blocked_mdav(values, 4).same_clusters(mdav(values, 4))


@pytest.mark.parametrize("repair", [0, 1])
@pytest.mark.parametrize(("n", "k"), [(1000, 3), (999, 7), (701, 40)])
def test_clusters_have_k_to_2k_minus_1_records(small_blocks: None, n: int, k: int, repair: int) -> None:
    values = np.random.default_rng(n).normal(size=(n, 3))
    sizes = blocked_mdav(values, k, block_rows=100, repair=repair).sizes
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def test_without_repair_no_cluster_crosses_a_border(small_blocks: None) -> None:
    values = np.random.default_rng(1).normal(size=(1000, 3))
    labels = blocked_mdav(values, 4, block_rows=100, repair=0).labels
    seen = [set(labels[rows]) for rows in blocks(values, 100, multiple=4)]
    assert len(set().union(*seen)) == sum(map(len, seen))


def test_repair_lowers_the_loss(small_blocks: None) -> None:
    values = np.random.default_rng(2).normal(size=(2000, 3))
    errors = []
    for repair in (0, 1):
        partition = blocked_mdav(values, 4, block_rows=100, repair=repair)
        errors.append(squared_error(values, partition))
    assert errors[1] < errors[0]


def test_the_result_does_not_depend_on_the_number_of_threads(
    small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(3).normal(size=(1500, 3))
    results = []
    for threads in (1, 4):
        monkeypatch.setattr(_blocks, "threads", lambda threads=threads: threads)
        results.append(blocked_mdav(values, 5, block_rows=100).labels.tolist())
    assert results[0] == results[1]


def test_blocks_below_the_least_size_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 40000; got 10000"):
        blocked_mdav([1.0], 1, block_rows=10_000)


# -- exchanges


def test_each_pass_lowers_the_error_of_mdav_and_keeps_its_sizes() -> None:
    values = np.random.default_rng(0).normal(size=(2000, 4))
    before = mdav(values, 5)
    once, twice = exchange(values, before), exchange(values, before, passes=2)
    assert sorted(once.sizes) == sorted(before.sizes)
    assert squared_error(values, before) > squared_error(values, once) > squared_error(values, twice)


def test_no_pass_changes_nothing() -> None:
    partition = Partition(np.array([0, 1, 0, 1]))
    assert exchange([1.0, 2.0, 9.0, 8.0], partition, passes=0) is partition


def test_one_cluster_has_no_neighbours() -> None:
    assert exchange([1.0, 2.0], Partition(np.array([0, 0]))).labels.tolist() == [0, 0]


@pytest.mark.parametrize("arguments", [{"passes": -1}, {"neighbours": 0}])
def test_numbers_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="`passes` and `neighbours`"):
        exchange([1.0], Partition(np.array([0])), **arguments)


def _blocks_of(block: Block, points: np.ndarray) -> list[int]:
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
    assert Counter(_blocks_of(planes, _with_ties(np.zeros((100, 3))))) == {0: 50, 1: 50}


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
        planes = recut(planes, sample, Counter(_blocks_of(planes, points)), most)
    left = without_small(planes, Counter(_blocks_of(planes, points)), least)
    sizes = Counter(_blocks_of(left, points))
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
