"""Randomised confidential attributes: every record hides its own values, by a mechanism with a proof.

Domains are declared, never read off the data: a value that occurs is itself a fact about somebody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.exact import STARTING_BITS, ball, fraction, plain, working_precision
from shoal.guarantees import Event
from shoal.hierarchies import declared_leaves, leaves_declared
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
from shoal.schema import INEXACT, Attribute, Domain, Kind

Mechanism = Literal["randomized-response", "refinement", "noise"]
"""``randomized-response``: the truth, or any other value alike. ``refinement``: near values more often than far ones.
``noise``: a number plus noise, clamped to the declared bounds."""

STEPS = 1000
"""Steps of the grid on which numbers are randomised, over the declared bounds."""
SHORT = 20
"""Domains of at most so many values are listed in certificates; of others, their fingerprint is."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A domain of listed values."""

    values: tuple[str, ...]

    def strange(self, values: Sequence[object]) -> int:
        """Return how many of the values are not of the domain."""
        known = {*self.values}
        return sum(value not in known for value in values)

    def plain(self) -> dict[str, object]:
        """Return the domain as certificates hold it."""
        if len(self.values) <= SHORT:
            return {"values": list(self.values)}
        written = json.dumps(self.values, ensure_ascii=False, separators=(",", ":"))
        return {"number of values": len(self.values), "sha256": hashlib.sha256(written.encode()).hexdigest()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberGrid:
    """The numbers ``start``, ``start`` +- ``step``, ... between two bounds, and the bounds themselves."""

    low: Fraction
    high: Fraction
    step: Fraction
    start: Fraction

    def strange(self, values: Sequence[object]) -> int:
        """Return how many of the values are not of the domain."""
        return sum(not self._holds(value) for value in values)

    def _holds(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if value in (float(self.low), float(self.high)):
            return True
        if not float(self.low) < value < float(self.high):
            return False
        # a number of the grid is released as the float nearest to it
        return value == float(self.start + round((Fraction(value) - self.start) / self.step) * self.step)

    def plain(self) -> dict[str, object]:
        """Return the domain as certificates hold it."""
        return {name: plain(getattr(self, name)) for name in ("low", "high", "step", "start")}


def declared_domain(attribute: Attribute, mechanism: Mechanism, *, folder: Path = Path()) -> Listed | NumberGrid:
    """Return all that a mechanism can release of a column, from its declaration alone.

    ``folder`` is where relative paths of hierarchy files start.

    Examples
    --------
    >>> declared_domain(Attribute(name="sex", domain=Domain(values=("male", "female"))), "randomized-response").values
    ('male', 'female')
    """
    domain = attribute.domain
    if (
        mechanism != "randomized-response"
        and domain is not None
        and domain.is_bounded
        and attribute.kind is Kind.NUMERIC
    ):
        low, high, step = _grid(domain)
        return NumberGrid(low=low, high=high, step=step, start=Fraction(0) if mechanism == "noise" else low)
    if domain is not None and domain.values is not None and attribute.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
        return Listed(domain.values)
    return Listed(declared_leaves(attribute, folder=folder))


def _grid(domain: Domain) -> tuple[Fraction, Fraction, Fraction]:
    low, high = fraction(str(domain.minimum)), fraction(str(domain.maximum))
    if low == high:
        raise ParameterError("a number that is randomised must have bounds that differ.")
    whole = low.denominator == high.denominator == 1 and high - low <= STEPS
    return low, high, Fraction(1) if whole else (high - low) / STEPS


Codes = NDArray[np.int64]


def randomized_responses(
    codes: NDArray[np.integer], size: int, epsilon: Fraction, *, source: RandomSource = SYSTEM
) -> Codes:
    """Return randomised responses of many records, as `shoal.mechanisms.RandomizedResponse` gives one.

    ``codes`` are in [0, size), size is at least 2, and epsilon, the privacy cost of each response, above 0.

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
    folder: Path = Path(),
    source: RandomSource = SYSTEM,
) -> list[Any]:
    """Return the values of a confidential attribute, each randomised on its own with ``epsilon``.

    ``values`` are text, one per record; ``folder`` is where relative paths of hierarchy files start, which may list
    them.

    Guarantee
    ---------
    epsilon-differential privacy of every released value by itself, replace neighbours. Refinement is of the kind
    *statistical* [SC13 Prop. 2], whose factors bound the ratio between any two values by e^epsilon, with the uniform
    prior. Noise has the width of the bounds as its sensitivity; clamping is after it and costs nothing.
    """
    domain = declared_domain(attribute, mechanism, folder=folder)
    if mechanism == "randomized-response" and isinstance(domain, Listed):
        return _responses(attribute, values, domain, epsilon, source)
    draw = _drawer(attribute, domain, epsilon, mechanism, source)
    return [draw(value) for value in values]


def _responses(
    attribute: Attribute, values: Sequence[str], domain: Listed, epsilon: Fraction, source: RandomSource
) -> list[Any]:
    positions = {value: position for position, value in enumerate(domain.values)}
    numbers = np.array([positions.get(value, -1) for value in values], dtype=np.int64)
    if (numbers < 0).any():
        raise DataError(
            f"column `{attribute.name}`: {int((numbers < 0).sum()):,} records have a value that is not declared"
        )
    drawn = randomized_responses(numbers, len(domain.values), epsilon, source=source)
    return [domain.values[code] for code in drawn.tolist()]


def mechanism_problems(attribute: Attribute, mechanism: Mechanism) -> list[str]:
    """Return what keeps a mechanism from randomising an attribute."""
    name, domain, numeric = attribute.name, attribute.domain, attribute.kind is Kind.NUMERIC
    bounded = numeric and domain is not None and domain.is_bounded
    if mechanism not in get_args(Mechanism):
        return [f"`mechanism` must be one of {', '.join(get_args(Mechanism))}; got {mechanism!r}"]
    if mechanism == "noise" and not numeric:
        return [f"column `{name}` is {attribute.kind}: noise is for numbers"]
    if mechanism == "noise" and not bounded:
        return [f"column `{name}` has no declared domain to randomise over; give its `minimum` and `maximum`"]
    if not leaves_declared(attribute) and not (bounded and mechanism != "randomized-response"):
        return [f"column `{name}` has no declared domain to randomise over; {_remedy(attribute, mechanism)}"]
    if numeric and domain is not None and not domain.exact:
        return [f"column `{name}` {INEXACT}"]
    return []


def _remedy(attribute: Attribute, mechanism: Mechanism) -> str:
    """Say how the domain of a column can be declared, so that a mechanism can use it."""
    if attribute.kind is Kind.DATE:
        return "give its `minimum` and `maximum`, or list its `values`"
    if attribute.kind is Kind.NUMERIC and mechanism == "refinement":
        return "give its `minimum` and `maximum`, or list its `values`"
    if attribute.kind is Kind.NUMERIC:
        return "list its `values`, or give its `minimum` and `maximum` and use the mechanism `noise` or `refinement`"
    return "list its `values`, or give a hierarchy that does (a file, groups, a taxonomy)"


def _drawer(
    attribute: Attribute, domain: Listed | NumberGrid, epsilon: Fraction, mechanism: Mechanism, source: RandomSource
) -> Callable[[str], Any]:
    if isinstance(domain, Listed):
        by_order = AbsoluteDistance() if attribute.kind is Kind.ORDINAL else NominalDistance()
        among = CategoricalPrior.uniform(domain.values)
        named = Refinement(among, epsilon=epsilon, query="statistical", distance=by_order)
        return lambda value: named.release(value, source=source)
    if mechanism == "noise":
        width = domain.high - domain.low
        noise = OptimalNoise.minimal_variance(
            sensitivity=width, epsilon=epsilon, grid=domain.step, neighbours="replace"
        )
        number = int if domain.step.denominator == 1 else float
        low, high = number(domain.low), number(domain.high)
        return lambda value: min(max(noise.release(Fraction(value), source=source), low), high)
    prior = NumericPrior.uniform(domain.low, domain.high, step=domain.step)
    refined = Refinement(prior, epsilon=epsilon, query="statistical", distance=AbsoluteDistance())
    return lambda value: refined.release(Fraction(value), source=source)


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
    for position in np.flatnonzero(
        (drawn == np.uint64(threshold)) | (drawn == np.uint64(min(threshold + 1, 2**64 - 1)))
    ):
        heads[position] = below_real(int(drawn[position]), 64, lambda: (-ball(epsilon)).exp(), source=source)
    return heads


class Randomized(Event):
    """A confidential attribute of every record was randomised on its own."""

    name = "randomized"
    draws = True
    term = "randomization"
    effect = "randomised"
    column: str
    mechanism: Mechanism
    epsilon_spent: Fraction
    sentence = "Randomised `{column}` of every record by {mechanism} (epsilon {epsilon_spent!f:.6g})."
