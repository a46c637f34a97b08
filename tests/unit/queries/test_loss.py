from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.queries._loss import Loss, of_population


def test_ten_answers_of_a_tenth_fit_into_one() -> None:
    assert sum([Loss.of(0.1)] * 9, start=Loss.of(0.1)) == Loss.of(1)


@pytest.mark.parametrize("written", ["0.25", 0.25, Decimal("0.25"), Fraction(1, 4), "1/4", "2.5e-1", ".25"])
def test_a_number_may_be_written_in_many_ways(written: object) -> None:
    assert Loss.of(written) == Loss(250_000_000_000)  # type: ignore[arg-type]


def test_between_two_units_less_is_spent() -> None:
    assert Loss.of("1/3").epsilon < Fraction(1, 3)
    assert Loss.of(1, "1e-19").delta_units == 0
    assert Loss.at_least(Fraction(1, 3)).epsilon > Fraction(1, 3)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0, 0), (-1, 0), (1e7, 0), ("1e-13", 0), ("nan", 0), (float("inf"), 0), ("one", 0), (True, 0), (None, 0),
        (1, 1), (1, -0.1), ("1/0", 0), ("1e999999999", 0), ("9" * 100, 0), ("\uff11", 0), ("1_0", 0), ([1], 0),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused_at_once(epsilon: object, delta: object) -> None:
    with pytest.raises(ParameterError):
        Loss.of(epsilon, delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("units", [-1, 10**18 + 1, 2**63 - 1, 2**63, 2**200, 1.0, True, "1", None])
def test_no_amount_is_negative_or_beyond_what_can_be_added_up(units: object) -> None:
    with pytest.raises(ParameterError, match="epsilon_units"):
        Loss(units)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delta_units"):
        Loss(1, units)  # type: ignore[arg-type]


def test_a_sum_beyond_the_largest_amount_is_refused_and_never_wraps() -> None:
    with pytest.raises(ParameterError):
        Loss.of(10**6) + Loss(1)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), 10**6 + Fraction(1, 10**13), Fraction(2**63, 10**12)])
def test_a_cost_that_nobody_may_ask_for_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="larger `scale`"):
        Loss.at_least(epsilon)
    assert Loss.at_least(Fraction(10**6)) == Loss.of(10**6)


@given(st.integers(1, 10**18), st.integers(0, 10**18 - 1))
def test_the_text_tells_the_exact_amount(epsilon: int, delta: int) -> None:
    loss = Loss(epsilon, delta)
    words = str(loss).replace(",", "").split()
    assert Fraction(words[1]) == loss.epsilon
    assert (Fraction(words[3]) if delta else Fraction(0)) == loss.delta


def test_what_is_left_is_never_negative() -> None:
    assert Loss(5, 1) - Loss(7, 0) == Loss(0, 1)
    assert Loss(5, 1).within(Loss(5, 1))
    assert not Loss(5, 1).within(Loss(9, 0))


@pytest.mark.parametrize("rate", ["0.01", "0.3", "1"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("2", "1/100")])
def test_a_member_of_the_population_loses_what_the_worst_mechanism_tells(rate: str, epsilon: str, delta: str) -> None:
    """The worst (epsilon, delta)-private mechanism on a table that the record is in with the chance of the rate."""
    share, lost, odds = float(Fraction(rate)), float(Fraction(delta)), math.exp(float(epsilon))
    p = (1 - lost) * odds / (1 + odds)
    having, without = [lost, p, 1 - lost - p, 0.0], [0.0, 1 - lost - p, p, lost]
    mixed = [share * one + (1 - share) * other for one, other in zip(having, without, strict=True)]
    amplified, extra = of_population(Fraction(epsilon), Fraction(delta), rate)

    def distance(first: list[float], second: list[float], at: float) -> float:
        return sum(max(0.0, one - math.exp(at) * other) for one, other in zip(first, second, strict=True))

    assert distance(mixed, without, amplified) <= float(extra) + 1e-12
    assert distance(without, mixed, amplified) <= float(extra) + 1e-12
    # and no smaller epsilon will do
    assert distance(mixed, without, amplified - 0.01) > float(extra)


def test_what_was_converted_apart_does_not_add_up() -> None:
    """Two releases of epsilon 1 of a sample of a tenth: 0.317 in sum, and 0.494 in truth."""
    once, _ = of_population(Fraction(1), Fraction(0), "0.1")
    both, _ = of_population(Fraction(2), Fraction(0), "0.1")
    assert (round(2 * once, 3), round(both, 3)) == (0.317, 0.494)


def test_a_rate_is_at_most_one() -> None:
    for rate in ("0", "1.1", "-1"):
        with pytest.raises(ParameterError, match="rate"):
            of_population(Fraction(1), Fraction(0), rate)
