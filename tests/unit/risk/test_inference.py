"""Guessing sensitive values from a release, against guessing by hand."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given

import shoal
from reference.risk import boxes, holds, only, pair_of, points
from shoal.errors import ParameterError
from shoal.risk import Pair, inference


def _commonest(values: list[tuple[int, int]]) -> tuple[int, int]:
    counted = Counter(values)
    return min(counted, key=lambda value: (-counted[value], value))


@pytest.mark.slow
@given(points(), boxes())
def test_guesses_are_the_commonest_value_among_records_that_fit(people: list, released: list) -> None:
    (found,) = inference(pair_of(people, released), targets=1000)
    everywhere = _commonest([box[2] for box in released])
    right = base = 0.0
    for person in people:
        fits = [box[2] for box in released if holds(only(box, (0, 1)), only(person, (0, 1)))]
        low, high = _commonest(fits) if fits else everywhere
        right += (low <= person[2] <= high) / (high - low + 1)
        base += (everywhere[0] <= person[2] <= everywhere[1]) / (everywhere[1] - everywhere[0] + 1)
    assert found.success.rate == pytest.approx(right / len(people))
    assert found.baseline.rate == pytest.approx(base / len(people))
    assert found.columns == ("c2",)


def _numbers(released: list[float]) -> Pair:
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="town", role="quasi-identifier"),
            shoal.Attribute(name="pay", role="sensitive", kind="numeric"),
        )
    )
    towns = ["a"] * 5 + ["b"] * 5
    people = pa.table({"town": towns, "pay": [1, 2, 3, 4, 5, 101, 102, 103, 104, 105]})
    return Pair.of(shoal.read(people).with_schema(schema), shoal.read(pa.table({"town": towns, "pay": released})))


def test_numbers_are_guessed_by_the_median_within_the_tolerance() -> None:
    pair = _numbers([1, 2, 3, 4, 5, 101, 102, 103, 104, 105])
    # the column spreads over 104 between its quantiles: 5 % is 5.2
    assert inference(pair)[0].success.rate == 1.0
    assert inference(pair, tolerance=0.01)[0].success.rate == 0.6
    assert inference(pair, tolerance=0.0)[0].success.rate == 0.2
    assert inference(pair)[0].baseline.rate == 0.5


def test_noise_on_the_sensitive_column_is_read_by_its_place() -> None:
    assert inference(_numbers([2.9] * 5 + [140.5] * 5), tolerance=0.01)[0].success.rate == 0.2


def test_people_who_are_not_in_the_release_can_be_compared() -> None:
    pair = pair_of([(0, 0, 1)] * 4, [((0, 0), (0, 0), (1, 1))] * 4)
    others = pair_of([(0, 0, 2)] * 4, [((0, 0), (0, 0), (1, 1))] * 4)
    assert inference(pair)[0].success.rate == 1.0
    assert inference(others)[0].success.rate == 0.0


def test_an_empty_release_tells_nothing() -> None:
    (found,) = inference(pair_of([(0, 0, 0)], []))
    assert (found.success.rate, found.baseline.rate, found.risk) == (0.0, 0.0, 0.0)


def test_no_sensitive_column_no_attack() -> None:
    assert inference(pair_of([(0, 0, 0)], [((0, 0),) * 3], roles=("quasi-identifier",) * 3)) == ()


def test_the_tolerance_is_a_share() -> None:
    with pytest.raises(ParameterError, match="tolerance"):
        inference(pair_of([(0, 0, 0)], []), tolerance=1.0)
