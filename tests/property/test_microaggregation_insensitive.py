"""A change of one record changes at most one record of every cluster, for fixed orders; not for MDAV."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import microaggregation as reference
from reference.examples import examples
from shoal.hierarchies import Concepts
from shoal.methods.classes import mdav
from shoal.methods.noise import Records, insensitive, insensitive_orders

QUICK = examples(200)
SPORTS = Concepts.from_parents([-1, 0, 0, 2, 1, 2])


def clusters_of(records: list[tuple[float, ...]], labels: np.ndarray) -> list[list[tuple[float, ...]]]:
    return [[records[row] for row in np.flatnonzero(labels == c)] for c in range(labels.max() + 1)]


@st.composite
def neighbours(draw: st.DrawFn, element: st.SearchStrategy) -> tuple[list, list, int]:
    """Records, the same with one replaced, in another order of rows, and a cluster size."""
    records = draw(st.lists(element, min_size=1, max_size=30))
    changed = list(records)
    changed[draw(st.integers(0, len(records) - 1))] = draw(element)
    return records, draw(st.permutations(changed)), draw(st.integers(1, len(records)))


@QUICK
@given(neighbours(st.tuples(st.integers(0, 11))), st.lists(st.permutations(range(12)), min_size=1, max_size=4))
def test_any_fixed_sequence_of_total_orders_is_insensitive(case, priorities: list[list[int]]) -> None:
    before, after, k = case
    found = []
    for records in (before, after):
        keys = np.array([[order.index(value) for (value,) in records] for order in priorities])
        labels = insensitive_orders(np.argsort(keys, axis=1, kind="stable").astype(np.int32), k).labels
        found.append(clusters_of(records, labels))
    assert len(found[0]) == len(found[1])
    assert all(reference.differ_in_one(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.slow
@QUICK
@given(
    neighbours(st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([3, 4, 5]))),
    st.integers(1, 8),
)
def test_reference_points_give_insensitive_clusters_of_mixed_records(case, points: int) -> None:
    before, after, k = case
    found = []
    for records in (before, after):
        table = np.array(records, float)
        made = Records(
            numeric=table[:, :2], codes=table[:, 2:], taxonomies=[SPORTS], lower=[0.0, 0.0], upper=[4.0, 4.0]
        )
        found.append(clusters_of(records, insensitive(made, k, reference_points=points).labels))
    assert all(reference.differ_in_one(a, b) for a, b in zip(*found, strict=True))


@QUICK
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30), st.data())
def test_clusters_are_those_of_the_algorithm_on_paper(records: list[tuple[int, int]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(records)))
    corners = [(0, 0), (1, 1), (0, 1), (1, 0)]

    def order(corner: tuple[int, int]):
        return lambda record: (sum((Fraction(x, 4) - c) ** 2 for x, c in zip(record, corner, strict=True)), record)

    expected = reference.insensitive(records, k, [order(corner) for corner in corners])
    made = Records(numeric=records, lower=[0, 0], upper=[4, 4])
    found = clusters_of(records, insensitive(made, k).labels)
    assert [sorted(cluster) for cluster in found] == [sorted(cluster) for cluster in expected]


def test_mdav_is_not_insensitive() -> None:
    before = [(3, 3), (1, 1), (3, 2), (4, 1), (2, 3)]
    after = [(3, 3), (0, 3), (3, 2), (4, 1), (2, 3)]
    found = [clusters_of(records, mdav(records, 2).labels) for records in (before, after)]
    # no way to pair the clusters leaves every pair with at most one record of difference
    assert not any(
        all(reference.differ_in_one(a, b) for a, b in zip(found[0], paired, strict=True))
        for paired in itertools.permutations(found[1])
    )


def means(values: list[int], k: int, width: int) -> np.ndarray:
    records = Records(numeric=np.array(values, float)[:, None], lower=[0.0], upper=[float(width)])
    labels = insensitive(records, k, reference_points=1).labels
    return np.bincount(labels, values) / np.bincount(labels)


@QUICK
@given(st.lists(st.integers(0, 100), min_size=1, max_size=40), st.data())
def test_in_the_natural_order_all_centroids_together_move_by_at_most_the_width_over_k(values, data) -> None:
    k = data.draw(st.integers(1, len(values)))
    changed = list(values)
    changed[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.integers(0, 100))
    moved = np.abs(means(values, k, 100) - means(changed, k, 100)).sum()
    assert moved <= 100 / k + 1e-9


def test_the_bound_of_the_natural_order_is_met() -> None:
    moved = np.abs(means([0, 20, 40, 60, 80, 100], 2, 100) - means([100, 20, 40, 60, 80, 100], 2, 100)).sum()
    assert moved == pytest.approx(100 / 2)


def test_with_several_attributes_the_moves_do_not_telescope() -> None:
    def first_attribute(values: list[tuple[int, int]]) -> np.ndarray:
        records = Records(numeric=values, lower=[0, 0], upper=[4, 4])
        return np.array(values)[np.argsort(insensitive(records, 1).labels), 0]

    moved = np.abs(first_attribute([(4, 0), (3, 1), (0, 4)]) - first_attribute([(1, 2), (3, 1), (0, 4)])).sum()
    # more than the width 4 over k = 1, so noise for that much would be too little; not more than clusters times it
    assert 4 < moved <= 3 * 4
