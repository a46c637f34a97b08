"""Randomised confidential attributes, over declared domains."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from shoal.errors import DataError, HierarchyError, ParameterError
from shoal.mechanisms import SeededSource
from shoal.methods.classes import randomize, randomized_responses
from shoal.methods.classes._randomize import Listed, NumberGrid, declared_domain, mechanism_problems
from shoal.schema import Attribute, Dates, Domain, FromFile, Intervals, Kind, Role

COLOUR = Attribute(name="colour", role=Role.SENSITIVE, domain=Domain(values=("red", "green", "blue")))
PAIN = Attribute(name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe")))
PAY = Attribute(name="pay", role=Role.SENSITIVE, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100))

N, ALPHA = 20_000, 1e-6  # false alarms of each test below


def _expected(size: int, epsilon: float, truth: int) -> list[float]:
    weights = [math.exp(-epsilon)] * size
    weights[truth] = 1.0
    return [N * weight / sum(weights) for weight in weights]


def test_responses_have_exactly_the_distribution_of_randomised_response() -> None:
    drawn = randomized_responses(np.full(N, 2), 4, Fraction(1), source=SeededSource(1))
    observed = np.bincount(drawn, minlength=4)
    assert stats.chisquare(observed, _expected(4, 1.0, 2)).pvalue > ALPHA


@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_a_wrong_epsilon_is_noticed(wrong: float) -> None:
    drawn = randomized_responses(np.full(N, 0), 3, Fraction(2), source=SeededSource(2))
    observed = np.bincount(drawn, minlength=3)
    assert stats.chisquare(observed, _expected(3, 2.0 * wrong, 0)).pvalue < ALPHA


def test_many_and_very_few_values() -> None:
    assert set(randomized_responses(np.zeros(50, dtype=int), 2, Fraction(30), source=SeededSource(3)).tolist()) == {0}
    wide = randomized_responses(np.zeros(5000, dtype=int), 1000, Fraction(1, 1000), source=SeededSource(4))
    assert len({*wide.tolist()}) > 900


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1), (2, 0), (2, -1)])
def test_what_protects_nobody_is_refused(size: int, epsilon: int) -> None:
    with pytest.raises(ParameterError):
        randomized_responses(np.array([0]), size, Fraction(epsilon))


def test_values_stay_in_their_domain() -> None:
    source = SeededSource(5)
    colours = randomize(COLOUR, ["red", "blue"] * 50, Fraction(1), "randomized-response", source=source)
    assert {*colours} <= {"red", "green", "blue"}
    pains = randomize(PAIN, ["none"] * 50, Fraction(1), "refinement", source=source)
    assert {*pains} <= {"none", "mild", "severe"}
    pays = randomize(PAY, ["50", "0"] * 30, Fraction(1), "noise", source=source)
    assert all(0 <= pay <= 100 for pay in pays)
    refined = randomize(PAY, ["50"] * 30, Fraction(1), "refinement", source=source)
    assert all(0 <= pay <= 100 for pay in refined)


def test_a_value_that_is_not_declared_is_not_named() -> None:
    with pytest.raises(DataError, match="1 records") as caught:
        randomize(COLOUR, ["red", "ultraviolet"], Fraction(1), "randomized-response")
    assert "ultraviolet" not in str(caught.value)


@pytest.mark.slow
def test_refinement_bounds_the_ratio_of_any_two_truths() -> None:
    """The kind of refinement is the one whose factors are e^epsilon between any two values, not to the prior."""
    source, epsilon, number = SeededSource(6), Fraction(2), 2000
    counts = {
        truth: Counter(randomize(PAIN, [truth] * number, epsilon, "refinement", source=source))
        for truth in ("none", "severe")
    }
    for value in ("none", "mild", "severe"):
        ratio = counts["none"][value] / counts["severe"][value]
        # the other kind of refinement would give e^4 = 54.6; the counts are right to a factor of 1.5
        assert math.exp(-2) / 1.5 < ratio < math.exp(2) * 1.5


@pytest.mark.parametrize(
    ("attribute", "mechanism", "word"),
    [
        (Attribute(name="a"), "randomized-response", "values"),
        (Attribute(name="a"), "refinement", "values"),
        (Attribute(name="a"), "noise", "numbers"),
        (Attribute(name="a", kind=Kind.NUMERIC), "noise", "minimum"),
        (Attribute(name="a", kind=Kind.NUMERIC), "randomized-response", "noise"),
        (Attribute(name="a", kind=Kind.NUMERIC), "refinement", "minimum"),
        (Attribute(name="a", kind=Kind.DATE, hierarchy=Dates(levels=("year",))), "randomized-response", "minimum"),
        (PAY, "randomized-response", "noise"),
        (Attribute(name="a", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=2**60)), "noise", "2^53"),
        (Attribute(name="a"), "luck", "mechanism"),
    ],
)
def test_undeclared_domains_are_named(attribute: Attribute, mechanism: str, word: str) -> None:
    (problem,) = mechanism_problems(attribute, mechanism)  # type: ignore[arg-type]
    assert word in problem


def test_declared_domains_will_do() -> None:
    for attribute, mechanism in ((COLOUR, "randomized-response"), (PAIN, "refinement"), (PAY, "noise")):
        assert mechanism_problems(attribute, mechanism) == []  # type: ignore[arg-type]


DAYS = Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31))
WAGE = Attribute(name="pay", kind=Kind.NUMERIC, domain=Domain(minimum=-1, maximum=2.5))


def test_all_days_between_the_bounds_are_the_domain_of_a_date() -> None:
    onset = Attribute(name="onset", kind=Kind.DATE, domain=DAYS, hierarchy=Dates(levels=("month", "year")))
    domain = declared_domain(onset, "randomized-response")
    assert isinstance(domain, Listed)
    assert len(domain.values) == 366
    assert domain.strange(["2020-02-29", "2021-01-01", None]) == 2
    assert domain.plain()["number of values"] == 366
    assert len(str(domain.plain()["sha256"])) == 64


def test_listed_numbers_are_compared_as_they_are_written() -> None:
    domain = declared_domain(
        Attribute(name="n", kind=Kind.NUMERIC, domain=Domain(values=("1", "2.50", "30"))), "randomized-response"
    )
    assert isinstance(domain, Listed)
    assert domain.strange(["1", "2.5", "30"]) == 0


def test_a_file_lists_the_values(tmp_path: Path) -> None:
    (tmp_path / "colours.csv").write_text("red;*\nblue;*\n")
    colour = Attribute(name="colour", hierarchy=FromFile(path="colours.csv"))
    assert declared_domain(colour, "refinement", folder=tmp_path).plain() == {"values": ["red", "blue"]}


def test_numbers_between_bounds_are_no_list() -> None:
    age = Attribute(
        name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=9), hierarchy=Intervals(widths=(5,))
    )
    with pytest.raises(HierarchyError, match="does not declare"):
        declared_domain(age, "randomized-response")


def test_grids_follow_from_the_bounds_alone() -> None:
    noise, refined = declared_domain(WAGE, "noise"), declared_domain(WAGE, "refinement")
    assert isinstance(noise, NumberGrid)
    assert noise.plain() == {"low": -1, "high": 2.5, "step": 0.0035, "start": 0}
    assert refined.plain() == {"low": -1, "high": 2.5, "step": 0.0035, "start": -1}
    assert noise.strange([-1.0, 2.5, 0, 0.0035, -0.007]) == 0
    assert noise.strange([-1.0035, 2.6, 0.001, float("nan"), None, "0", True]) == 7
    assert refined.strange([-0.9965, 2.5]) == 0
