from __future__ import annotations

import numpy as np
import pytest

from shoal.methods.classes import Partition, Records, Taxonomy, aggregate, centroids
from shoal.methods.classes import _centroids as module

SPORTS = Taxonomy.from_parents([-1, 0, 0, 2, 1, 2])


def test_numbers_become_means_and_categories_the_least_marginal_concept() -> None:
    records = Records(numeric=[[1], [2], [6], [7]], codes=[[3], [3], [5], [4]], taxonomies=[SPORTS])
    partition = Partition(np.array([0, 0, 0, 1]))
    middle = centroids(records, partition)
    assert middle.numeric.tolist() == [[3.0], [7.0]]
    assert middle.codes.tolist() == [[3], [4]]
    assert aggregate(records, partition).numeric.tolist() == [[3.0], [3.0], [3.0], [7.0]]


def test_the_result_does_not_depend_on_how_many_clusters_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    records = Records(codes=rng.choice([3, 4, 5], (60, 1)), taxonomies=[SPORTS])
    partition = Partition(rng.permutation(np.repeat(np.arange(20), 3)))
    whole = centroids(records, partition).codes.tolist()
    monkeypatch.setattr(module, "CHUNK", 7)
    assert centroids(records, partition).codes.tolist() == whole


def test_equal_values_give_exactly_that_value() -> None:
    records = Records.of(np.full((3, 1), 0.1))
    assert aggregate(records, Partition(np.zeros(3, np.int32))).numeric.tolist() == [[0.1]] * 3


def test_a_mean_never_leaves_the_declared_bounds() -> None:
    records = Records(numeric=np.full((7, 1), 0.7), lower=[0.0], upper=[0.7])
    assert centroids(records, Partition(np.zeros(7, np.int32))).numeric.tolist() == [[0.7]]


def test_no_records_have_no_centroids() -> None:
    empty = Records(numeric=np.empty((0, 2)))
    assert len(centroids(empty, Partition(np.array([], np.int32)))) == 0
