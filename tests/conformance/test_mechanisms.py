"""Every mechanism states what goes in, who neighbours are and what a change costs, and draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import shoal
from shoal import mechanisms
from shoal.mechanisms import (
    CategoricalPrior,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    NumericPrior,
    OptimalBoxNoise,
    OptimalNoise,
    PermuteAndFlip,
    RandomizedResponse,
    Refinement,
    Selection,
)
from shoal.methods.truthful.parameters import sampling_rate
from shoal.queries import Loss

EPSILON = Fraction(1, 2)
ILLNESSES = ("a", "b", "c")
#: a mechanism, a distance of neighbours, a greater distance, and a draw
CASES: dict[str, tuple[Any, Any, Any, Callable[[Any], object]]] = {
    "laplace": (Laplace(sensitivity=3, epsilon=EPSILON), 3, 7, lambda m: m.release(5)),
    "optimal": (OptimalNoise.minimal_variance(sensitivity=100, epsilon=EPSILON), 100, 150, lambda m: m.release(5)),
    "box": (OptimalBoxNoise(sensitivities=(10, 1), epsilon=EPSILON), (10, 1), (10, 2), lambda m: m.release((5, 5))),
    "response": (RandomizedResponse(ILLNESSES, epsilon=EPSILON), 1, 2, lambda m: m.release("a")),
    "exponential": (ExponentialMechanism(epsilon=EPSILON, sensitivity=2), 2, 4, lambda m: m.select([1, 2, 3])),
    "permute": (PermuteAndFlip(epsilon=EPSILON, sensitivity=2), 2, 4, lambda m: m.select([1, 2, 3])),
    "refine": (
        Refinement(CategoricalPrior.uniform(ILLNESSES), epsilon=EPSILON, query="individual"),
        1,
        1,
        lambda m: m.release("a"),
    ),
    "refine numbers": (
        Refinement(NumericPrior.normal(50, 10, 0, 100, step=1), epsilon=EPSILON, query="statistical", delta="1e-6"),
        1,
        1,
        lambda m: m.release(47),
    ),
}


def first(cost: Fraction | tuple[Fraction, Fraction]) -> Fraction:
    return cost[0] if isinstance(cost, tuple) else cost


def test_every_public_mechanism_is_tried_here() -> None:
    classes = [getattr(mechanisms, name) for name in mechanisms.__all__]
    public = {each for each in classes if isinstance(each, type) and hasattr(each, "privacy_map")}
    assert {type(case[0]) for case in CASES.values()} == public - {Mechanism, Selection}


@pytest.mark.parametrize("name", CASES)
def test_a_mechanism_says_what_it_is(name: str) -> None:
    mechanism, *_ = CASES[name]
    assert isinstance(mechanism, Mechanism)
    assert mechanism.domain
    assert mechanism.neighbours in ("add/remove", "replace", "any two tables")
    assert mechanism.epsilon == EPSILON


@pytest.mark.parametrize("name", CASES)
def test_neighbours_cost_epsilon_at_most_and_equal_inputs_nothing(name: str) -> None:
    mechanism, near, far, _ = CASES[name]
    nothing = tuple(0 for _ in near) if isinstance(near, tuple) else 0
    assert first(mechanism.privacy_map(nothing)) == 0
    # a float scale is rounded up, so a release may cost a little less than was asked for, never more
    assert EPSILON * (1 - Fraction(1, 10**12)) <= first(mechanism.privacy_map(near)) <= EPSILON
    assert first(mechanism.privacy_map(far)) >= first(mechanism.privacy_map(near))


@pytest.mark.parametrize("name", CASES)
def test_a_mechanism_is_a_value(name: str) -> None:
    mechanism, _, _, draw = CASES[name]
    assert hash(mechanism) == hash(mechanism)
    with pytest.raises((AttributeError, TypeError)):
        mechanism.epsilon = Fraction(1)
    assert draw(mechanism) is not None


def test_a_float_means_what_it_prints_to_every_mechanism_and_query() -> None:
    tenth = Fraction(1, 10)
    made: list[Any] = [
        Laplace(sensitivity=0.1, epsilon=0.1, grid=0.1),
        OptimalNoise.minimal_variance(sensitivity=0.1, epsilon=0.1, grid=0.1),
        OptimalBoxNoise(sensitivities=(0.1,), epsilon=0.1, grids=0.1),
        ExponentialMechanism(sensitivity=0.1, epsilon=0.1),
        PermuteAndFlip(sensitivity=0.1, epsilon=0.1),
        RandomizedResponse(("yes", "no"), epsilon=0.1),
        Refinement(CategoricalPrior({"yes": 0.1, "no": 0.9}), epsilon=0.1, query="individual"),
        shoal.DifferentialPrivacy(epsilon=0.1, delta=1e-6),
        Loss.of(0.1),
    ]
    assert {each.epsilon for each in made} == {tenth}
    assert sampling_rate(0.1) == sampling_rate(tenth)
    assert NumericPrior.uniform(0, 0.3, step=0.1).weights == (1, 1, 1, 1)
