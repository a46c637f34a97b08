"""Equal-width intervals ``[20, 25)``; values beyond a top or a bottom are one value each: ``>= 90``, ``< 18``.

Edges are the decimal numbers that the labels show: with widths of 0.1 the value 0.3 lies in ``[0.3, 0.4)``, although
``0.3 / 0.1`` in floating point is a little less than 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, counted
from shoal.kernels import Floats, Integers
from shoal.schema._domain import Kind
from shoal.schema._entry import many, number
from shoal.schema._rule import HierarchyRule, Level, RuledColumn, Tree, at
from shoal.schema._values import listed, text

# beyond this the edges of neighbouring intervals are no longer different numbers
_RESOLUTION = 2.0**52
# of widths and origins: numbers beyond these are mistakes, and their multiples leave the range of floats
_SMALLEST, _LARGEST, _DIGITS = 1e-50, 1e50, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals(HierarchyRule):
    """Equal-width half-open intervals ``[a, b)``; each width is a multiple of the one before it.

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
        """Say what is wrong with the widths and the origin."""
        if not self.widths or not all(math.isfinite(w) and w > 0 for w in self.widths):
            yield "`widths` of an `intervals` hierarchy must be one or more positive numbers"
        elif any(b <= a or Fraction(str(b)) % Fraction(str(a)) for a, b in itertools.pairwise(self.widths)):
            yield "each of the `widths` of an `intervals` hierarchy must be a multiple of the one before it"
        elif not all(_SMALLEST <= w <= _LARGEST for w in self.widths) or self.widths[-1] / self.widths[0] > _RESOLUTION:
            yield (
                f"the `widths` of an `intervals` hierarchy must be from {_SMALLEST:g} to {_LARGEST:g}, "
                "the last at most 2^52 times the first"
            )
        if not math.isfinite(self.origin) or abs(self.origin) > _LARGEST or _exponent(self.origin) < -_DIGITS:
            yield f"`origin` of an `intervals` hierarchy must be a number up to {_LARGEST:g} with {_DIGITS} decimals"

        low, high = -math.inf if self.bottom is None else self.bottom, math.inf if self.top is None else self.top
        if not all(each is None or math.isfinite(each) for each in (self.bottom, self.top)) or not low < high:
            yield "`bottom` and `top` of an `intervals` hierarchy must be numbers, the first below the second"

    def explain(self) -> str:
        """Say the widths, and where they begin and end."""
        start = f", counted from {self.origin:g}" if self.origin else ""
        below = "" if self.bottom is None else f"; below {self.bottom:g} one value"
        above = "" if self.top is None else f"; from {self.top:g} on one value"
        return f"intervals of width {listed(f'{width:g}' for width in self.widths)}{start}{below}{above}"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the intervals of each width, from ``origin``, that hold a value; and what lies beyond the ends."""
        numbers = column.numbers
        first = 0 if self.bottom is None else int(np.searchsorted(numbers, self.bottom))
        last = len(numbers) if self.top is None else int(np.searchsorted(numbers, self.top))
        inner = self._inner(replace(column, values=column.values[first:last], leaves=column.leaves[first:last]), column)
        if self.bottom is None and self.top is None:
            return Tree(leaves=column.leaves, levels=inner)
        return Tree(leaves=column.leaves, levels=[self._coded(level, column, first, last) for level in inner])

    def _coded(self, level: Level, column: RuledColumn, first: int, last: int) -> Level:
        """Return a level of the values between the ends with those beyond them."""
        groups, labels, shares = [level.groups], [level.labels], [np.asarray(level.shares)]
        if first:
            groups, labels = [np.zeros(first, np.int64), groups[0] + 1], [_label("<", self.bottom), *labels]
            shares = [column.covered(_one(-np.inf), _one(self.bottom)), *shares]
        if last < len(column.values):
            number = sum(map(len, labels))
            groups.append(np.full(len(column.values) - last, number))
            labels.append(_label(">=", self.top))
            shares.append(column.covered(_one(self.top), _one(np.inf)))
        return Level(groups=np.concatenate(groups), labels=pa.concat_arrays(labels), shares=np.concatenate(shares))

    def _inner(self, column: RuledColumn, whole: RuledColumn) -> list[Level]:
        decimals = max(0, *(-_exponent(each) for each in (self.origin, *self.widths)))
        scale = 10**decimals
        widths = [int(Fraction(str(width)) * scale) for width in self.widths]
        origin = int(Fraction(str(self.origin)) * scale)
        bins = _bins(column, widths[0], origin, scale, exact=max(*widths, abs(origin)) < 2**62)
        levels = []
        for width in widths:
            groups, chosen = _numbered(bins // (width // widths[0]))
            low, high = _edges(chosen, width, origin, scale), _edges(chosen + 1, width, origin, scale)
            low, high = _ended(low, self.bottom, pc.less), _ended(high, self.top, pc.greater)
            labels = pc.binary_join_element_wise("[", text(low), ", ", text(high), ")", "")
            levels.append(Level(groups=groups, labels=labels, shares=whole.covered(low, high)))
        return levels


def _ended(edges: pa.Array, end: float | None, beyond: Callable[[pa.Array, pa.Scalar], pa.Array]) -> pa.Array:
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


def _numbered(ascending: Integers) -> tuple[Integers, Integers]:
    """Return the position of each number among the distinct ones, and those."""
    first = np.diff(ascending, prepend=ascending[:1] - 1) != 0
    return np.cumsum(first) - 1, ascending[first]
