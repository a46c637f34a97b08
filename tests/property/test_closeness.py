"""Laws of closeness by construction, decided by an independent checker on the classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import closeness as reference
from reference.examples import examples
from shoal.methods.classes import (
    Partition,
    Strategy,
    bucketize_points,
    closeness,
    make_buckets,
    merge_clusters,
    microaggregate_points,
    partition_by_confidential,
    quotas,
    stochastic_epsilon,
    stochastic_t,
)
from shoal.models import KAnonymity, TCloseness
from shoal.tables import SensitiveAttribute

FACTORS = st.fractions(min_value=1, max_value=8, max_denominator=20)


@st.composite
def tables(draw: st.DrawFn, *, most: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Draw places of records and codes of a confidential attribute, every code present."""
    records = draw(st.integers(1, most))
    codes = draw(st.lists(st.integers(0, 7), min_size=records, max_size=records))
    places = draw(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=records, max_size=records))
    return np.array(places, dtype=float), np.unique(codes, return_inverse=True)[1]


def _attribute(codes: np.ndarray, *, ordered: bool) -> SensitiveAttribute:
    size = int(codes.max()) + 1
    return SensitiveAttribute(name="x", size=size, ordered=ordered, labels=tuple(f"{i:02}" for i in range(size)))


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), t=FACTORS, data=st.data())
def test_quotas_use_up_every_bucket_and_keep_the_factor(sizes: list[int], t: Fraction, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, sum(sizes)))
    found = quotas(np.array(sizes), t, k)
    assert found.counts.sum(axis=0).tolist() == sizes
    assert found.sizes.min() >= k
    records = sum(sizes)
    for row in found.counts.tolist():
        for count, size in zip(row, sizes, strict=True):
            assert count > 0
            assert 1 / t <= Fraction(count * records, sum(row) * size) <= t


@given(t=st.integers(2, 6), records=st.integers(1, 400), extra=st.integers(0, 20))
def test_t_plus_one_equal_buckets_give_classes_of_about_k(t: int, records: int, extra: int) -> None:
    """Sizes that t + 1 does not divide included: classes never grow beyond what whole records need."""
    if records < t + 1:
        return
    k = min(t + 1 + extra, records)
    sizes = np.diff(np.arange(t + 2) * records // (t + 1))
    found = quotas(sizes, Fraction(t), k)
    # floor(N / k) classes of k or more would be at most this many; one record of a rare bucket may cost one more each
    assert len(found) >= records // (k + 2)


@given(table=tables(), t=FACTORS, data=st.data())
def test_bucketised_classes_keep_t_and_k(
    table: tuple[np.ndarray, np.ndarray], t: Fraction, data: st.DataObject
) -> None:
    places, codes = table
    k = data.draw(st.integers(1, len(codes)))
    ordered, count = data.draw(st.booleans()), data.draw(st.integers(1, 5))
    buckets = make_buckets([_attribute(codes, ordered=ordered)], codes[:, None], count)
    # values share a bucket or not, whatever the record
    assert len({*zip(codes.tolist(), buckets.numbers.tolist(), strict=True)}) == len({*codes.tolist()})
    partition = bucketize_points(places, buckets.numbers, t, k)
    assert partition.sizes.min() >= k
    found = reference.factor(partition.labels.tolist(), buckets.numbers.tolist())
    assert found <= t
    assert closeness(partition, buckets.numbers)["t"] == found


@pytest.mark.slow
@examples(60)
@given(
    table=tables(),
    t=st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=40),
    ordered=st.booleans(),
    strategy=st.sampled_from(("merge-first", "closeness-first")),
    data=st.data(),
)
def test_microaggregated_classes_keep_the_distance_and_k(
    table: tuple[np.ndarray, np.ndarray], t: Fraction, ordered: bool, strategy: Strategy, data: st.DataObject
) -> None:
    places, codes = table
    k = data.draw(st.integers(1, len(codes)))
    wanted = (KAnonymity(k), TCloseness("x", t, distance="ordered" if ordered else "equal"))
    attribute = _attribute(codes, ordered=ordered)
    partition = microaggregate_points(places, (attribute,), codes[:, None], wanted, strategy)
    assert partition.sizes.min() >= k
    assert reference.greatest_distance(partition.labels.tolist(), codes.tolist(), ordered=ordered) <= t


@given(table=tables(), data=st.data())
def test_rows_in_another_order_give_the_same_classes(table: tuple[np.ndarray, np.ndarray], data: st.DataObject) -> None:
    """Up to records that are equal in everything: what is released is the same."""
    places, codes = table
    order = np.array(data.draw(st.permutations(range(len(codes)))))

    def released(places: np.ndarray, codes: np.ndarray) -> list[tuple[object, ...]]:
        labels = bucketize_points(places, codes, Fraction(2), 1, class_size=3).labels
        rows = zip(labels.tolist(), map(tuple, places.tolist()), codes.tolist(), strict=True)
        members: dict[int, list[tuple[object, ...]]] = {}
        for label, place, code in rows:
            members.setdefault(label, []).append((place, code))
        return sorted(tuple(sorted(each)) for each in members.values())  # type: ignore[type-var]

    assert released(places, codes) == released(places[order], codes[order])


@given(values=st.lists(st.integers(0, 30), min_size=1, max_size=60), data=st.data())
def test_a_partition_by_confidential_values_has_consecutive_ranks(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    partition = partition_by_confidential(values, k)
    assert partition.sizes.min() >= k
    assert partition.sizes.max() <= 2 * k - 1
    ranks = np.empty(len(values), dtype=int)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    for cluster in partition.clusters():
        assert np.ptp(ranks[cluster]) == len(cluster) - 1


@given(table=tables(), least=st.integers(1, 60))
def test_merging_ends_and_keeps_classes_whole(table: tuple[np.ndarray, np.ndarray], least: int) -> None:
    places, codes = table
    before = Partition(codes)
    after = merge_clusters(places, before, lambda partition: partition.sizes >= min(least, len(codes)))
    assert after.sizes.min() >= min(least, len(codes))
    pairs = {*zip(before.labels.tolist(), after.labels.tolist(), strict=True)}
    assert len(pairs) == before.count


@given(
    t=st.fractions(min_value=Fraction(101, 100), max_value=20, max_denominator=100),
    records=st.integers(2, 10_000),
    data=st.data(),
)
def test_the_epsilon_of_a_stochastic_t_gives_it_and_nothing_larger_does(
    t: Fraction, records: int, data: st.DataObject
) -> None:
    smallest = data.draw(st.integers(1, records - 1))
    epsilon = stochastic_epsilon(t, records=records, smallest=smallest)
    assert stochastic_t(epsilon, records=records, smallest=smallest) <= float(t) * (1 + 1e-15)
    assert stochastic_t(epsilon * (1 + 1e-9), records=records, smallest=smallest) > float(t) * (1 - 1e-12)
    assert stochastic_t(epsilon, records=records, smallest=smallest) == pytest.approx(float(t))
