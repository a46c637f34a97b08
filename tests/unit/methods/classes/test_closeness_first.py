"""Classes that are close in the earth mover's distance by construction."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from reference import closeness as reference
from shoal.methods.classes import rank_bound
from shoal.methods.classes._closeness_first import Dealt, Emphasis, RankGroups, class_sizes, dealt, rank_groups, shapes
from shoal.models import TCloseness
from shoal.tables import SensitiveAttribute


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
