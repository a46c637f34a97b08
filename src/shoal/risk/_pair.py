"""A table and its release, read with the same eyes; and whom an intruder takes a target for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal import tables
from shoal.errors import DataError, quoted
from shoal.hierarchies import TOP
from shoal.kernels import Codes, Counts, Floats
from shoal.risk._boxes import Boxes, ColumnAxis, Labels, Rows, cover, pairs, totals_at
from shoal.schema import Attribute, Flat, Role, Schema
from shoal.tables import Frequencies, Table, schema_of

#: one record, in the counts of weighted releases
UNIT = 1 << 20
#: distances held at a time, and the relative difference up to which two are the same
_CELLS, _TIE = 1 << 22, 1e-9
#: distances per set of columns that are worth computing
_MANY = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """The records of a table and of its release as boxes of the same leaves."""

    #: The columns that both have, quasi-identifiers first.
    axes: tuple[ColumnAxis, ...]
    #: The distinct records of the table: points.
    original: Boxes
    #: The distinct records of the release.
    released: Boxes

    @classmethod
    def of(cls, original: Table, released: Table, *, columns: Sequence[str] | None = None) -> Pair:
        """Read a table with its schema, and a release of it.

        Parameters
        ----------
        original
            The table as it was; it has a schema.
        released
            What was made of it: in memory, or read back from a release. Its records may be in any order, and fewer.
        columns
            The columns to look at; all but identifiers where not given.

        Notes
        -----
        Both tables are grouped once by the engine; everything else is vectorised over distinct records and values.

        Examples
        --------
        >>> import pyarrow, shoal
        >>> age = shoal.Attribute(name="age", role="quasi-identifier", kind="numeric")
        >>> schema = shoal.Schema(attributes=(age,))
        >>> people = shoal.read(pyarrow.table({"age": [31, 34, 38, 52]})).with_schema(schema, allow_empty=True)
        >>> made = shoal.read(pyarrow.table({"age": ["[31, 38]", "[31, 38]", "[31, 38]", "*"]}))
        >>> pair = Pair.of(people, made)
        >>> pair.released.low.ravel().tolist(), pair.released.high.ravel().tolist(), pair.released.counts.tolist()
        ([0, 0], [3, 2], [1, 3])
        """
        schema = schema_of(original)
        names = _columns(schema, original, released, columns)
        axes, before = _read_original(original, schema, names)
        return cls(axes=axes, original=before, released=Boxes.empty(len(axes))).with_release(released)

    def with_release(self, released: Table, *, weights: str | None = None) -> Pair:
        """Return the same table with another release of it.

        Parameters
        ----------
        released
            The release; a column that it does not have is read as ``*``.
        weights
            A column that says how much each record counts, such as the probabilities of an Anatomy release, in which
            every person stands with every value of the class. The counts of the result are then multiples of
            :data:`UNIT`: good for shares, not for numbers of records.
        """
        present = [name for name in self.names if name in released.columns]
        after = _encode_released(released, [*present, *([weights] if weights else [])])
        covers, low, high = [], [], []
        for axis in self.axes:
            labels: Labels = (TOP,)
            codes = np.zeros(len(after.counts), dtype=np.int32)
            if axis.name in present:
                position = present.index(axis.name)
                labels, codes = after.hierarchies[position].labels[0], after.codes[:, position]
            covered = cover(axis, labels)
            covers.append(covered.axis)
            low.append(covered.low[codes])
            high.append(covered.high[codes])
        counts = after.counts
        if weights is not None:
            each = np.array([float(label or 0) for label in after.hierarchies[-1].labels[0]])[after.codes[:, -1]]
            counts = np.rint(counts * each * UNIT).astype(np.int64)
        return Pair(
            axes=tuple(covers),
            original=self.original,
            released=Boxes(low=_matrix(low), high=_matrix(high), counts=counts),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(axis.name for axis in self.axes)

    @property
    def quasi_identifiers(self) -> tuple[int, ...]:
        """The positions of the quasi-identifiers."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.role.known_elsewhere)

    @property
    def sensitive(self) -> tuple[int, ...]:
        """The positions of the sensitive columns."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.role is Role.SENSITIVE)

    def only(self, columns: Sequence[int]) -> Pair:
        """Return the pair with some of the columns."""
        return Pair(
            axes=tuple(self.axes[column] for column in columns),
            original=self.original.only(columns),
            released=self.released.only(columns),
        )

    def targets(self, number: int, generator: np.random.Generator) -> Codes:
        """Draw original records, each with the same chance and at most once."""
        return self.original.low[draw(self.original.counts, number, generator)]


def draw(counts: Counts, number: int, generator: np.random.Generator) -> Counts:
    """Draw ``number`` records without replacement; return the row of the distinct record that each belongs to."""
    records = int(counts.sum())
    chosen = np.sort(generator.choice(records, size=min(number, records), replace=False, shuffle=False))
    return np.searchsorted(np.cumsum(counts), chosen, side="right")


def _columns(schema: Schema, original: Table, released: Table, columns: Sequence[str] | None) -> tuple[str, ...]:
    both = [
        attribute.name
        for attribute in sorted(schema, key=lambda each: not each.role.known_elsewhere)
        if not attribute.role.names_someone and attribute.name in released.columns
    ]
    names = both if columns is None else [name for name in both if name in columns]
    absent = [] if columns is None else [name for name in columns if name not in both]
    if absent:
        raise DataError(f"the release has no column {quoted(absent)}.")
    if not names:
        raise DataError(f"{original.source.name} and the release have no column in common.")
    return tuple(names)


def _read_original(original: Table, schema: Schema, names: tuple[str, ...]) -> tuple[tuple[ColumnAxis, ...], Boxes]:
    inside = [name for name in names if schema[name].role.known_elsewhere]
    # the encoder needs a quasi-identifier; where none is asked for, any column will do
    first = inside or [names[0]]
    rest = [name for name in names if name not in first]
    frequencies = tables.encode(original, quasi_identifiers=first, sensitive=rest).frequencies
    leaves = [
        *((hierarchy.labels[0], hierarchy) for hierarchy in frequencies.hierarchies),
        *((attribute.labels, attribute.hierarchy) for attribute in frequencies.sensitive),
    ]
    axes = tuple(
        ColumnAxis.of(schema[name], labels, hierarchy) for name, (labels, hierarchy) in zip(names, leaves, strict=True)
    )
    codes = _matrix([*frequencies.codes.T, *frequencies.sensitive_codes.T])
    return axes, Boxes(low=codes, high=codes, counts=frequencies.counts)


def _encode_released(released: Table, names: Sequence[str]) -> Frequencies:
    """Count the distinct records of a release; its values are words, whatever they were before."""
    flat = Schema(
        attributes=tuple(Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Flat()) for name in names)
    )
    table = replace(released.select(*names), schema=None).with_schema(flat, allow_empty=True)
    return tables.encode(table, sensitive=()).frequencies


def _matrix(columns: Sequence[Codes]) -> Codes:
    return np.asfortranarray(np.stack(columns, axis=1).astype(np.int32))


def candidates(pair: Pair, targets: Codes) -> Counts:
    """Return the number of released records that each target may be; 0 where none fits.

    ``pair`` has only the columns that the intruder knows. Where a column was perturbed nothing fits exactly, and the
    nearest records are taken instead.
    """
    if not _is_perturbed(pair):
        return totals_at(pair.released, targets)
    result = np.zeros(len(targets), dtype=np.int64)
    rows, boxes = _nearest(pair, targets)
    np.add.at(result, rows, pair.released.counts[boxes])
    return result


def affordable(pair: Pair, targets: int) -> int:
    """Return how many targets can be looked for many times over."""
    return min(targets, max(50, _MANY // max(len(pair.released), 1))) if _is_perturbed(pair) else targets


def fitting(pair: Pair, targets: Codes) -> tuple[Rows, Rows]:
    """Return all pairs of a target and a released box that it may be: rows of both."""
    return _nearest(pair, targets) if _is_perturbed(pair) else pairs(pair.released, targets)


def _is_perturbed(pair: Pair) -> bool:
    return any(axis.is_perturbed for axis in pair.axes)


def _nearest(pair: Pair, targets: Codes) -> tuple[Rows, Rows]:
    """Return the boxes nearest to each target.

    The distance is Euclidean over the columns: in an ordered column the gap to the box over the width of the column, in
    another one 0 if the box holds the value and 1 if not. Cost: O(targets * boxes * columns).
    """
    boxes = pair.released
    rows, nearest = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    if not len(boxes):
        return rows[0], nearest[0]
    step = max(1, _CELLS // len(boxes))
    for first in range(0, len(targets), step):
        block = np.zeros((len(targets[first : first + step]), len(boxes)))
        for column, axis in enumerate(pair.axes):
            block += _gaps(axis, boxes, column, targets[first : first + step, column]) ** 2
        least = block.min(axis=1, keepdims=True)
        near = np.nonzero(block <= least * (1 + _TIE) + _TIE**2)
        rows.append(near[0] + first)
        nearest.append(near[1])
    return np.concatenate(rows), np.concatenate(nearest)


def _gaps(axis: ColumnAxis, boxes: Boxes, column: int, values: Codes) -> Floats:
    low, high = boxes.low[:, column], boxes.high[:, column]
    outside = ~((low <= values[:, None]) & (values[:, None] <= high))
    if axis.places is None:
        return outside.astype(np.float64)
    width = np.nanmax(axis.places) - np.nanmin(axis.places) if np.isfinite(axis.places).any() else 0.0
    start, end = np.fmin(axis.places[low], axis.places[high]), np.fmax(axis.places[low], axis.places[high])
    position = axis.places[values][:, None]
    gap = np.maximum(np.maximum(start - position, position - end), 0.0) / (width or 1.0)
    # a missing value is as far as can be from any other
    return np.where(outside, np.nan_to_num(gap, nan=1.0), 0.0)
