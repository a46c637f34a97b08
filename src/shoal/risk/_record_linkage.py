"""Record linkage by distance, on a table and a masked version of it with the same records in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.typing import ArrayLike

from shoal.errors import DataError
from shoal.hierarchies import semantic_distances
from shoal.kernels import Floats
from shoal.kernels.nearest import count_within, nearest
from shoal.risk._boxes import ColumnAxis, cover
from shoal.risk._pair import Pair
from shoal.schema.rules import text
from shoal.tables import Table, schema_of

Codes = npt.NDArray[np.int64]

TIE = 1e-9
"""Distances that agree to this relative precision are equal: a centroid of two lies at equal distance of both, which
rounding would hide."""
CELLS = 1 << 22  # distances held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLinkage:
    """The share of masked records that can be linked to their originals."""

    #: The number of records.
    records: int
    #: The expected share that is linked correctly: RL / 100 of [SC13, section 6.4.2].
    linked: float
    #: The share that a blind guess links: 1 over the number of records.
    guessed: float
    #: The columns that were compared.
    columns: tuple[str, ...]


def record_linkage(original: Table, masked: Table, *, columns: Sequence[str] | None = None) -> RecordLinkage:
    """Link every masked record to the nearest original ones.

    For a masked record x' let G be the originals at the least distance; the link is right with probability 1/|G| if
    its own original is in G, else wrong. Distances are those of [SC13 (6.7)]: of numbers and days the difference over
    the width of the column (its declared bounds where there are any), of other values the semantic distance (6.6) in
    their hierarchy.

    Parameters
    ----------
    original, masked
        Row j of ``masked`` was made from row j of ``original``, which has a schema. This is not a release, whose
        records are in another order, but what a method made before it was shuffled.
    columns
        The columns to compare; the quasi-identifiers where not given.

    Raises
    ------
    DataError
        If the tables have different numbers of records.
    """
    schema = schema_of(original)
    names = tuple(schema.quasi_identifiers if columns is None else columns)
    pair = Pair.of(original, original, columns=names)
    before, after = (table.select(*pair.names).to_arrow() for table in (original, masked))
    if before.num_rows != after.num_rows:
        raise DataError(
            f"the masked table has {after.num_rows:,} records, the original {before.num_rows:,}; "
            f"they must correspond row by row"
        )
    compared = [_Compared.of(axis, before[axis.name], after[axis.name]) for axis in pair.axes]
    return RecordLinkage(
        records=before.num_rows,
        linked=_measure_linked(compared, before.num_rows) / 100,
        guessed=1 / before.num_rows if before.num_rows else 0.0,
        columns=pair.names,
    )


def _measure_linked(compared: list[_Compared], records: int) -> float:
    numeric = [each for each in compared if each.distances is None]
    others = [each for each in compared if each.distances is not None]
    numbers, masked_numbers = _stack([each.original for each in numeric], [each.masked for each in numeric], records)
    scale = [each.width for each in numeric]
    if not others:
        return linked_percentage(numbers, masked_numbers, scale=scale)
    codes, masked_codes = _stack([other.original for other in others], [other.masked for other in others], records)
    return linked_percentage_mixed(
        (numbers, codes),
        (masked_numbers, masked_codes),
        scale=scale,
        distances=[other.distances for other in others if other.distances is not None],
    )


def _stack(original: list[Floats], masked: list[Floats], records: int) -> tuple[Floats, Floats]:
    if not original:
        return np.zeros((records, 0)), np.zeros((records, 0))
    return np.stack(original, axis=1), np.stack(masked, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Compared:
    """One column of both tables: numbers with the width of their domain, or codes with their distances."""

    original: Floats
    masked: Floats
    width: float = 1.0
    distances: Floats | None = None

    @classmethod
    def of(cls, axis: ColumnAxis, before: pa.ChunkedArray, after: pa.ChunkedArray) -> _Compared:
        mine, theirs = text(before).to_pylist(), text(after).to_pylist()
        labels = tuple(dict.fromkeys(mine + theirs))
        position = {label: row for row, label in enumerate(labels)}
        rows, masked_rows = (np.array([position[label] for label in column]) for column in (mine, theirs))
        covered = cover(axis, labels)
        positions = covered.axis.places
        if positions is not None and np.isfinite(positions).all():
            middle = (positions[covered.low] + positions[covered.high]) / 2
            return cls(original=middle[rows], masked=middle[masked_rows], width=_width(covered.axis))
        return cls(original=rows, masked=masked_rows, distances=_semantic(covered.axis, covered.low, covered.high))


def _width(axis: ColumnAxis) -> float:
    domain, positions = axis.attribute.domain, axis.places
    assert positions is not None  # noqa: S101 - asked for ordered columns only
    if domain is not None and domain.is_bounded and isinstance(domain.minimum, int | float):
        return float(domain.maximum - domain.minimum)  # type: ignore[operator]
    return float(positions.max() - positions.min())


def _semantic(axis: ColumnAxis, low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]) -> Floats:
    """Return the distances (6.6) of all pairs of values, over the largest distance of two leaves."""
    ancestors: list[frozenset[tuple[int, int]]] = []
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        above = {(first, last), (0, axis.leaves - 1)}
        if axis.hierarchy is not None and last < axis.leaves:
            for codes in axis.hierarchy.codes[1:]:
                node = (
                    int(np.searchsorted(codes, codes[first])),
                    int(np.searchsorted(codes, codes[last], "right")) - 1,
                )
                if codes[first] == codes[last] and node[0] <= first and last <= node[1]:
                    above.add(node)
        ancestors.append(frozenset(above))
    concepts = {
        node: number for number, node in enumerate(dict.fromkeys(node for ancestor in ancestors for node in ancestor))
    }
    marks = np.zeros((len(ancestors), len(concepts)), dtype=np.bool_)
    for row, each in enumerate(ancestors):
        marks[row, [concepts[node] for node in each]] = True
    distances = semantic_distances(marks)
    leaves = low == high
    widest = float(distances[np.ix_(leaves, leaves)].max(initial=0.0))
    return distances / (widest or 1.0)


# -- on arrays


def linked_percentage(original: ArrayLike, masked: ArrayLike, *, scale: ArrayLike | None = None) -> float:
    """Return RL, the percentage of original records that an intruder links correctly by distance, in [0, 100].

    For each masked record x'_j let G be the originals at the least distance from it; the link is right with
    probability 1/|G| if the true original x_j is in G, and 0 otherwise. RL is 100 times the mean [SC13, section 6.4.2].

    Parameters
    ----------
    original, masked
        Matrices of numbers; row j of ``masked`` comes from row j of ``original``.
    scale
        What each attribute is divided by: the width of its domain for distance (6.7). The standard deviation in
        ``original`` where not given.

    Notes
    -----
    Equal masked records are looked up once. O(distinct log n) where records cluster well, O(distinct * n) at worst.

    Examples
    --------
    >>> round(linked_percentage([[1.0], [2.0], [9.0]], [[1.5], [1.5], [9.0]]), 2)
    66.67
    """
    before, after = _check_matrices(original, masked)
    if len(before) == 0:
        return 0.0
    divisor = _scale(before, scale)
    points, queries, which = before / divisor, *_distinct(after / divisor)
    _, least = nearest(points, queries)
    limits = _limits(least[:, 0], float(np.abs(points).max(initial=0.0)))
    ties = count_within(points, queries, limits)
    own = np.zeros(len(points))
    for column, values in zip(points.T, queries[which].T, strict=True):
        own += np.square(column - values)
    return float(100.0 * np.where(own <= limits[which], 1.0 / ties[which], 0.0).mean())


def linked_percentage_mixed(
    original: tuple[ArrayLike, ArrayLike],
    masked: tuple[ArrayLike, ArrayLike],
    *,
    scale: ArrayLike,
    distances: Sequence[Floats],
) -> float:
    """Return RL as `linked_percentage` does, for records of numbers and concepts.

    Parameters
    ----------
    original, masked
        A matrix of numbers and a matrix of codes each.
    scale
        What each numeric attribute is divided by.
    distances
        For each categorical attribute the distances of all pairs of concepts, divided by the distance of the
        boundaries of its domain [SC13 (6.7)].

    Notes
    -----
    O(distinct originals * distinct masked records), in blocks.
    """
    before, after = _check_matrices(original[0], masked[0])
    codes, masked_codes = np.asarray(original[1], np.int64), np.asarray(masked[1], np.int64)
    if codes.shape != masked_codes.shape or codes.shape != (len(before), len(distances)):
        raise DataError(
            f"Original and masked codes must have one row per record and one column per table of distances; got "
            f"{codes.shape}, {masked_codes.shape} and {len(distances)} tables for {len(before)} records."
        )
    if len(before) == 0:
        return 0.0
    divisor = _scale(before, scale)
    points, point_of = _distinct(np.concatenate([before / divisor, codes], axis=1))
    queries, query_of = _distinct(np.concatenate([after / divisor, masked_codes], axis=1))
    weights = np.bincount(point_of, minlength=len(points))
    pairs, times = np.unique(np.stack([query_of, point_of], axis=1), axis=0, return_counts=True)
    tables, numbers = [np.square(table) for table in distances], before.shape[1]
    linked = 0.0
    step = max(1, CELLS // len(points))
    for first in range(0, len(queries), step):
        block = _mixed_distances(points, queries[first : first + step], numbers, tables)
        limits = _limits(block.min(axis=1), float(np.abs(points[:, :numbers]).max(initial=1.0)))
        inside = block <= limits[:, None]
        share = 1.0 / (inside * weights).sum(axis=1)
        mine = (pairs[:, 0] >= first) & (pairs[:, 0] < first + step)
        rows, columns = pairs[mine, 0] - first, pairs[mine, 1]
        linked += float((inside[rows, columns] * share[rows] * times[mine]).sum())
    return 100.0 * linked / len(before)


def _mixed_distances(points: Floats, queries: Floats, numbers: int, tables: Sequence[Floats]) -> Floats:
    total = np.zeros((len(queries), len(points)))
    for j in range(numbers):
        total += np.square(points[None, :, j] - queries[:, j, None])
    for j, table in enumerate(tables, start=numbers):
        total += table[queries[:, j].astype(np.int64)[:, None], points[:, j].astype(np.int64)[None, :]]
    return total


def _limits(least: Floats, magnitude: float) -> Floats:
    """Return up to which squared distance records count as nearest; a distance of 0 is met up to rounding."""
    limits: Floats = least * (1.0 + TIE) + (TIE * 1e-3 * magnitude) ** 2
    return limits


def _scale(original: Floats, scale: ArrayLike | None) -> Floats:
    divisor = original.std(axis=0) if scale is None else np.asarray(scale, np.float64)
    if divisor.shape != original.shape[1:]:
        raise DataError(f"`scale` must hold one number for each of {original.shape[1]} attributes.")
    result: Floats = np.where(divisor > 0.0, divisor, 1.0)
    return result


def _distinct(rows: Floats) -> tuple[Floats, Codes]:
    """Return the distinct rows, and for each row which of them it is."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    which = np.empty(len(rows), np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def _check_matrices(original: ArrayLike, masked: ArrayLike) -> tuple[Floats, Floats]:
    """Return two matrices of finite numbers of the same shape, or raise; a single column may be given flat."""
    before, after = np.asarray(original, np.float64), np.asarray(masked, np.float64)
    if before.ndim == 1 and after.ndim == 1:
        before, after = before[:, None], after[:, None]
    if before.ndim != 2 or before.shape != after.shape:
        raise DataError(f"Original and masked records must have the same shape; got {before.shape} and {after.shape}.")
    unusable = int((~(np.isfinite(before) & np.isfinite(after))).any(axis=1).sum())
    if unusable:
        raise DataError(f"{unusable} records hold values that are not finite numbers.")
    return before, after
