"""Quotas of buckets hold exactly, and records are assigned to classes within them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError
from shoal.methods.classes import Partition, Quotas, quotas, squared_error
from shoal.methods.classes._quotas import assign, quota_blocks


def _check(sizes: list[int], t: Fraction, k: int) -> np.ndarray:
    found = quotas(np.array(sizes), t, k)
    assert found.counts.sum(axis=0).tolist() == sizes
    assert found.sizes.min() >= k
    labels = [c for c, row in enumerate(found.counts.tolist()) for number in row for _ in range(number)]
    values = [j for row in found.counts.tolist() for j, number in enumerate(row) for _ in range(number)]
    assert reference.factor(labels, values) <= t
    return found.counts


def test_every_bucket_is_emphasised_by_as_many_classes_where_sizes_divide() -> None:
    found = quotas(np.array([12, 12, 12]), Fraction(2), 6)
    assert np.bincount(found.emphasis).tolist() == [2, 2, 2]
    assert sorted(map(tuple, found.counts.tolist())) == [(1, 1, 4)] * 2 + [(1, 4, 1)] * 2 + [(4, 1, 1)] * 2


@pytest.mark.parametrize("records", range(9, 40))
def test_sizes_that_do_not_divide(records: int) -> None:
    sizes = np.diff(np.arange(4) * records // 3).tolist()
    counts = _check(sizes, Fraction(2), 3)
    assert len(counts) >= records // 4


def test_a_rare_bucket_makes_classes_large_enough_to_hold_it() -> None:
    counts = _check([1, 50, 49], Fraction(2), 2)
    assert len(counts) == 1
    counts = _check([4, 50, 46], Fraction(2), 2)
    assert len(counts) == 4


def test_t_of_one_leaves_proportional_classes_or_a_single_one() -> None:
    assert len(_check([6, 6], Fraction(1), 2)) == 6
    assert len(_check([5, 7], Fraction(1), 1)) == 1


def test_one_bucket_asks_for_nothing_but_k() -> None:
    assert len(_check([10], Fraction(2), 3)) == 3


def test_counts_beyond_64_bits_are_compared_exactly() -> None:
    big = 10**12
    found = quotas(np.array([big, big, big]), Fraction(2), big)
    assert found.counts.sum(axis=0).tolist() == [big] * 3
    assert len(found) == 3


@pytest.mark.parametrize(
    ("sizes", "t", "k", "word"),
    [([0, 3], 2, 1, "sizes"), ([], 2, 1, "sizes"), ([3, 3], Fraction(1, 2), 1, "`t`"), ([3, 3], 2, 7, "`k`")],
)
def test_what_cannot_be_is_refused(sizes: list[int], t: Fraction, k: int, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        quotas(np.array(sizes, dtype=np.int64), Fraction(t), k)


def test_classes_are_as_many_as_trying_everything_finds() -> None:
    """For small tables: no larger number of classes of two neighbouring sizes has quotas."""
    for sizes, t, k in (([4, 5, 5], Fraction(2), 3), ([3, 4, 4], Fraction(3, 2), 3), ([5, 6], Fraction(5, 4), 2)):
        records = sum(sizes)
        number = len(quotas(np.array(sizes), t, k))
        for more in range(number + 1, records // k + 1):
            spread = np.diff(np.arange(more + 1) * records // more).tolist()
            if min(spread) >= k and records // more != records // (more - 1):
                assert not reference.quotas_exist(sizes, t, spread), (sizes, t, k, more)


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
