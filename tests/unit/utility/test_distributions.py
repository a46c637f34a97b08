"""Distributions before and after, against spreading every record by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shoal
from reference.risk import SIZES, boxes, pair_of, points
from reference.utility import hellinger, marginal, spread, total_variation
from shoal.risk import Pair
from shoal.utility import distributions


@pytest.mark.slow
@given(points(), boxes())
def test_distances_are_those_of_spread_records(people: list, released: list) -> None:
    found = distributions(pair_of(people, released, ordered=(0,)))
    before, after = spread([tuple((v, v) for v in point) for point in people]), spread(released)
    for column, size in enumerate(SIZES):
        first, second = marginal(before, column, size), marginal(after, column, size)
        assert found[column].total_variation == pytest.approx(total_variation(first, second), abs=1e-9)
        assert found[column].hellinger == pytest.approx(hellinger(first, second), abs=1e-6)
        assert sum(bar.original for bar in found[column].bins) == pytest.approx(1.0)
        assert sum(bar.released for bar in found[column].bins) == pytest.approx(1.0)
    moved = stats.wasserstein_distance(
        range(SIZES[0]), range(SIZES[0]), *(list(map(float, marginal(each, 0, SIZES[0]))) for each in (before, after))
    )
    assert found[0].wasserstein == pytest.approx(moved / (SIZES[0] - 1), abs=1e-9)
    assert found[1].wasserstein is None


@given(points(minimum=2))
def test_a_table_released_as_it_is_has_not_moved(people: list) -> None:
    for each in distributions(pair_of(people, [tuple((v, v) for v in point) for point in people], ordered=(0, 2))):
        assert (each.total_variation, each.hellinger, each.wasserstein or 0.0) == (0.0, 0.0, 0.0)


def _numbers(original: list[float | None], released: list[object]) -> Pair:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="pay", role="quasi-identifier", kind="numeric"),))
    return Pair.of(
        shoal.read(pa.table({"pay": pa.array(original, pa.float64())})).with_schema(schema),
        shoal.read(pa.table({"pay": released})),
    )


def test_noise_moves_numbers_by_its_size() -> None:
    (found,) = distributions(_numbers([0.0, 10.0], [1.0, 9.0]))
    assert found.wasserstein == pytest.approx(0.1)
    assert found.total_variation == 1.0


def test_missing_values_count_as_a_value_but_not_as_a_place() -> None:
    (found,) = distributions(_numbers([0.0, 10.0, None, None], [0.0, 10.0, 0.0, 10.0]))
    assert found.total_variation == 0.5
    assert found.wasserstein == 0.0
    assert [(bar.first, bar.original) for bar in found.bins] == [("0", 0.25), ("10", 0.25), (None, 0.5)]


def test_an_empty_release_has_no_distribution() -> None:
    found = distributions(pair_of([(0, 0, 0), (1, 1, 1)], [], ordered=(0,)))[0]
    assert found.wasserstein is None
    assert found.total_variation == 0.5


def test_many_numbers_share_bars_of_the_same_width() -> None:
    values = list(map(float, range(1000)))
    (found,) = distributions(_numbers(values, values))
    assert len(found.bins) == 40
    assert [bar.original for bar in found.bins] == pytest.approx([0.025] * 40, abs=0.002)
    assert (found.bins[0].first, found.bins[-1].last) == ("0", "999")


def test_rare_categories_share_one_bar() -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="town", role="quasi-identifier"),))
    names = [f"t{i:03}" for i in range(100) for _ in range(1 + i)]
    table = shoal.read(pa.table({"town": names})).with_schema(schema)
    (found,) = distributions(Pair.of(table, table))
    assert len(found.bins) == 40
    assert [bar.rest for bar in found.bins] == [False] * 39 + [True]
    assert found.bins[0].first == "t061"
    assert sum(bar.original for bar in found.bins) == pytest.approx(1.0)


def test_no_value_is_shown() -> None:
    (found,) = distributions(_numbers([12345.0], [12345.0]))
    assert "12345" not in repr(found)


@pytest.mark.slow
@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_distances_of_points_are_those_of_scipy(first: list[int], second: list[int]) -> None:
    (found,) = distributions(_numbers([*map(float, first)], [*map(float, second)]))
    low, high = min(first + second), max(first + second)
    expected = stats.wasserstein_distance(first, second) / (high - low) if high > low else 0.0
    assert found.wasserstein == pytest.approx(expected, abs=1e-9)
