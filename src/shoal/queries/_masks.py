"""Which values a condition holds for: of all records, or of the cells of a cube."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.queries._conditions import And, Condition, In, Not
from shoal.queries._regions import FIRST, LAST, Cut, Ranges, Texts

__all__ = ["Codes", "Column", "Mask", "Numbers", "holds"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers and days; a missing one is no number."""

    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Codes:
    """Texts by their places in a list; a missing one has the place after all others."""

    values: NDArray[Any]
    places: Mapping[str, int]


Column = Numbers | Codes


def holds(condition: Condition, columns: Mapping[str, Column]) -> Mask:
    """Return where a condition holds; columns of different shapes are broadcast."""
    if isinstance(condition, In):
        return _in(columns[condition.attribute], condition)
    if isinstance(condition, Not):
        return ~holds(condition.part, columns)
    joined = holds(condition.parts[0], columns)
    for part in condition.parts[1:]:
        joined = joined & holds(part, columns) if isinstance(condition, And) else joined | holds(part, columns)
    return joined


def _in(column: Column, condition: In) -> Mask:
    if isinstance(condition.values, Ranges):
        return _in_ranges(column.values, condition.values)
    assert isinstance(column, Codes)  # noqa: S101
    return _in_texts(column, condition.values)


def _in_ranges(numbers: NDArray[np.float64], values: Ranges) -> Mask:
    parts = [_between(numbers, low, high) for low, high in values.parts]
    if values.missing:
        parts.append(np.isnan(numbers))
    return np.logical_or.reduce(parts) if len(parts) > 1 else parts[0] if parts else np.zeros(numbers.shape, np.bool_)


def _between(numbers: NDArray[np.float64], low: Cut, high: Cut) -> Mask:
    """Compare with the finite ends only; a missing number is no number, and every comparison with it is false."""
    above = None if low == FIRST else (numbers > low[0] if low[1] else numbers >= low[0])
    below = None if high == LAST else (numbers <= high[0] if high[1] else numbers < high[0])
    if above is None or below is None:
        one = below if above is None else above
        return ~np.isnan(numbers) if one is None else np.asarray(one)
    return np.asarray(above & below)


def _in_texts(column: Codes, values: Texts) -> Mask:
    places = column.places
    named = [places[value] for value in values.values if value in places]
    if len(named) == 1 and not values.excluded and not values.missing:
        return np.asarray(column.values == named[0])
    held = np.full(len(places) + 1, values.excluded)
    held[named] = not values.excluded
    held[-1] = values.missing
    return np.asarray(held[column.values])
