"""The tables of a release as numbers: which classes each shows, how often, and how much noise there is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.guarantees import Event
from shoal.hierarchies import Hierarchy, build, leaves_declared
from shoal.kernels import Floats
from shoal.methods.truthful import HiddenCounts, JointTrimmed, TablesTrimmed, listed_values
from shoal.schema import Attribute, Kind, Missing, Schema
from shoal.schema.rules import text
from shoal.tables import Table, different

Codes = npt.NDArray[np.int64]

#: So many numbers or days stand for all between bounds, where intervals or periods of them are released.
POINTS = 5001
#: What a value has at least, so that other tables can tell that it has more.
LEAST = 0.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Told:
    """The classes of which a table tells something, with the estimated numbers of their records.

    These are X + m, where m is what a class lost on average and ``variance`` that of the loss: unbiased for classes
    that are counted even if no record shows them; of others only those that are shown, too high for small ones.
    """

    codes: Codes
    sizes: Floats
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin(_Told):
    """A table of some columns, by position, each at one level."""

    columns: tuple[int, ...]
    levels: tuple[int, ...]
    #: All records that it tells of, in so many classes; those that are not among ``codes`` included.
    total: float
    classes: int
    #: Whether it tells of all classes that there can be.
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint(_Told):
    """The table of all columns: each class has levels of its own, one row each."""

    levels: Codes


@dataclass(frozen=True, eq=False)
class Margins:
    """All tables of a release, and the hierarchies of their columns."""

    hierarchies: tuple[Hierarchy, ...]
    lows: tuple[int, ...]
    tables: tuple[Margin, ...]
    joint: Joint | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(hierarchy.attribute for hierarchy in self.hierarchies)

    def size(self, column: int, level: int | None = None) -> int:
        """Return how many values a column has at a level; by default at its lowest."""
        return len(self.hierarchies[column].labels[self.lows[column] if level is None else level])

    def lift(self, column: int, level: int) -> Codes:
        """Return, for the values of a column at its lowest level, their codes at a higher one."""
        hierarchy, low = self.hierarchies[column], self.lows[column]
        leaves = np.arange(hierarchy.size, dtype=np.int32)
        found = np.zeros(self.size(column), dtype=np.int64)
        found[hierarchy.generalize(leaves, low)] = hierarchy.generalize(leaves, level)
        return found

    @property
    def whole(self) -> list[Margin]:
        """Tables that tell of all classes that there can be."""
        return [table for table in self.tables if table.whole]

    @property
    def records_variance(self) -> float:
        """How uncertain the number of records is, where there are such tables."""
        return 1 / sum(1 / (table.classes * table.variance) for table in self.whole)

    @cached_property
    def records(self) -> float:
        """How many records there are, by tables that tell of all classes; those of fewest classes count most."""
        if self.whole:
            noise = [1 / (table.classes * table.variance) for table in self.whole]
            return float(np.average([table.total for table in self.whole], weights=noise))
        return max(table.total for table in self.tables)

    def of_column(self, column: int) -> Floats:
        """Return the estimated records of every value of a column; values that are not shown share what is left."""
        table = min(
            (
                each
                for each in self.tables
                if column in each.columns and each.levels[each.columns.index(column)] == self.lows[column]
            ),
            key=lambda each: len(each.columns),
        )
        place = table.columns.index(column)
        found = np.bincount(table.codes[:, place], weights=table.sizes, minlength=self.size(column))
        known = np.bincount(table.codes[:, place], minlength=self.size(column)) > 0
        rest = max(self.records - float(found.sum()), 0.0)
        found = np.maximum(found, LEAST)
        if not known.all():
            found[~known] = max(rest / int((~known).sum()), LEAST)
        return found.astype(np.float64)


def read_margins(
    schema: Schema, events: Sequence[Event], tables: Mapping[str, Table], hidden: Mapping[str, HiddenCounts]
) -> Margins:
    """Read the tables of a release of many truthful tables, by file and in the order of its steps.

    ``hidden`` has the counts of classes that no record shows.
    """
    steps = [event for event in events if isinstance(event, TablesTrimmed)]
    if not steps:
        raise InputError(
            "only releases of method `truthful-tables` can be read together",
            hint="rows of any other release can be counted as they are; `shoal export RELEASE FILE --concrete` makes "
            "a file of them that any program reads",
        )
    described = [one for step in steps for one in zip(step.tables, step.levels, step.m, step.variance, strict=True)]
    shown = [_counted(table, own) for (own, *_), table in zip(described, tables.values(), strict=False)]
    counted = [
        {labels: count + m for labels, count in rows.items()} | dict(hidden.get(file, {}))
        for (_, _, m, _), rows, file in zip(described, shown, tables, strict=False)
    ]
    names = tuple(dict.fromkeys(name for own, *_ in described for name in own))
    lows = {name: min(levels[own.index(name)] for own, levels, *_ in described if name in own) for name in names}
    seen: dict[str, dict[int, set[str | None]]] = {name: {} for name in names}
    for (own, levels, *_), rows, file in zip(described, shown, tables, strict=False):
        # a missing value that no record shows has few records or none
        for labels in (*rows, *(each for each in hidden.get(file, ()) if None not in each)):
            for name, level, label in zip(own, levels, labels, strict=True):
                seen[name].setdefault(level, set()).add(label)
    hierarchies = tuple(_hierarchy(schema, schema[name], seen[name]) for name in names)
    closed = {name for name in names if leaves_declared(schema[name])}
    made = [
        _margin(own, levels, float(variance), rows, names, hierarchies, whole=file in hidden and {*own} <= closed)
        for (own, levels, _, variance), rows, file in zip(described, counted, tables, strict=False)
    ]
    low = tuple(lows[name] for name in names)
    joint = [event for event in events if isinstance(event, JointTrimmed)]
    if len(tables) != len(described) + len(joint):
        raise InputError("the release does not have as many tables as its steps say")
    all_columns = _joint(joint[0], _counted([*tables.values()][-1], names), hierarchies, low) if joint else None
    return Margins(hierarchies, low, tuple(made), all_columns)


def _counted(table: Table, names: Sequence[str]) -> dict[tuple[str | None, ...], int]:
    found, counts = different(table.to_arrow().select(list(names)))
    labels = [text(found[name]).to_pylist() for name in names]
    return dict(zip(zip(*labels, strict=True), counts.tolist(), strict=True))


def _margin(
    own: Sequence[str],
    levels: Sequence[int],
    variance: float,
    rows: Mapping[tuple[str | None, ...], int],
    names: Sequence[str],
    hierarchies: Sequence[Hierarchy],
    *,
    whole: bool,
) -> Margin:
    columns = tuple(names.index(name) for name in own)
    known = [
        {label: code for code, label in enumerate(hierarchies[j].labels[level])}
        for j, level in zip(columns, levels, strict=True)
    ]
    kept = [(labels, size) for labels, size in rows.items() if all(map(dict.__contains__, known, labels))]
    codes = [[codes[label] for codes, label in zip(known, labels, strict=True)] for labels, _ in kept]
    return Margin(
        columns=columns,
        levels=tuple(levels),
        codes=np.array(codes, dtype=np.int64).reshape(-1, len(columns)),
        sizes=np.array([size for _, size in kept], dtype=np.float64),
        variance=variance,
        total=float(sum(rows.values())),
        classes=len(rows),
        whole=whole and bool(rows),
    )


def _joint(
    step: JointTrimmed,
    rows: Mapping[tuple[str | None, ...], int],
    hierarchies: Sequence[Hierarchy],
    lows: Sequence[int],
) -> Joint:
    """Read the table of all columns; classes of a label that stands for different values are left out, as if hidden."""
    known = [_meanings(hierarchy, low) for hierarchy, low in zip(hierarchies, lows, strict=True)]
    kept = [(labels, count) for labels, count in rows.items() if all(map(dict.__contains__, known, labels))]
    places = [[own[label] for own, label in zip(known, labels, strict=True)] for labels, _ in kept]
    both = np.array(places, dtype=np.int64).reshape(-1, len(known), 2)
    return Joint(
        levels=both[:, :, 0],
        codes=both[:, :, 1],
        sizes=np.array([count + step.m for _, count in kept], dtype=np.float64),
        variance=float(step.variance),
    )


def _meanings(hierarchy: Hierarchy, low: int) -> dict[str | None, tuple[int, int]]:
    """Return the level and code of every label from a level on, but for those that stand for different values."""
    leaves = np.arange(hierarchy.size, dtype=np.int32)
    found: dict[str | None, tuple[int, int]] = {}
    values: dict[str | None, set[tuple[int, int]]] = {}
    for level in range(low, hierarchy.height + 1):
        # codes are in the order of the tree: the first value and the number of values say which they are
        _, first, number = np.unique(hierarchy.generalize(leaves, level), return_index=True, return_counts=True)
        for code, label in enumerate(hierarchy.labels[level]):
            found.setdefault(label, (level, code))
            values.setdefault(label, set()).add((int(first[code]), int(number[code])))
    return {label: place for label, place in found.items() if len(values[label]) == 1}


def _hierarchy(schema: Schema, attribute: Attribute, seen: Mapping[int, set[str | None]]) -> Hierarchy:
    """Return the hierarchy of a column from the schema and from released labels, by level."""
    missing = attribute.missing is Missing.CATEGORY and any(None in labels for labels in seen.values())
    listed = listed_values(attribute)
    values = _values(attribute, {label for label in seen.get(0, ()) if label is not None})
    if listed is not None and not pa.types.is_string(listed.type):
        values = pa.concat_arrays([values, listed.cast(values.type)]).unique()
    found = build(attribute, values, folder=schema.folder, missing=missing)
    if all(labels - {None} <= {*found.labels[level]} for level, labels in seen.items()):
        return found
    # some interval or period has no value yet
    between = pa.concat_arrays([values, _between(attribute).cast(values.type)]).unique()
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
        return pa.array(np.linspace(low, high, POINTS), pa.float64())
    return pa.array([], pa.string())
