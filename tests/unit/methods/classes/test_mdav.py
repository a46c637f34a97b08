from __future__ import annotations

import numpy as np
import pytest

from reference import microaggregation as reference
from shoal.errors import DataError, ParameterError
from shoal.hierarchies import Concepts
from shoal.methods.classes import Space, mdav, vmdav


def test_points_are_clustered_as_they_are() -> None:
    values = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 1000.0]
    assert mdav(values, 3).labels.tolist() == reference.mdav(values.tolist(), 3)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (9, 5), (10, 5), (14, 5), (15, 5), (16, 5)])
def test_all_sizes_lie_between_k_and_2k_minus_1(n: int, k: int) -> None:
    sizes = mdav(np.arange(n, dtype=float) ** 2, k).sizes
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def test_equal_records_are_taken_in_the_order_of_their_rows() -> None:
    assert mdav(np.ones((7, 2)), 2).labels.tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_categories_cluster_by_their_distance() -> None:
    # two groups that differ in a category far apart, in no number
    taxonomy = Concepts.from_parents([-1, 0, 0, 1, 1, 2, 2])
    codes = np.array([3, 5, 4, 6, 3, 5, 4, 6])
    space = Space.of(np.zeros((8, 1)), codes[:, None], [taxonomy])
    labels = mdav(space, 4).labels
    assert len(set(labels[codes <= 4])) == len(set(labels[codes > 4])) == 1


def test_mixed_records_without_different_categories_cluster_as_numbers_do() -> None:
    values = np.random.default_rng(1).normal(size=(60, 2))
    mixed = Space.of(values, np.zeros((60, 1), dtype=np.int32), [Concepts.flat(2)])
    assert mdav(mixed, 4).same_clusters(mdav(values, 4))


@pytest.mark.parametrize(("n", "k"), [(4, 4), (7, 4), (8, 4), (11, 4), (12, 4), (37, 4)])
def test_mixed_clusters_have_k_to_2k_minus_1_records(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    space = Space.of(rng.normal(size=(n, 1)), rng.integers(0, 3, (n, 2)), [Concepts.flat(3)] * 2)
    sizes = mdav(space, k).sizes
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def slow_mixed(space: Space, k: int) -> list[int]:
    """MDAV on mixed records, record by record."""
    labels, label = np.full(len(space), -1), 0

    def cluster(seed: int) -> None:
        nonlocal label
        rows = np.flatnonzero(labels < 0)
        distances = space.distances(space.numeric[seed], space.codes[seed], rows)
        distances[rows == seed] = -1.0
        labels[rows[np.lexsort((rows, distances))[:k]]] = label
        label += 1

    def farthest(numeric: np.ndarray, codes: np.ndarray) -> int:
        rows = np.flatnonzero(labels < 0)
        return int(rows[space.distances(numeric, codes, rows).argmax()])

    def average() -> tuple[np.ndarray, np.ndarray]:
        rows = np.flatnonzero(labels < 0)
        columns = zip(space.concepts, space.codes[rows].T, strict=True)
        codes = [taxonomy.centroid(taxonomy.counts(column)) for taxonomy, column in columns]
        return space.numeric[rows].mean(axis=0), np.array(codes)

    while (labels < 0).sum() >= 3 * k:
        r = farthest(*average())
        cluster(r)
        cluster(farthest(space.numeric[r], space.codes[r]))
    if (labels < 0).sum() >= 2 * k:
        cluster(farthest(*average()))
    labels[labels < 0] = label
    return labels.tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 7, 30, 60])
@pytest.mark.parametrize("numbers", [0, 1])
def test_mixed_records_are_clustered_as_one_by_one(k: int, numbers: int) -> None:
    rng = np.random.default_rng(k)
    taxonomy = Concepts.from_parents([-1, 0, 0, 1, 1, 2, 2, 2])
    space = Space.of(rng.integers(0, 5, (90, numbers)) / 4, rng.choice([3, 4, 5, 6, 7], (90, 2)), [taxonomy] * 2)
    assert mdav(space, k).labels.tolist() == slow_mixed(space, k)


def test_more_records_than_there_are_cannot_be_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"in \[1, number of records\]; got 3 for 2 records"):
        mdav([1.0, 2.0], 3)


def test_numbers_that_are_not_finite_are_refused_without_showing_them() -> None:
    with pytest.raises(DataError, match="in 1 rows"):
        mdav([1.0, np.nan], 1)


# -- clusters whose size follows the data


def test_natural_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    centres, sizes = [(0, 0), (50, 0), (0, 50)], [4, 5, 3]
    groups = np.concatenate([rng.normal(size=(size, 2)) + centre for centre, size in zip(centres, sizes, strict=True)])
    partition = vmdav(groups, 3, gamma=1.1)
    assert sorted(partition.sizes.tolist()) == [3, 4, 5]


def test_without_readiness_to_grow_clusters_have_k_records_but_for_the_rest() -> None:
    assert vmdav(np.random.default_rng(1).normal(size=(31, 2)), 5, gamma=0.0).sizes.tolist().count(5) >= 5


@pytest.mark.parametrize("gamma", [-0.1, float("nan"), float("inf")])
def test_a_readiness_that_is_no_number_from_0_on_is_refused(gamma: float) -> None:
    with pytest.raises(ParameterError, match="`gamma` of `vmdav`"):
        vmdav([1.0, 2.0], 1, gamma=gamma)
