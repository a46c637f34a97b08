"""The selection mechanisms as values: parameters, rates, costs, refusals, edge cases."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.exact import fraction, working_precision
from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, SeededSource, Selection
from shoal.mechanisms._selection import Weights

BOTH = pytest.mark.parametrize("mechanism", [ExponentialMechanism, PermuteAndFlip])


@BOTH
def test_the_rate_is_twice_as_sharp_for_monotone_scores(mechanism: type[Selection]) -> None:
    assert mechanism(epsilon="0.3", sensitivity=3).rate == Fraction(1, 20)
    assert mechanism(epsilon="0.3", sensitivity=3, monotone=True).rate == Fraction(1, 10)


@BOTH
def test_a_mechanism_is_a_value(mechanism: type[Selection]) -> None:
    made = mechanism(epsilon=1, sensitivity=2)
    assert made == mechanism(epsilon="1", sensitivity=2.0)
    assert hash(made) == hash(mechanism(epsilon=1, sensitivity=2))
    assert dataclasses.replace(made, epsilon="0.5").cost() == Fraction(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.epsilon = Fraction(5)  # type: ignore[misc]
    assert mechanism.__name__ in repr(made)


@BOTH
def test_the_cost_adds_up(mechanism: type[Selection]) -> None:
    assert mechanism(epsilon="0.1", sensitivity=1).cost(7) == Fraction(7, 10)


@BOTH
@pytest.mark.parametrize("scores", [[5.0], [3], [Fraction(1, 3)], np.array([7], dtype=np.float32)])
def test_the_only_candidate_is_chosen(mechanism: type[Selection], scores: object) -> None:
    assert mechanism(epsilon=1, sensitivity=1).select(scores) == 0  # type: ignore[arg-type]


@BOTH
def test_hopeless_candidates_are_never_chosen(mechanism: type[Selection]) -> None:
    scores = np.zeros(1000)
    scores[417] = 1e6
    assert {mechanism(epsilon=1, sensitivity=1).select(scores) for _ in range(20)} == {417}


@BOTH
def test_equal_scores_reach_every_candidate(mechanism: type[Selection]) -> None:
    source = SeededSource(1)
    made = mechanism(epsilon=1, sensitivity=1)
    assert {made.select([2.5] * 4, source=source) for _ in range(200)} == {0, 1, 2, 3}


@BOTH
def test_integers_beyond_the_floats_are_told_apart(mechanism: type[Selection]) -> None:
    # The two scores are equal as floats; as integers they differ by 1, a thousand times the scale.
    made = mechanism(epsilon=2000, sensitivity=1)
    assert {made.select(np.array([2**60, 2**60 + 1])) for _ in range(20)} == {1}
    assert {made.select([2**100, 2**100 + 1]) for _ in range(20)} == {1}


@BOTH
def test_gaps_beyond_the_floats_are_refused_or_exact(mechanism: type[Selection]) -> None:
    made = mechanism(epsilon=1, sensitivity=1)
    for scores in ([-1.5e308, 1.5e308], [0, 10**400]):
        with pytest.raises(ParameterError, match=r"must differ by less than 2\^1024"):
            made.select(scores)
    assert made.select([5e-324, 1e308]) == 1


@BOTH
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "one non-empty list"),
        ([[1.0, 2.0]], "one non-empty list"),
        ([1.0, float("nan")], "must be finite; 1 are not"),
        ([1.0, float("-inf")], "must be finite; 1 are not"),
        (["a", "b"], "must be numbers"),
        ([None, 1], "must be a finite number"),
    ],
)
def test_senseless_scores_are_refused(mechanism: type[Selection], scores: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        mechanism(epsilon=1, sensitivity=1).select(scores)  # type: ignore[arg-type]


@BOTH
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0, "sensitivity": 1}, "`epsilon` of `{}` must be above 0; got 0."),
        ({"epsilon": 1, "sensitivity": -1}, "`sensitivity` of `{}` must be above 0; got -1."),
        ({"epsilon": "much", "sensitivity": 1}, "`epsilon` of `{}` must be a finite number; got 'much'"),
        ({"epsilon": 1, "sensitivity": 1, "neighbours": "any"}, "must be 'add/remove' or 'replace'; got 'any'"),
        (
            {"epsilon": 1, "sensitivity": 1, "monotone": True, "neighbours": "replace"},
            "`monotone` of `{}` must be False for neighbours that replace a record",
        ),
    ],
)
def test_parameters_are_validated(mechanism: type[Selection], arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        mechanism(**arguments)  # type: ignore[arg-type]
    assert message.format(mechanism.__name__) in str(caught.value)


@BOTH
def test_a_rate_beyond_the_floats_is_refused(mechanism: type[Selection]) -> None:
    with pytest.raises(ParameterError, match=r"must be in \(2\^-1000, 2\^1000\)"):
        mechanism(epsilon="1e-400", sensitivity=1).select([1.0, 2.0])


def test_scores_and_sensitivities_mean_what_they_print() -> None:
    weights = Weights.of([0.1, 0.2], Fraction(1))
    assert weights.best - fraction(weights.scores[0].item()) == Fraction(1, 10)


@pytest.mark.parametrize(
    "scores", [[0.1, 0.2, 0.3], [1e15 + 0.5, 1e15 + 0.25], [2.0**60, 2.0**60 - 256], [1e-320, 0.0]]
)
def test_bounds_hold_for_scores_whose_decimals_are_not_doubles(scores: list[float]) -> None:
    weights = Weights.of(scores, Fraction(10) ** 16)
    bounds = weights.upper_bounds(40)
    with working_precision(4096):
        assert all(weights.scaled(i, Fraction(2**40))() <= int(bound) for i, bound in enumerate(bounds))
