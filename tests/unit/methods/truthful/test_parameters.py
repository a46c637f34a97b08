"""The parameters of the truthful operator: inputs, errors, extremes and the traps between floats and reals."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from reference.truthful_parameters import Distribution, exponential, hockey_stick, probabilistic, released
from shoal.errors import ParameterError
from shoal.methods.truthful import parameters as module
from shoal.methods.truthful.parameters import (
    Parameters,
    UncertainPrivacy,
    chernoff_delta,
    compose,
    exact_delta,
    minimal_epsilon,
    minimal_k,
    parameters,
    sampling_rate,
    satisfies,
    smoothness,
)

HALF = Fraction(1, 2)


def test_numbers_mean_what_they_print() -> None:
    assert parameters("0.1", "1e-6").epsilon == Fraction(1, 10)
    assert parameters(0.1, 1e-6) == parameters("0.1", "1e-6")
    assert parameters(Decimal("0.1"), Fraction(1, 10**6)) == parameters("0.1", "1e-6")
    assert parameters(np.float64(1), np.float32(0.5)) == parameters(1, 0.5)


def test_the_sampling_rate_is_rounded_down_to_64_bits() -> None:
    rate = sampling_rate(1)
    assert (rate * 2**64).denominator == 1
    assert float(rate) == pytest.approx(-math.expm1(-1), rel=1e-15)
    assert sampling_rate(40) < 1


def test_k_is_never_taken_at_a_rounded_up_rate() -> None:
    found = parameters(1, "1e-6")
    assert satisfies(k=found.k, beta=found.beta, epsilon=1, delta="1e-6")
    assert not satisfies(k=found.k, beta=found.beta + Fraction(1, 2**64), epsilon=1, delta="1e-6")


def test_a_smaller_rate_can_need_a_larger_k() -> None:
    # At beta = 1/2 and epsilon = ln 2, gamma = 3/4 and gamma n is an integer for n = 4, 8, ...; just below
    # beta = 1/2 these classes count on the other side. So a k for one rate is no k for a smaller one.
    slightly_above_ln_2 = Fraction(math.log(2)) + Fraction(1, 2**54)
    at_half = minimal_k(HALF, slightly_above_ln_2, "1e-2")
    just_below = minimal_k(HALF - Fraction(1, 2**40), slightly_above_ln_2, "1e-2")
    assert (at_half, just_below) == (17, 19)


def test_class_sizes_next_to_an_integer_are_decided_by_more_precision() -> None:
    # ln 2 to 200 digits from above and from below: only hundreds of bits tell gamma n from 3n/4.
    digits = (
        "0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586332699641868754"
        "2001481020570685733685520235758130557032670751635075961930727570828371435190307038623891673471123350"
    )
    above = Fraction(digits) + Fraction(1, 10**190)
    assert [minimal_k(HALF, above, f"1e-{i}") for i in (1, 2, 3, 4)] == [6, 17, 29, 41]
    assert not satisfies(k=100, beta=HALF, epsilon=Fraction(digits) - Fraction(1, 10**190), delta="1e-4")


def test_standard_needs_a_smaller_k_than_probabilistic() -> None:
    assert parameters(1, "1e-6", definition="standard").k == 58 < parameters(1, "1e-6").k == 74


def test_post_processing_breaks_the_probabilistic_definition_and_not_the_standard_one() -> None:
    """A filter that leaves a class out below a size merges outcomes: beside filters the second is promised."""
    found = parameters(1, "1e-6")
    factor, least, size = exponential(Fraction(1)), 75, 87

    def filtered(records: int) -> Distribution:
        merged: Distribution = {0: Fraction(0), 1: Fraction(0)}
        for copies, mass in released(records, found.k, found.beta).items():
            merged[int(copies >= least)] += mass
        return merged

    assert found.definition == "probabilistic"
    assert probabilistic(released(size, found.k, found.beta), released(size - 1, found.k, found.beta), factor) <= 1e-6
    assert probabilistic(filtered(size), filtered(size - 1), factor) > 1.6e-6
    assert hockey_stick(filtered(size), filtered(size - 1), factor) <= 1e-6


def test_any_larger_k_is_fine() -> None:
    found = parameters("0.5", "1e-5")
    assert all(satisfies(k=found.k + i, beta=found.beta, epsilon="0.5", delta="1e-5") for i in range(40))


@pytest.mark.parametrize("definition", ["probabilistic", "standard"])
def test_the_answer_for_k_1_is_the_whole_class_of_one(definition: str) -> None:
    # A class of one record is released with probability beta and cannot come from a class of none.
    assert exact_delta(1, "0.25", 3, definition=definition) == 0.25


@pytest.mark.parametrize("definition", ["probabilistic", "standard"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 5, 20, 40])
def test_extreme_epsilons_are_answered(epsilon: float, definition: str) -> None:
    found = parameters(epsilon, "1e-6", definition=definition)
    assert found.hold()
    assert found.exact_delta <= 1.0000001e-6


def test_a_tiny_delta_is_answered() -> None:
    found = parameters(1, "1e-400")
    assert found.hold()
    assert 0 < found.exact_delta < 1e-320


def test_minimal_epsilon_is_the_inverse() -> None:
    found = parameters(1, "1e-6")
    assert minimal_epsilon(found.k, found.beta, "1e-6") == 1.0


def test_minimal_epsilon_is_never_below_what_the_rate_needs() -> None:
    assert minimal_epsilon(500, "0.5", "1e-6") == math.nextafter(math.log(2), 1)


def test_minimal_epsilon_says_when_there_is_none() -> None:
    with pytest.raises(ParameterError, match=r"`delta` of `minimal_epsilon` must be above.*\n?Hint: raise k"):
        minimal_epsilon(2, "0.5", "1e-6")


def test_satisfies_says_no_where_the_theorem_says_nothing() -> None:
    assert not satisfies(k=10**6, beta="0.7", epsilon=1, delta="0.9")


def test_smoothness_is_the_curve_of_exact_deltas() -> None:
    assert smoothness(30, "0.3", [1, 2]) == [exact_delta(30, "0.3", 1), exact_delta(30, "0.3", 2)]


def test_f_of_smooth_privacy_starts_at_1_and_falls() -> None:
    f = [chernoff_delta(20, "0.2", z / 4) / chernoff_delta(20, "0.2", 0.25) for z in (1, 2, 3, 4)]
    assert f[0] == 1
    assert f == sorted(f, reverse=True)


def test_parameters_read_from_a_certificate_are_checked_anew() -> None:
    found = parameters(1, "1e-6")
    assert not dataclasses.replace(found, k=found.k - 1).hold()
    assert not dataclasses.replace(found, beta=Fraction("0.64")).hold()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, r"`epsilon` of `Parameters` must be in \(0, 40\]; got 0\.0"),
        ({"delta": 1}, r"`delta` of `Parameters` must be in \(0, 1\); got 1\.0"),
        ({"beta": 0}, r"`beta` of `Parameters` must be in \(0, 1\); got 0\.0"),
        ({"k": 0}, r"`k` of `Parameters` must be an integer of at least 1; got 0"),
        ({"k": 2.0}, r"`k` of `Parameters` must be an integer"),
        ({"definition": "pure"}, r"`definition` of `Parameters` must be 'probabilistic' or 'standard'; got 'pure'"),
    ],
)
def test_parameters_are_validated(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dataclasses.replace(parameters(1, "1e-6"), **change)


@pytest.mark.parametrize("epsilon", [0, -1, 41, "a lot", float("nan"), float("inf"), True, None])
def test_senseless_epsilons_are_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="`epsilon` of"):
        parameters(epsilon, "1e-6")  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0, 1, 1.5, -1e-6, "", False])
def test_senseless_deltas_are_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="`delta` of `parameters`"):
        parameters(1, delta)  # type: ignore[arg-type]


def test_an_epsilon_too_small_to_sample_anything_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"must be at least 2\^-63"):
        parameters("1e-25", "1e-6")


def test_a_rate_beyond_the_theorem_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"`beta` of `exact_delta` must be at most 1 - exp\(-epsilon\) = 0\.632"):
        exact_delta(10, "0.64", 1)


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(module, name) for name in module.__all__)
    assert Parameters.__module__ == "shoal.methods.truthful.parameters"


# -- uncertain differential privacy: amplification, composition, and why samples must not be shared


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
