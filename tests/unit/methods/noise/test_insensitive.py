from __future__ import annotations

import itertools

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.hierarchies import Concepts
from shoal.methods.noise import Records, corners, fixed_orders, insensitive


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
        insensitive(Records.of([[1.0], [2.0]]), 1)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (9, 5), (10, 5), (33, 5)])
def test_sizes_are_k_but_for_the_last(n: int, k: int) -> None:
    records = Records(numeric=np.random.default_rng(n).random((n, 3)), lower=[0] * 3, upper=[1] * 3)
    sizes = insensitive(records, k).sizes.tolist()
    assert sizes[:-1] == [k] * (len(sizes) - 1)
    assert k <= sizes[-1] < 2 * k
