"""Values of a column in groups: in their natural order, numbers in bins with round ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels import Floats
from shoal.risk import ColumnAxis
from shoal.schema import Kind

_ROUND, _DECADE = (1, 2, 2.5, 5), (1, 1.5, 2, 3, 5, 7)
#: a logarithmic scale is for positive numbers of very different size, most of which are in the lowest tenth
_WIDE, _LOW = 100, 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Labels of a column that are shown together."""

    #: Their positions.
    labels: npt.NDArray[np.int64]
    #: Where the group stands on the axis: empty bins leave gaps.
    place: int
    #: The ends of a bin of numbers.
    edges: tuple[float, float] | None = None
    #: Whether these are all values that have no group of their own.
    rest: bool = False


def round_edges(numbers: Floats, weights: Floats, most: int) -> Floats | None:
    """Return the ends of at most about ``most`` bins that hold all ``numbers``.

    The ends are multiples of 1, 2, 2.5 or 5 times a power of ten; or, where most numbers are small beside the largest,
    steps of a logarithmic scale. None where floating point cannot tell the bins apart.

    Examples
    --------
    >>> round_edges(np.array([3.0, 17.0, 44.0]), np.ones(3), 5).tolist()
    [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    """
    low, high = float(numbers.min()), float(numbers.max())
    if not 1e-300 < high - low < math.inf:
        return None
    small = float(weights[numbers <= low + (high - low) / 10].sum())
    if low > 0 and high >= _WIDE * low and small >= _LOW * float(weights.sum()):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        edges = np.array([step * 10.0**decade for decade in decades for step in _DECADE])
        first, last = np.searchsorted(edges, [low, high], side="right")
        edges = edges[max(int(first) - 1, 0) : int(last) + 1]
        if len(edges) <= most + 1:
            return edges
    width = 10.0 ** math.floor(math.log10((high - low) / most))
    width *= next((step for step in _ROUND if (high - low) / (width * step) <= most), 10)
    with np.errstate(over="ignore"):
        edges = width * np.arange(math.floor(low / width), math.floor(high / width) + 2, dtype=np.float64)
    told_apart = np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    return edges if told_apart and edges[0] <= low and edges[-1] > high else None


def grouped(axis: ColumnAxis, shares: Floats, most: int) -> list[Group]:
    """Put the labels of a column into at most about ``most`` groups and one of missing values.

    Parameters
    ----------
    axis
        The column.
    shares
        How much each label counts: where values have no order, the commonest get groups of their own.
    most
        The number of groups.
    """
    missing = np.array([position for position, label in enumerate(axis.labels) if label is None], dtype=np.int64)
    known = np.array([position for position, label in enumerate(axis.labels) if label is not None], dtype=np.int64)
    found = _common(known, shares, most) if axis.places is None else _ordered(axis, known, shares, most)
    end = found[-1].place + 1 if found else 0
    return [*found, Group(labels=missing, place=end)] if len(missing) else found


def _ordered(axis: ColumnAxis, known: npt.NDArray[np.int64], shares: Floats, most: int) -> list[Group]:
    """Cut the values in their order: one group each where there are few, else bins."""
    assert axis.places is not None  # noqa: S101 - asked for ordered columns only
    known = known[np.isfinite(axis.places[known])]
    if not len(known):
        return []
    known = known[np.argsort(axis.places[known], kind="stable")]
    if len(known) <= most:
        return [Group(labels=known[i : i + 1], place=i) for i in range(len(known))]
    places = axis.places[known]
    edges = round_edges(places, shares[known], most) if axis.attribute.kind is Kind.NUMERIC else None
    if edges is None:
        width = places[-1] - places[0]
        number = np.minimum(((places - places[0]) / width * most).astype(np.int64), most - 1)
    else:
        number = np.searchsorted(edges, places, side="right") - 1
    groups = np.split(known, np.flatnonzero(np.diff(number)) + 1)
    first = np.unique(number)
    return [
        Group(
            labels=group,
            place=int(place),
            edges=None if edges is None else (float(edges[place]), float(edges[place + 1])),
        )
        for group, place in zip(groups, first, strict=True)
    ]


def _common(known: npt.NDArray[np.int64], shares: Floats, most: int) -> list[Group]:
    """Take the commonest values in the order of their leaves, and the rest together."""
    if len(known) <= most:
        return [Group(labels=known[i : i + 1], place=i) for i in range(len(known))]
    common = np.sort(known[np.argsort(-shares[known], kind="stable")[: most - 1]])
    named = [Group(labels=common[i : i + 1], place=i) for i in range(len(common))]
    return [*named, Group(labels=np.setdiff1d(known, common), place=len(common), rest=True)]
