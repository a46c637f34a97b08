from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest

from shoal.errors import ParameterError
from shoal.guarantees import Neighbours, Promise, Strength
from shoal.methods.noise import PROMISES, EpsilonBudget, Target, privacy_promise
from shoal.schema import Attribute, Role, Schema


def promise(target: Target, *, cryptographic: bool = True) -> Promise:
    return privacy_promise(target, k=5, epsilon=Fraction(1, 2), cryptographic=cryptographic)


def test_only_the_original_records_have_differential_privacy() -> None:
    assert promise("original").strength is Strength.UNCONDITIONAL
    assert promise("original").model == "bounded-differential-privacy"
    for target in ("partition", "record-query"):
        made = promise(target)
        assert made.strength is Strength.CONDITIONAL
        assert "differential" not in made.model
        assert "differential" not in made.statement
        assert "not protected" in made.statement


def test_a_query_for_one_record_is_about_one_that_stays_in_its_cluster() -> None:
    assert any("stays in its cluster" in text for text in promise("record-query").assumptions)


@pytest.mark.parametrize("target", get_args(Target))
def test_every_promise_names_its_neighbours_and_what_is_public(target: Target) -> None:
    made = promise(target)
    assert made.neighbours is Neighbours.REPLACE
    assert any("number of records is public" in text for text in made.assumptions)
    assert "e^0.5 = 1.65" in made.statement
    assert made.parameters == {"epsilon": 0.5, "target": target, "k": 5}


def test_a_seed_makes_every_promise_conditional() -> None:
    assert promise("original", cryptographic=False).strength is Strength.CONDITIONAL


def test_a_float_means_its_decimal_notation() -> None:
    assert EpsilonBudget(0.1).total == Fraction(1, 10)
    assert EpsilonBudget("1/3").parameters() == {"epsilon": "1/3"}


@pytest.mark.parametrize("epsilon", [0, "1e-400", -1, 101, "much", True, float("nan")])
def test_epsilon_is_positive_and_not_absurd(epsilon: object) -> None:
    with pytest.raises(ParameterError, match=r"`epsilon` of `EpsilonBudget` must be in \[1e-12, 100\]"):
        EpsilonBudget(epsilon)  # type: ignore[arg-type]


def test_a_guessed_schema_and_pseudonyms_are_refused_with_what_to_do() -> None:
    name = Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True)
    found = EpsilonBudget(1).problems(Schema(attributes=(name,), guessed=True))
    assert [any(word in problem for problem in found) for word in ("guessed = true", "pseudonym = false")] == [True] * 2


def test_it_promises_nothing_by_itself() -> None:
    assert "what the target of the method protects" in EpsilonBudget(1).statement()
    assert "differential privacy" not in EpsilonBudget(1).statement().lower()


@pytest.mark.parametrize("target", get_args(Target))
def test_a_promise_is_made_again_from_its_parameters(target: Target) -> None:
    made = promise(target)
    (kind,) = (each for each in PROMISES if each.name == made.model)
    again = kind.from_parameters(made.parameters)
    assert again.parameters() == made.parameters
    assert again.statement() == made.statement
    with pytest.raises(ParameterError, match="`target`"):
        kind.from_parameters({**made.parameters, "target": "everything"})
