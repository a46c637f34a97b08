"""The values below a released label, and the drawing of one of them.

Every label of a column stands for a set of *cells* that no label divides: values of a hierarchy, or the ranges between
the ends of intervals. How the records of a label spread over its cells is estimated from all labels of the column
together: one step of expectation and maximisation, from equal chances on. More of them would give everything to cells
that some fine label names, while coarse labels stand where records are few. Where nothing tells cells apart, their
width does, and inside a range all values are equally likely.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.hierarchies import TOP, build
from shoal.kernels import Floats, Integers
from shoal.schema import HALF, INTERVAL, Attribute, Kind, Mask, day_extent, number_extent

#: Ranges of numbers that are not whole are drawn on a decimal grid of at least so many points.
_POINTS = 1000


@dataclass(frozen=True, eq=False)
class ValuesBelow:
    """The cells of one column, and which of them each label covers.

    Parameters
    ----------
    first, last
        The cells of label i are those from ``first[i]`` to ``last[i] - 1``.
    lows, highs
        For numbers and days: cell j holds the values from ``lows[j]`` on and below ``highs[j]``; a single number where
        both are equal. None for columns of names.
    values
        For columns of names: the value of every cell.
    is_missing
        Whether label i is the missing value, which has no cells.
    whole
        Whether numbers are whole.
    """

    kind: Kind
    first: Integers
    last: Integers
    is_missing: npt.NDArray[np.bool_]
    lows: Floats | None
    highs: Floats | None
    values: pa.Array | None
    whole: bool

    @property
    def widths(self) -> Floats:
        """How much of its column each cell covers, before anything is known of the records."""
        if self.lows is None or self.highs is None:
            return np.ones(int(self.last.max(initial=0)))
        widths = self.highs - self.lows
        # a single number among ranges: as likely as a small part of a range
        least = widths[widths > 0].min(initial=1.0) / _POINTS
        return np.asarray(np.where(widths > 0, widths, least))

    def shares(self, counts: Integers) -> Floats:
        """Return the estimated share of every cell, given the number of records of every label."""
        weights = self.widths
        shown = ~self.is_missing & (counts > 0)
        first, last, records = self.first[shown], self.last[shown], counts[shown].astype(np.float64)
        if not len(records):
            return weights
        shares: Floats = weights / weights.sum()
        sums = np.append(0.0, np.cumsum(shares))
        inside = np.maximum(sums[last] - sums[first], 1e-300)
        # every cell gets the records of its labels in proportion to its share
        change = np.zeros(len(shares) + 1)
        np.add.at(change, first, records / inside)
        np.subtract.at(change, last, records / inside)
        shares = shares * np.maximum(np.cumsum(change)[:-1], 0.0)
        return np.asarray(shares / shares.sum())

    def draw_cells(self, labels: Integers, shares: Floats, generator: np.random.Generator) -> Integers:
        """Return a cell for every record, given its label: drawn by the shares; -1 for a missing value.

        The records of a label are spread evenly over its cells, in random order, so that few draws do as well as many.
        """
        sums = np.append(0.0, np.cumsum(np.maximum(shares, 1e-300)))
        low, high = sums[self.first[labels]], sums[self.last[labels]]
        drawn = np.searchsorted(sums, low + (high - low) * _spread(labels, generator), side="right") - 1
        cells = np.clip(drawn, self.first[labels], np.maximum(self.last[labels] - 1, self.first[labels]))
        return np.where(self.is_missing[labels], -1, cells).astype(np.int64)

    def draw_values(self, cells: Integers, generator: np.random.Generator) -> pa.Array:
        """Return a value of every cell, in the type of the column's kind; a missing value for -1."""
        absent = cells < 0
        places = np.where(absent, 0, cells)
        if self.values is not None:
            return self.values.take(pa.array(places, mask=absent))
        assert self.lows is not None  # noqa: S101
        assert self.highs is not None  # noqa: S101
        if not len(self.lows):
            return pa.nulls(len(cells), pa.int64() if self.whole else pa.float64())
        low, high = self.lows[places], self.highs[places]
        part = generator.random(len(cells))
        if self.whole:
            numbers = np.minimum(low + np.floor(part * np.maximum(high - low, 1)), np.maximum(high - 1, low))
            found = pa.array(numbers.astype(np.int64), mask=absent)
            return found.cast(pa.int32()).cast(pa.date32()) if self.kind is Kind.DATE else found
        return pa.array(_on_grid(low, high, part), mask=absent)


def values_below(attribute: Attribute, labels: Sequence[str | None], *, folder: Path = Path()) -> ValuesBelow:
    """Return the values below released labels, as far as the schema and the labels themselves tell them.

    Raises
    ------
    InputError
        If a label stands for values that nothing names. The message names the column and no label.
    """
    is_missing = np.array([label is None for label in labels], dtype=np.bool_)
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        whole = _is_whole(attribute, labels)
        ends = _ends(attribute, labels, whole=whole)
        if ends is not None:
            return _of_ranges(attribute, ends, is_missing, whole=whole)
    return _of_names(attribute, labels, is_missing, folder)


def _spread(labels: Integers, generator: np.random.Generator) -> Floats:
    """Return a number in [0, 1) for every record; those of each label are evenly spaced, in random order."""
    order = np.lexsort((generator.random(len(labels)), labels))
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    places = np.empty(len(labels))
    places[order] = np.arange(len(labels)) - starts[labels[order]]
    return np.asarray((places + generator.random(len(labels))) / sizes[labels])


Ends = tuple[float, float]


def _ends(attribute: Attribute, labels: Sequence[str | None], *, whole: bool) -> list[Ends | None] | None:
    """Return where each label begins and ends, the end excluded but for a single number; None where some is a name."""
    read = [None if label is None else _ends_of(label, attribute.kind, whole=whole) for label in labels]
    if any(ends is None and label is not None for ends, label in zip(read, labels, strict=True)):
        return None
    bounds = _bounds(attribute, [ends for ends in read if ends is not None], whole=whole)
    return [None if ends is None else (max(ends[0], bounds[0]), min(ends[1], bounds[1])) for ends in read]


def _bounds(attribute: Attribute, ends: Sequence[Ends], *, whole: bool) -> Ends:
    """Return the declared bounds of a column, or else the hull of what its labels show."""
    domain = attribute.domain
    declared = (None, None) if domain is None else (domain.minimum, domain.maximum)
    low, high = (_ordinal(bound) for bound in declared)
    finite = [end for pair in ends for end in pair if math.isfinite(end)]
    if not finite and (low is None or high is None):
        if not ends:
            return 0.0, 0.0
        raise InputError(
            f"column `{attribute.name}`: its labels stand for any number, and the schema declares no bounds",
            hint="declare `minimum` and `maximum`, or leave the column out",
        )
    return (
        min(finite) if low is None else low,
        max(finite) if high is None else high + (1 if whole else 0),
    )


def _ordinal(bound: object) -> float | None:
    if bound is None:
        return None
    return day_extent(str(bound))[0] if hasattr(bound, "isoformat") else float(bound)  # type: ignore[index,arg-type]


def _is_whole(attribute: Attribute, labels: Sequence[str | None]) -> bool:
    """Return whether a column holds days, or numbers whose declared bounds and labels are whole without exception."""
    if attribute.kind is Kind.DATE:
        return True
    domain = attribute.domain
    bounds = [] if domain is None else [each for each in (domain.minimum, domain.maximum) if each is not None]
    extents = [number_extent(label) for label in labels if label is not None]
    shown = [end for pair in extents if pair is not None for end in pair if math.isfinite(end)]
    return all(float(each).is_integer() for each in (*bounds, *shown))  # type: ignore[arg-type]


def _ends_of(label: str, kind: Kind, *, whole: bool) -> Ends | None:
    extent = (number_extent if kind is Kind.NUMERIC else day_extent)(label)
    if extent is None:
        return None
    low, high = extent
    if kind is Kind.DATE:
        return low, high + 1
    between, half = INTERVAL.match(label), HALF.match(label)
    if not whole:
        return low, high
    closed_low = between[1] == "[" if between else not (half and half[1] == ">")
    closed_high = between[4] == "]" if between else not (half and half[1] == "<")
    return low + (not closed_low), high + closed_high


def _of_ranges(
    attribute: Attribute, ends: Sequence[Ends | None], is_missing: npt.NDArray[np.bool_], *, whole: bool
) -> ValuesBelow:
    given = [pair for pair in ends if pair is not None]
    points = sorted({low for low, high in given if low == high})
    cuts = sorted({end for pair in given for end in pair})
    cells: list[Ends] = []
    for place, cut in enumerate(cuts):
        if cut in points:
            cells.append((cut, cut))
        if place + 1 < len(cuts):
            cells.append((cut, cuts[place + 1]))
    lows = np.array([low for low, _ in cells], dtype=np.float64)
    highs = np.array([high for _, high in cells], dtype=np.float64)
    # the first cell that begins at an end is its point, if it has one
    start = {cut: int(np.searchsorted(lows, cut)) for cut in cuts}
    first = [0 if pair is None else start[pair[0]] for pair in ends]
    last = [
        0 if pair is None else (start[pair[0]] + 1 if pair[0] == pair[1] else int(np.searchsorted(lows, pair[1])))
        for pair in ends
    ]
    return ValuesBelow(
        kind=attribute.kind,
        first=np.array(first, dtype=np.int64),
        last=np.array(last, dtype=np.int64),
        is_missing=is_missing,
        lows=lows,
        highs=highs,
        values=None,
        whole=whole,
    )


def _of_names(
    attribute: Attribute, labels: Sequence[str | None], is_missing: npt.NDArray[np.bool_], folder: Path
) -> ValuesBelow:
    """Look the labels up in the hierarchy of their column, whose values are in the order of the tree."""
    shown = pa.array([label for label in labels if label is not None], pa.string())
    hierarchy = build(attribute, _possible_values(attribute, shown), folder=folder)
    if not hierarchy.size and not is_missing.all():
        raise _without_values(attribute)
    covered: dict[str | None, Ends] = {}
    for level in reversed(range(hierarchy.levels)):
        codes = hierarchy.codes[level]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        for code, start, end in zip(codes[starts], starts, np.append(starts, hierarchy.size)[1:], strict=True):
            covered[hierarchy.labels[level][code]] = (int(start), int(end))
    covered[TOP] = (0, hierarchy.size)
    spans = _intervals_of_names(labels, hierarchy.labels[0]) | covered
    if any(label is not None and label not in spans for label in labels):
        raise _without_values(attribute)
    pairs = [(0, 0) if label is None else spans[label] for label in labels]
    return ValuesBelow(
        kind=attribute.kind,
        first=np.array([first for first, _ in pairs], dtype=np.int64),
        last=np.array([last for _, last in pairs], dtype=np.int64),
        is_missing=is_missing,
        lows=None,
        highs=None,
        values=pa.array(hierarchy.labels[0], pa.string()),
        whole=False,
    )


def _without_values(attribute: Attribute) -> InputError:
    return InputError(
        f"column `{attribute.name}`: nothing says which values its labels stand for",
        hint="declare the `values` of the column or a hierarchy that lists them, or leave the column out",
    )


def _possible_values(attribute: Attribute, shown: pa.StringArray) -> pa.Array:
    """Return values that a hierarchy may be made of, where its rule does not list them: those that are shown.

    Masked codes of digits stand for all codes with these digits.
    """
    rule = attribute.hierarchy
    symbol = rule.symbol if isinstance(rule, Mask) else TOP
    texts = [each for each in shown.to_pylist() if symbol not in each]
    if isinstance(rule, Mask):
        masked = re.compile(rf"(\d*){re.escape(symbol)}+(\d*)")
        for label in shown.to_pylist():
            hidden = label.count(symbol)
            if (match := masked.fullmatch(label)) and 0 < hidden <= _MOST_DIGITS and len(label) == rule.length:
                texts += [f"{match[1]}{number:0{hidden}d}{match[2]}" for number in range(10**hidden)]
    listed = attribute.domain is not None and attribute.domain.values is not None
    return pa.array([] if listed else sorted({*texts}), pa.string())


_MOST_DIGITS = 4


def _intervals_of_names(labels: Sequence[str | None], leaves: Sequence[str | None]) -> dict[str | None, Ends]:
    """Return the spans of labels such as [low, high] over ordered names."""
    place = {leaf: number for number, leaf in enumerate(leaves)}
    spans: dict[str | None, Ends] = {}
    for label in labels:
        if label is not None and (match := INTERVAL.match(label)) and match[2] in place and match[3] in place:
            spans[label] = (place[match[2]], place[match[3]] + 1)
    return spans


def _on_grid(low: Floats, high: Floats, part: Floats) -> Floats:
    """Return numbers between the ends, with no more decimals than tell a thousand of them apart."""
    width = high - low
    with np.errstate(divide="ignore"):
        decimals = np.ceil(-np.log10(np.where(width > 0, width, 1.0) / _POINTS))
    step = 10.0**-decimals
    steps = np.floor((low + part * width) / step)
    # dividing by a power of ten gives the number that prints with few decimals; multiplying by its inverse does not
    numbers = np.where(decimals > 0, steps / 10.0 ** np.maximum(decimals, 0), steps * step)
    return np.asarray(np.where((width > 0) & (numbers < high), np.maximum(numbers, low), low))
