from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.mechanisms import NoiseGrid

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
