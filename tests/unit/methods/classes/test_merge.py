"""Merging classes until they satisfy what is asked."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import RequirementError
from shoal.methods.classes import Partition, merged


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
