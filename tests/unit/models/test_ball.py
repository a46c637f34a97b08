from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.models import _ball


def test_a_sign_beyond_double_precision_is_found_by_raising_the_precision() -> None:
    near = Fraction(2) + Fraction(1, 10**100)
    assert _ball.sign(lambda: _ball.logarithm(near) - _ball.logarithm(2)) == 1
    assert _ball.sign(lambda: _ball.logarithm(2) - _ball.logarithm(near)) == -1


def test_zero_is_recognised_where_the_caller_can_tell() -> None:
    assert _ball.sign(lambda: _ball.logarithm(4) - 2 * _ball.logarithm(2), lambda: True) == 0


@pytest.mark.parametrize(
    ("powers", "expected"), [({4: 3, 8: -2}, True), ({6: 1, 2: -1, 3: -1}, True), ({6: 1, 4: -1}, False), ({}, True)]
)
def test_products_of_powers_are_compared_with_one_by_their_primes(powers: dict[int, int], expected: bool) -> None:
    assert _ball.product_is_one(powers) is expected


@pytest.mark.parametrize("value", [2, 3, 10, Fraction(1, 3), Fraction(999, 1000)])
def test_the_decimals_of_rounded_figures_are_on_the_safe_side(value: Fraction | int) -> None:
    low, high = next(_ball.enclosures(lambda: _ball.logarithm(value)))
    below, above = _ball.below(lambda: _ball.logarithm(value)), _ball.above(lambda: _ball.logarithm(value))
    assert Fraction(repr(below)) <= low <= high <= Fraction(repr(above))
    assert abs(above - below) <= 4e-16 * abs(above)


def test_enclosures_shrink() -> None:
    balls = _ball.enclosures(lambda: _ball.exact(1).exp())
    (low, high), (lower, higher) = next(balls), next(balls)
    assert low <= lower < higher <= high
    assert higher - lower < (high - low) / 2**100
