"""Records as points, and their distances."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import DataError
from shoal.hierarchies import Concepts
from shoal.methods.classes import Space, standardize
from shoal.methods.classes._space import as_column, as_points, embedding


def test_z_scores_have_mean_0_and_deviation_1() -> None:
    scores = standardize(np.random.default_rng(0).lognormal(size=(100, 3)) * [1, 1e300, 1e-300])
    assert np.allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(scores.std(axis=0), 1.0)


def test_constant_columns_do_not_count() -> None:
    assert standardize(np.full((3, 1), 0.1)).tolist() == [[0.0], [0.0], [0.0]]
    assert standardize(np.empty((0, 2))).shape == (0, 2)


def test_distances_can_be_asked_for_some_rows() -> None:
    space = Space.of(np.array([[0.0], [1.0], [4.0]]), np.empty((3, 0), np.int32), ())
    assert space.distances(np.array([0.0]), np.empty(0, np.int32), np.array([2, 1])).tolist() == [16.0, 1.0]
    assert len(space) == 3


def test_concepts_count_as_often_as_their_weight_says() -> None:
    flat = Concepts.flat(3)
    for weight in (1.0, 2.5):
        space = Space.of(np.array([[0.0], [3.0]]), np.array([[0], [1]], np.int32), [flat], [weight])
        assert space.distances(np.array([0.0]), np.array([0], np.int32))[1] == 9.0 + weight


def test_what_is_no_number_is_refused_without_showing_it() -> None:
    with pytest.raises(DataError, match="in 1 rows"):
        as_points([[1.0, 2.0], [np.nan, np.inf]])
    with pytest.raises(DataError, match="shape"):
        as_points(np.zeros((1, 1, 1)))
    with pytest.raises(DataError, match="one column"):
        as_column(np.zeros((2, 2)))
    with pytest.raises(DataError, match="1 values are not finite"):
        as_column([1.0, np.nan])


def _distances(places: np.ndarray) -> np.ndarray:
    return np.square(places[:, None] - places).sum(axis=2)


def test_distances_of_few_values_are_kept() -> None:
    squared = 1.0 - np.eye(4)
    assert _distances(embedding(squared, np.ones(4, dtype=int))) == pytest.approx(squared)


@pytest.mark.slow
def test_common_values_get_places_of_their_own_and_rare_ones_lie_in_the_middle() -> None:
    size = 500
    weights = np.full(size, 1)
    weights[:3] = 10_000
    places = embedding(1.0 - np.eye(size), weights)
    assert places.shape[0] == size
    assert np.allclose(places[-1], 0.0)
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(1.0, abs=0.01)


def test_many_values_without_anything_in_common_give_no_place() -> None:
    assert embedding(1.0 - np.eye(100), np.ones(100, dtype=int)).shape == (100, 0)
