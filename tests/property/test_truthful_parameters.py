"""Delta of the truthful operator: ball arithmetic against the definitions, class by class and outcome by outcome."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference import truthful_parameters as reference
from reference.examples import examples
from shoal.methods.truthful.parameters import (
    UncertainPrivacy,
    chernoff_delta,
    exact_delta,
    minimal_epsilon,
    minimal_k,
    parameters,
    satisfies,
)

QUICK = examples(60)
definitions = st.sampled_from(["probabilistic", "standard"])
sixteenths = st.integers(1, 12).map(lambda i: Fraction(i, 16))
tenths = st.integers(1, 30).map(lambda i: Fraction(i, 10))
deltas = st.integers(1, 12).map(lambda i: Fraction(1, 10**i))


def _classes_that_matter(k: int, beta: Fraction, epsilon: Fraction, delta: float) -> int:
    """Return a class size beyond which the Chernoff bound stays below ``delta``."""
    gamma = 1 - (1 - float(beta)) * math.exp(-epsilon)
    rate = math.log(gamma / float(beta)) - float(epsilon) * (1 - gamma) / gamma
    return math.ceil(max(k, -math.log(delta) / rate + 1) / gamma) + 1


def _assume_permitted(beta: Fraction, epsilon: Fraction) -> None:
    assume(float(beta) < -math.expm1(-epsilon) - 1e-9)


@pytest.mark.slow
@QUICK
@given(k=st.integers(1, 8), beta=sixteenths, epsilon=tenths, definition=definitions)
def test_delta_is_the_maximum_of_the_definition_over_all_classes(
    k: int, beta: Fraction, epsilon: Fraction, definition: str
) -> None:
    _assume_permitted(beta, epsilon)
    found = exact_delta(k, beta, epsilon, definition=definition)
    largest = _classes_that_matter(k, beta, epsilon, found)
    assume(largest <= 70)
    expected = reference.delta(k, beta, reference.exponential(epsilon), largest, definition)
    assert expected <= Fraction(found) <= expected * (1 + Fraction(1, 2**50))


@QUICK
@given(k=st.integers(1, 60), beta=sixteenths, epsilon=tenths, n=st.integers(1, 90), definition=definitions)
def test_no_class_leaks_more_than_delta(k: int, beta: Fraction, epsilon: Fraction, n: int, definition: str) -> None:
    _assume_permitted(beta, epsilon)
    divergence = reference.DIVERGENCES[definition](
        reference.released(n, k, beta), reference.released(n - 1, k, beta), reference.exponential(epsilon)
    )
    assert divergence <= Fraction(exact_delta(k, beta, epsilon, definition=definition))


@QUICK
@given(beta=sixteenths, epsilon=tenths, delta=deltas, definition=definitions)
def test_minimal_k_keeps_delta_and_one_less_does_not(
    beta: Fraction, epsilon: Fraction, delta: Fraction, definition: str
) -> None:
    _assume_permitted(beta, epsilon)
    k = minimal_k(beta, epsilon, delta, definition=definition)
    assert exact_delta(k, beta, epsilon, definition=definition) <= delta
    assert k == 1 or exact_delta(k - 1, beta, epsilon, definition=definition) > delta


@QUICK
@given(beta=sixteenths, k=st.integers(1, 200), epsilon=tenths, definition=definitions)
def test_delta_falls_with_k_and_with_epsilon(beta: Fraction, k: int, epsilon: Fraction, definition: str) -> None:
    _assume_permitted(beta, epsilon)
    delta = exact_delta(k, beta, epsilon, definition=definition)
    assert exact_delta(k + 1, beta, epsilon, definition=definition) <= delta
    assert exact_delta(k, beta, epsilon + Fraction(1, 7), definition=definition) <= delta


@QUICK
@given(beta=sixteenths, k=st.integers(1, 200), epsilon=tenths)
def test_standard_is_at_most_probabilistic_is_at_most_chernoff(beta: Fraction, k: int, epsilon: Fraction) -> None:
    _assume_permitted(beta, epsilon)
    probabilistic = exact_delta(k, beta, epsilon)
    assert exact_delta(k, beta, epsilon, definition="standard") <= probabilistic
    assert probabilistic <= chernoff_delta(k, beta, epsilon)


@QUICK
@given(beta=sixteenths, smaller=st.integers(1, 9), k=st.integers(1, 100), epsilon=tenths)
def test_sampling_less_lowers_the_standard_delta_in_proportion(
    beta: Fraction, smaller: int, k: int, epsilon: Fraction
) -> None:
    _assume_permitted(beta, epsilon)
    share = Fraction(smaller, 10)
    delta = exact_delta(k, beta, epsilon, definition="standard")
    amplified = UncertainPrivacy(beta=beta, epsilon=epsilon, delta=delta).sampled_at(beta * share)
    assume(amplified.delta > Fraction(1, 10**300))
    lower = exact_delta(k, beta * share, max(amplified.epsilon, epsilon), definition="standard")
    assert lower <= amplified.delta * (1 + Fraction(1, 2**40))


@examples(20)
@given(beta=sixteenths, k=st.integers(5, 120), delta=deltas, definition=definitions)
def test_minimal_epsilon_is_the_first_float_that_keeps_delta(
    beta: Fraction, k: int, delta: Fraction, definition: str
) -> None:
    assume(beta**k < delta)
    epsilon = minimal_epsilon(k, beta, delta, definition=definition)
    assert satisfies(k=k, beta=beta, epsilon=epsilon, delta=delta, definition=definition)
    before = math.nextafter(epsilon, 0)
    assert not satisfies(k=k, beta=beta, epsilon=before, delta=delta, definition=definition)


@QUICK
@given(epsilon=tenths, delta=deltas, definition=definitions)
def test_parameters_hold_and_are_tight(epsilon: Fraction, delta: Fraction, definition: str) -> None:
    found = parameters(epsilon, delta, definition=definition)
    assert found.hold()
    assert Fraction(found.exact_delta) <= delta * (1 + Fraction(1, 2**50))
    assert found.beta <= 1 - 1 / reference.exponential(epsilon) < found.beta + Fraction(1, 2**64)
    smaller = {"beta": found.beta, "epsilon": epsilon, "delta": delta, "definition": definition}
    assert found.k == 1 or not satisfies(k=found.k - 1, **smaller)
