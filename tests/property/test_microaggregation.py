"""Laws of clusters, checked on the output alone or against the slow reference."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from reference import microaggregation as reference
from reference.errors import sse
from reference.examples import examples
from shoal.hierarchies import Concepts
from shoal.kernels import clusters as kernel
from shoal.mechanisms import SeededSource
from shoal.methods.classes import (
    Partition,
    Space,
    cluster_means,
    exchange,
    individual_ranking,
    mdav,
    permutation_within,
    standardize,
    vmdav,
)
from shoal.risk._record_linkage import linked_percentage

QUICK = examples(150)


@st.composite
def matrices(draw: st.DrawFn, most: int = 40, *, whole: bool = False) -> tuple[np.ndarray, int]:
    """Numbers, many of them equal or in line, and a cluster size that they allow."""
    n, m = draw(st.integers(1, most)), draw(st.integers(1, 4))
    numbers = st.integers(-4, 4) if whole or draw(st.booleans()) else st.integers(-4000, 4000)
    values = draw(npst.arrays(np.int64, (n, m), elements=numbers)).astype(float)
    return values / (1 if whole else draw(st.sampled_from([1, 8, 1024]))), draw(st.integers(1, n))


@QUICK
@given(matrices())
def test_cpp_numpy_and_the_algorithm_on_paper_agree(case: tuple[np.ndarray, int]) -> None:
    values, k = case
    expected = reference.mdav(values.tolist(), k)
    assert kernel.mdav_numpy(values, k).tolist() == expected
    assert kernel.mdav(values, k).tolist() == expected


@QUICK
@given(matrices(25), st.sampled_from([0.0, 0.2, 1.1, 5.0]))
def test_both_kernels_of_vmdav_are_the_slow_reference(case: tuple[np.ndarray, int], gamma: float) -> None:
    values, k = case
    labels = kernel.vmdav_numpy(values, k, gamma)
    assert kernel.vmdav(values, k, gamma).tolist() == labels.tolist()
    taken = reference.vmdav(values.tolist(), k, gamma)
    # the fewer than k left over go to the nearest centroid, where rounding may settle a tie differently
    assert sum(a != b for a, b in zip(labels.tolist(), taken, strict=True)) < k


@QUICK
@given(npst.arrays(np.float64, st.tuples(st.integers(1, 60), st.integers(1, 5)), elements=st.floats(-1e300, 1e300)))
def test_cpp_and_numpy_agree_on_any_numbers(values: np.ndarray) -> None:
    k = 1 + len(values) // 7
    assert kernel.mdav(values, k).tolist() == kernel.mdav_numpy(values, k).tolist()


def aggregate(values: np.ndarray, partition: Partition) -> np.ndarray:
    return cluster_means(values, partition)[partition.labels]


@QUICK
@given(matrices(), st.booleans())
def test_mdav_clusters_hold_k_to_2k_minus_1_records_and_keep_the_means(case, scaled) -> None:
    values, k = case
    partition = mdav(standardize(values) if scaled else values, k)
    sizes = np.bincount(partition.labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert (sizes > k).sum() <= 1
    masked = aggregate(values, partition)
    assert np.allclose(masked.mean(axis=0), values.mean(axis=0), atol=1e-9)
    _, counts = np.unique(masked, axis=0, return_counts=True)
    assert counts.min() >= k


@QUICK
@given(matrices(), st.integers(0, 3))
def test_mixed_clusters_hold_k_to_2k_minus_1_records(case: tuple[np.ndarray, int], seed: int) -> None:
    values, k = case
    codes = np.random.default_rng(seed).integers(0, 3, (len(values), 1))
    sizes = mdav(Space.of(standardize(values), codes, [Concepts.flat(3)]), k).sizes
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@QUICK
@given(matrices())
def test_vmdav_clusters_hold_at_least_k_records(case: tuple[np.ndarray, int]) -> None:
    values, k = case
    assert vmdav(values, k, gamma=1.1).sizes.min() >= k


@QUICK
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.data())
def test_individual_ranking_loses_what_mdav_does_on_one_attribute(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    column = np.array(values, float)[:, None]
    ranked, plain = individual_ranking(values, k), mdav(column, k)
    assert sorted(ranked.sizes) == sorted(plain.sizes)
    if len(set(values)) == len(values) and k > 1:  # then only a tie of the last cut is left to the rows
        errors = [sse(column, aggregate(column, partition)) for partition in (ranked, plain)]
        assert ranked.same_clusters(plain) or _ties_at_the_last_cut(values, k), errors


def _ties_at_the_last_cut(values: list[int], k: int) -> bool:
    ordered = sorted(values)
    while len(ordered) >= 3 * k:
        mean = Fraction(sum(ordered), len(ordered))
        if mean - ordered[0] == ordered[-1] - mean:
            return True
        ordered = ordered[k:-k]
    mean = Fraction(sum(ordered), len(ordered))
    return abs(float((mean - ordered[0]) - (ordered[-1] - mean))) < 1e-9


@QUICK
@given(matrices(), st.integers(0, 5))
def test_exchange_keeps_sizes_and_never_raises_the_error(case: tuple[np.ndarray, int], seed: int) -> None:
    values, k = case
    shuffled = np.random.default_rng(seed).permutation(np.arange(len(values)) // k % max(1, len(values) // k))
    before = Partition(shuffled)
    after = exchange(values, before, passes=2)
    assert sorted(after.sizes) == sorted(before.sizes)
    errors = [sse(values, aggregate(values, partition)) for partition in (before, after)]
    assert errors[1] <= errors[0] * (1 + 1e-9) + 1e-9


@QUICK
@given(matrices(), st.integers(0, 2**32))
def test_swapping_leaves_every_marginal_as_it_was(case: tuple[np.ndarray, int], seed: int) -> None:
    values, k = case
    source = SeededSource(seed)
    swapped = values[permutation_within(mdav(values, k), source=source)]
    assert sorted(map(tuple, swapped.tolist())) == sorted(map(tuple, values.tolist()))
    for column in values.T:
        rows = permutation_within(individual_ranking(column, k), source=source)
        assert sorted(column[rows].tolist()) == sorted(column.tolist())


@pytest.mark.slow
@QUICK
@given(matrices(25, whole=True), st.integers(0, 5))
def test_record_linkage_is_the_slow_reference(case: tuple[np.ndarray, int], seed: int) -> None:
    values, _ = case
    masked = np.random.default_rng(seed).integers(-8, 9, values.shape) / 2
    expected = reference.record_linkage(values.tolist(), masked.tolist())
    assert abs(linked_percentage(values, masked, scale=np.ones(values.shape[1])) - expected) < 1e-9
