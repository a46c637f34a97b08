from __future__ import annotations

import math
from fractions import Fraction

import pytest

from reference.noise import ALPHA, QuickSource, discrete_laplace, fits
from shoal.mechanisms._geometric import discrete_laplace as draw_laplace
from shoal.mechanisms._geometric import geometric


@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 7), Fraction(5, 2), Fraction(0.3)])
def test_a_geometric_draw_has_ratio_exp_minus_x_and_no_other(x: Fraction) -> None:
    source = QuickSource(11)
    drawn = [geometric(x, source=source) for _ in range(20_000)]

    def mass(rate: float) -> object:
        return lambda i: -math.expm1(-rate) * math.exp(-i * rate) if i >= 0 else 0.0

    assert fits(drawn, mass(float(x))) > ALPHA  # type: ignore[arg-type]
    assert fits(drawn, mass(float(x) * 0.9)) < ALPHA  # type: ignore[arg-type]
    assert fits(drawn, mass(float(x) * 1.1)) < ALPHA  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(21, 2)])
def test_a_discrete_laplace_draw_has_its_scale_and_no_other(scale: Fraction) -> None:
    source = QuickSource(12)
    drawn = [draw_laplace(scale, source=source) for _ in range(20_000)]
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale))) > ALPHA
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale) * 0.9)) < ALPHA
    assert fits(drawn, lambda k: discrete_laplace(k, float(scale) * 1.1)) < ALPHA


def test_zero_is_not_counted_twice() -> None:
    source = QuickSource(13)
    zeros = sum(draw_laplace(Fraction(1), source=source) == 0 for _ in range(20_000))
    once = 20_000 * discrete_laplace(0, 1.0)
    assert abs(zeros - once) < 5 * math.sqrt(once)
