"""Random counts, against counting spread records by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.risk import SIZES, boxes, pair_of, points
from reference.utility import count, spread
from shoal.errors import ParameterError
from shoal.utility import query_error
from shoal.utility._queries import _Counter, _range

EVERYTHING = tuple((0, size - 1) for size in SIZES)


@pytest.mark.slow
@given(boxes(), st.data())
def test_counts_are_those_of_spread_records(released: list, data: st.DataObject) -> None:
    counter = _Counter(pair_of([(0, 0, 0)], released).released)
    columns = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    ranges = [tuple(sorted(data.draw(st.tuples(*[st.integers(0, SIZES[c] - 1)] * 2)))) for c in columns]
    assert counter.count(columns, ranges) == pytest.approx(count(spread(released), columns, ranges), abs=1e-4)


@pytest.mark.slow
@given(points(), boxes(), st.integers(0, 5))
def test_errors_are_shares_and_repeat(people: list, released: list, seed: int) -> None:
    pair = pair_of(people, released)
    found = query_error(pair, number=20, seed=seed)
    assert 0 <= found.median <= found.ninth <= 1
    assert 0 <= found.mean <= 1
    assert found == query_error(pair, number=20, seed=seed)


def test_a_table_released_as_it_is_answers_exactly() -> None:
    people = [(i % 4, i % 3, i % 5) for i in range(60)]
    found = query_error(pair_of(people, [tuple((v, v) for v in point) for point in people]), number=100)
    assert (found.queries, found.mean, found.ninth) == (100, 0.0, 0.0)


def test_a_sample_at_random_is_scaled_to_the_table() -> None:
    people = [(i % 4, i % 3, i % 5) for i in range(60)] * 4
    half = [tuple((v, v) for v in point) for point in people[:120]]
    assert query_error(pair_of(people, half), number=50).mean == pytest.approx(0.0, abs=1e-6)


def test_even_data_lose_nothing_by_generalisation_and_skewed_ones_do() -> None:
    even = [(i % 4, i % 3, i % 5) for i in range(60)]
    assert query_error(pair_of(even, [EVERYTHING] * 60), number=100).mean == pytest.approx(0.0, abs=1e-5)
    skewed = [(0, 0, 0)] * 60
    assert query_error(pair_of(skewed, [EVERYTHING] * 60), number=100).mean > 0.5


def test_an_empty_release_answers_nothing() -> None:
    assert query_error(pair_of([(0, 0, 0)] * 5, []), number=30).mean <= 1.0


@given(st.integers(1, 200), st.floats(0.01, 0.99))
def test_ranges_lie_in_the_domain(leaves: int, share: float) -> None:
    first, last = _range(leaves, share, np.random.default_rng(0))
    assert 0 <= first <= last < leaves
    assert last - first + 1 == max(1, round(leaves * share))


@pytest.mark.parametrize("arguments", [{"number": 0}, {"columns": 0}, {"selectivity": 0.0}, {"selectivity": 1.0}])
def test_arguments_are_checked(arguments: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="query_error"):
        query_error(pair_of([(0, 0, 0)], []), **arguments)  # type: ignore[arg-type]
