from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from shoal.errors import ParameterError, RequirementError
from shoal.mechanisms import RandomSource, SeededSource
from shoal.methods.classes import Partition, cluster_means, permutation_within, require_size


def test_a_partition_knows_its_clusters_and_their_sizes() -> None:
    partition = Partition(np.array([2, 0, 2, 1, 0]))
    assert partition.count == 3
    assert partition.sizes.tolist() == [2, 1, 2]
    assert [cluster.tolist() for cluster in partition.clusters()] == [[1, 4], [3], [0, 2]]
    assert repr(partition) == "Partition(5 records in 3 clusters of 1 to 2)"


def test_no_records_have_no_clusters() -> None:
    empty = Partition(np.array([], np.int32))
    assert (len(empty), empty.count, empty.clusters()) == (0, 0, [])
    assert repr(empty) == "Partition(0 records)"


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 2], "no cluster empty"), ([-1, 0], "not be negative"), ([[0, 1]], "one number per record")],
)
def test_labels_that_are_no_partition_are_refused(labels: list[object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Partition(labels)  # type: ignore[arg-type]


def test_labels_cannot_be_changed() -> None:
    partition = Partition(np.array([0, 1]))
    with pytest.raises(ValueError, match="read-only"):
        partition.labels[0] = 1


def test_clusters_are_compared_whatever_their_numbers() -> None:
    left = Partition(np.array([0, 0, 1, 2]))
    assert left.same_clusters(Partition(np.array([2, 2, 0, 1])))
    assert not left.same_clusters(Partition(np.array([0, 1, 1, 2])))
    assert not left.same_clusters(Partition(np.array([0, 0, 1, 1])))
    assert not left.same_clusters(Partition(np.array([0, 0, 1])))


def test_any_names_of_clusters_can_be_numbered() -> None:
    assert Partition.from_names([70, 3, 70]).labels.tolist() == [1, 0, 1]


def test_sizes_outside_the_limits_are_refused() -> None:
    partition = Partition(np.array([0, 0, 0, 1]))
    assert partition.require(1, 3) is partition
    with pytest.raises(RequirementError, match="1 of 2 clusters do not hold at least 2 records"):
        partition.require(2)
    with pytest.raises(RequirementError, match="2 of 2 clusters do not hold 2 to 2 records"):
        partition.require(2, 2)


@pytest.mark.parametrize("k", [0, -1, 6, 2.0, True, "3"])
def test_a_size_that_the_records_do_not_allow_is_refused(k: object) -> None:
    with pytest.raises(ParameterError, match="`k` of `mdav` must be an integer"):
        require_size(k, 5, "mdav")  # type: ignore[arg-type]


def test_equal_values_give_exactly_that_mean() -> None:
    assert cluster_means(np.full((3, 1), 0.1), Partition(np.zeros(3, np.int32))).tolist() == [[0.1]]


def test_no_records_have_no_means() -> None:
    assert cluster_means(np.empty((0, 2)), Partition(np.array([], np.int32))).shape == (0, 2)


# -- exchanges inside clusters


def test_every_row_stays_in_its_cluster() -> None:
    partition = Partition(np.random.default_rng(0).permutation(np.arange(100) // 5))
    rows = permutation_within(partition)
    assert partition.labels[rows].tolist() == partition.labels.tolist()
    assert sorted(rows.tolist()) == list(range(100))


def test_two_draws_differ_and_a_seed_repeats_one() -> None:
    partition = Partition(np.arange(200) // 20)
    assert permutation_within(partition).tolist() != permutation_within(partition).tolist()
    seeded = [permutation_within(partition, source=SeededSource(3)).tolist() for _ in range(2)]
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
