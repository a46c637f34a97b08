"""Clusters of near ranks."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods.classes import individual_ranking, mdav


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 3), (8, 3), (9, 3), (40, 3), (41, 3), (42, 3), (100, 7), (13, 13)])
def test_individual_ranking_is_mdav_in_one_dimension(n: int, k: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n)
    assert individual_ranking(values, k).same_clusters(mdav(values, k))


def test_clusters_are_runs_of_ranks() -> None:
    values = np.random.default_rng(5).integers(0, 9, 50).astype(float)
    labels = individual_ranking(values, 4).labels[np.argsort(values, kind="stable")]
    assert (np.diff(labels) >= 0).all()


def test_equal_values_are_one_attribute_too() -> None:
    assert individual_ranking(np.full(7, 3.0), 3).sizes.min() >= 3


def test_one_column_of_finite_numbers_is_asked_for() -> None:
    with pytest.raises(DataError, match="one column of numbers"):
        individual_ranking(np.ones((2, 2)), 1)
    with pytest.raises(DataError, match="1 values are not finite"):
        individual_ranking([1.0, np.inf], 1)
    with pytest.raises(ParameterError, match="`k` of"):
        individual_ranking([1.0], 2)
