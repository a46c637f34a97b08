"""Record linkage by distance, on a table and a masked version of it with the same records in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import DataError, ParameterError
from shoal.hierarchies import semantic_distances, text
from shoal.quality import record_linkage as quality
from shoal.risk._axes import Axis, cover
from shoal.risk._pair import Pair
from shoal.tables import Table

__all__ = ["RecordLinkage", "record_linkage"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLinkage:
    """How many masked records lead back to their originals.

    Parameters
    ----------
    records
        The number of records.
    linked
        The expected share that is linked correctly: RL / 100 of [SC13, section 6.4.2].
    guessed
        The share that a blind guess links: 1 over the number of records.
    columns
        The columns that were compared.
    """

    records: int
    linked: float
    guessed: float
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
    schema = original.schema
    if schema is None:
        raise ParameterError(f"{original.source.name} has no schema, so nobody knows what its columns mean.")
    names = tuple(schema.quasi_identifiers if columns is None else columns)
    pair = Pair.of(original, original, columns=names)
    before, after = (table.select(*pair.names).to_arrow() for table in (original, masked))
    if before.num_rows != after.num_rows:
        raise DataError(
            f"the masked table has {after.num_rows:,} records, the original {before.num_rows:,}; they must correspond"
        )
    compared = [_Compared.of(axis, before[axis.name], after[axis.name]) for axis in pair.axes]
    return RecordLinkage(
        records=before.num_rows,
        linked=_linked_percentage(compared, before.num_rows) / 100,
        guessed=1 / before.num_rows if before.num_rows else 0.0,
        columns=pair.names,
    )


def _linked_percentage(compared: list[_Compared], records: int) -> float:
    numeric = [each for each in compared if each.distances is None]
    others = [each for each in compared if each.distances is not None]
    numbers, masked_numbers = _stack([each.original for each in numeric], [each.masked for each in numeric], records)
    scale = [each.width for each in numeric]
    if not others:
        return quality.record_linkage(numbers, masked_numbers, scale=scale)
    codes, masked_codes = _stack([each.original for each in others], [each.masked for each in others], records)
    return quality.record_linkage_mixed(
        (numbers, codes),
        (masked_numbers, masked_codes),
        scale=scale,
        distances=[each.distances for each in others if each.distances is not None],
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
    def of(cls, axis: Axis, before: pa.ChunkedArray, after: pa.ChunkedArray) -> _Compared:
        mine, theirs = text(before).to_pylist(), text(after).to_pylist()
        labels = tuple(dict.fromkeys(mine + theirs))
        position = {label: row for row, label in enumerate(labels)}
        rows, masked_rows = (np.array([position[label] for label in column]) for column in (mine, theirs))
        found = cover(axis, labels)
        places = found.axis.places
        if places is not None and np.isfinite(places).all():
            middle = (places[found.low] + places[found.high]) / 2
            return cls(original=middle[rows], masked=middle[masked_rows], width=_width(found.axis))
        return cls(original=rows, masked=masked_rows, distances=_semantic(found.axis, found.low, found.high))


def _width(axis: Axis) -> float:
    domain, places = axis.attribute.domain, axis.places
    assert places is not None  # noqa: S101 - asked for ordered columns only
    if domain is not None and domain.bounded and isinstance(domain.minimum, int | float):
        return float(domain.maximum - domain.minimum)  # type: ignore[operator]
    return float(places.max() - places.min())


def _semantic(axis: Axis, low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]) -> Floats:
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
    concepts = {node: number for number, node in enumerate(dict.fromkeys(node for each in ancestors for node in each))}
    marks = np.zeros((len(ancestors), len(concepts)), dtype=np.bool_)
    for row, each in enumerate(ancestors):
        marks[row, [concepts[node] for node in each]] = True
    distances = semantic_distances(marks)
    leaves = low == high
    widest = float(distances[np.ix_(leaves, leaves)].max(initial=0.0))
    return distances / (widest or 1.0)
