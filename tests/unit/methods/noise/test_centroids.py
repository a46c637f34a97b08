from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.guarantees import Neighbours, Strength
from shoal.hierarchies import Concepts
from shoal.mechanisms import SeededSource
from shoal.methods.classes import mdav
from shoal.methods.noise import AttributeSet, Records, corners, dp_microaggregate, fixed_orders, insensitive

SPORTS = Concepts.from_parents([-1, 0, 0, 2, 1, 2])
TINY = 1e-6  # the step added for rounding, relative


def numbers(n: int = 40, m: int = 2) -> Records:
    values = np.random.default_rng(n).random((n, m)) * [10.0, 1000.0][:m]
    return Records(numeric=values, lower=[0.0] * m, upper=[10.0, 1000.0][:m])


def mixed(n: int = 40) -> Records:
    rng = np.random.default_rng(n)
    return Records(
        numeric=rng.random((n, 1)), codes=rng.choice([3, 4, 5], (n, 1)), taxonomies=[SPORTS], lower=[0], upper=[1]
    )


def test_the_original_records_take_noise_for_all_clusters() -> None:
    part = dp_microaggregate(numbers(), epsilon=2, k=8, noise="laplace").parts[0]
    # 5 clusters of 8, epsilon 1 for each attribute
    assert part.scales[0] == pytest.approx(5 * 10 / 8, rel=TINY)
    assert part.scales[1] == pytest.approx(5 * 1000 / 8, rel=TINY)
    assert part.labels is None


def test_one_number_takes_noise_for_one_cluster() -> None:
    release = dp_microaggregate(numbers(40, 1), epsilon=2, k=8)
    assert release.parts[0].scales[0] == pytest.approx(10 / 8 / 2, rel=TINY)


def test_each_number_on_its_own_takes_noise_for_one_cluster() -> None:
    sets = [AttributeSet(numeric=(0,)), AttributeSet(numeric=(1,))]
    release = dp_microaggregate(numbers(), epsilon=2, k=8, sets=sets)
    assert release.parts[0].scales[0] == pytest.approx(10 / 8, rel=TINY)
    assert release.parts[1].scales[0] == pytest.approx(1000 / 8, rel=TINY)


def test_a_public_partition_takes_noise_by_the_size_of_each_cluster() -> None:
    records = numbers(43)
    part = dp_microaggregate(records, epsilon=2, k=8, target="partition").parts[0]
    assert sorted(part.sizes) == sorted(mdav(records.space(), 8).sizes)
    assert part.scales[0] == pytest.approx(10 / part.sizes, rel=TINY)
    assert part.labels is not None
    assert np.bincount(part.labels).tolist() == part.sizes.tolist()


def test_a_proportional_split_gives_all_attributes_the_same_noise() -> None:
    part = dp_microaggregate(numbers(), epsilon=2, k=8, target="partition", split="proportional").parts[0]
    assert part.scales == pytest.approx(1010 / 8 / 2, rel=TINY)


def test_a_query_for_one_record_takes_noise_for_its_cluster_alone() -> None:
    part = dp_microaggregate(numbers(), epsilon=2, k=8, target="record-query").parts[0]
    assert part.scales[0] == pytest.approx(10 / 8, rel=TINY)


def test_with_a_large_budget_the_centroids_are_those_of_the_clusters() -> None:
    records = numbers()
    release = dp_microaggregate(records, epsilon=10**9, k=8, target="record-query")
    expected = records.numeric.copy()
    for rows in insensitive(records, 8).clusters():
        expected[rows] = records.numeric[rows].mean(axis=0)
    assert np.allclose(release.table()[0].numeric, expected, atol=1e-3)


def test_with_a_large_budget_the_concepts_are_the_least_marginal_ones() -> None:
    codes = np.repeat([3, 4, 5], 10)[:, None]
    records = Records(codes=codes, taxonomies=[SPORTS])
    release = dp_microaggregate(records, epsilon=10**6, k=10, target="partition")
    assert release.table()[0].codes.tolist() == codes.tolist()


def test_with_a_small_budget_any_concept_of_the_taxonomy_is_chosen() -> None:
    records = Records(codes=np.full((400, 1), 3), taxonomies=[SPORTS])
    part = dp_microaggregate(records, epsilon="0.001", k=1, target="partition", source=SeededSource(1)).parts[0]
    assert set(part.centroids.codes[:, 0]) == set(range(SPORTS.count))


def test_a_domain_of_one_value_needs_no_noise() -> None:
    records = Records(codes=[[0], [0]], taxonomies=[Concepts(np.eye(1))])
    assert dp_microaggregate(records, epsilon=1, k=1).table()[0].codes.tolist() == [[0], [0]]


@pytest.mark.parametrize("target", ["original", "partition", "record-query"])
def test_values_stay_inside_their_domains(target) -> None:
    release = dp_microaggregate(mixed(), epsilon="0.01", k=4, target=target, source=SeededSource(2))
    table = release.table()[0]
    assert len(table) == 40
    assert table.numeric.min() >= 0.0
    assert table.numeric.max() <= 1.0
    assert (release.parts[0].sizes >= 4).all()


def test_the_order_of_the_clusters_is_random() -> None:
    records = Records(numeric=np.arange(200.0)[:, None], lower=[0], upper=[199])
    released = [
        dp_microaggregate(records, epsilon=10**9, k=2, source=SeededSource(seed)).parts[0].centroids.numeric[:, 0]
        for seed in (1, 2)
    ]
    assert np.allclose(np.sort(released[0]), np.sort(released[1]), atol=1e-3)
    assert not np.allclose(released[0], released[1])
    assert not np.allclose(released[0], np.sort(released[0]))


def test_each_target_says_what_it_promises() -> None:
    promises = {
        target: dp_microaggregate(numbers(), epsilon=1, k=8, target=target).promise
        for target in ("original", "partition", "record-query")
    }
    assert promises["original"].strength is Strength.UNCONDITIONAL
    assert promises["partition"].strength is Strength.CONDITIONAL
    assert "partition" in promises["partition"].assumptions[0]
    assert promises["record-query"].strength is Strength.CONDITIONAL
    assert "as a whole is not protected" in promises["record-query"].assumptions[0]
    assert {promise.neighbours for promise in promises.values()} == {Neighbours.REPLACE}


def test_a_seed_makes_every_promise_conditional() -> None:
    promise = dp_microaggregate(numbers(), epsilon=1, k=8, source=SeededSource(3)).promise
    assert promise.strength is Strength.CONDITIONAL
    assert any("seed" in assumption for assumption in promise.assumptions)


def test_the_size_follows_the_public_rule_where_it_is_not_given() -> None:
    left, right = numbers(60), Records(numeric=np.zeros((60, 2)), lower=[0.0, 0.0], upper=[10.0, 1000.0])
    assert dp_microaggregate(left, epsilon=1).k == dp_microaggregate(right, epsilon=1).k > 1


def test_the_budget_is_spent_exactly() -> None:
    release = dp_microaggregate(mixed(), epsilon="0.3", k=4)
    assert release.design.epsilon == Fraction(3, 10)


def test_noise_of_many_widths_is_drawn_on_a_coarser_grid() -> None:
    release = dp_microaggregate(numbers(), epsilon="1e-6", k=1, noise="laplace", source=SeededSource(4))
    assert release.parts[0].scales[0] == pytest.approx(40 * 10 * 2e6, rel=1e-3)


def test_sets_must_cover_all_attributes() -> None:
    with pytest.raises(ParameterError, match="must cover all attributes"):
        dp_microaggregate(numbers(), epsilon=1, k=4, sets=[AttributeSet(numeric=(0,))])


def test_bounds_must_be_declared() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        dp_microaggregate(Records(numeric=[[1.0], [2.0]]), epsilon=1, k=1)


# -- insensitive clustering


def slow_corners(attributes: int) -> list[tuple[int, ...]]:
    """All corners, each chosen by looking at all that are left."""
    left = list(itertools.product((0, 1), repeat=attributes))
    chosen = [left.pop(0)]

    def distances(point: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sum(a != b for a, b in zip(point, before, strict=True)) for before in reversed(chosen))

    while left:
        chosen.append(max(left, key=distances))  # of several the first, which is the lexicographically first
        left.remove(chosen[-1])
    return chosen


@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 5])
def test_corners_come_in_the_order_of_the_paper(attributes: int) -> None:
    expected = slow_corners(attributes)
    assert corners(attributes, 2**attributes) == expected
    assert corners(attributes, 2) == expected[:2]


def test_corners_of_many_attributes_need_no_list_of_all() -> None:
    assert len(set(corners(50, 20))) == 20


def test_orders_go_by_distance_and_ties_by_the_records() -> None:
    records = Records(numeric=[[5, 5], [1, 0], [0, 1], [0, 1], [10, 10]], lower=[0, 0], upper=[10, 10])
    first, second = fixed_orders(records, 2).tolist()
    assert first == [2, 3, 1, 0, 4]
    # seen from the opposite corner, the tied records still come in their own order
    assert second == [4, 0, 2, 3, 1]


def test_one_attribute_and_one_reference_point_give_the_natural_order() -> None:
    ages = Records(numeric=[[31], [18], [64], [25], [40]], lower=[0], upper=[120])
    assert fixed_orders(ages, 1).tolist() == [[1, 3, 0, 4, 2]]


def test_categories_have_reference_points_at_their_boundaries() -> None:
    taxonomy = Concepts.from_parents([-1, 0, 0, 2, 1, 2])
    records = Records(codes=[[5], [3], [4]], taxonomies=[taxonomy])
    assert taxonomy.boundaries == (4, 3)
    # from 4: itself, then 3 and 5 at the same distance, by code; from 3: itself, then 5, then 4
    assert fixed_orders(records).tolist() == [[2, 1, 0], [1, 0, 2]]


@pytest.mark.parametrize("count", [0, 5])
def test_no_more_reference_points_than_corners(count: int) -> None:
    records = Records(numeric=[[1, 1]], lower=[0, 0], upper=[2, 2])
    with pytest.raises(ParameterError, match="`reference_points` of `insensitive`"):
        insensitive(records, 1, reference_points=count)


def test_bounds_may_not_be_read_off_the_data() -> None:
    with pytest.raises(ParameterError, match="must declare the bounds"):
        insensitive(Records(numeric=[[1.0], [2.0]]), 1)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (9, 5), (10, 5), (33, 5)])
def test_sizes_are_k_but_for_the_last(n: int, k: int) -> None:
    records = Records(numeric=np.random.default_rng(n).random((n, 3)), lower=[0] * 3, upper=[1] * 3)
    sizes = insensitive(records, k).sizes.tolist()
    assert sizes[:-1] == [k] * (len(sizes) - 1)
    assert k <= sizes[-1] < 2 * k
