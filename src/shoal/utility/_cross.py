"""Two columns together, before and after: what a heat map shows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Floats
from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.utility._associations import contingency
from shoal.utility._bins import Group, grouped
from shoal.utility._spread import leaf_shares

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
    groups = [_groups(both, column) for column in (0, 1)]
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


def _groups(pair: Pair, column: int) -> list[Group]:
    axis = pair.axes[column]
    both = leaf_shares(pair.original, column, axis) + leaf_shares(pair.released, column, axis)
    return grouped(axis, both, _MOST)


def _numbers(axis: ColumnAxis, groups: list[Group]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the group of every label; what is in none, such as words among numbers, gets a number of its own."""
    found = np.full(len(axis.labels), len(groups), dtype=np.int64)
    for number, group in enumerate(groups):
        found[group.labels] = number
    return found


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
