"""The finest step to which numbers are rounded so that few records are alone with theirs."""

from __future__ import annotations

import math

from shoal.schema import ColumnProfile
from shoal.tables._conform import number_of, round_to_step
from shoal.tables._engine import figures, quiet
from shoal.tables._profile import values_of_column
from shoal.tables._table import Table

#: steps that a schema takes
_LEAST, _MOST = 1e-9, 1e12
#: decimal orders of magnitude below the spread at which steps begin
_ORDERS = 9
#: the coarsest step leaves about so many different values
_FEWEST = 5


def rounding_steps(spread: float) -> list[float]:
    """Return the 1-2-5 steps for numbers of a spread, the finest first.

    Examples
    --------
    >>> rounding_steps(2000)[-4:]
    [50, 100, 200, 500]
    >>> rounding_steps(1)[-3:]
    [0.05, 0.1, 0.2]
    """
    largest = math.floor(math.log10(spread))
    steps = (float(f"{digit}e{power}") for power in range(largest - _ORDERS, largest + 1) for digit in (1, 2, 5))
    return [int(step) if step >= 1 else step for step in steps if _LEAST <= step <= min(spread / (_FEWEST - 1), _MOST)]


def finest_step(table: Table, profile: ColumnProfile, *, alone: float) -> tuple[float, float] | None:
    """Return the finest 1-2-5 step at which less than a share of the records are alone with their number.

    The second figure is their share; None if no step leaves so few. The engine counts; O(log steps) passes over the
    distinct values.
    """
    low, high = profile.minimum, profile.maximum
    if not (isinstance(low, int | float) and isinstance(high, int | float)) or not profile.records or high <= low:
        return None
    steps = rounding_steps(float(high) - float(low))
    shares: dict[int, float] = {}

    def share_at(place: int) -> float:
        if place not in shares:
            shares[place] = _share_alone(table, profile, steps[place])
        return shares[place]

    first, last = 0, len(steps) - 1
    if share_at(last) >= alone:
        return None
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if share_at(middle) < alone else (middle + 1, last)
    return steps[first], share_at(first)


def _share_alone(table: Table, profile: ColumnProfile, step: float) -> float:
    values = values_of_column(table, profile.name, profile.reading.missing_values)
    number = values.value
    if profile.type == "text":
        read = profile.reading
        number = number_of(
            number, decimal=read.decimal or table.source.detail("decimal"), thousands=read.thousands
        ).value
    multiples = values.select(multiple=round_to_step(number.cast("float64"), step), times=values.times)
    multiples = multiples.filter(multiples.multiple.notnull())
    counted = multiples.group_by("multiple").aggregate(times=multiples.times.sum())
    with quiet(table.source.name):
        single = figures(table, counted.aggregate(single=(counted.times == 1).sum()))["single"]
    return int(single or 0) / profile.records
