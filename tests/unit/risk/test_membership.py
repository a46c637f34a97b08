"""Membership inference must find a method that gives members away, and no advantage where there is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import Cancelled, ParameterError, RequirementError
from shoal.risk import membership

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    generator = np.random.default_rng(5)
    ages = generator.integers(0, 60, size=120)
    table = pa.table(
        {"age": ages, "town": generator.choice(list("abcdef"), 120), "illness": generator.choice(["x", "y"], 120)}
    )
    return shoal.read(table).with_schema(SCHEMA)


@pytest.mark.slow
def test_releasing_records_as_they_are_gives_members_away(people: shoal.Table) -> None:
    found = membership(people, lambda half: half, targets=10, shadows=8)
    assert found.success.rate == 1.0
    assert found.baseline.rate == 0.5
    assert found.risk == 1.0


@pytest.mark.slow
def test_releasing_nothing_gives_nobody_away(people: shoal.Table) -> None:
    stars = pa.table({"age": ["*"] * 60, "town": ["*"] * 60, "illness": ["x", "y"] * 30})
    found = membership(people, lambda half: shoal.read(stars), targets=20, shadows=20)
    assert abs(found.success.rate - 0.5) < 0.15  # four deviations of 200 coins


@pytest.mark.slow
def test_halves_that_cannot_be_released_are_left_out(people: shoal.Table) -> None:
    calls = iter(range(100))

    def sometimes(half: shoal.Table) -> shoal.Table:
        if next(calls) % 3 == 0:
            raise RequirementError("no")
        return half

    assert membership(people, sometimes, targets=5, shadows=9).success.attempts == 15

    def never(half: shoal.Table) -> shoal.Table:
        raise RequirementError("no")

    with pytest.raises(RequirementError, match="0 of 4"):
        membership(people, never, shadows=4)


@pytest.mark.slow
def test_targets_can_be_drawn_and_the_same_seed_draws_the_same(people: shoal.Table) -> None:
    first, second = (
        membership(people, lambda half: half.select("age", "illness"), targets=5, shadows=6, outliers=False, seed=2)
        for _ in range(2)
    )
    assert first == second


def test_it_can_be_watched_and_stopped(people: shoal.Table) -> None:
    seen: list[int] = []
    membership(people, lambda half: half, targets=2, shadows=4, progress=lambda done, _total, _text: seen.append(done))
    assert seen == [0, 1, 2, 3]
    with pytest.raises(Cancelled):
        membership(people, lambda half: half, shadows=4, cancelled=lambda: True)


def test_too_few_shadows_are_refused(people: shoal.Table) -> None:
    with pytest.raises(ParameterError, match="shadows"):
        membership(people, lambda half: half, shadows=3)
    with pytest.raises(ParameterError, match="no schema"):
        membership(shoal.read(people.to_arrow()), lambda half: half)
