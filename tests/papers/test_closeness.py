"""Figures and tables of [DFSC15] (seed 004) and of [SC13] chapter 7 (seed 000)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference import closeness as reference
from shoal.methods.classes import (
    Partition,
    bucketize_points,
    closeness,
    make_buckets,
    partition_by_confidential,
    quotas,
)
from shoal.tables import SensitiveAttribute

#: [SC13 Table 7.5] and [DFSC15 Fig. 2]: the class of each of the twelve ordered values
PUBLISHED = [2, 1, 1, 3, 2, 3, 1, 2, 3, 3, 1, 2]
TWELVE = SensitiveAttribute(name="c", size=12, ordered=True, labels=tuple(f"c{i:02}" for i in range(1, 13)))


def test_figure_1_twelve_values_make_three_buckets_of_four() -> None:
    buckets = make_buckets([TWELVE], np.arange(12)[:, None], 3)
    assert buckets.numbers.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert buckets.labels == (("[c01, c04]", "[c05, c08]", "[c09, c12]"),)


def test_figure_2_the_published_partition_is_1_5_close() -> None:
    partition = Partition(np.array(PUBLISHED) - 1)
    found = closeness(partition, np.arange(12) // 4)
    assert found["t"] == Fraction(3, 2)
    assert found["k"] == 4


def test_figure_2_is_what_the_construction_gives() -> None:
    """Three classes of four, each with two records of one bucket and one of the others: exactly 1.5-close."""
    draw = np.random.default_rng(1)
    buckets = np.arange(12) // 4
    for _ in range(20):
        partition = bucketize_points(draw.normal(size=(12, 2)), buckets, Fraction(3, 2), 4)
        assert partition.sizes.tolist() == [4, 4, 4]
        assert reference.factor(partition.labels.tolist(), buckets.tolist()) == Fraction(3, 2)


def test_without_buckets_no_t_is_enough() -> None:
    """[DFSC15 6]: a value that is rarer than the classes makes the distance infinite."""
    assert closeness(Partition(np.array(PUBLISHED) - 1), np.arange(12))["t"] == float("inf")


@pytest.mark.parametrize("t", [2, 3, 4, 5])
def test_table_1_masses_are_attained_where_sizes_divide(t: int) -> None:
    """t / (t + 1) in the emphasised bucket and 1 / (t (t + 1)) in the others."""
    size = t * (t + 1)
    found = quotas(np.full(t + 1, size), Fraction(t), size)
    assert len(found) == t + 1
    for emphasis, row in zip(found.emphasis.tolist(), found.counts.tolist(), strict=True):
        masses = [Fraction(count, size) for count in row]
        assert masses[emphasis] == Fraction(t, t + 1)
        assert [mass for place, mass in enumerate(masses) if place != emphasis] == [Fraction(1, t * (t + 1))] * t


def test_section_6_1_t_plus_one_buckets_solve_the_equation() -> None:
    """t b_i/N + (1 - b_i/N)/t = 1 for b_i/N = 1/(t + 1)."""
    for t in range(2, 20):
        share = Fraction(1, t + 1)
        assert t * share + (1 - share) / t == 1


def test_the_lower_quota_must_be_rounded_up() -> None:
    """The erratum of 6.2 (ii): with floor(e p / t) a class of five of three equal buckets would not be 2-close."""
    records, size = 15, 5
    low = size * 5 // (records * 2)  # floor(5 / 6)
    assert low == 0
    counts = quotas(np.array([5, 5, 5]), Fraction(2), size).counts
    assert counts.min() >= 1


def test_algorithm_7_1_on_ten_values() -> None:
    found = partition_by_confidential([float(value) for value in range(10)], 2)
    assert [cluster.tolist() for cluster in found.clusters()] == [[0, 1], [8, 9], [2, 3], [6, 7], [4, 5]]
    found = partition_by_confidential([float(value) for value in range(11)], 3)
    assert [cluster.tolist() for cluster in found.clusters()] == [[0, 1, 2], [8, 9, 10], [3, 4, 5, 6, 7]]


@pytest.mark.parametrize("records", range(12, 120, 7))
@pytest.mark.parametrize("t", [2, 3])
def test_sizes_that_t_plus_one_does_not_divide_keep_t(records: int, t: int) -> None:
    attribute = SensitiveAttribute(
        name="c", size=records, ordered=True, labels=tuple(f"{i:03}" for i in range(records))
    )
    buckets = make_buckets([attribute], np.arange(records)[:, None], t + 1)
    assert np.ptp(buckets.sizes) <= 1
    partition = bucketize_points(
        np.random.default_rng(records).normal(size=(records, 1)), buckets.numbers, Fraction(t), t + 1
    )
    assert reference.factor(partition.labels.tolist(), buckets.numbers.tolist()) <= t
    assert partition.sizes.min() >= t + 1
