from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.exact import (
    STARTING_BITS,
    Arguments,
    above,
    ball,
    below,
    enclosures,
    fraction,
    logarithm,
    plain,
    positive,
    product_is_one,
    rational,
    round_down,
    round_up,
    sign,
    working_precision,
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.2, Fraction(1, 5)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (np.float64(0.2), Fraction(1, 5)),
        ("1/3", Fraction(1, 3)),
        ("0.25", Fraction(1, 4)),
        (Decimal("0.05"), Fraction(1, 20)),
        (3, Fraction(3)),
    ],
)
def test_a_number_is_the_decimal_that_was_typed(typed: object, meant: Fraction) -> None:
    assert fraction(typed) == meant  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(1, 5), Fraction(7), Fraction(10) ** 400 + Fraction(1, 3), Fraction(1, 10**400)]
)
def test_a_plain_value_gives_the_same_number_back(value: Fraction) -> None:
    assert fraction(plain(value)) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        True,
        "a third",
        "1/0",
        "\uff11/2",
        "0_1",
        "1 / 2",
        float("nan"),
        float("inf"),
        None,
        1.5,
        -0.1,
        [0.5],
        "nan",
        Fraction(3, 2),
    ],
)
def test_what_is_not_a_number_in_the_interval_is_refused(value: object) -> None:
    arguments = Arguments("Model")
    arguments.rational("t", value, "[0, 1]")
    with pytest.raises(ParameterError, match=r"`t` of `Model` must be in \[0, 1\]; got "):
        arguments.finish()


@pytest.mark.parametrize(
    ("value", "interval", "inside"),
    [(0, "[0, 1]", True), (0, "(0, 1]", False), (1, "(0, 1]", True), (1, "[0, 1)", False), (10**400, "[1, inf)", True)],
)
def test_ends_belong_to_the_interval_where_it_is_closed(value: int, interval: str, inside: bool) -> None:
    arguments = Arguments("Model")
    arguments.rational("t", value, interval)
    assert bool(arguments.problems) is not inside


@pytest.mark.parametrize("value", [0, 2.0, True, "3", None, -1])
def test_what_is_not_an_integer_of_at_least_one_is_refused(value: object) -> None:
    arguments = Arguments("Model")
    arguments.whole("k", value)
    with pytest.raises(ParameterError, match=r"`k` of `Model` must be an integer in \[1, inf\); got "):
        arguments.finish()


def test_a_numpy_integer_becomes_an_integer() -> None:
    found = Arguments("Model").whole("k", np.int64(5))
    assert found == 5
    assert type(found) is int


@pytest.mark.parametrize("value", ["", (), ("a", "a"), ("a", 1), 7, None])
def test_what_is_not_a_set_of_columns_is_refused(value: object) -> None:
    arguments = Arguments("Model")
    arguments.columns("attributes", value)
    with pytest.raises(ParameterError, match="`attributes` of `Model` must be one or more different column names"):
        arguments.finish()


def test_all_problems_are_raised_together() -> None:
    arguments = Arguments("Model")
    arguments.whole("k", 0)
    arguments.column("attribute", "")
    arguments.flag("enhanced", "yes")
    arguments.choice("distance", "far", ("equal", "ordered"))
    with pytest.raises(ParameterError) as raised:
        arguments.finish()
    assert len(raised.value.problems) == 4
    assert raised.value.problems[3] == '`distance` of `Model` must be one of "equal", "ordered"; got \'far\'.'


def test_a_sign_beyond_double_precision_is_found_by_raising_the_precision() -> None:
    near = Fraction(2) + Fraction(1, 10**100)
    assert sign(lambda: logarithm(near) - logarithm(2)) == 1
    assert sign(lambda: logarithm(2) - logarithm(near)) == -1


def test_zero_is_recognised_where_the_caller_can_tell() -> None:
    assert sign(lambda: logarithm(4) - 2 * logarithm(2), lambda: True) == 0


@pytest.mark.parametrize(
    ("powers", "expected"), [({4: 3, 8: -2}, True), ({6: 1, 2: -1, 3: -1}, True), ({6: 1, 4: -1}, False), ({}, True)]
)
def test_products_of_powers_are_compared_with_one_by_their_primes(powers: dict[int, int], expected: bool) -> None:
    assert product_is_one(powers) is expected


@pytest.mark.parametrize("value", [2, 3, 10, Fraction(1, 3), Fraction(999, 1000)])
def test_the_decimals_of_rounded_figures_are_on_the_safe_side(value: Fraction | int) -> None:
    low, high = next(enclosures(lambda: logarithm(value)))
    least, most = below(lambda: logarithm(value)), above(lambda: logarithm(value))
    assert max(Fraction(repr(least)), Fraction(least)) <= low <= high <= min(Fraction(repr(most)), Fraction(most))
    assert abs(most - least) <= 4e-16 * abs(most)


def test_enclosures_shrink() -> None:
    balls = enclosures(lambda: ball(1).exp())
    (low, high), (lower, higher) = next(balls), next(balls)
    assert low <= lower < higher <= high
    assert higher - lower < (high - low) / 2**100


@pytest.mark.parametrize("text", ["0.1", "1e-17", "123456789.123456789", "-0.3", "1e300"])
def test_a_ball_is_rounded_to_floats_that_are_safe_in_binary_and_as_they_print(text: str) -> None:
    exact = Fraction(text)
    with working_precision(STARTING_BITS):
        low, high = round_down(ball(exact)), round_up(ball(exact))
    assert max(Fraction(low), fraction(low)) <= exact <= min(Fraction(high), fraction(high))


def test_a_ball_beyond_all_floats_is_rounded_to_infinity_or_the_largest_float() -> None:
    with working_precision(STARTING_BITS):
        huge = ball(Fraction(10) ** 400)
        assert (round_up(huge), round_down(-huge)) == (math.inf, -math.inf)
        assert round_down(huge) == -round_up(-huge) == sys.float_info.max


def test_a_number_whose_powers_of_ten_would_fill_the_memory_is_refused_at_once() -> None:
    for text in ("1e99999", "1e-9999999999", Decimal("1e999999")):
        with pytest.raises(ParameterError, match="`epsilon` of `Laplace` must be a finite number"):
            rational(text, "epsilon", "Laplace")


def test_integers_of_numpy_do_not_overflow() -> None:
    assert fraction(np.int64(2**62)) * 4 == 2**64  # type: ignore[arg-type]


def test_what_must_be_positive_is() -> None:
    assert positive(0.1, "grid") == Fraction(1, 10)
    with pytest.raises(ParameterError, match=r"^`grid` must be above 0; got 0"):
        positive(0, "grid")


def test_threads_do_not_change_each_others_precision() -> None:
    from flint import ctx

    def digits(bits: int) -> bool:
        for _ in range(200):
            with working_precision(bits):
                if ctx.prec != bits or (ball(Fraction(1, 3)).rad() > ball(Fraction(1, 2 ** (bits - 2)))):
                    return False
                sign(lambda: logarithm(3))
                if ctx.prec != bits:
                    return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(digits, (64, 128, 512, 2048)))
