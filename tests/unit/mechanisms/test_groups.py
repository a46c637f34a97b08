"""Group privacy: rounded to the safe side, and true of exact mechanisms on tables that differ by r records."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from shoal.mechanisms import person_delta, record_delta


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
