"""Homogeneous classes keep every model, by merging and by closeness first."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError, RequirementError
from shoal.methods.classes import (
    Partition,
    Strategy,
    TMicroaggregate,
    merge_clusters,
    microaggregate_points,
    rank_bound,
    squared_error,
)
from shoal.methods.classes._near_classes import Dealt, Emphasis, RankGroups, class_sizes, dealt, rank_groups, shapes
from shoal.models import DistinctLDiversity, KAnonymity, Model, TCloseness
from shoal.tables import SensitiveAttribute


def _table(
    records: int, values: int, seed: int, *, ordered: bool = True
) -> tuple[np.ndarray, SensitiveAttribute, np.ndarray]:
    draw = np.random.default_rng(seed)
    places = draw.normal(size=(records, 2))
    codes = np.unique(
        np.floor(places[:, 0] * values / 4 + draw.normal(size=records) * values / 8), return_inverse=True
    )[1]
    labels = tuple(f"{i:04}" for i in range(codes.max() + 1))
    return places, SensitiveAttribute(name="x", size=codes.max() + 1, ordered=ordered, labels=labels), codes[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize(("values", "distance"), [(500, "ordered"), (8, "ordered"), (8, "equal")])
@pytest.mark.parametrize("t", ["0.05", "0.2"])
def test_every_class_keeps_the_distance_and_k(strategy: Strategy, values: int, distance: str, t: str) -> None:
    places, attribute, codes = _table(307, values, 1, ordered=distance == "ordered")
    wanted: tuple[Model, ...] = (KAnonymity(4), TCloseness("x", t, distance=distance))  # type: ignore[arg-type]
    partition = microaggregate_points(places, (attribute,), codes, wanted, strategy)
    assert partition.sizes.min() >= 4
    farthest = reference.greatest_distance(
        partition.labels.tolist(), codes[:, 0].tolist(), ordered=distance == "ordered"
    )
    assert farthest <= Fraction(t)


@pytest.mark.slow
def test_closeness_first_is_more_homogeneous_where_values_follow_the_quasi_identifiers() -> None:
    places, attribute, codes = _table(600, 600, 2)
    wanted = (KAnonymity(3), TCloseness("x", "0.1"))
    first, later = (
        squared_error(places, microaggregate_points(places, (attribute,), codes, wanted, strategy))
        for strategy in ("closeness-first", "merge-first")
    )
    assert first < 0.8 * later  # type: ignore[operator]


def test_other_models_are_kept_by_merging() -> None:
    places, attribute, codes = _table(200, 6, 3)
    partition = microaggregate_points(places, (attribute,), codes, (KAnonymity(3), DistinctLDiversity("x", 3)), "best")
    for members in reference.classes(partition.labels.tolist(), codes[:, 0].tolist()):
        assert len({*members}) >= 3


def test_a_single_record_is_a_class() -> None:
    attribute = SensitiveAttribute(name="x", size=1, ordered=True, labels=("a",))
    found = microaggregate_points(np.array([[1.0]]), (attribute,), np.array([[0]]), (TCloseness("x", 0),), "best")
    assert found.labels.tolist() == [0]


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="strategy"):
        TMicroaggregate(strategy="luck")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="form"):
        TMicroaggregate(form="permuted")


# -- merging


def test_classes_are_unions_of_those_before() -> None:
    places = np.random.default_rng(1).normal(size=(60, 2))
    before = Partition(np.arange(60) // 2)
    after = merge_clusters(places, before, lambda partition: partition.sizes >= 7)
    assert after.sizes.min() >= 7
    for label in range(before.count):
        assert len({*after.labels[before.labels == label].tolist()}) == 1


def test_the_nearest_class_is_chosen() -> None:
    places = np.array([[0.0], [1.0], [10.0], [11.5]])
    found = merge_clusters(places, Partition([0, 1, 2, 3]), lambda partition: partition.sizes > 1)
    assert found.same_clusters(Partition([0, 0, 1, 1]))


def test_what_satisfies_already_stays() -> None:
    before = Partition([0, 0, 1, 1])
    assert merge_clusters(np.zeros((4, 1)), before, lambda partition: np.ones(partition.count, dtype=bool)) is before


def test_classes_in_the_same_place_are_merged_too() -> None:
    found = merge_clusters(np.zeros((20, 1)), Partition(np.arange(20)), lambda partition: partition.sizes >= 5)
    assert found.sizes.min() >= 5


def test_what_not_even_one_class_satisfies_is_refused() -> None:
    with pytest.raises(RequirementError, match="a single class of all records"):
        merge_clusters(
            np.zeros((4, 1)), Partition([0, 1, 1, 0]), lambda partition: np.zeros(partition.count, dtype=bool)
        )


def _attribute(size: int, *, ordered: bool = True) -> SensitiveAttribute:
    return SensitiveAttribute(name="x", size=size, ordered=ordered)


@pytest.mark.parametrize("codes", [[0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 3], [0, 0, 0, 0, 0, 1], [2, 2, 2, 2, 2, 2]])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_no_choice_of_one_record_per_rank_group_is_farther_than_the_bound(codes: list[int], size: int) -> None:
    values = np.array(codes)
    groups = rank_groups(values, size)
    choices = itertools.product(*(values[groups == number].tolist() for number in range(size)))
    worst = max(reference.ordered_distance(choice, codes) for choice in choices)
    assert float(worst) <= rank_bound(values, size) + 1e-12


def test_the_bound_is_attained_for_different_values() -> None:
    values = list(range(12))
    worst = reference.ordered_distance([3, 7, 11], values)
    assert rank_bound(np.array(values), 3) == pytest.approx(float(worst))
    assert worst == Fraction(12 - 3, 2 * 11 * 3)


def test_dealing_gives_every_class_its_share_of_every_run() -> None:
    sizes = np.array([5, 1, 7, 4])
    counts = dealt(sizes, 4)
    assert counts.sum(axis=0).tolist() == sizes.tolist()
    for start, end in itertools.combinations(range(5), 2):
        runs = counts[:, start:end].sum(axis=1)
        assert runs.max() - runs.min() <= 1


@pytest.mark.parametrize("shape", [RankGroups(4), Dealt(4), Emphasis(Fraction(2), 3), Emphasis(Fraction(3), None)])
@pytest.mark.parametrize("records", [20, 21, 23, 40])
def test_every_shape_uses_up_its_buckets_and_keeps_k(shape: object, records: int) -> None:
    codes = np.sort(np.random.default_rng(1).integers(0, 5, records))
    numbers, found = shape.quotas(  # type: ignore[attr-defined]
        SensitiveAttribute(name="x", size=5, ordered=True, labels=tuple("abcde")), codes, 4
    )
    assert np.array_equal(np.bincount(numbers), found.counts.sum(axis=0))
    assert found.sizes.min() >= 4


def test_shapes_for_few_values_hold_exactly() -> None:
    codes = np.random.default_rng(3).integers(0, 4, 200)
    model = TCloseness("x", "0.1", distance="equal")

    def holds(classes: object) -> bool:
        return model.holds(classes)  # type: ignore[arg-type]

    found = shapes(_attribute(4, ordered=False), codes, t=0.1, k=3, holds=holds)
    smallest = next(shape for shape in found if isinstance(shape, Dealt))
    exact = [smallest, *(shape for shape in found if isinstance(shape, Emphasis) and shape.buckets is None)]
    for shape in exact:
        _, shares = shape.quotas(_attribute(4, ordered=False), codes, 3)
        for row in shares.counts.tolist():
            members = [value for value, count in enumerate(row) for _ in range(count)]
            assert reference.equal_distance(members, codes.tolist()) <= Fraction(1, 10)


def test_sizes_worth_trying_start_at_k() -> None:
    for t, k, buckets in itertools.product((Fraction(3, 2), Fraction(2), Fraction(5)), (1, 4, 30), (2, 3, 6)):
        sizes = class_sizes(t, k, buckets)
        assert sizes[0] == k
        assert sizes == sorted({*sizes})
