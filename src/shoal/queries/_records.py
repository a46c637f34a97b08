"""What a session asks of the records: exact figures, which never leave it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from shoal.queries._conditions import Condition

# 2^32 records of 2^31 units each still add up in 64 bits
LARGEST_UNITS = 1 << 31


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers as whole units: the integer nearest to (x - origin) / step, clamped to [low, high].

    Units are clamped after rounding, so whatever an engine's division does, a record adds at most
    ``max(abs(low), abs(high))`` to a sum, and sums of integers do not depend on the order of the records.
    """

    origin: Fraction
    step: Fraction
    low: int
    high: int

    @classmethod
    def between(cls, minimum: Fraction, maximum: Fraction, *, origin: Fraction, step: Fraction) -> Scale:
        """Return the scale of all numbers in [minimum, maximum]."""
        ends = [math.floor((end - origin) / step + Fraction(1, 2)) for end in (minimum, maximum)]
        return cls(origin, step, *ends)

    @property
    def sensitivity(self) -> int:
        """The most that one record can add to a sum, in units."""
        return max(abs(self.low), abs(self.high))


class ExactFigures(Protocol):
    """Exact figures of the records for which a condition holds. Numbers of days count as numbers."""

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        ...

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        ...

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit from ``scale.low`` to ``scale.high``."""
        ...

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        ...

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value; None is the missing one."""
        ...

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier; None if there is none, or more than one."""
        ...
