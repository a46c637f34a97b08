"""Intervals of numbers: of equal width, between cut points that are given, or between those taken from the data.

Edges of equal widths are the decimal numbers that the labels show: with widths of 0.1 the value 0.3 lies in ``[0.3,
0.4)``, although ``0.3 / 0.1`` in floating point is a little less than 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, counted
from shoal.exact import is_finite
from shoal.kernels import Floats, Integers
from shoal.schema._domain import Kind
from shoal.schema._entry import many, number, whole
from shoal.schema._rule import HierarchyRule, Level, RuledColumn, Tree, at
from shoal.schema._values import join_words, text

# beyond this the edges of neighbouring intervals are no longer different numbers
_RESOLUTION = 2.0**52
# of widths and origins: numbers beyond these are mistakes, and their multiples leave the range of floats
_SMALLEST, _LARGEST, _DIGITS = 1e-50, 1e50, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals(HierarchyRule):
    """Equal-width half-open intervals ``[20, 25)``; each width is a multiple of the one before it.

    With ``top``, values from it on are ``>= top`` at every level (top coding), and with ``bottom``, values below it are
    ``< bottom``; intervals end there.
    """

    name: ClassVar[str] = "intervals"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NUMERIC,)
    widths: tuple[float, ...] = field(metadata=at("intervals", many(number)))
    origin: float = field(default=0.0, metadata=at("origin", number))
    bottom: float | None = field(default=None, metadata=at("bottom", number))
    top: float | None = field(default=None, metadata=at("top", number))

    def problems(self) -> Iterable[str]:
        if not self.widths or not all(is_finite(w) and w > 0 for w in self.widths):
            yield "`widths` of an `intervals` hierarchy must be one or more positive numbers"
        elif any(b <= a or Fraction(str(b)) % Fraction(str(a)) for a, b in itertools.pairwise(self.widths)):
            yield "each of the `widths` of an `intervals` hierarchy must be a multiple of the one before it"
        elif not all(_SMALLEST <= w <= _LARGEST for w in self.widths) or self.widths[-1] / self.widths[0] > _RESOLUTION:
            yield (
                f"the `widths` of an `intervals` hierarchy must be from {_SMALLEST:g} to {_LARGEST:g}, "
                "the last at most 2^52 times the first"
            )
        if not is_finite(self.origin) or abs(self.origin) > _LARGEST or _exponent(self.origin) < -_DIGITS:
            yield f"`origin` of an `intervals` hierarchy must be a number up to {_LARGEST:g} with {_DIGITS} decimals"

        low, high = -math.inf if self.bottom is None else self.bottom, math.inf if self.top is None else self.top
        if not all(each is None or is_finite(each) for each in (self.bottom, self.top)) or not low < high:
            yield "`bottom` and `top` of an `intervals` hierarchy must be numbers, the first below the second"

    def explain(self) -> str:
        start = f", counted from {self.origin:g}" if self.origin else ""
        below = "" if self.bottom is None else f"; all values below {self.bottom:g} combined"
        above = "" if self.top is None else f"; all values from {self.top:g} up combined"
        return f"intervals of width {join_words(f'{width:g}' for width in self.widths)}{start}{below}{above}"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the intervals of each width, from ``origin``, that hold a value; and what lies beyond the ends."""
        numbers = column.numbers
        first = 0 if self.bottom is None else int(np.searchsorted(numbers, self.bottom))
        last = len(numbers) if self.top is None else int(np.searchsorted(numbers, self.top))
        inner = self._inner(replace(column, values=column.values[first:last], leaves=column.leaves[first:last]), column)
        if self.bottom is None and self.top is None:
            return Tree(leaves=column.leaves, levels=inner)
        return Tree(leaves=column.leaves, levels=[self._add_ends(level, column, first, last) for level in inner])

    def _add_ends(self, level: Level, column: RuledColumn, first: int, last: int) -> Level:
        """Return a level of the values between the ends with those beyond them."""
        groups, labels, shares = [level.groups], [level.labels], [np.asarray(level.shares)]
        if first:
            groups, labels = [np.zeros(first, np.int64), groups[0] + 1], [_label("<", self.bottom), *labels]
            shares = [column.measure_coverage(_one(-np.inf), _one(self.bottom)), *shares]
        if last < len(column.values):
            number = sum(map(len, labels))
            groups.append(np.full(len(column.values) - last, number))
            labels.append(_label(">=", self.top))
            shares.append(column.measure_coverage(_one(self.top), _one(np.inf)))
        return Level(groups=np.concatenate(groups), labels=pa.concat_arrays(labels), shares=np.concatenate(shares))

    def _inner(self, column: RuledColumn, whole: RuledColumn) -> list[Level]:
        decimals = max(0, *(-_exponent(each) for each in (self.origin, *self.widths)))
        scale = 10**decimals
        widths = [int(Fraction(str(width)) * scale) for width in self.widths]
        origin = int(Fraction(str(self.origin)) * scale)
        bins = _bins(column, widths[0], origin, scale, exact=max(*widths, abs(origin)) < 2**62)
        levels = []
        for width in widths:
            groups, chosen = _number_distinct(bins // (width // widths[0]))
            low, high = _edges(chosen, width, origin, scale), _edges(chosen + 1, width, origin, scale)
            low, high = _clip_edges(low, self.bottom, pc.less), _clip_edges(high, self.top, pc.greater)
            labels = pc.binary_join_element_wise("[", text(low), ", ", text(high), ")", "")
            levels.append(Level(groups=groups, labels=labels, shares=whole.measure_coverage(low, high)))
        return levels


def _clip_edges(edges: pa.Array, end: float | None, beyond: Callable[[pa.Array, pa.Scalar], pa.Array]) -> pa.Array:
    """Return edges, the end in place of those beyond it."""
    if end is None:
        return edges
    whole = pa.types.is_integer(edges.type) and end == int(end) and abs(end) < 2**62
    edges = edges if whole else edges.cast(pa.float64(), safe=False)
    scalar = pa.scalar(int(end) if whole else end, edges.type)
    return pc.if_else(beyond(edges, scalar), scalar, edges)


def _label(sign: str, end: float | None) -> pa.StringArray:
    return pa.array([f"{sign} {text(_one(end))[0].as_py()}"])


def _one(number: float | None) -> pa.Array:
    return pa.array([number], pa.float64())


def _exponent(number: float) -> int:
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _bins(column: RuledColumn, width: int, origin: int, scale: int, *, exact: bool) -> Integers:
    """Return the number of the interval of every value: floor((value - origin) / width), in decimal arithmetic."""
    numbers = column.numbers
    if exact and scale == 1 and pa.types.is_integer(column.values.type) and np.all(np.abs(numbers) < 2.0**62):
        return np.asarray((column.values.cast(pa.int64()).to_numpy() - origin) // width)
    with np.errstate(over="ignore"):
        near = np.floor((numbers - origin / scale) / (width / scale))
    far = int(np.count_nonzero(~(np.abs(near) < _RESOLUTION)))
    if far:
        raise HierarchyError(
            f"column `{column.name}` has {counted(far, 'value')} too large for intervals of width {width / scale:g}"
        )
    bins = near.astype(np.int64)
    bins += numbers >= _floats(bins + 1, width, origin, scale)
    bins -= numbers < _floats(bins, width, origin, scale)
    return bins


def _floats(bins: Integers, width: int, origin: int, scale: int) -> Floats:
    # both operands of the division are exact below 2**53, so the quotient is the float nearest to the decimal edge
    with np.errstate(over="ignore"):  # the last interval may end beyond the largest float, at `inf`
        return np.asarray((float(origin) + bins.astype(np.float64) * float(width)) / float(scale))


def _edges(bins: Integers, width: int, origin: int, scale: int) -> pa.Array:
    if scale == 1 and len(bins) and int(np.abs(bins).max()) * width + abs(origin) < 2**63:
        return pa.array(origin + bins * width)
    return pa.array(_floats(bins, width, origin, scale))


def _number_distinct(ascending: Integers) -> tuple[Integers, Integers]:
    """Return the position of each number among the distinct ones, and those."""
    first = np.diff(ascending, prepend=ascending[:1] - 1) != 0
    return np.cumsum(first) - 1, ascending[first]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts(HierarchyRule):
    """Intervals between given cut points, finest level first; a coarser level keeps some of the finer one's cuts."""

    name: ClassVar[str] = "cuts"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NUMERIC,)
    levels: tuple[tuple[float, ...], ...] = field(metadata=at("cuts", many(many(number))))

    def problems(self) -> Iterable[str]:
        if not self.levels or not all(self.levels):
            yield "`levels` of a `cuts` hierarchy must hold at least one level, and each level at least one cut point"
        for level in self.levels:
            if not all(is_finite(cut) for cut in level) or any(b <= a for a, b in itertools.pairwise(level)):
                yield "the cut points of each level of a `cuts` hierarchy must be finite and ascending"
        for fine, coarse in itertools.pairwise(self.levels):
            if not set(coarse) < set(fine):
                yield (
                    "each level of a `cuts` hierarchy must use some, but not all, of the cut points of the level "
                    "before it"
                )

    def explain(self) -> str:
        levels = (join_words(f"{cut:g}" for cut in level) for level in self.levels)
        return f"intervals cut at {', then at '.join(levels)}"

    def tree(self, column: RuledColumn) -> Tree:
        return _between(column, self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(HierarchyRule):
    """Intervals of about equally many records. They depend on the data, so differential privacy refuses them."""

    name: ClassVar[str] = "quantiles"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NUMERIC,)
    data_dependent: ClassVar[bool] = True
    counts: tuple[int, ...] = field(metadata=at("quantiles", many(whole)))

    def problems(self) -> Iterable[str]:
        few = not self.counts or min(self.counts) < 2
        if few or any(a % b or b >= a for a, b in itertools.pairwise(self.counts)):
            yield "`counts` of a `quantiles` hierarchy must be at least 2, each a divisor of the one before it"

    def explain(self) -> str:
        numbers = ", then ".join(f"{count:,}" for count in self.counts)
        return f"{numbers} intervals with about the same number of records each, chosen from the data"

    def tree(self, column: RuledColumn) -> Tree:
        """Return intervals that start at the quantiles of the records.

        The i-th of q cut points is the smallest value with more than ``i / q`` of the records at or below it. Values
        that hold many records may be two cut points at once; there are fewer intervals then.
        """
        numbers = column.numbers
        below = np.cumsum(column.counts)
        finest = self.counts[0]
        if not len(numbers):
            return _between(column, [()] * len(self.counts))
        # below > i n / q in integers
        ranks = np.searchsorted(below, np.arange(1, finest) * int(below[-1]) // finest, side="right")
        points = numbers[np.minimum(ranks, len(numbers) - 1)]
        levels = []
        for count in self.counts:
            step = finest // count
            chosen = np.unique(points[step - 1 :: step])
            levels.append(chosen[chosen > numbers[0]].tolist())
        return _between(column, levels)


def _between(column: RuledColumn, levels: Sequence[Sequence[float]]) -> Tree:
    """Return the intervals between the cut points of each level; the outer ones are open."""
    numbers = column.numbers
    intervals = []
    for level in levels:
        points = pa.array(level, pa.float64())
        low, high = (pa.concat_arrays(pair) for pair in (([_one(-np.inf), points]), ([points, _one(np.inf)])))
        intervals.append(
            Level(
                groups=np.searchsorted(points.to_numpy(), numbers, side="right"),
                labels=_labels(points),
                shares=column.measure_coverage(low, high),
            )
        )
    return Tree(leaves=column.leaves, levels=intervals)


def _labels(points: pa.Array) -> pa.StringArray:
    written = text(points)
    if not len(written):
        return pa.array(["any number"])
    inner = pc.binary_join_element_wise("[", written[:-1], ", ", written[1:], ")", "")
    first, last = written[0].as_py(), written[-1].as_py()
    return pa.concat_arrays([pa.array([f"< {first}"]), inner, pa.array([f">= {last}"])])
