"""Records to classes, within quotas."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import Partition, Quotas, quotas, squared_error
from shoal.methods.classes._assignment import assign, quota_blocks


def _table(records: int, buckets: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    places = draw.normal(size=(records, 3))
    numbers = np.arange(records) % buckets
    draw.shuffle(numbers)
    return places, numbers


def _counts(labels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    counts = np.zeros((labels.max() + 1, numbers.max() + 1), dtype=np.int64)
    np.add.at(counts, (labels, numbers), 1)
    return counts


@pytest.mark.parametrize("work", [1, 10**9])
@pytest.mark.parametrize("k", [3, 7, 50])
def test_every_class_gets_exactly_its_quotas(k: int, work: int) -> None:
    places, numbers = _table(1003, 3, seed=1)
    wanted = quotas(np.bincount(numbers), Fraction(2), k)
    labels = assign(places, numbers, wanted, work=work)
    assert np.array_equal(_counts(labels, numbers), wanted.counts)


def test_quotas_that_leave_records_over_are_refused() -> None:
    places, numbers = _table(9, 3, seed=2)
    short = Quotas(counts=np.array([[1, 1, 1]]), emphasis=np.array([0]))
    with pytest.raises(ParameterError, match="quotas"):
        assign(places, numbers, short)


def test_near_records_are_grouped_far_better_than_at_random() -> None:
    places, numbers = _table(900, 3, seed=3)
    wanted = quotas(np.bincount(numbers), Fraction(2), 6)
    labels = assign(places, numbers, wanted)
    shuffled = labels.copy()
    for bucket in range(3):
        mine = np.flatnonzero(numbers == bucket)
        shuffled[mine] = np.random.default_rng(4).permutation(labels[mine])
    assert squared_error(places, Partition(labels)) < 0.3 * squared_error(places, Partition(shuffled))


def test_the_order_of_the_rows_decides_nothing() -> None:
    places, numbers = _table(500, 3, seed=5)
    wanted = quotas(np.bincount(numbers), Fraction(2), 5)
    order = np.random.default_rng(6).permutation(500)
    first = assign(places, numbers, wanted)
    second = assign(places[order], numbers[order], wanted)
    assert np.array_equal(first[order], second)


def test_records_that_are_all_the_same_have_classes_too() -> None:
    numbers = np.arange(30) % 3
    labels = assign(np.zeros((30, 2)), numbers, quotas(np.bincount(numbers), Fraction(2), 3))
    assert np.bincount(labels).min() == 3


def test_blocks_have_whole_quotas_and_all_records() -> None:
    places, numbers = _table(2000, 4, seed=7)
    wanted = quotas(np.bincount(numbers), Fraction(3), 5)
    found = quota_blocks(places, numbers, wanted, 20)
    assert max(block.classes for block in found) <= 20
    rows = np.concatenate([mine for block in found for mine in block.rows])
    assert np.array_equal(np.sort(rows), np.arange(2000))
    for block in found:
        chosen = np.concatenate([np.arange(a, b) for a, b in zip(block.first, block.last, strict=True)])
        assert wanted.counts[chosen].sum(axis=0).tolist() == [len(mine) for mine in block.rows]


def test_blocks_lie_apart() -> None:
    places, numbers = _table(4000, 2, seed=8)
    wanted = quotas(np.bincount(numbers), Fraction(2), 4)
    found = quota_blocks(places, numbers, wanted, 64)
    labels = np.empty(4000, dtype=np.int32)
    for number, block in enumerate(found):
        labels[np.concatenate(block.rows)] = number
    everything = squared_error(places, Partition(np.zeros(4000, dtype=np.int32)))
    assert squared_error(places, Partition(labels)) < 0.6 * everything
