from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.models._arguments import Arguments, fraction, plain


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
    "value", [True, "a third", "1/0", float("nan"), float("inf"), None, 1.5, -0.1, [0.5], "nan", Fraction(3, 2)]
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
    with pytest.raises(ParameterError, match="`attributes` of `Model` must be one or more different names of columns"):
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
