from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Records, Space, Taxonomy, standardize

FLAT = Taxonomy.flat(3)


def test_z_scores_have_mean_0_and_deviation_1() -> None:
    scores = standardize(np.random.default_rng(0).lognormal(size=(100, 3)) * [1, 1e300, 1e-300])
    assert np.allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    assert np.allclose(scores.std(axis=0), 1.0)


def test_constant_columns_do_not_count() -> None:
    assert standardize(np.full((3, 1), 0.1)).tolist() == [[0.0], [0.0], [0.0]]
    assert standardize(np.empty((0, 2))).shape == (0, 2)


def test_the_domain_scale_divides_by_the_distance_of_the_boundaries() -> None:
    records = Records(numeric=[[0, 5], [10, 6]], codes=[[0], [1]], taxonomies=[FLAT], lower=[0, 0], upper=[20, 10])
    space = Space.of(records, "domain")
    # (10/20)^2 + (1/10)^2 + 1: two different values of a flat list are as far as its boundaries
    distances = space.distances(space.numeric[0], space.codes[0])
    assert np.allclose(distances, [0.0, 0.25 + 0.01 + 1.0])


def test_without_scaling_raw_distances_are_taken() -> None:
    records = Records(numeric=[[0.0], [3.0]], codes=[[0], [1]], taxonomies=[FLAT])
    space = Space.of(records, "none")
    assert space.distances(np.array([0.0]), np.array([0]))[1] == 9.0 + FLAT.distances[0, 1] ** 2


def test_distances_can_be_asked_for_some_rows() -> None:
    space = Space.of(Records.of([[0.0], [1.0], [4.0]]), "none")
    assert space.distances(np.array([0.0]), np.empty(0, np.int32), np.array([2, 1])).tolist() == [16.0, 1.0]
    assert len(space) == 3


def test_an_unknown_scaling_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be one of 'z-score', 'domain', 'none'"):
        Space.of(Records.of([[1.0]]), "minmax")  # type: ignore[arg-type]


def test_the_domain_scale_needs_bounds() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        Space.of(Records.of([[1.0]]), "domain")
