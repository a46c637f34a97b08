"""The distribution of every column, before and after."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.kernels import Floats
from shoal.risk import ColumnAxis, Pair
from shoal.utility._bins import grouped
from shoal.utility._spread import leaf_shares

#: bars that a picture of a column has at most
_BINS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bar of a picture: the values from ``first`` to ``last`` and their shares.

    Both ends are None for missing values, and ``rest`` is true for all values of a categorical column that have no bar
    of their own. ``place`` is where the bar stands on its axis, and ``edges`` are the round ends of a bin of numbers.
    """

    first: str | None = field(repr=False)
    last: str | None = field(repr=False)
    original: float
    released: float
    rest: bool = False
    place: int = 0
    edges: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How far the distribution of one column moved; each figure is 0 for no change and 1 for the worst."""

    #: Its name.
    column: str
    #: The share of records that would have to change their value: half the sum of the differences.
    total_variation: float
    #: sqrt(1 - sum of sqrt(p q)); heavier on rare values.
    hellinger: float
    #: How far, on average, values moved, over the width of the column; None for categorical columns. Missing values are
    #: left out.
    wasserstein: float | None
    #: The distributions themselves, for pictures.
    bins: tuple[Bin, ...] = field(repr=False)


def distributions(pair: Pair) -> tuple[Distribution, ...]:
    """Compare the columns of a table and of its release, generalised values spread over their leaves.

    The released shares are shares of the released records: suppressing records at random changes no distribution.
    Cost: O(records * columns).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
    >>> people = shoal.read(pyarrow.table({"age": [20, 20, 20, 21]})).with_schema(shoal.Schema(attributes=(age,)))
    >>> spread, = distributions(Pair.of(people, shoal.read(pyarrow.table({"age": ["[20, 21]"] * 4}))))
    >>> spread.total_variation, spread.wasserstein
    (0.25, 0.25)
    """
    return tuple(_distribution(pair, column) for column in range(len(pair.axes)))


def _distribution(pair: Pair, column: int) -> Distribution:
    axis = pair.axes[column]
    before, after = leaf_shares(pair.original, column, axis), leaf_shares(pair.released, column, axis)
    return Distribution(
        column=axis.name,
        total_variation=_clip(float(np.abs(before - after).sum()) / 2),
        # 1 - sum sqrt(pq) = sum (sqrt p - sqrt q)^2 / 2 for shares that add up to 1, without cancellation
        hellinger=_clip(float(np.square(np.sqrt(before) - np.sqrt(after)).sum() / 2) ** 0.5),
        wasserstein=wasserstein(axis, before, after),
        bins=_bins(axis, before, after),
    )


def wasserstein(axis: ColumnAxis, before: Floats, after: Floats) -> float | None:
    """Return the mean distance that values moved over the width of the column, for shares of its labels."""
    if axis.places is None:
        return None
    known = np.flatnonzero(np.isfinite(axis.places) & ((before > 0) | (after > 0)))
    known = known[np.argsort(axis.places[known], kind="stable")]
    places, first, second = axis.places[known], before[known], after[known]
    if not first.sum() or not second.sum():
        return None
    leaves = axis.places[: axis.leaves]
    low, high = min(float(np.nanmin(leaves)), places[0]), max(float(np.nanmax(leaves)), places[-1])
    if high == low:
        return 0.0
    ahead = np.cumsum(first / first.sum() - second / second.sum())[:-1]
    return _clip(float((np.abs(ahead) * np.diff(places)).sum() / (high - low)))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _bins(axis: ColumnAxis, before: Floats, after: Floats) -> tuple[Bin, ...]:
    return tuple(
        Bin(
            first=axis.labels[int(group.labels[0])],
            last=axis.labels[int(group.labels[-1])],
            original=float(before[group.labels].sum()),
            released=float(after[group.labels].sum()),
            rest=group.rest,
            place=group.place,
            edges=group.edges,
        )
        for group in grouped(axis, before + after, _BINS)
    )


def coverage(pair: Pair) -> float | None:
    """Return the mean share of the leaves that a released quasi-identifier covers, in [0, 1].

    0 is exact, 1 is ``*``, and a record that was left out counts 1. None where values were perturbed: noise and means
    cover nothing, and are not exact. Cost: O(records * columns).

    Examples
    --------
    >>> import pyarrow, shoal
    >>> town = shoal.Attribute(name="town", role="quasi-identifier")
    >>> people = pyarrow.table({"town": ["a", "b", "c", "c"]})
    >>> table = shoal.read(people).with_schema(shoal.Schema(attributes=(town,)))
    >>> coverage(Pair.of(table, shoal.read(pyarrow.table({"town": ["*", "b", "c"]}))))
    0.5
    """
    columns = list(pair.quasi_identifiers)
    if any(pair.axes[column].perturbed for column in columns):
        return None
    others = np.maximum([pair.axes[column].leaves - 1 for column in columns], 1)
    widths = (pair.released.high[:, columns] - pair.released.low[:, columns]) / others
    records = max(pair.original.records, pair.released.records)
    covered = float((widths.mean(axis=1) * pair.released.counts).sum()) if len(widths) else 0.0
    return (covered + records - pair.released.records) / records
