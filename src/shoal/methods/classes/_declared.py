"""What a randomised column can hold: values that the schema lists or numbers of a grid, never what the data holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from shoal.errors import ParameterError
from shoal.exact import fraction, plain
from shoal.hierarchies import declared_leaves
from shoal.schema import Attribute, Domain, Kind

__all__ = ["Grid", "Listed", "Mechanism", "declared_domain"]

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
class Grid:
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


def declared_domain(attribute: Attribute, mechanism: Mechanism, *, folder: Path = Path()) -> Listed | Grid:
    """Return all that a mechanism can release of a column, from its declaration alone.

    Parameters
    ----------
    attribute
        What the schema declares: all values, the bounds of a number, or the first and the last day.
    mechanism
        How its values are randomised.
    folder
        Where relative paths of hierarchy files start.

    Examples
    --------
    >>> declared_domain(Attribute(name="sex", domain=Domain(values=("male", "female"))), "randomized-response").values
    ('male', 'female')
    """
    domain = attribute.domain
    if mechanism != "randomized-response" and domain is not None and domain.bounded and attribute.kind is Kind.NUMERIC:
        low, high, step = _grid(domain)
        return Grid(low=low, high=high, step=step, start=Fraction(0) if mechanism == "noise" else low)
    if domain is not None and domain.values is not None and attribute.kind in (Kind.CATEGORICAL, Kind.ORDINAL):
        return Listed(domain.values)
    return Listed(declared_leaves(attribute, folder=folder))


def _grid(domain: Domain) -> tuple[Fraction, Fraction, Fraction]:
    low, high = fraction(str(domain.minimum)), fraction(str(domain.maximum))
    if low == high:
        raise ParameterError("a number that is randomised must have bounds that differ.")
    whole = low.denominator == high.denominator == 1 and high - low <= STEPS
    return low, high, Fraction(1) if whole else (high - low) / STEPS
