from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest

from shoal.guarantees import Neighbours, Promise, Strength
from shoal.methods.noise import NOISE, Target
from shoal.methods.noise._dp_promise import PROMISES, privacy_promise


def promise(target: Target, *, cryptographic: bool = True, left_out: tuple[str, ...] = ()) -> Promise:
    return privacy_promise(target, k=5, epsilon=Fraction(1, 2), cryptographic=cryptographic, left_out=left_out)


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


def test_records_that_were_left_out_are_not_covered() -> None:
    assert not any("not covered" in text for text in promise("original").assumptions)
    assert any("`age`" in text and "not covered" in text for text in promise("original", left_out=("age",)).assumptions)


def test_the_checker_knows_the_same_promises() -> None:
    assert {name: target for target, name in PROMISES.items()} == NOISE
