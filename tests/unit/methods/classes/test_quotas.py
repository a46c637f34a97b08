"""Quotas of buckets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError
from shoal.methods.classes import quotas


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
