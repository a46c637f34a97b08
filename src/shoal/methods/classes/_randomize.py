"""Randomised confidential attributes: every record hides its own values, by a mechanism with a proof.

Domains are declared, never read off the data: a value that occurs is itself a fact about somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.exact import STARTING_BITS, ball, fraction, working_precision
from shoal.hierarchies import Hierarchy
from shoal.mechanisms import (
    SYSTEM,
    AbsoluteDistance,
    CategoricalPrior,
    NominalDistance,
    NumericPrior,
    OptimalNoise,
    RandomSource,
    Refinement,
    below_real,
)
from shoal.schema import Attribute, Domain, Kind

__all__ = ["Mechanism", "mechanism_problems", "randomize", "randomized_responses", "values_of"]

Codes = NDArray[np.int64]
Mechanism = Literal["randomized-response", "refinement", "noise"]
"""``randomized-response``: the truth, or any other value alike. ``refinement``: near values more often than far ones.
``noise``: a number plus noise, clamped to the declared bounds."""

STEPS = 1000
"""Steps of the grid on which numbers are randomised, over the declared bounds."""


def randomized_responses(
    codes: NDArray[np.integer], size: int, epsilon: Fraction, *, source: RandomSource = SYSTEM
) -> Codes:
    """Return randomised responses of many records, as `shoal.mechanisms.RandomizedResponse` gives one.

    Parameters
    ----------
    codes
        The value of each record, in [0, size).
    size
        The number of values that anybody can have, at least 2.
    epsilon
        The privacy cost of each response, above 0.

    Guarantee
    ---------
    epsilon-differential privacy of every response by itself (replace neighbours): a value is proposed uniformly and
    accepted if it is the truth, else with probability exactly e^-epsilon; rejected proposals are drawn again. So an
    output has a probability proportional to 1 for the truth and to e^-epsilon for every other value.

    Assumptions
    -----------
    Sampling is exact: 64 bits of a uniform number decide against e^-epsilon, and where they cannot, more are drawn.
    Running time is not protected.

    Notes
    -----
    O(N size / (1 + (size - 1) e^-epsilon)) in the mean.

    Examples
    --------
    >>> set(randomized_responses(np.zeros(100, dtype=int), 3, Fraction(1)).tolist()) <= {0, 1, 2}
    True
    """
    if size < 2:
        raise ParameterError(f"`size` of `randomized_responses` must be at least 2; got {size}.")
    if epsilon <= 0:
        raise ParameterError(f"`epsilon` of `randomized_responses` must be above 0; got {float(epsilon)}.")
    result = np.full(len(codes), -1, dtype=np.int64)
    waiting = np.arange(len(codes))
    while len(waiting):
        proposed = _uniform(len(waiting), size, source)
        accepted = (proposed == codes[waiting]) | _exponential_coins(len(waiting), epsilon, source)
        result[waiting[accepted]] = proposed[accepted]
        waiting = waiting[~accepted]
    return result


def randomize(
    attribute: Attribute,
    values: Sequence[str],
    epsilon: Fraction,
    mechanism: Mechanism,
    *,
    hierarchy: Hierarchy | None = None,
    source: RandomSource = SYSTEM,
) -> list[Any]:
    """Return the values of a confidential attribute, each randomised on its own with ``epsilon``.

    Parameters
    ----------
    attribute
        What the schema declares: all values, or the bounds of a number.
    values
        One value per record, as text.
    epsilon, mechanism
        The privacy cost of one record, and how.
    hierarchy
        Its leaves are the values of a categorical attribute that declares them so.

    Guarantee
    ---------
    epsilon-differential privacy of every released value by itself, replace neighbours. Refinement is of the kind
    *statistical* [SC13 Prop. 2], whose factors bound the ratio between any two values by e^epsilon, with the uniform
    prior. Noise has the width of the bounds as its sensitivity; clamping is after it and costs nothing.
    """
    if mechanism == "randomized-response":
        known = values_of(attribute, hierarchy)
        places = {value: place for place, value in enumerate(known)}
        numbers = np.array([places.get(value, -1) for value in values], dtype=np.int64)
        if (numbers < 0).any():
            raise DataError(
                f"column `{attribute.name}`: {int((numbers < 0).sum()):,} records have a value that is not declared"
            )
        return [known[code] for code in randomized_responses(numbers, len(known), epsilon, source=source).tolist()]
    draw = _drawer(attribute, epsilon, mechanism, hierarchy, source)
    return [draw(value) for value in values]


def values_of(attribute: Attribute, hierarchy: Hierarchy | None) -> tuple[str, ...]:
    """Return the declared values of an attribute."""
    if attribute.domain is not None and attribute.domain.values is not None:
        return attribute.domain.values
    if hierarchy is not None:
        return tuple(label for label in hierarchy.labels[0] if label is not None)
    raise ParameterError(f"column `{attribute.name}` declares no values.")


def mechanism_problems(attribute: Attribute, mechanism: Mechanism, *, declared: bool) -> list[str]:
    """Return what keeps a mechanism from randomising an attribute."""
    numeric = attribute.kind is Kind.NUMERIC
    bounded = attribute.domain is not None and attribute.domain.bounded
    listed = (attribute.domain is not None and attribute.domain.values is not None) or declared
    if mechanism not in get_args(Mechanism):
        return [f"`mechanism` must be one of {', '.join(get_args(Mechanism))}; got {mechanism!r}"]
    if mechanism == "noise" and not numeric:
        return [f"column `{attribute.name}` is {attribute.kind}: noise is for numbers"]
    if mechanism == "randomized-response" and not listed:
        return [f"column `{attribute.name}` must declare all its `values` (or a hierarchy that lists them)"]
    if mechanism == "refinement" and not (listed or (numeric and bounded)):
        return [f"column `{attribute.name}` must declare its `values`, or `minimum` and `maximum`"]
    if mechanism == "noise" and not bounded:
        return [f"column `{attribute.name}` must declare `minimum` and `maximum`"]
    return []


def _drawer(
    attribute: Attribute, epsilon: Fraction, mechanism: Mechanism, hierarchy: Hierarchy | None, source: RandomSource
) -> Callable[[str], Any]:
    numeric = attribute.kind is Kind.NUMERIC and attribute.domain is not None and attribute.domain.bounded
    if mechanism == "noise":
        assert attribute.domain is not None  # noqa: S101 - mechanism_problems asks for bounds
        low, high, step = _grid(attribute.domain)
        noise = OptimalNoise.minimal_variance(sensitivity=high - low, epsilon=epsilon, grid=step, neighbours="replace")
        return lambda value: min(max(noise.release(Fraction(value), source=source), float(low)), float(high))
    prior: NumericPrior | CategoricalPrior
    distance: AbsoluteDistance | NominalDistance
    if numeric:
        assert attribute.domain is not None  # noqa: S101
        low, high, step = _grid(attribute.domain)
        prior, distance = NumericPrior.uniform(low, high, step=step), AbsoluteDistance()
    else:
        prior = CategoricalPrior.uniform(values_of(attribute, hierarchy))
        distance = AbsoluteDistance() if attribute.kind is Kind.ORDINAL else NominalDistance()
    refined = Refinement(prior, epsilon=epsilon, query="statistical", distance=distance)
    return lambda value: refined.release(Fraction(value) if numeric else value, source=source)


def _grid(domain: Domain) -> tuple[Fraction, Fraction, Fraction]:
    low, high = fraction(str(domain.minimum)), fraction(str(domain.maximum))
    if low == high:
        raise ParameterError("a number that is randomised must have bounds that differ.")
    whole = low.denominator == high.denominator == 1 and high - low <= STEPS
    return low, high, Fraction(1) if whole else (high - low) / STEPS


def _uniform(count: int, size: int, source: RandomSource) -> Codes:
    """Return uniform integers in [0, size): 64-bit draws beyond the largest multiple of ``size`` are drawn again."""
    limit = (1 << 64) // size * size
    result = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        drawn = source.uint64(len(waiting))
        fits = drawn < np.uint64(limit) if limit < 1 << 64 else np.ones(len(drawn), dtype=np.bool_)
        result[waiting[fits]] = (drawn[fits] % np.uint64(size)).astype(np.int64)
        waiting = waiting[~fits]
    return result


def _exponential_coins(count: int, epsilon: Fraction, source: RandomSource) -> NDArray[np.bool_]:
    """Return coins that show heads with probability exactly e^-epsilon."""
    with working_precision(STARTING_BITS):
        threshold = int(((-ball(epsilon)).exp() * 2**64).lower().floor().unique_fmpz())
    drawn = source.uint64(count)
    heads = drawn < np.uint64(threshold)
    # 64 bits decide but for the draw next to the threshold
    for place in np.flatnonzero((drawn == np.uint64(threshold)) | (drawn == np.uint64(min(threshold + 1, 2**64 - 1)))):
        heads[place] = below_real(int(drawn[place]), 64, lambda: (-ball(epsilon)).exp(), source=source)
    return heads
