"""Where the leaves of an ordered attribute stand in its domain."""

from __future__ import annotations

import datetime as dt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import HierarchyError
from shoal.hierarchies._column import days, numbers, ranks
from shoal.hierarchies._hierarchy import Hierarchy
from shoal.schema import Attribute, Kind

__all__ = ["positions"]

Floats = npt.NDArray[np.float64]


def positions(attribute: Attribute, hierarchy: Hierarchy) -> Floats | None:
    """Return the positions of the leaves, or None where intervals of leaves would not be intervals of values."""
    if attribute.kind is Kind.CATEGORICAL or hierarchy.missing is not None or hierarchy.size < 2:
        return None
    leaves = pa.array(hierarchy.labels[0], pa.string())
    try:
        places = _places(attribute, leaves)
    except HierarchyError:  # numbers that are written in words: truth values
        return None
    low, high = _bounds(attribute, places)
    with np.errstate(all="ignore"):  # what does not come out as numbers is not ascending
        # halves: the domain may be wider than the largest float
        scaled = (places / 2 - low / 2) / (high / 2 - low / 2)
    return scaled if bool(np.all(np.diff(scaled) > 0)) else None


def _places(attribute: Attribute, leaves: pa.StringArray) -> Floats:
    if attribute.kind is Kind.NUMERIC:
        return numbers(leaves, attribute.name)
    if attribute.kind is Kind.DATE:
        return _days(days(leaves, attribute.name))
    return ranks(leaves, attribute).astype(np.float64)


def _bounds(attribute: Attribute, places: Floats) -> tuple[float, float]:
    domain = attribute.domain
    low, high = float(places[0]), float(places[-1])
    if domain is not None and domain.minimum is not None:
        low = min(low, _number(domain.minimum))
    if domain is not None and domain.maximum is not None:
        high = max(high, _number(domain.maximum))
    return (low, high) if high > low else (low, low + 1.0)


def _number(bound: float | dt.date) -> float:
    if isinstance(bound, dt.date):
        return float(_days(np.array([dt.date(bound.year, bound.month, bound.day)], dtype="datetime64[D]"))[0])
    return float(bound)


def _days(values: npt.NDArray[np.datetime64]) -> Floats:
    return np.asarray(values.astype("datetime64[D]").astype(np.float64))
