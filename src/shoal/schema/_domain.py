"""What values a column may take: their kind, and the domain that is known without looking at the data."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import StrEnum

from shoal.errors import Problems, SchemaError

Bound = int | float | dt.date

LARGEST_EXACT = 2**53
INEXACT = (
    "has a declared domain that reaches beyond 2^53, where one record can change how other numbers are written; "
    "declare bounds within 9,007,199,254,740,991 of 0, or declare the column as categorical and list its `values`"
)


class Kind(StrEnum):
    """How the values of an attribute relate: names, ordered names, numbers, or days."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    NUMERIC = "numeric"
    DATE = "date"


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values an attribute may take, known without looking at the data.

    Parameters
    ----------
    values
        All values, as text; for an ordinal attribute in ascending order.
    minimum, maximum
        Inclusive bounds of a numeric or date attribute.
    """

    values: tuple[str, ...] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
        problems = Problems()
        if self.values is not None and (self.minimum is not None or self.maximum is not None):
            problems.add("a domain takes either `values` or `minimum` and `maximum`, not both")
        if self.values is not None and len(set(self.values)) != len(self.values):
            problems.add("the `values` of a domain must not repeat")
        if self.values is not None and not self.values:
            problems.add("`values` of a domain must not be empty")
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if any(isinstance(bound, dt.datetime) for bound in bounds):
            problems.add("`minimum` and `maximum` of a date domain must be dates without a time")
        elif any(not isinstance(bound, dt.date) and not _finite(bound) for bound in bounds):
            problems.add("`minimum` and `maximum` of a domain must be finite")
        elif len(bounds) == 2:
            if isinstance(bounds[0], dt.date) != isinstance(bounds[1], dt.date):
                problems.add("`minimum` and `maximum` of a domain must both be numbers or both be dates")
            elif bounds[0] > bounds[1]:  # type: ignore[operator]
                problems.add("`minimum` of a domain must not exceed `maximum`")
        problems.raise_as(SchemaError)

    @property
    def bounded(self) -> bool:
        """Whether both bounds are known."""
        return self.minimum is not None and self.maximum is not None

    @property
    def exact(self) -> bool:
        """Whether floating point tells all whole numbers of the domain apart: days, and numbers below 2^53.

        Beyond, a number is written as an integer or as a float near it, and which of the two is decided by the other
        numbers of its column.
        """
        numbers = [bound for bound in (self.minimum, self.maximum) if isinstance(bound, int | float)]
        return all(abs(number) < LARGEST_EXACT for number in [*numbers, *map(_number, self.values or ())])


def _number(value: str) -> float:
    """Return the number that a text stands for, 0 if it is none."""
    try:
        return float(value)
    except ValueError:
        return 0.0


def _finite(bound: int | float) -> bool:
    try:
        return math.isfinite(bound)
    except OverflowError:  # an integer beyond all floats
        return False
