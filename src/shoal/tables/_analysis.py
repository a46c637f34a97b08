"""Released records as analysts want them: labels that sort by what they stand for, and the ends of intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.hierarchies import TOP, build
from shoal.schema import Attribute, Extent, Kind, Schema, day_extent, number_extent


def for_analysis(rows: pa.Table, schema: Schema, *, bounds: bool = False) -> pa.Table:
    """Return released records with ordered labels and, on request, the ends of what they stand for.

    A column of labels of numbers, days or ordinal values becomes one of ordered categories. With ``bounds``, every
    quasi-identifier of numbers or days is followed by two columns, ``..._lower`` and ``..._upper``: the least and the
    greatest value that the label may stand for (the end of ``[20, 25)`` is 25), missing where it says nothing.
    Labels that are words of a hierarchy of one's own keep the column as it is.
    """
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for name in rows.column_names:
        attribute = schema[name] if name in schema.names else None
        extents = None if attribute is None else _extents(attribute, rows[name], schema)
        columns[name] = rows[name] if extents is None else _order_labels(rows[name], extents)
        wanted = attribute is not None and attribute.role.known_elsewhere
        if bounds and wanted and attribute is not None and attribute.kind in (Kind.NUMERIC, Kind.DATE):
            ends = ends_of(rows[name], attribute.kind, extents)
            for end, values in zip(("lower", "upper"), ends or (), strict=False):
                columns[_free(f"{name}_{end}", rows.column_names)] = values
    return pa.table(columns)


def ends_of(
    column: pa.ChunkedArray, kind: Kind, extents: Mapping[str, Extent] | None
) -> tuple[pa.ChunkedArray, pa.ChunkedArray] | None:
    """Return the ends of what every label stands for, as numbers or days; None where labels are words."""
    if not _texts(column):
        return column, column
    if extents is None:
        return None
    labels = pa.array(list(extents), pa.string())
    low, high = ([extent[end] for extent in extents.values()] for end in (0, 1))
    position = pc.index_in(column.combine_chunks().cast(pa.string()), value_set=labels)
    return tuple(pa.chunked_array([_convert_ends(ends, kind).take(position)]) for ends in (low, high))


def _convert_ends(ends: Sequence[float], kind: Kind) -> pa.Array:
    known = [end if math.isfinite(end) else None for end in ends]
    if all(end is None or end.is_integer() for end in known):
        whole = [None if end is None else int(end) for end in known]
        return pa.array(whole, pa.int32()).cast(pa.date32()) if kind is Kind.DATE else pa.array(whole, pa.int64())
    return pa.array(known, pa.float64())


def _extents(attribute: Attribute, column: pa.ChunkedArray, schema: Schema) -> dict[str, Extent] | None:
    """Return where every label of a column stands; None if the column is not of labels, or has no order."""
    if not _texts(column):
        return None
    labels = [label for label in pc.unique(column).to_pylist() if label is not None]
    if attribute.kind is Kind.ORDINAL:
        extents = _places(attribute, schema)
    elif attribute.kind in (Kind.NUMERIC, Kind.DATE):
        read = number_extent if attribute.kind is Kind.NUMERIC else day_extent
        extents = {label: extent for label in labels if (extent := read(label)) is not None}
    else:
        return None
    return {label: extents[label] for label in labels} if labels and all(label in extents for label in labels) else None


def _places(attribute: Attribute, schema: Schema) -> dict[str, Extent]:
    """Return where the values of an ordinal column, the levels above them and intervals of them stand."""
    values = () if attribute.domain is None else attribute.domain.values or ()
    try:
        hierarchy = build(attribute, pa.array([str(value) for value in values], pa.string()), folder=schema.folder)
    except InputError:
        return {}
    rank = {str(value): float(position) for position, value in enumerate(values)}
    leaves = [rank.get(str(leaf), math.nan) for leaf in hierarchy.labels[0]]
    extents = {f"[{one}, {other}]": (a, b) for one, a in rank.items() for other, b in rank.items() if a < b}
    for level, labels in enumerate(hierarchy.labels):
        for code, label in enumerate(labels):
            below = [leaves[leaf] for leaf, each in enumerate(hierarchy.codes[level].tolist()) if each == code]
            if label is not None and not any(map(math.isnan, below)):
                extents.setdefault(label, (min(below, default=math.inf), max(below, default=math.inf)))
    return extents | {TOP: (-math.inf, math.inf)}


def _order_labels(column: pa.ChunkedArray, extents: Mapping[str, Extent]) -> pa.DictionaryArray:
    def place(label: str) -> tuple[bool, float, float, str]:
        low, high = extents[label]
        # what stands for everything comes last, as what is missing does
        return math.isinf(low) and math.isinf(high), low, high, label

    order = sorted(extents, key=place)
    categories = pa.array(order, pa.string())
    codes = pc.index_in(column.combine_chunks().cast(pa.string()), value_set=categories)
    return pa.DictionaryArray.from_arrays(codes, categories, ordered=True)


def _texts(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
