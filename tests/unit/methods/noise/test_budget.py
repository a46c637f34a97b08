from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.errors import ParameterError
from shoal.methods.noise import EpsilonBudget
from shoal.schema import Attribute, Role, Schema


def test_a_float_means_its_decimal_notation() -> None:
    assert EpsilonBudget(0.1).total == Fraction(1, 10)
    assert EpsilonBudget("1/3").parameters() == {"epsilon": "1/3"}


@pytest.mark.parametrize("epsilon", [0, -1, 101, "much", True, float("nan")])
def test_epsilon_is_positive_and_not_absurd(epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"`epsilon` of `EpsilonBudget` must be in \(0, 100\]"):
        EpsilonBudget(epsilon)  # type: ignore[arg-type]


def test_a_guessed_schema_and_pseudonyms_are_refused_with_what_to_do() -> None:
    name = Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True)
    found = EpsilonBudget(1).problems(Schema(attributes=(name,), guessed=True))
    assert [any(word in problem for problem in found) for word in ("guessed = true", "pseudonym = false")] == [True] * 2


def test_it_promises_nothing_by_itself() -> None:
    assert "what the target of the method protects" in EpsilonBudget(1).statement()
    assert "differential privacy" not in EpsilonBudget(1).statement().lower()
