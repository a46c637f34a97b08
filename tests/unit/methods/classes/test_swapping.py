from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from shoal.mechanisms import RandomSource, SeededSource
from shoal.methods.classes import Partition, individual_ranking, ir_swap, mdav, mdav_swap, permutation_within


def test_every_row_stays_in_its_cluster() -> None:
    values = np.random.default_rng(0).normal(size=(100, 3))
    labels = mdav(values, 5).labels
    rows = mdav_swap(values, 5)
    assert labels[rows].tolist() == labels.tolist()
    assert sorted(rows.tolist()) == list(range(100))


def test_each_confidential_attribute_is_permuted_inside_its_own_ranks() -> None:
    values = np.random.default_rng(1).normal(size=(90, 2))
    rows = ir_swap(values, 4)
    for column in range(2):
        labels = individual_ranking(values[:, column], 4).labels
        assert labels[rows[:, column]].tolist() == labels.tolist()
    assert rows[:, 0].tolist() != rows[:, 1].tolist()


def test_no_attributes_are_permuted_to_none() -> None:
    assert ir_swap(np.empty((0, 0)), 1).size == 0


@pytest.mark.parametrize("swap", [mdav_swap, ir_swap])
def test_two_draws_differ_and_a_seed_repeats_one(swap) -> None:
    values = np.random.default_rng(2).normal(size=(200, 2))
    assert swap(values, 20).tolist() != swap(values, 20).tolist()
    seeded = [swap(values, 20, source=SeededSource(3)).tolist() for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_all_permutations_of_a_cluster_are_equally_likely() -> None:
    # 6,000 clusters of 3, each permuted at once; chi-square with 5 degrees of freedom, alpha = 1e-6
    partition = Partition(np.repeat(np.arange(6000), 3))
    rows = permutation_within(partition, source=SeededSource(4)).reshape(-1, 3) - 3 * np.arange(6000)[:, None]
    counts = Counter(map(tuple, rows.tolist()))
    assert set(counts) == set(itertools.permutations(range(3)))
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 37.3


class _Constant(RandomSource):
    """Gives equal keys first, so that they must be drawn again."""

    cryptographic = False

    def __init__(self) -> None:
        self.draws = 0

    def random_bytes(self, size: int) -> bytes:
        self.draws += 1
        return bytes(size) if self.draws == 1 else np.arange(size, dtype=np.uint8).tobytes()


def test_equal_keys_in_a_cluster_are_drawn_again() -> None:
    source = _Constant()
    permutation_within(Partition(np.array([0, 0])), source=source)
    assert source.draws == 2


def test_equal_keys_in_different_clusters_do_no_harm() -> None:
    source = _Constant()
    permutation_within(Partition(np.array([0, 1])), source=source)
    assert source.draws == 1
