"""Rates with their intervals, and what a release adds."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shoal
from shoal.errors import ParameterError
from shoal.risk import Attack, Attacks, Rate, attack


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
