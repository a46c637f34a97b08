from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from shoal.errors import ParameterError
from shoal.hierarchies import (
    Concepts,
    Hierarchy,
    build,
    dissimilarity,
    read_arx,
    semantic_distance,
    semantic_distances,
)
from shoal.schema import Attribute, Groups, Taxonomy
from shoal.testing.strategies import hierarchies

#: 0 sport; 1 field sports, 2 water sports; 3 sailing, 4 soccer, 5 swimming
SPORTS = Concepts.from_parents([-1, 0, 0, 2, 1, 2])


def _by_definition(hierarchy: Hierarchy, one: tuple[int, int], other: tuple[int, int]) -> float:
    """Return (6.6) for two concepts, each a level and a code, from sets of labels."""
    above = []
    for level, code in (one, other):
        leaf = hierarchy.codes[level].tolist().index(code)
        chain = [hierarchy.labels[height][hierarchy.codes[height][leaf]] for height in range(level, hierarchy.levels)]
        above.append(set(chain[: chain.index(hierarchy.labels[-1][0]) + 1]))
    union, common = above[0] | above[1], above[0] & above[1]
    return math.log2(1 + (len(union) - len(common)) / len(union))


def _all(hierarchy: Hierarchy) -> tuple[list[tuple[int, int]], np.ndarray]:
    places = [(level, code) for level, labels in enumerate(hierarchy.labels) for code in range(len(labels))]
    numbers = np.arange(len(places))
    return places, semantic_distance(hierarchy, numbers[:, None], numbers)


@pytest.mark.slow
@given(hierarchies())
def test_distances_in_a_hierarchy_are_those_of_the_definition(hierarchy: Hierarchy) -> None:
    if not hierarchy.size or hierarchy.size > 12:
        return
    places, found = _all(hierarchy)
    expected = [[_by_definition(hierarchy, one, other) for other in places] for one in places]
    assert found == pytest.approx(np.array(expected), abs=1e-15)


@pytest.mark.slow
@given(hierarchies())
def test_the_matrix_of_concepts_agrees_with_single_pairs(hierarchy: Hierarchy) -> None:
    if not hierarchy.size or hierarchy.size > 40:
        return
    concepts = Concepts.of(hierarchy)
    leaves = np.arange(hierarchy.size)
    pairs = concepts.distances[np.ix_(concepts.leaves, concepts.leaves)]
    assert np.array_equal(pairs, semantic_distance(hierarchy, leaves[:, None], leaves))
    assert [concepts.labels[code] for code in concepts.leaves] == list(hierarchy.labels[0])
    known = [label for label in concepts.labels if label is not None]
    assert known == sorted(known)


def test_a_leaf_that_fills_several_levels_is_one_concept() -> None:
    rule = Taxonomy(pairs=(("flu", "infection"), ("infection", "illness"), ("cold", "infection"), ("burn", "illness")))
    hierarchy = build(Attribute(name="illness", hierarchy=rule), pa.array([]))
    flu, cold, burn = (hierarchy.labels[0].index(name) for name in ("flu", "cold", "burn"))
    # flu {flu, infection, *}, cold {cold, infection, *}, burn {burn, *}
    assert semantic_distance(hierarchy, flu, cold) == math.log2(1 + 2 / 4)
    assert semantic_distance(hierarchy, flu, burn) == math.log2(1 + 3 / 4)
    again = hierarchy.size + hierarchy.labels[1].index("burn")
    assert semantic_distance(hierarchy, burn, again) == 0
    assert Concepts.of(hierarchy).count == 5


def test_a_star_is_the_root_wherever_it_stands(tmp_path) -> None:
    path = tmp_path / "letters.csv"
    path.write_text("a;x;q;*\nb;*;q;*\nc;*;r;*\n".replace("c;*", "c;y"))
    hierarchy = read_arx(path)
    a, b = (hierarchy.labels[0].index(name) for name in "ab")
    # a {a, x, q, *}, b {b, *}
    assert semantic_distance(hierarchy, a, b) == math.log2(1 + 4 / 5)
    assert Concepts.of(hierarchy).labels == ("*", "a", "b", "c", "q", "r", "x", "y")


def test_values_of_pairs_are_broadcast() -> None:
    rule = Groups(levels=((("infection", ("cold", "flu", "measles")), ("injury", ("burn", "fracture"))),))
    hierarchy = build(Attribute(name="illness", hierarchy=rule), pa.array([]))
    leaves = np.arange(5)
    infection = 5  # the first concept above the five leaves
    assert semantic_distance(hierarchy, leaves, infection).round(3).tolist() == [0.415, 0.415, 0.415, 0.807, 0.807]
    assert semantic_distance(hierarchy, leaves[:, None], leaves).shape == (5, 5)


def test_dissimilarity_orders_shares_exactly() -> None:
    shares = sorted({Fraction(part, whole) for whole in range(1, 60) for part in range(whole)})
    found = dissimilarity([f.denominator - f.numerator for f in shares], [f.denominator for f in shares])
    assert (np.diff(found) > 0).all()
    assert dissimilarity([3], [9])[0] == dissimilarity([2], [6])[0]


def test_marks_may_have_columns_for_other_concepts() -> None:
    marks = np.array([[1, 0, 1, 1], [0, 1, 0, 1]], dtype=bool)
    assert semantic_distances(marks)[0, 1] == math.log2(1 + 3 / 4)


def test_distances_follow_the_share_of_ancestors_that_differ() -> None:
    # sailing {sailing, water, sport} and swimming {swimming, water, sport}: 2 of 4 differ
    assert SPORTS.distances[3, 5] == math.log2(1 + 2 / 4)
    assert SPORTS.distances[3, 4] == math.log2(1 + 4 / 5)
    assert SPORTS.distances[0, 3] == math.log2(1 + 2 / 3)
    assert np.array_equal(SPORTS.distances, SPORTS.distances.T)
    assert not SPORTS.distances.diagonal().any()


def test_the_domain_is_the_leaves_where_none_is_given() -> None:
    assert SPORTS.domain.tolist() == [3, 4, 5]
    assert Concepts.from_parents([-1, 0, 0], domain=[0, 2]).domain.tolist() == [0, 2]


def test_boundaries_are_the_most_marginal_value_and_the_one_farthest_from_it() -> None:
    assert SPORTS.boundaries == (4, 3)
    assert SPORTS.width == SPORTS.distances[4, 3]


def test_a_domain_of_one_value_has_width_one() -> None:
    assert Concepts.flat(1).width == 1.0


def test_marginality_is_the_sum_of_distances() -> None:
    counts = SPORTS.counts([3, 3, 4])
    expected = 2 * SPORTS.distances[3] + SPORTS.distances[4]
    assert np.allclose(SPORTS.marginality(counts) / Concepts.scale, expected, atol=1e-9)


def test_one_value_moves_the_marginality_by_at_most_the_sensitivity() -> None:
    moved = [
        abs(SPORTS.marginality(SPORTS.counts([a])) - SPORTS.marginality(SPORTS.counts([b]))).max()
        for a in SPORTS.domain
        for b in SPORTS.domain
    ]
    assert SPORTS.sensitivity == Fraction(int(max(moved)), Concepts.scale)
    assert float(Concepts.flat(3).sensitivity) == pytest.approx(math.log2(1 + 2 / 3))


def test_several_samples_have_several_centroids() -> None:
    counts = np.stack([SPORTS.counts([3, 3, 4]), SPORTS.counts([4]), SPORTS.counts([3, 5])])
    # of sailing and swimming, which are as marginal as each other, the lower code
    assert SPORTS.centroid(counts).tolist() == [3, 4, 3]


def test_a_concept_above_all_values_can_be_the_centroid() -> None:
    family = Concepts.from_parents([-1, 0, 1, 1, 1, 1, 0])
    assert int(family.centroid(family.counts([2, 3, 4, 5]))) == 1


def test_concepts_may_have_several_parents() -> None:
    # 3 is below both 1 and 2
    concepts = Concepts(np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 0, 0, 1]]))
    assert concepts.domain.tolist() == [3, 4]
    assert concepts.distances[3, 4] == math.log2(1 + 3 / 5)


def test_a_flat_list_keeps_all_values_equally_far() -> None:
    flat = Concepts.flat(4)
    apart = flat.distances[:4, :4][~np.eye(4, dtype=bool)]
    assert set(apart) == {math.log2(1 + 2 / 3)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Concepts.from_parents([1, 0]), "lead from every concept to a root"),
        (lambda: Concepts.from_parents([5]), "lead from every concept to a root"),
        (lambda: Concepts(np.zeros((2, 2))), "as its own ancestor"),
        (lambda: Concepts(np.ones((2, 3))), "square matrix"),
        (lambda: Concepts(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]])), "ancestors of ancestors"),
        (lambda: Concepts(np.eye(2), np.array([7])), r"codes in \[0, 2\)"),
    ],
)
def test_what_is_no_taxonomy_is_refused(make, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()
