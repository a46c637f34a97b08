"""The tables of a release as numbers: which classes each shows, how often, and how much noise there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.errors import InputError
from shoal.fitting import Joint, Margins
from shoal.guarantees import Event
from shoal.hierarchies import Hierarchy
from shoal.methods.truthful import HiddenCounts, JointTrimmed, ReleasedTable, TablesTrimmed, margins_of
from shoal.schema import Schema
from shoal.schema.rules import text
from shoal.tables import Table, different


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
    joint = [event for event in events if isinstance(event, JointTrimmed)]
    if len(tables) != len(described) + len(joint):
        raise InputError("the release does not have as many tables as its steps say")
    trimmed = [
        ReleasedTable(
            columns=columns,
            levels=levels,
            m=m,
            variance=float(variance),
            shown=_counted(table, columns),
            hidden=hidden.get(file),
        )
        for (columns, levels, m, variance), (file, table) in zip(described, tables.items(), strict=False)
    ]
    margins = margins_of(schema, trimmed)
    if not joint:
        return margins
    rows = _counted([*tables.values()][-1], margins.names)
    return replace(margins, joint=_joint(joint[0], rows, margins.hierarchies, margins.lows))


def _counted(table: Table, names: Sequence[str]) -> dict[tuple[str | None, ...], int]:
    found, counts = different(table.to_arrow().select(list(names)))
    labels = [text(found[name]).to_pylist() for name in names]
    return dict(zip(zip(*labels, strict=True), counts.tolist(), strict=True))


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
