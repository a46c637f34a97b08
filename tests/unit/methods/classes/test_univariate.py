from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods.classes import individual_ranking, mdav, optimal_univariate
from shoal.methods.classes._centroids import cluster_means

METHODS = [individual_ranking, optimal_univariate]


def error(values: np.ndarray, partition) -> float:
    return float(np.square(values - cluster_means(values[:, None], partition)[partition.labels, 0]).sum())


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 3), (8, 3), (9, 3), (40, 3), (41, 3), (42, 3), (100, 7), (13, 13)])
def test_individual_ranking_is_mdav_in_one_dimension(n: int, k: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n)
    assert individual_ranking(values, k).same_clusters(mdav(values, k, scaling="none"))


@pytest.mark.parametrize("method", METHODS)
def test_clusters_are_runs_of_ranks(method) -> None:
    values = np.random.default_rng(5).integers(0, 9, 50).astype(float)
    labels = method(values, 4).labels[np.argsort(values, kind="stable")]
    assert (np.diff(labels) >= 0).all()


def test_the_optimal_partition_loses_no_more_than_individual_ranking() -> None:
    values = np.random.default_rng(6).lognormal(size=500)
    for k in (2, 3, 10):
        assert error(values, optimal_univariate(values, k)) < error(values, individual_ranking(values, k))


@pytest.mark.parametrize("method", METHODS)
def test_equal_values_are_one_attribute_too(method) -> None:
    assert method(np.full(7, 3.0), 3).sizes.min() >= 3


@pytest.mark.parametrize("method", METHODS)
def test_one_column_of_finite_numbers_is_asked_for(method) -> None:
    with pytest.raises(DataError, match="one column of numbers"):
        method(np.ones((2, 2)), 1)
    with pytest.raises(DataError, match="1 values are not finite"):
        method([1.0, np.inf], 1)
    with pytest.raises(ParameterError, match="`k` of"):
        method([1.0], 2)
