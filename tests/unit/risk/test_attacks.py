"""Attacks on a release: what must succeed, what must fail, what chance gives, and guesses against guesses by hand."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shoal
from reference.risk import boxes, holds, only, pair_of, points
from shoal.errors import ParameterError
from shoal.risk import Attack, Attacks, Pair, Rate, attack, inference, linkability, singling_out
from shoal.risk._attacks import _count_right_joins
from shoal.schema import Role


@given(st.integers(1, 500), st.data())
def test_intervals_are_wilsons(attempts: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, attempts))
    found = Rate.of(successes, attempts)
    expected = stats.binomtest(successes, attempts).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=6e-4)
    assert found.rate == successes / attempts


def test_no_attempt_says_nothing() -> None:
    assert Rate.of(0, 0) == Rate(rate=0.0, low=0.0, high=1.0, attempts=0)
    with pytest.raises(ParameterError):
        Rate.of(3, 2)


@pytest.mark.parametrize(("success", "baseline", "risk"), [(50, 0, 0.5), (60, 20, 0.5), (10, 20, 0.0), (100, 100, 0.0)])
def test_risk_is_what_the_release_adds(success: int, baseline: int, risk: float) -> None:
    made = Attack(name="x", question="?", success=Rate.of(success, 100), baseline=Rate.of(baseline, 100))
    assert made.risk == pytest.approx(risk)


@pytest.mark.slow
def test_all_attacks_become_one_value_that_is_json() -> None:
    import dataclasses

    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="town", role="quasi-identifier"),
            shoal.Attribute(name="illness", role="sensitive"),
        )
    )
    people = shoal.read(
        pa.table({"age": list(range(30)), "town": ["a", "b", "c"] * 10, "illness": ["x", "y"] * 15})
    ).with_schema(schema)
    found = attack(people, people)
    assert isinstance(found, Attacks)
    assert found == attack(people, people)
    assert found.linkage[-1].single == 1.0
    content = json.loads(json.dumps(dataclasses.asdict(found)))
    assert content["singling_out"]["risk"] == found.singling_out.risk
    assert [each["column"] for each in content["extremes"]] == ["age", "age"]


PEOPLE = [(i % 4, i % 3, i % 5) for i in range(60)]  # every combination once
EVERYTHING = ((0, 3), (0, 2), (0, 4))


def test_whole_records_of_unique_people_single_them_out() -> None:
    columns = [shoal.Attribute(name=name, role="quasi-identifier") for name in ("a", "b")]
    table = shoal.read(pa.table({"a": [str(i) for i in range(50)], "b": [str(i % 7) for i in range(50)]}))
    people = table.with_schema(shoal.Schema(attributes=tuple(columns)))
    found = singling_out(Pair.of(people, people), attempts=100)
    assert found.success.rate == 1.0
    assert found.baseline.rate < 0.4
    assert found.risk > 0.9


def test_a_release_of_nothing_singles_nobody_out() -> None:
    found = singling_out(pair_of(PEOPLE, [EVERYTHING] * 60), attempts=50)
    assert (found.success.rate, found.baseline.rate, found.risk) == (0.0, 0.0, 0.0)
    assert singling_out(pair_of(PEOPLE, []), attempts=50).success.attempts == 0


def test_mixed_values_of_columns_that_do_not_depend_on_each_other_are_as_good_as_records() -> None:
    found = singling_out(pair_of(PEOPLE, [tuple((v, v) for v in point) for point in PEOPLE]), attempts=400)
    assert found.success.rate == found.baseline.rate
    assert found.risk == 0.0


def test_perturbed_values_are_read_as_at_least_and_at_most() -> None:
    schema = shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier", kind="numeric") for name in ("a", "b"))
    )
    values = np.arange(40)
    people = shoal.read(pa.table({"a": values, "b": values})).with_schema(schema)
    extremes = shoal.read(pa.table({"a": [38.5, 0.5], "b": [38.5, 0.5]}))
    assert singling_out(Pair.of(people, extremes), attempts=40).success.rate == 1.0
    middle = shoal.read(pa.table({"a": [19.5], "b": [19.5]}))
    assert singling_out(Pair.of(people, middle), attempts=40).success.rate == 0.0


def test_there_must_be_an_attempt() -> None:
    with pytest.raises(ParameterError, match="attempts"):
        singling_out(pair_of(PEOPLE, []), attempts=0)


@pytest.mark.slow
@given(points(), boxes())
def test_rows_are_joined_by_the_records_that_connect_them(people: list, released: list) -> None:
    pair = pair_of(people, released).only((0, 1))
    expected = 0.0
    for person in people:
        strength = [
            sum(
                holds(only(box, (0,)), only(person, (0,))) and holds(only(box, (1,)), only(other, (1,)))
                for box in released
            )
            for other in people
        ]
        best = [position for position, value in enumerate(strength) if value == max(strength)]
        # equal people are the same to the intruder, so count each by the chance that it is among the best
        expected += (people.index(person) in best) / len(best)
    targets = pair.original.low.repeat(pair.original.counts, axis=0)
    assert _count_right_joins(pair, targets, [0], [1]) == pytest.approx(expected)


def test_unique_records_tell_which_rows_belong_together() -> None:
    people = [(i, i, 0) for i in range(40)]
    sizes = (40, 40, 1)
    same = pair_of(people, [tuple((v, v) for v in point) for point in people], sizes=sizes)
    nothing = pair_of(people, [((0, 39), (0, 39), (0, 0))] * 40, sizes=sizes)
    assert linkability(same, targets=30).success.rate == 1.0
    blind = linkability(nothing, targets=30)
    assert blind.success.rate == pytest.approx(1 / 30)
    assert blind.risk == pytest.approx(0.0)


def test_one_quasi_identifier_cannot_be_split() -> None:
    assert linkability(pair_of([(0,)], [((0, 0),)], sizes=(1,), roles=(Role.QUASI_IDENTIFIER,))) is None


def test_the_same_seed_gives_the_same_figures() -> None:
    people = list(itertools.product(range(4), range(3), range(5)))
    pair = pair_of(people, [((a, a), (0, 2), (c, c)) for a, _, c in people])
    assert linkability(pair, targets=20, seed=1) == linkability(pair, targets=20, seed=1)


def test_there_must_be_somebody_to_join() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        linkability(pair_of([(0, 0, 0)], []), splits=0)


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
