from __future__ import annotations

import math

import pytest

from reference.noise import QuickSource
from shoal.errors import ParameterError
from shoal.mechanisms import RandomizedResponse

VALUES = ("a", "b", "c", "d")


def test_the_truth_comes_e_to_the_epsilon_times_as_often_as_any_other_value() -> None:
    made = RandomizedResponse(VALUES, epsilon=2)
    other = (1 - made.truth) / 3
    assert made.truth / other == pytest.approx(math.exp(2))


def test_estimates_of_many_responses_are_near_the_true_numbers() -> None:
    made, source = RandomizedResponse(VALUES, epsilon=1), QuickSource(4)
    truth = ["a"] * 6000 + ["b"] * 3000 + ["c"] * 1000
    responses = [made.release(value, source=source) for value in truth]
    estimated = made.estimate({value: responses.count(value) for value in VALUES})
    assert sum(estimated.values()) == pytest.approx(10_000)
    for value, true in (("a", 6000), ("b", 3000), ("c", 1000), ("d", 0)):
        assert abs(estimated[value] - true) < 600


def test_the_estimate_is_unbiased() -> None:
    made = RandomizedResponse(("yes", "no"), epsilon="0.5")
    expected = {"yes": 300 * made.truth + 700 * (1 - made.truth), "no": 700 * made.truth + 300 * (1 - made.truth)}
    assert made.estimate(expected) == pytest.approx({"yes": 300, "no": 700})  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [(), ("one",), ("same", "same")])
def test_two_or_more_different_values_are_needed(values: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="two or more different values"):
        RandomizedResponse(values, epsilon=1)


def test_an_unknown_value_is_refused_without_being_repeated() -> None:
    with pytest.raises(ParameterError) as refused:
        RandomizedResponse(VALUES, epsilon=1).release("secret")
    assert "secret" not in str(refused.value)
