"""Which parameters are allowed, and what to say about the others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import get_args

from shoal.errors import ParameterError
from shoal.exact import Number, rational
from shoal.methods.truthful._worst_case import Definition, WorstCase, permits

__all__ = ["LARGEST_EPSILON", "check_definition", "check_epsilon", "check_k", "check_unit", "worst_case"]

# At epsilon = 40 the threshold k is about 10^18; class sizes beyond 64 bits are of no use to anybody.
LARGEST_EPSILON = 40


def worst_case(k: int, beta: Number, epsilon: Number, definition: Definition, owner: str) -> WorstCase:
    """Check the parameters and return the worst case they stand for."""
    rate, exact = rational(beta, "beta", owner), rational(epsilon, "epsilon", owner)
    check_unit("beta", rate, owner)
    check_epsilon(exact, owner)
    check_k(k, owner)
    check_definition(definition, owner)
    if not permits(rate, exact):
        raise ParameterError(
            f"`beta` of `{owner}` must be at most 1 - exp(-epsilon) = {-math.expm1(-exact):.6g}; got {float(rate)!r}.",
            hint="sample less, or take a larger epsilon",
        )
    return WorstCase(rate, exact, definition)


def check_unit(name: str, value: Fraction, owner: str) -> None:
    """Refuse a value outside (0, 1)."""
    if not 0 < value < 1:
        raise ParameterError(f"`{name}` of `{owner}` must be in (0, 1); got {float(value)!r}.")


def check_epsilon(epsilon: Fraction, owner: str) -> None:
    """Refuse an epsilon outside (0, 40]."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"`epsilon` of `{owner}` must be in (0, {LARGEST_EPSILON}]; got {float(epsilon)!r}.",
            hint="values around 1 are common",
        )


def check_k(k: int, owner: str) -> None:
    """Refuse a threshold that is not a positive integer."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"`k` of `{owner}` must be an integer of at least 1; got {k!r}.")


def check_definition(definition: Definition, owner: str) -> None:
    """Refuse an unknown definition."""
    if definition not in get_args(Definition):
        raise ParameterError(f"`definition` of `{owner}` must be 'probabilistic' or 'standard'; got {definition!r}.")
