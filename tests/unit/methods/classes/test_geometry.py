"""Records as points."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.methods.classes import Records, Space, Taxonomy
from shoal.methods.classes._geometry import embedding, points


def _distances(places: np.ndarray) -> np.ndarray:
    return np.square(places[:, None] - places).sum(axis=2)


def test_distances_of_few_values_are_kept() -> None:
    squared = 1.0 - np.eye(4)
    assert _distances(embedding(squared, np.ones(4, dtype=int))) == pytest.approx(squared)


def test_numbers_are_as_the_space_has_them() -> None:
    values = np.array([[1.0, 5.0], [2.0, 1.0], [4.0, 3.0]])
    assert np.array_equal(points(Records(numeric=values)), Space.of(Records(numeric=values)).numeric)


def test_mixed_records_keep_their_distances() -> None:
    tree = Taxonomy.from_parents([-1, 0, 0, 1, 1, 2, 2])
    records = Records(numeric=[[1.0], [2.0], [5.0], [7.0]], codes=[[3], [4], [5], [6]], taxonomies=[tree])
    space = Space.of(records)
    wanted = np.array([space.distances(space.numeric[i], space.codes[i]) for i in range(4)])
    assert _distances(points(records)) == pytest.approx(wanted, abs=0.05)


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
