"""The distribution of every column, before and after, in bins with round ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.kernels import Codes, Counts, Floats
from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.schema import Kind

#: bars that a picture of a column has at most
_BINS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bar of a picture: the values from ``first`` to ``last`` and their shares.

    Both ends are None for missing values, and ``rest`` is true for all values of a categorical column that have no bar
    of their own. ``place`` is where the bar stands on its axis, ``edges`` are the round ends of a bin of numbers, and
    ``title`` is what a bar is called that has a name: a month, or the released value that stands for the others.
    """

    first: str | None = field(repr=False)
    last: str | None = field(repr=False)
    original: float
    released: float
    rest: bool = False
    place: int = 0
    edges: tuple[float, float] | None = None
    title: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDistribution:
    """The values of a column as they were released, beside the originals at the same level.

    Nothing is spread: an original counts for the group that it lies in, a released value for the group that it names.
    """

    #: The groups of the level, and the released values that are coarser than it, together.
    bins: tuple[Bin, ...] = field(repr=False)
    #: The share of records that would have to change their group.
    total_variation: float
    #: The share of the released records that have a coarser value than these groups.
    coarser: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The change of the distribution of one column; each figure is 0 for no change and 1 for the worst."""

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
    #: The same at the level that was released; None where values were not grouped, or not into groups that can be told
    #: apart.
    level: LevelDistribution | None = None


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
        level=_at_level(pair, column, before),
    )


def wasserstein(axis: ColumnAxis, before: Floats, after: Floats) -> float | None:
    """Return the mean distance that values moved over the width of the column, for shares of its labels."""
    if axis.places is None:
        return None
    known = np.flatnonzero(np.isfinite(axis.places) & ((before > 0) | (after > 0)))
    known = known[np.argsort(axis.places[known], kind="stable")]
    positions, first, second = axis.places[known], before[known], after[known]
    if not first.sum() or not second.sum():
        return None
    leaves = axis.places[: axis.leaves]
    low, high = min(float(np.nanmin(leaves)), positions[0]), max(float(np.nanmax(leaves)), positions[-1])
    if high == low:
        return 0.0
    ahead = np.cumsum(first / first.sum() - second / second.sum())[:-1]
    return _clip(float((np.abs(ahead) * np.diff(positions)).sum() / (high - low)))


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
            title=group.title,
        )
        # the commonest of the original: pictures of several releases of a table then show the same values
        for group in group_labels(axis, before + after * 1e-6, _BINS)
    )


#: the share of the released records whose values the groups of a level must hold, and the share that may overlap them
_FITTING, _OVERLAPPING = 0.9, 0.25


def _at_level(pair: Pair, column: int, before: Floats) -> LevelDistribution | None:
    """Count originals and released values in the finest groups that nearly all released values keep to."""
    axis, boxes = pair.axes[column], pair.released
    low, high = boxes.low[:, column], boxes.high[:, column]
    if axis.is_perturbed or not boxes.records or not (low < high).any():
        return None
    groups = _level(axis, low, high, boxes.counts) if axis.hierarchy is not None else _chains(axis, low, high)
    if groups is None:
        return None
    number = int(groups.of[-1]) + 1
    fits = groups.of[low] == groups.of[high]
    original = np.bincount(groups.of, weights=before, minlength=number)
    released = np.bincount(groups.of[low[fits]], weights=boxes.counts[fits], minlength=number) / boxes.records
    coarser = _clip(float(boxes.counts[~fits].sum()) / boxes.records)
    first = np.searchsorted(groups.of, np.arange(number))
    last = np.searchsorted(groups.of, np.arange(number), side="right") - 1
    bins = [
        Bin(
            first=axis.labels[int(first[position])],
            last=axis.labels[int(last[position])],
            original=float(original[position]),
            released=float(released[position]),
            place=position,
            title=groups.titles[position] if groups.titles is not None else None,
        )
        for position in range(number)
    ]
    if coarser:
        bins.append(Bin(first=None, last=None, original=0.0, released=coarser, rest=True, place=number, title=_COARSER))
    changed = (float(np.abs(original - released).sum()) + coarser) / 2
    return LevelDistribution(bins=tuple(bins), total_variation=_clip(changed), coarser=coarser)


_COARSER = "coarser than this"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Groups:
    """The group of every leaf, ascending, and the labels of the groups."""

    of: npt.NDArray[np.int64]
    titles: tuple[str | None, ...] | None = None


def _level(axis: ColumnAxis, low: Codes, high: Codes, counts: Counts) -> _Groups | None:
    """Return the lowest level that nearly all released values keep to; the highest where many are coarser."""
    assert axis.hierarchy is not None  # noqa: S101 - asked for columns with levels only
    records, most = float(counts.sum()), _BINS if axis.places is not None else axis.leaves
    chosen, overlapping = None, 0.0
    for labels, codes in zip(axis.hierarchy.labels, axis.hierarchy.codes, strict=True):
        if len(labels) > most or len(codes) != axis.leaves:
            continue
        if len(labels) == 1:
            break
        fits = codes[low] == codes[high]
        whole = (low == 0) & (high == axis.leaves - 1)
        overlapping = float(counts[~fits & ~whole].sum()) / records
        chosen = _Groups(of=codes.astype(np.int64), titles=labels)
        if float(counts[fits].sum()) >= _FITTING * records:
            break
    return chosen if overlapping <= _OVERLAPPING else _chains(axis, low, high)


def _chains(axis: ColumnAxis, low: Codes, high: Codes) -> _Groups | None:
    """Put leaves together that a released value covers together; None where that leaves one group."""
    joined = np.zeros(axis.leaves + 1, dtype=np.int64)
    np.add.at(joined, low, 1)
    np.add.at(joined, high, -1)
    # a leaf goes with the one before it where a value covers both
    together = np.cumsum(joined)[: axis.leaves - 1] > 0
    of = np.concatenate([[0], np.cumsum(~together)])
    return _Groups(of=of) if 1 < of[-1] + 1 <= _BINS else None


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
    if any(pair.axes[column].is_perturbed for column in columns):
        return None
    others = np.maximum([pair.axes[column].leaves - 1 for column in columns], 1)
    widths = (pair.released.high[:, columns] - pair.released.low[:, columns]) / others
    records = max(pair.original.records, pair.released.records)
    covered = float((widths.mean(axis=1) * pair.released.counts).sum()) if len(widths) else 0.0
    return (covered + records - pair.released.records) / records


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
    #: What a group of days is called: a month, a year.
    title: str | None = None


def round_edges(numbers: Floats, weights: Floats, most: int) -> Floats | None:
    """Return the ends of at most about ``most`` bins that hold all ``numbers``.

    The ends are multiples of 1, 2, 2.5 or 5 times a power of ten, and whole where all numbers are; or, where most
    numbers are small beside the largest, steps of a logarithmic scale. None where floating point cannot tell the bins
    apart.

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
    whole = bool((numbers == np.floor(numbers)).all())
    width = 10.0 ** math.floor(math.log10((high - low) / most))
    width = max(width, 1.0) if whole else width
    steps = [step for step in _ROUND if not whole or float(width * step).is_integer()]
    width *= next((step for step in steps if (high - low) / (width * step) <= most), 10)
    with np.errstate(over="ignore"):
        edges = width * np.arange(math.floor(low / width), math.floor(high / width) + 2, dtype=np.float64)
    told_apart = np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    return edges if told_apart and edges[0] <= low and edges[-1] > high else None


def group_labels(axis: ColumnAxis, shares: Floats, most: int) -> list[Group]:
    """Put the labels of a column into at most about ``most`` groups and one of missing values.

    ``shares`` say how much each label counts: where values have no order, the commonest get groups of their own.
    """
    missing = np.array([position for position, label in enumerate(axis.labels) if label is None], dtype=np.int64)
    known = np.array([position for position, label in enumerate(axis.labels) if label is not None], dtype=np.int64)
    groups = _common(known, shares, most) if axis.places is None else _group_ordered_labels(axis, known, shares, most)
    end = groups[-1].place + 1 if groups else 0
    return [*groups, Group(labels=missing, place=end)] if len(missing) else groups


def _group_ordered_labels(axis: ColumnAxis, known: npt.NDArray[np.int64], shares: Floats, most: int) -> list[Group]:
    """Cut the values in their order: one group each where there are few, else bins."""
    assert axis.places is not None  # noqa: S101 - asked for ordered columns only
    known = known[np.isfinite(axis.places[known])]
    if not len(known):
        return []
    known = known[np.argsort(axis.places[known], kind="stable")]
    if len(known) <= most:
        return [Group(labels=known[i : i + 1], place=i) for i in range(len(known))]
    positions = axis.places[known]
    if axis.attribute.kind is Kind.DATE:
        return _calendar(known, positions, most)
    edges = round_edges(positions, shares[known], most) if axis.attribute.kind is Kind.NUMERIC else None
    if edges is None:
        width = positions[-1] - positions[0]
        number = np.minimum(((positions - positions[0]) / width * most).astype(np.int64), most - 1)
    else:
        number = np.searchsorted(edges, positions, side="right") - 1
    groups = np.split(known, np.flatnonzero(np.diff(number)) + 1)
    first = np.unique(number)
    return [
        Group(
            labels=group,
            place=int(position),
            edges=None if edges is None else (float(edges[position]), float(edges[position + 1])),
        )
        for group, position in zip(groups, first, strict=True)
    ]


def _calendar(known: npt.NDArray[np.int64], places: Floats, most: int) -> list[Group]:
    """Cut days into weeks, months, quarters or years."""
    days = places.astype(np.int64).astype("datetime64[D]")
    months = days.astype("datetime64[M]").astype(np.int64)
    units = {"week": (places.astype(np.int64) + 3) // 7, "month": months, "quarter": months // 3}
    units |= {f"{years}": (months // 12 + 1970) // years for years in (1, 5, 10, 50, 100, 500, 1000)}
    fitting = (unit for unit, number in units.items() if number[-1] - number[0] < most)
    unit = next(fitting, "1000")
    number = units[unit]
    groups = np.split(np.arange(len(known)), np.flatnonzero(np.diff(number)) + 1)
    return [
        Group(
            labels=known[group],
            place=int(number[group[0]] - number[0]),
            title=_period(unit, int(number[group[0]])),
        )
        for group in groups
    ]


def _period(unit: str, number: int) -> str:
    """Return what a week, month or quarter since 1970, or a number of years, is called."""
    if unit == "week":
        return f"week of {np.datetime64(number * 7 - 3, 'D')}"
    if unit == "month":
        return str(np.datetime64(number, "M"))
    if unit == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    years = int(unit)
    first = number * years
    return f"{first}" if years == 1 else f"{first} to {first + years - 1}"


def _common(known: npt.NDArray[np.int64], shares: Floats, most: int) -> list[Group]:
    """Take the commonest values in the order of their leaves, and the rest together."""
    if len(known) <= most:
        return [Group(labels=known[i : i + 1], place=i) for i in range(len(known))]
    common = np.sort(known[np.argsort(-shares[known], kind="stable")[: most - 1]])
    named = [Group(labels=common[i : i + 1], place=i) for i in range(len(common))]
    return [*named, Group(labels=np.setdiff1d(known, common), place=len(common), rest=True)]


def leaf_shares(boxes: Boxes, column: int, axis: ColumnAxis) -> Floats:
    """Return the share of the records at every label of a column, after spreading; the sum is 1, or 0 without records.

    Cost: O(boxes + labels).
    """
    low, high = boxes.low[:, column], boxes.high[:, column]
    each = boxes.counts / (high - low + 1)
    change = np.bincount(low, weights=each, minlength=len(axis.labels) + 1)
    change -= np.bincount(high + 1, weights=each, minlength=len(axis.labels) + 1)
    total = boxes.records
    shares = np.maximum(np.cumsum(change[:-1]), 0.0)
    return np.asarray(shares / total) if total else shares
