"""Microaggregation under closeness."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError, RequirementError
from shoal.methods.classes import Partition, Strategy, TMicroaggregate, merged, microaggregate_points, squared_error
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
    after = merged(places, before, lambda partition: partition.sizes >= 7)
    assert after.sizes.min() >= 7
    for label in range(before.count):
        assert len({*after.labels[before.labels == label].tolist()}) == 1


def test_the_nearest_class_is_chosen() -> None:
    places = np.array([[0.0], [1.0], [10.0], [11.5]])
    found = merged(places, Partition([0, 1, 2, 3]), lambda partition: partition.sizes > 1)
    assert found.same_clusters(Partition([0, 0, 1, 1]))


def test_what_satisfies_already_stays() -> None:
    before = Partition([0, 0, 1, 1])
    assert merged(np.zeros((4, 1)), before, lambda partition: np.ones(partition.count, dtype=bool)) is before


def test_classes_in_the_same_place_are_merged_too() -> None:
    found = merged(np.zeros((20, 1)), Partition(np.arange(20)), lambda partition: partition.sizes >= 5)
    assert found.sizes.min() >= 5


def test_what_not_even_one_class_satisfies_is_refused() -> None:
    with pytest.raises(RequirementError, match="one class"):
        merged(np.zeros((4, 1)), Partition([0, 1, 1, 0]), lambda partition: np.zeros(partition.count, dtype=bool))
