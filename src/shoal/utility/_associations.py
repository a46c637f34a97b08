"""Associations of columns before and after: measures of all pairs, and the counts of a heat map of two columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.kernels import Floats
from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.utility._distributions import Group, group_labels, leaf_shares

Square = tuple[tuple[float | None, ...], ...]

#: groups that the values of a column are put into for Cramér's V
_ORDERED, _CATEGORIES = 10, 20
#: the largest table of pairs of ranges that is filled, and the rows that are looked at together beyond it
_DENSE, _ROWS = 1 << 22, 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Associations:
    """The association of every pair of columns in a table and in its release."""

    #: Their names, in the order of rows and columns of the matrices.
    columns: tuple[str, ...]
    #: The matrices: Pearson's correlation in [-1, 1] where both columns are ordered, Cramér's V in [0, 1] otherwise; 1
    #: on the diagonal, None where a column is constant.
    original: Square
    released: Square
    #: The mean absolute difference over all pairs that are defined in both; what is defined in the original only counts
    #: as 0 in the release.
    difference: float
    #: The largest absolute difference, and the columns that it is about.
    largest: float
    pair: tuple[str, str] | None


def associations(pair: Pair) -> Associations:
    """Compare the associations of all pairs of columns, generalised values spread over their leaves.

    For Cramér's V, ordered columns are cut into ten groups of about the same number of original records, and others
    keep their 19 commonest values; the groups are those of the original for both. Spreading makes columns of one record
    independent inside their ranges, so associations mostly fade. Cost: O(boxes * columns^2).
    """
    groups = [_groups(pair, column) for column in range(len(pair.axes))]
    before, after = (_matrix(pair.axes, boxes, groups) for boxes in (pair.original, pair.released))
    number = len(pair.axes)
    rows, columns = np.triu_indices(number, 1)
    changes = np.abs(np.nan_to_num(after[rows, columns]) - before[rows, columns])
    defined = np.isfinite(changes)
    worst = int(np.argmax(np.where(defined, changes, -1.0))) if defined.any() else None
    return Associations(
        columns=pair.names,
        original=_square(before),
        released=_square(after),
        difference=float(changes[defined].mean()) if defined.any() else 0.0,
        largest=0.0 if worst is None else float(changes[worst]),
        pair=None if worst is None else (pair.names[int(rows[worst])], pair.names[int(columns[worst])]),
    )


def _square(matrix: Floats) -> Square:
    return tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in matrix)


def _groups(pair: Pair, column: int) -> npt.NDArray[np.int64]:
    """Return the group of every label of a column."""
    axis, shares = pair.axes[column], leaf_shares(pair.original, column, pair.axes[column])
    if axis.places is None:
        common = np.argsort(-shares, kind="stable")[: _CATEGORIES - 1]
        group = np.full(len(axis.labels), min(_CATEGORIES, len(axis.labels)) - 1, dtype=np.int64)
        group[common] = np.arange(len(common))
        return group
    order = np.argsort(np.where(np.isfinite(axis.places), axis.places, np.inf), kind="stable")
    before = np.cumsum(shares[order]) - shares[order]
    group = np.empty(len(axis.labels), dtype=np.int64)
    group[order] = np.minimum((before * _ORDERED + 1e-9).astype(np.int64), _ORDERED - 1)
    group[~np.isfinite(axis.places)] = _ORDERED  # missing values are a group of their own
    return group


def _matrix(axes: tuple[ColumnAxis, ...], boxes: Boxes, groups: list[npt.NDArray[np.int64]]) -> Floats:
    tables = contingency(boxes, groups)
    positions = [moments(boxes, column, axis) for column, axis in enumerate(axes)]
    result = np.eye(len(axes))
    for (i, j), table in tables.items():
        first, second = positions[i], positions[j]
        both = first is not None and second is not None
        value = _correlation(first, second, boxes.counts) if both else _cramer(table)  # type: ignore[arg-type]
        result[i, j] = result[j, i] = value
    return result


def contingency(boxes: Boxes, groups: list[npt.NDArray[np.int64]]) -> dict[tuple[int, int], Floats]:
    """Return the expected number of records in every pair of groups, for all pairs of columns."""
    columns = [_Spread.of_column(boxes, column, group) for column, group in enumerate(groups)]
    return {(i, j): _together(columns[i], columns[j], boxes.counts) for j in range(len(groups)) for i in range(j)}


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """One column: its distinct ranges, the range of every box, and the spread of every range over groups."""

    of: npt.NDArray[np.int64]
    shares: Floats

    @classmethod
    def of_column(cls, boxes: Boxes, column: int, group: npt.NDArray[np.int64]) -> _Spread:
        number = int(group.max(initial=0)) + 1
        if np.array_equal(boxes.low[:, column], boxes.high[:, column]):
            return cls(group[boxes.low[:, column]], np.eye(number))
        distinct, of = boxes.group_by_columns([column])
        marks = np.zeros((len(group) + 1, number))
        marks[np.arange(1, len(group) + 1), group] = 1
        running = np.cumsum(marks, axis=0)
        low, end = distinct.low[:, 0], distinct.high[:, 0] + 1
        return cls(of, (running[end] - running[low]) / (end - low)[:, None])


def _together(first: _Spread, second: _Spread, counts: npt.NDArray[np.int64]) -> Floats:
    keys = first.of * len(second.shares) + second.of
    size = len(first.shares) * len(second.shares)
    if size <= _DENSE:
        both = np.bincount(keys, weights=counts, minlength=size).reshape(len(first.shares), len(second.shares))
        return np.asarray(first.shares.T @ both @ second.shares)
    distinct, inverse = np.unique(keys, return_inverse=True)
    records = np.bincount(inverse, weights=counts)
    table = np.zeros((first.shares.shape[1], second.shares.shape[1]))
    for start in range(0, len(distinct), _ROWS):
        rows = distinct[start : start + _ROWS]
        weighted = first.shares[rows // len(second.shares)] * records[start : start + _ROWS, None]
        table += weighted.T @ second.shares[rows % len(second.shares)]
    return table


class BoxMoments(NamedTuple):
    """The mean place of every box in a column, and the mean of its square; not a number where it is missing."""

    first: Floats
    second: Floats


def moments(boxes: Boxes, column: int, axis: ColumnAxis) -> BoxMoments | None:
    """Return the moments of an ordered column over the leaves that each box covers; None for other columns."""
    if axis.places is None:
        return None
    known = np.isfinite(axis.places)
    positions = np.where(known, axis.places, 0.0)
    running = [np.concatenate([[0.0], np.cumsum(each)]) for each in (known.astype(np.float64), positions, positions**2)]
    low, end = boxes.low[:, column], boxes.high[:, column] + 1
    number, first, second = (total[end] - total[low] for total in running)
    # differences of running sums are inexact; single leaves, the common case, are not
    single = end - low == 1
    first[single], second[single] = positions[low[single]], positions[low[single]] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return BoxMoments(np.where(number > 0, first / number, np.nan), np.where(number > 0, second / number, np.nan))


def _correlation(first: BoxMoments, second: BoxMoments, counts: npt.NDArray[np.int64]) -> float:
    known = np.isfinite(first.first) & np.isfinite(second.first)
    weights = counts[known] / max(int(counts[known].sum()), 1)
    x, y = first.first[known], second.first[known]
    # centred first: numbers may be large and close together
    mean_x, mean_y = float(weights @ x), float(weights @ y)
    inner_x, inner_y = first.second[known] - x**2, second.second[known] - y**2
    variance_x = float(weights @ ((x - mean_x) ** 2 + np.maximum(inner_x, 0.0)))
    variance_y = float(weights @ ((y - mean_y) ** 2 + np.maximum(inner_y, 0.0)))
    if variance_x <= 0 or variance_y <= 0:
        return float("nan")
    return float(np.clip(weights @ ((x - mean_x) * (y - mean_y)) / (variance_x * variance_y) ** 0.5, -1.0, 1.0))


def _cramer(table: Floats) -> float:
    """Return Cramér's V, sqrt(chi^2 / (n min(rows - 1, columns - 1))), over rows and columns that occur.

    >>> _cramer(np.array([[5.0, 0.0], [0.0, 3.0]]))
    1.0
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return float("nan")
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    chi = float((np.square(table - expected) / expected).sum())
    return min(1.0, float((chi / (total * least)) ** 0.5))


#: groups of a column at most, but for missing values
_MOST = 16
Shares = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTable:
    """The shares of records with both of two values."""

    #: The names of the two columns.
    columns: tuple[str, str]
    #: The values of the first and of the second column, or groups of them, in their natural order. These are values of
    #: the original table.
    rows: tuple[str, ...] = field(repr=False)
    across: tuple[str, ...] = field(repr=False)
    #: The shares of the table and of its release, a row for each of ``rows``.
    original: Shares
    released: Shares


def cross_table(pair: Pair, first: str, second: str) -> CrossTable:
    """Count two columns together, generalised values spread over their leaves.

    Cost: O(boxes).
    """
    unknown = [name for name in (first, second) if name not in pair.names]
    if unknown or first == second:
        raise ParameterError("`cross_table` needs two different columns that were released.")
    both = pair.only([pair.names.index(first), pair.names.index(second)])
    groups = [_shown_groups(both, column) for column in (0, 1)]
    numbers = [_numbers(axis, group) for axis, group in zip(both.axes, groups, strict=True)]
    sizes = [len(group) for group in groups]
    rows, across = ([_label(axis, group) for group in of] for axis, of in zip(both.axes, groups, strict=True))
    return CrossTable(
        columns=(first, second),
        rows=tuple(rows),
        across=tuple(across),
        original=_shares(both.original, numbers, sizes),
        released=_shares(both.released, numbers, sizes),
    )


def _shown_groups(pair: Pair, column: int) -> list[Group]:
    axis = pair.axes[column]
    both = leaf_shares(pair.original, column, axis) + leaf_shares(pair.released, column, axis)
    return group_labels(axis, both, _MOST)


def _numbers(axis: ColumnAxis, groups: list[Group]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the group of every label; what is in none, such as words among numbers, gets a number of its own."""
    numbers = np.full(len(axis.labels), len(groups), dtype=np.int64)
    for number, group in enumerate(groups):
        numbers[group.labels] = number
    return numbers


def _shares(boxes: Boxes, numbers: list[np.ndarray[tuple[int], np.dtype[np.int64]]], sizes: list[int]) -> Shares:
    table: Floats = np.zeros((sizes[0] + 1, sizes[1] + 1))
    counted = contingency(boxes, numbers)[0, 1]
    table[: counted.shape[0], : counted.shape[1]] = counted
    shares = table[: sizes[0], : sizes[1]] / max(boxes.records, 1)
    return tuple(tuple(float(value) for value in row) for row in shares)


def _label(axis: ColumnAxis, group: Group) -> str:
    if group.rest:
        return "others"
    first, last = (axis.labels[int(group.labels[end])] for end in (0, -1))
    if first is None:
        return "missing"
    if group.edges is not None:
        return f"{group.edges[0]:.6g} to {group.edges[1]:.6g}"
    return first if first == last else f"{first} to {last}"
