"""Parameters that are almost right are refused by a sentence, whatever is given for them."""

from __future__ import annotations

import contextlib
import dataclasses
from fractions import Fraction
from typing import Any

import pytest

import shoal
from golden.cases import CASES
from shoal.errors import ShoalError
from shoal.schema import Attribute, Cuts, Intervals

ODD: list[Any] = [
    None, True, -1, 0, 3.5, float("nan"), float("inf"), 10**400, "loss", "", b"x", [], [1], {}, {"a": 1}, {1: 2},
    {"a": {"b": []}}, object(), ("a",), {"x"}, Fraction(1, 3), [None], "\ud800", 1j,
]  # fmt: skip
#: what the type of a number in Python allows, and nothing can be done with
NUMBERS = [-1, 0, float("nan"), float("inf"), -(10**400), 10**400, 1e308, 5e-324]
VALUES = {type(value).__name__: value for case in CASES.values() for value in (case.method, *case.promises)}


def _set(value: Any, name: str, given: Any) -> None:
    with contextlib.suppress(ShoalError):
        dataclasses.replace(value, **{name: given})


@pytest.mark.parametrize("name", VALUES)
def test_methods_and_promises_refuse_by_a_sentence(name: str) -> None:
    for field in dataclasses.fields(VALUES[name]):
        if field.init:
            for given in ODD:
                _set(VALUES[name], field.name, given)


def test_schemas_refuse_numbers_by_a_sentence() -> None:
    with pytest.raises(ShoalError, match="`weight` must be in"):
        Attribute(name="a", weight=10**400)
    for given in NUMBERS:
        _set(Attribute(name="a", kind=shoal.Kind.NUMERIC), "weight", given)
        for name in ("origin", "bottom", "top"):
            _set(Intervals(widths=(5,)), name, given)
        _set(Intervals(widths=(5,)), "widths", (given,))
        _set(Cuts(levels=((1.0,),)), "levels", ((given,),))
