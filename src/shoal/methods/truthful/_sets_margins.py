"""Released tables as numbers that can be fitted together: of what was released, and of the schema, alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.fitting import Margin, Margins
from shoal.hierarchies import Hierarchy, build, leaves_declared
from shoal.methods.truthful._sets_listed import HiddenCounts, listed_values
from shoal.schema import Attribute, Kind, Missing, Schema, number_extent

#: So many numbers or days stand for all between bounds, where intervals or periods of them are released.
POINTS = 5001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedTable:
    """A trimmed table: its columns and levels, what trimming took off, and what it shows and hides.

    ``shown`` has the numbers of records by labels, ``hidden`` the counts of listed classes that no record shows; None
    where the schema does not list the classes.
    """

    columns: Sequence[str]
    levels: Sequence[int]
    m: int
    variance: float
    shown: HiddenCounts
    hidden: HiddenCounts | None


def margins_of(schema: Schema, tables: Sequence[ReleasedTable]) -> Margins:
    """Return trimmed tables as numbers, with hierarchies made of the schema and of released labels."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    lows = {
        name: min(table.levels[table.columns.index(name)] for table in tables if name in table.columns)
        for name in names
    }
    seen: dict[str, dict[int, set[str | None]]] = {name: {} for name in names}
    for table in tables:
        # a missing value that no record shows has few records or none
        hidden = [labels for labels in table.hidden or () if None not in labels]
        for labels in (*table.shown, *hidden):
            for name, level, label in zip(table.columns, table.levels, labels, strict=True):
                seen[name].setdefault(level, set()).add(label)
    hierarchies = tuple(_hierarchy(schema, schema[name], seen[name]) for name in names)
    closed = {name for name in names if leaves_declared(schema[name])}
    made = tuple(_margin(table, names, hierarchies, closed) for table in tables)
    return Margins(hierarchies, tuple(lows[name] for name in names), made)


def _margin(table: ReleasedTable, names: Sequence[str], hierarchies: Sequence[Hierarchy], closed: set[str]) -> Margin:
    rows = {labels: count + table.m for labels, count in table.shown.items()} | dict(table.hidden or {})
    columns = tuple(names.index(name) for name in table.columns)
    known = [
        {label: code for code, label in enumerate(hierarchies[j].labels[level])}
        for j, level in zip(columns, table.levels, strict=True)
    ]
    kept = [(labels, size) for labels, size in rows.items() if all(map(dict.__contains__, known, labels))]
    possible = math.prod(map(len, known))  # beyond some number, classes are not listed
    codes = [[codes[label] for codes, label in zip(known, labels, strict=True)] for labels, _ in kept]
    return Margin(
        columns=columns,
        levels=tuple(table.levels),
        codes=np.array(codes, dtype=np.int64).reshape(-1, len(columns)),
        sizes=np.array([size for _, size in kept], dtype=np.float64),
        variance=table.variance,
        total=float(sum(rows.values())),
        classes=len(rows),
        whole=table.hidden is not None and {*table.columns} <= closed and len(rows) >= possible > 0,
    )


def _hierarchy(schema: Schema, attribute: Attribute, seen: Mapping[int, set[str | None]]) -> Hierarchy:
    """Return the hierarchy of a column from the schema and from released labels, by level."""
    missing = attribute.missing is Missing.CATEGORY and any(None in labels for labels in seen.values())
    listed = listed_values(attribute)
    values = _values(attribute, {label for label in seen.get(0, ()) if label is not None})
    if listed is not None and not pa.types.is_string(listed.type):
        values = pa.concat_arrays([values, listed.cast(values.type)]).unique()
    hierarchy = build(attribute, values, folder=schema.folder, missing=missing)
    if all(labels - {None} <= {*hierarchy.labels[level]} for level, labels in seen.items()):
        return hierarchy
    # some interval or period has no value yet
    inside = [_between(attribute)]
    if attribute.kind is Kind.NUMERIC:
        inside.append(_starts(attribute, [label for labels in seen.values() for label in labels]))
    between = pa.concat_arrays([values, *(each.cast(values.type) for each in inside)]).unique()
    return build(attribute, between, folder=schema.folder, missing=missing)


def _values(attribute: Attribute, labels: set[str]) -> pa.Array:
    """Return released values in the type of their kind."""
    if attribute.kind is Kind.NUMERIC:
        return pa.array(sorted(map(float, labels)), pa.float64())
    values = pa.array(sorted(labels), pa.string())
    return values.cast(pa.date32()) if attribute.kind is Kind.DATE else values


def _between(attribute: Attribute) -> pa.Array:
    """Return numbers or days all along between the bounds of a column; none where it has not both."""
    domain = attribute.domain
    low, high = (None, None) if domain is None else (domain.minimum, domain.maximum)
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        days = np.linspace(low.toordinal(), high.toordinal(), POINTS).astype(np.int64)
        return pa.array([dt.date.fromordinal(day) for day in np.unique(days).tolist()], pa.date32())
    if isinstance(low, int | float) and isinstance(high, int | float):
        # with no more decimals than tell them apart: records have these values
        decimals = 0 if high <= low else max(0, math.ceil(-math.log10((high - low) / POINTS)))
        return pa.array(np.unique(np.round(np.linspace(low, high, POINTS), decimals)), pa.float64())
    return pa.array([], pa.string())


def _starts(attribute: Attribute, labels: Sequence[str | None]) -> pa.Array:
    """Return the lower ends of intervals of numbers, which may be narrower than what lies between two such values."""
    read = [number_extent(label) for label in labels if label is not None]
    domain = attribute.domain
    least = None if domain is None else domain.minimum
    starts = [each[0] for each in read if each is not None and math.isfinite(each[0])]
    bound = [] if not isinstance(least, int | float) else [float(least)]
    return pa.array(sorted({*bound, *starts}), pa.float64())
