from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Partition, _blocks, blocked_mdav, blocks, exchange, mdav, squared_error


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
