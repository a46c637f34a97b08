"""Bucketisation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError
from shoal.methods.classes import Bucketize, bucketize_points, closeness
from shoal.models import KAnonymity, MultiplicativeCloseness, TCloseness
from shoal.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(Attribute(name="age", role=Role.QUASI_IDENTIFIER), Attribute(name="pay", role=Role.SENSITIVE))
)


@pytest.mark.slow
@pytest.mark.parametrize("t", [Fraction(5, 4), Fraction(3, 2), 2, Fraction(5, 2), 3, 7])
@pytest.mark.parametrize("k", [1, 5, 33])
def test_every_t_above_one_is_kept_and_k_too(t: Fraction, k: int) -> None:
    draw = np.random.default_rng(1)
    places, buckets = draw.normal(size=(331, 2)), draw.integers(0, int(t) + 1, 331)
    partition = bucketize_points(places, buckets, Fraction(t), k)
    assert partition.sizes.min() >= k
    assert reference.factor(partition.labels.tolist(), buckets.tolist()) <= t


def test_what_was_achieved_is_exact() -> None:
    draw = np.random.default_rng(2)
    buckets = draw.integers(0, 3, 100)
    partition = bucketize_points(draw.normal(size=(100, 1)), buckets, Fraction(2), 4)
    found = closeness(partition, buckets)
    assert found["t"] == reference.factor(partition.labels.tolist(), buckets.tolist())
    assert found["k"] == partition.sizes.min()


def test_a_class_size_that_is_given_is_used() -> None:
    buckets = np.arange(120) % 3
    partition = bucketize_points(np.arange(120.0)[:, None], buckets, Fraction(2), 3, class_size=12)
    assert {*partition.sizes.tolist()} == {12}


def test_larger_classes_are_tried_where_they_lose_less() -> None:
    """Where the confidential attribute follows the quasi-identifier, classes of three of three buckets span all."""
    values = np.arange(600.0)
    buckets = (np.arange(600) // 200).astype(np.int64)
    tried, fixed = (bucketize_points(values[:, None], buckets, Fraction(2), 3, class_size=size) for size in (None, 3))
    spread = [
        np.square(values - np.array([values[p.labels == c].mean() for c in p.labels])).sum() for p in (tried, fixed)
    ]
    assert spread[0] < 0.7 * spread[1]
    assert tried.sizes.min() > 3


def test_one_record_and_k_of_all() -> None:
    assert bucketize_points(np.array([[1.0]]), np.array([0]), Fraction(2), 1).labels.tolist() == [0]
    assert bucketize_points(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]), Fraction(2), 3).count == 1


def test_the_method_needs_a_promise_that_bounds_a_factor() -> None:
    problems = Bucketize().problems(SCHEMA, (KAnonymity(2),))
    assert any("bounds a factor" in problem for problem in problems)
    assert not Bucketize().problems(SCHEMA, (KAnonymity(2), MultiplicativeCloseness("pay", 2)))


def test_classes_that_are_not_published_cannot_keep_other_promises() -> None:
    wanted = (MultiplicativeCloseness("pay", 2), TCloseness("pay", 0.1))
    assert any("not published" in each for each in Bucketize(form="permuted").problems(SCHEMA, wanted))
    assert not Bucketize(form="anatomy").problems(SCHEMA, wanted)


@pytest.mark.parametrize("wrong", [{"form": "folded"}, {"buckets": 0}, {"class_size": 0}])
def test_wrong_parameters_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Bucketize(**wrong)  # type: ignore[arg-type]
