from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError, RequirementError
from shoal.methods.classes import Partition
from shoal.methods.classes._partition import require_size


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
    assert Partition.numbered([70, 3, 70]).labels.tolist() == [1, 0, 1]


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
