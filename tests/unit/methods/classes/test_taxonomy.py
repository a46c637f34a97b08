from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Taxonomy

#: 0 sport; 1 field sports, 2 water sports; 3 sailing, 4 soccer, 5 swimming
SPORTS = Taxonomy.from_parents([-1, 0, 0, 2, 1, 2])


def test_distances_follow_the_share_of_ancestors_that_differ() -> None:
    # sailing {sailing, water, sport} and swimming {swimming, water, sport}: 2 of 4 differ
    assert SPORTS.distances[3, 5] == math.log2(1 + 2 / 4)
    assert SPORTS.distances[3, 4] == math.log2(1 + 4 / 5)
    assert SPORTS.distances[0, 3] == math.log2(1 + 2 / 3)
    assert np.array_equal(SPORTS.distances, SPORTS.distances.T)
    assert not SPORTS.distances.diagonal().any()


def test_the_domain_is_the_leaves_where_none_is_given() -> None:
    assert SPORTS.domain.tolist() == [3, 4, 5]
    assert Taxonomy.from_parents([-1, 0, 0], domain=[0, 2]).domain.tolist() == [0, 2]


def test_boundaries_are_the_most_marginal_value_and_the_one_farthest_from_it() -> None:
    assert SPORTS.boundaries == (4, 3)
    assert SPORTS.width == SPORTS.distances[4, 3]


def test_a_domain_of_one_value_has_width_one() -> None:
    assert Taxonomy.flat(1).width == 1.0


def test_marginality_is_the_sum_of_distances() -> None:
    counts = SPORTS.counts([3, 3, 4])
    expected = 2 * SPORTS.distances[3] + SPORTS.distances[4]
    assert np.allclose(SPORTS.marginality(counts) / 2**32, expected, atol=1e-9)


def test_several_samples_have_several_centroids() -> None:
    counts = np.stack([SPORTS.counts([3, 3, 4]), SPORTS.counts([4]), SPORTS.counts([3, 5])])
    # of sailing and swimming, which are as marginal as each other, the lower code
    assert SPORTS.centroid(counts).tolist() == [3, 4, 3]


def test_a_concept_above_all_values_can_be_the_centroid() -> None:
    family = Taxonomy.from_parents([-1, 0, 1, 1, 1, 1, 0])
    assert int(family.centroid(family.counts([2, 3, 4, 5]))) == 1


def test_concepts_may_have_several_parents() -> None:
    # 3 is below both 1 and 2
    taxonomy = Taxonomy.from_ancestors([set(), {0}, {0}, {0, 1, 2}, {0, 1}])
    assert taxonomy.domain.tolist() == [3, 4]
    assert taxonomy.distances[3, 4] == math.log2(1 + 3 / 5)


def test_a_flat_list_keeps_all_values_equally_far() -> None:
    flat = Taxonomy.flat(4)
    apart = flat.distances[:4, :4][~np.eye(4, dtype=bool)]
    assert set(apart) == {math.log2(1 + 2 / 3)}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Taxonomy.from_parents([1, 0]), "lead from every concept to a root"),
        (lambda: Taxonomy.from_parents([5]), "lead from every concept to a root"),
        (lambda: Taxonomy.from_ancestors([{3}]), r"codes in \[0, 1\)"),
        (lambda: Taxonomy(np.zeros((2, 2))), "as its own ancestor"),
        (lambda: Taxonomy(np.ones((2, 3))), "square matrix"),
        (lambda: Taxonomy.from_ancestors([set(), {0}, {1}]), "ancestors of ancestors"),
        (lambda: Taxonomy(np.eye(2), np.array([7])), r"codes in \[0, 2\)"),
    ],
)
def test_what_is_no_taxonomy_is_refused(build, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()
