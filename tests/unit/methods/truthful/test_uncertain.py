"""Uncertain differential privacy: amplification, composition, and why samples must not be shared."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from reference.truthful_parameters import released
from shoal.errors import ParameterError
from shoal.methods.truthful.parameters import UncertainPrivacy, compose, parameters


def test_amplification_at_the_same_rate_changes_nothing() -> None:
    promise = UncertainPrivacy(beta="0.5", epsilon=1, delta="1e-6")
    assert promise.sampled_at("0.5") == promise


def test_amplification_is_rounded_up() -> None:
    amplified = UncertainPrivacy(beta=1, epsilon=1, delta="1e-3").sampled_at("0.25")
    assert math.exp(amplified.epsilon) == pytest.approx(1 + (math.e - 1) / 4, rel=1e-14)
    assert amplified.delta == Fraction(1, 4000)
    # ln(1 + (e - 1) / 4) = 0.35736 69529 29...; the float is not below it.
    assert amplified.epsilon >= Fraction("0.357366")


def test_amplification_with_delta_needs_the_standard_definition() -> None:
    promise = UncertainPrivacy(beta=1, epsilon=1, delta="1e-6", definition="probabilistic")
    with pytest.raises(ParameterError, match="must be 0 under the probabilistic definition"):
        promise.sampled_at("0.5")


def test_amplification_cannot_raise_the_rate() -> None:
    with pytest.raises(ParameterError, match=r"`beta` of `sampled_at` must be in \(0, 0\.5\]; got 0\.6"):
        UncertainPrivacy(beta="0.5", epsilon=1, delta=0).sampled_at("0.6")


def test_composition_adds() -> None:
    parts = [UncertainPrivacy(beta="0.5", epsilon=Fraction(1, 3), delta=Fraction(1, 10**i)) for i in (6, 7, 8)]
    assert compose(*parts) == UncertainPrivacy(beta="0.5", epsilon=1, delta=Fraction(111, 10**8))


def test_composition_needs_one_rate() -> None:
    first = UncertainPrivacy(beta="0.5", epsilon=1, delta=0)
    with pytest.raises(ParameterError, match="one sampling rate and one definition"):
        compose(first, first.sampled_at("0.25"))
    with pytest.raises(ParameterError, match="at least one guarantee"):
        compose()


def test_theorem_2_fails_when_the_parts_share_one_sample() -> None:
    """Two schemes, one sample: {a, b} counted together and {a} alone show whether the only b was sampled."""
    found = parameters(1, "1e-6")
    crowd = found.k * 3
    others = released(crowd, found.k, found.beta)
    # The difference of the two counts is 1 with probability beta P[a survives]; without the record, never.
    shown = found.beta * (1 - others[0])
    assert shown > Fraction(3, 5)
    assert shown > 2 * found.delta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": 0}, r"`beta` of `UncertainPrivacy` must be in \(0, 1\]; got 0\.0"),
        ({"epsilon": -1}, r"`epsilon` of `UncertainPrivacy` must be in \[0, infinity\); got -1\.0"),
        ({"delta": 1}, r"`delta` of `UncertainPrivacy` must be in \[0, 1\); got 1\.0"),
        ({"definition": "other"}, "must be 'probabilistic' or 'standard'"),
    ],
)
def test_promises_are_validated(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        UncertainPrivacy(**({"beta": 1, "epsilon": 1, "delta": 0} | change))  # type: ignore[arg-type]
