"""Distributions, their bins, and generalised values spread over their leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import shoal
from reference.risk import SIZES, boxes, pair_of, points
from reference.utility import hellinger, marginal, spread, total_variation
from shoal.risk import Pair
from shoal.utility import coverage, distributions, round_edges
from shoal.utility._associations import moments
from shoal.utility._distributions import leaf_shares
from shoal.utility._learning import draw_leaves
from shoal.utility._queries import overlaps


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


def test_bins_of_whole_numbers_end_at_whole_numbers() -> None:
    ages = [float(age) for age in range(96)]
    (found,) = distributions(_numbers(ages, ages))
    assert [bar.edges for bar in found.bins][:2] == [(0.0, 5.0), (5.0, 10.0)]


def _days(first: str, last: str) -> list[str | None]:
    day = shoal.Attribute(name="day", role="quasi-identifier", kind="date")
    days = pa.array(np.arange(first, last, dtype="datetime64[D]"))
    table = shoal.read(pa.table({"day": days})).with_schema(shoal.Schema(attributes=(day,)))
    (found,) = distributions(Pair.of(table, table))
    assert sum(bar.original for bar in found.bins) == pytest.approx(1.0)
    return [bar.title for bar in found.bins]


def test_bins_of_days_are_weeks_months_quarters_or_years() -> None:
    assert _days("2024-01-29", "2024-05-06")[:2] == ["week of 2024-01-29", "week of 2024-02-05"]
    assert _days("2023-01-01", "2025-01-01")[:2] == ["2023-01", "2023-02"]
    assert _days("2018-01-01", "2025-01-01")[-1] == "2024-Q4"
    assert _days("1950-02-03", "1975-01-01")[0] == "1950"
    assert _days("1900-02-03", "2020-01-01")[0] == "1900 to 1904"


ILLNESS = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age",
            role="quasi-identifier",
            kind="numeric",
            hierarchy=shoal.schema.Intervals(widths=(10, 20)),
        ),
    )
)


def _released(ages: list[int], released: list[str]) -> Pair:
    table = shoal.read(pa.table({"age": ages})).with_schema(ILLNESS)
    return Pair.of(table, shoal.read(pa.table({"age": released})))


def test_released_groups_stand_beside_the_originals_that_lie_in_them() -> None:
    # spread evenly, a half of the records would have changed: nobody did
    (found,) = distributions(_released([20, 20, 29, 30], ["[20, 30)"] * 3 + ["[30, 40)"]))
    assert found.total_variation > 0
    assert found.level is not None
    assert (found.level.total_variation, found.level.coarser) == (0.0, 0.0)
    assert [(bar.title, bar.original, bar.released) for bar in found.level.bins] == [
        ("[20, 30)", 0.75, 0.75),
        ("[30, 40)", 0.25, 0.25),
    ]


def test_values_coarser_than_the_groups_are_counted_apart() -> None:
    (found,) = distributions(_released([20] * 15 + [30] * 5, ["[20, 30)"] * 14 + ["[30, 40)"] * 5 + ["*"]))
    assert found.level is not None
    assert found.level.coarser == pytest.approx(0.05)
    assert [(bar.rest, bar.released) for bar in found.level.bins] == [
        (False, pytest.approx(0.7)),
        (False, pytest.approx(0.25)),
        (True, pytest.approx(0.05)),
    ]
    assert found.level.total_variation == pytest.approx(0.05)


def test_a_value_that_was_hidden_in_some_records_stays_apart_from_the_others() -> None:
    town = shoal.Schema(attributes=(shoal.Attribute(name="town", role="quasi-identifier"),))
    table = shoal.read(pa.table({"town": ["a", "a", "b", "c"]})).with_schema(town)
    (found,) = distributions(Pair.of(table, shoal.read(pa.table({"town": ["a", "a", "b", "*"]}))))
    assert found.level is not None
    assert [(bar.title, bar.released) for bar in found.level.bins] == [
        ("a", 0.5),
        ("b", 0.25),
        ("c", 0.0),
        ("coarser than this", 0.25),
    ]


def test_intervals_of_their_own_form_groups_where_none_overlap() -> None:
    (found,) = distributions(_released([21, 25, 28, 33], ["[21, 25]", "[21, 25]", "[28, 33]", "[28, 33]"]))
    assert found.level is not None
    assert [(bar.first, bar.last, bar.released) for bar in found.level.bins] == [("21", "25", 0.5), ("28", "33", 0.5)]
    (crossed,) = distributions(_released([21, 25, 28, 33], ["[21, 28]", "[21, 28]", "[25, 33]", "[25, 33]"]))
    assert crossed.level is None


def test_values_that_were_not_grouped_have_no_second_view() -> None:
    (found,) = distributions(_released([21, 25], ["21", "25"]))
    assert found.level is None


@pytest.mark.slow
@given(points(minimum=1), boxes())
def test_shares_at_a_level_add_up(people: list, released: list) -> None:
    for each in distributions(pair_of(people, released, ordered=(0,))):
        if each.level is not None:
            assert sum(bar.original for bar in each.level.bins) == pytest.approx(1.0)
            assert sum(bar.released for bar in each.level.bins) == pytest.approx(1.0)
            # groups say no more than the values inside them do
            assert each.level.total_variation <= each.total_variation + each.level.coarser + 1e-9


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


NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30)


@given(NUMBERS, st.integers(2, 40))
@example([5e15, -1e-308], 2)  # over the width of a bin that is 0
def test_bins_hold_every_number_or_there_are_none(numbers: list[float], most: int) -> None:
    edges = round_edges(np.array(numbers), np.ones(len(numbers)), most)
    if edges is None:
        return
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= min(numbers)
    assert max(numbers) < edges[-1]
    assert len(edges) <= most + 3


def test_amounts_of_very_different_size_get_a_logarithmic_scale() -> None:
    edges = round_edges(np.array([700.0, 900.0, 2_000.0, 300_000.0]), np.array([50.0, 50.0, 50.0, 1.0]), 24)
    assert edges is not None
    assert edges.tolist()[:4] == [700.0, 1000.0, 1500.0, 2000.0]
    assert edges.tolist()[-2:] == [300_000.0, 500_000.0]


def test_numbers_that_floats_cannot_tell_apart_get_no_bins() -> None:
    for numbers in ([-1.7e308, 1.7e308], [1e300, 1e300 * (1 + 1e-15)], [0.0, 5e-324], [3.0]):
        assert round_edges(np.array(numbers), np.ones(len(numbers)), 24) is None


SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=10)
        ),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


def _table(rows: list[tuple[object, object]]) -> pa.Table:
    ages, towns = zip(*rows, strict=True)
    return pa.table({"age": list(ages), "town": list(towns), "illness": ["flu"] * len(rows)})


def _coverage(rows: list[tuple[object, object]]) -> float | None:
    people = shoal.read(_table([(0, "a"), (5, "b"), (10, "c"), (10, "c")])).with_schema(SCHEMA)
    return coverage(Pair.of(people, shoal.read(_table(rows))))


def test_exact_values_cover_nothing() -> None:
    assert _coverage([(0, "a"), (5, "b"), (10, "c"), (10, "c")]) == 0


def test_hidden_values_and_records_left_out_count_whole() -> None:
    assert _coverage([("*", "*")] * 4) == 1
    assert _coverage([("*", "*")]) == 1
    assert _coverage([(0, "a"), (5, "b")]) == pytest.approx(0.5)


def test_columns_count_alike_and_sensitive_ones_not_at_all() -> None:
    assert _coverage([("*", "a"), ("*", "b"), ("*", "c"), ("*", "c")]) == pytest.approx(0.5)


@pytest.mark.slow
@given(boxes())
def test_shares_are_those_of_spread_records(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released)
    masses = spread(released)
    for column, size in enumerate(SIZES):
        shares = leaf_shares(pair.released, column, pair.axes[column])
        assert shares.tolist() == pytest.approx([float(share) for share in marginal(masses, column, size)], abs=1e-9)


@pytest.mark.slow
@given(boxes())
def test_moments_are_those_of_the_leaves(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released, ordered=(2,))
    found = moments(pair.released, 2, pair.axes[2])
    assert found is not None
    for row in range(len(pair.released)):
        leaves = np.arange(pair.released.low[row, 2], pair.released.high[row, 2] + 1)
        assert found.first[row] == pytest.approx(leaves.mean())
        assert found.second[row] == pytest.approx((leaves**2).mean())
    assert moments(pair.released, 0, pair.axes[0]) is None


@pytest.mark.slow
@given(boxes())
def test_drawn_leaves_lie_in_their_boxes_and_every_leaf_is_drawn(released: list) -> None:
    pair = pair_of([(0, 0, 0)], released)
    rows = np.repeat(np.arange(len(pair.released)), 200)
    drawn = draw_leaves(pair.released, rows, np.random.default_rng(1))
    assert np.all((pair.released.low[rows] <= drawn) & (drawn <= pair.released.high[rows]))
    for row in range(len(pair.released)):
        for column in range(3):
            width = int(pair.released.high[row, column] - pair.released.low[row, column]) + 1
            # 200 draws of at most 5 leaves miss one with a chance of 5 * 0.8^200
            assert len(np.unique(drawn[rows == row, column])) == width


def test_overlaps_are_chances() -> None:
    pair = pair_of([(0, 0, 0)], [((0, 3), (1, 1), (0, 0)), ((2, 2), (0, 0), (0, 0))])
    found = dict(zip(pair.released.low[:, 0].tolist(), overlaps(pair.released, 0, 1, 2).tolist(), strict=True))
    assert found == {0: 0.5, 2: 1.0}


def test_missing_values_have_no_moments_and_stars_those_of_the_others() -> None:
    schema = shoal.Schema(attributes=(shoal.Attribute(name="pay", role="quasi-identifier", kind="numeric"),))
    people = shoal.read(pa.table({"pay": [1.0, 3.0, None]})).with_schema(schema)
    pair = Pair.of(people, shoal.read(pa.table({"pay": [None, "*"]})))
    found = moments(pair.released, 0, pair.axes[0])
    assert found is not None
    assert sorted(found.first.tolist(), key=str) == [2.0, pytest.approx(np.nan, nan_ok=True)]
