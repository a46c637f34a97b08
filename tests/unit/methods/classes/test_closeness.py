"""The formula between closeness and differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shoal.errors import ParameterError
from shoal.methods.classes import closeness_epsilon


def test_t_is_exp_of_half_of_epsilon_to_the_safe_side() -> None:
    for t in (Fraction(3, 2), 2, 10):
        assert closeness_epsilon(t) == pytest.approx(2 * math.log(t))
    assert closeness_epsilon(1) == 0.0
    # the float nearest to 2 ln 2 lies below it, so the safe one is above
    assert closeness_epsilon(2) >= 2 * math.log(2)


@pytest.mark.parametrize("wrong", [0, "0.9", "x", math.nan, math.inf])
def test_a_factor_below_one_is_refused(wrong: float | str) -> None:
    with pytest.raises(ParameterError):
        closeness_epsilon(wrong)
