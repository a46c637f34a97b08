"""The grid of noise; group privacy, rounded to the safe side and true of exact mechanisms."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.mechanisms import NoiseGrid, person_delta, record_delta

rationals = st.fractions(-1000, 1000, max_denominator=997)
steps = st.fractions(Fraction(1, 97), 10, max_denominator=97)


@pytest.mark.slow
@given(rationals, rationals, steps)
def test_rounding_never_widens_a_difference_beyond_the_span(a: Fraction, b: Fraction, step: Fraction) -> None:
    grid = NoiseGrid(step)
    assert abs(grid.steps(a) - grid.steps(b)) <= grid.span(abs(a - b))


@given(rationals, steps)
def test_the_nearest_multiple_is_within_half_a_step(value: Fraction, step: Fraction) -> None:
    assert abs(NoiseGrid(step).steps(value) * step - value) <= step / 2


def test_rounding_half_to_even_would_widen_a_difference() -> None:
    # 0.5 and 1.5 differ by one step; Python's round sends them to 0 and 2
    grid = NoiseGrid(1)
    assert round(1.5) - round(0.5) == 2
    assert grid.steps("1.5") - grid.steps("0.5") == 1


@pytest.mark.parametrize("step", [0, -1, float("nan"), float("inf"), "one"])
def test_a_step_must_be_a_number_above_zero(step: object) -> None:
    with pytest.raises(ParameterError, match="`step` of `NoiseGrid` must be"):
        NoiseGrid(step)  # type: ignore[arg-type]


def test_whole_grids_give_integers() -> None:
    assert isinstance(NoiseGrid(5).value(3), int)
    assert isinstance(NoiseGrid("0.5").value(3), float)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "7", "40"])
@pytest.mark.parametrize("records", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("delta", ["1e-9", "0.01", "0.999"])
def test_the_delta_of_a_record_is_rounded_down(epsilon: str, records: int, delta: str) -> None:
    with localcontext(prec=80):
        e, d = Decimal(epsilon), Decimal(delta)
        exact = d * ((e / records).exp() - 1) / (e.exp() - 1)
        found = record_delta(Fraction(epsilon), Fraction(delta), records)
        below = exact - Decimal(found.numerator) / found.denominator
        assert -exact * Decimal("1e-60") <= below <= exact * Decimal("1e-30")


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("records", [1, 2, 5, 20])
def test_there_and_back_never_promises_more(epsilon: Fraction, records: int) -> None:
    for delta in (1e-12, 1e-6, 0.003):
        own = record_delta(epsilon, Fraction(delta), records)
        back = person_delta(epsilon, math.nextafter(float(own), 1), records)
        assert delta <= back <= delta * (1 + 1e-12)


def test_delta_is_never_above_one() -> None:
    assert person_delta(Fraction(30), 0.5, 10) == 1.0


def test_without_delta_there_is_none() -> None:
    assert record_delta(Fraction(1), Fraction(0), 7) == 0


@pytest.mark.parametrize("records", [1, 2, 3])
def test_the_lemma_is_true_of_randomised_response_with_leaks(records: int) -> None:
    """Every record is randomised at e, and shown as it is with probability d: tables of r records against r others."""
    e, d = 0.3, 0.02
    truth, lie = math.exp(e) / (1 + math.exp(e)), 1 / (1 + math.exp(e))
    one = {("shown", 0): d, ("noisy", 0): (1 - d) * truth, ("noisy", 1): (1 - d) * lie}
    other = {("shown", 1): d, ("noisy", 1): (1 - d) * truth, ("noisy", 0): (1 - d) * lie}

    def product(own: dict[tuple[str, int], float]) -> dict[tuple[tuple[str, int], ...], float]:
        found = {(): 1.0}
        for _ in range(records):
            found = {(*key, each): p * q for key, p in found.items() for each, q in own.items()}
        return found

    first, second = product(one), product(other)
    worst = sum(max(p - math.exp(records * e) * second.get(key, 0.0), 0) for key, p in first.items())
    assert worst <= person_delta(Fraction(records) * Fraction(3, 10), d, records) + 1e-15
