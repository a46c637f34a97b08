"""Equal-width intervals ``[20, 25)``.

Edges are the decimal numbers that the labels show: with widths of 0.1 the value 0.3 lies in ``[0.3, 0.4)``, although
``0.3 / 0.1`` in floating point is a little less than 3.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError
from shoal.hierarchies._column import Column
from shoal.hierarchies._text import counted, text
from shoal.hierarchies._tree import Level, Tree
from shoal.schema import Intervals

__all__ = ["covered", "domain", "intervals"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# beyond this the edges of neighbouring intervals are no longer different numbers
_RESOLUTION = 2.0**52


def intervals(column: Column, rule: Intervals) -> Tree:
    """Return the intervals of each width, from ``origin``, that hold a value."""
    decimals = max(0, *(-_exponent(number) for number in (rule.origin, *rule.widths)))
    scale = 10**decimals
    widths = [int(Decimal(str(width)) * scale) for width in rule.widths]
    origin = int(Decimal(str(rule.origin)) * scale)
    bins = _bins(column, widths[0], origin, scale, exact=max(*widths, abs(origin)) < 2**62)
    bounds = domain(column)
    levels = []
    for width in widths:
        groups, chosen = _numbered(bins // (width // widths[0]))
        low, high = _edges(chosen, width, origin, scale), _edges(chosen + 1, width, origin, scale)
        labels = pc.binary_join_element_wise("[", text(low), ", ", text(high), ")", "")
        levels.append(Level(groups=groups, labels=labels, shares=covered(low, high, bounds)))
    return Tree(leaves=column.leaves, levels=levels)


def domain(column: Column) -> tuple[float, float]:
    """Return the bounds of a numeric column: declared, else the smallest and largest value."""
    declared = column.attribute.domain
    low, high = (None, None) if declared is None else (declared.minimum, declared.maximum)
    if low is None or high is None:
        numbers = column.numbers
        low = float(numbers.min(initial=np.inf)) if low is None else low
        high = float(numbers.max(initial=-np.inf)) if high is None else high
    return float(low), float(high)  # type: ignore[arg-type]


def covered(low: pa.Array, high: pa.Array, bounds: tuple[float, float]) -> Floats:
    """Return the part of the domain that each interval covers, in [0, 1]."""
    minimum, maximum = bounds
    if not maximum > minimum:
        return np.zeros(len(low))
    # halves: the width of the domain may exceed the largest float
    starts, ends = (
        np.clip(edge.cast(pa.float64(), safe=False).to_numpy(), minimum, maximum) / 2 for edge in (low, high)
    )
    return np.asarray((ends - starts) / (maximum / 2 - minimum / 2))


def _exponent(number: float) -> int:
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _bins(column: Column, width: int, origin: int, scale: int, *, exact: bool) -> Integers:
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
