from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Records, Taxonomy, _blocked, blocked_mdav, blocks, mdav
from shoal.methods.classes._centroids import cluster_means


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blocked, "LEAST_BLOCK", 50)


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
    labels = blocked_mdav(values, 4, block_rows=100, repair=0, scaling="none").labels
    seen = [set(labels[rows]) for rows in blocks(values, 100, multiple=4)]
    assert len(set().union(*seen)) == sum(map(len, seen))


def test_repair_lowers_the_loss(small_blocks: None) -> None:
    values = np.random.default_rng(2).normal(size=(2000, 3))
    errors = []
    for repair in (0, 1):
        partition = blocked_mdav(values, 4, block_rows=100, repair=repair, scaling="none")
        errors.append(np.square(values - cluster_means(values, partition)[partition.labels]).sum())
    assert errors[1] < errors[0]


def test_the_result_does_not_depend_on_the_number_of_threads(
    small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(3).normal(size=(1500, 3))
    results = []
    for threads in (1, 4):
        monkeypatch.setattr(_blocked, "threads", lambda threads=threads: threads)
        results.append(blocked_mdav(values, 5, block_rows=100).labels.tolist())
    assert results[0] == results[1]


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


def test_blocks_below_the_least_size_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 40000; got 10000"):
        blocked_mdav([1.0], 1, block_rows=10_000)


def test_categories_are_refused() -> None:
    with pytest.raises(ParameterError, match="numbers only"):
        blocked_mdav(Records(codes=[[0]], taxonomies=[Taxonomy.flat(1)]), 1)
