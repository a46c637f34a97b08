"""The levels of a hierarchy at which a released label may stand, from the schema alone."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.errors import HierarchyError
from shoal.hierarchies._build import build
from shoal.hierarchies._hierarchy import TOP
from shoal.kernels import Integers
from shoal.schema import Attribute, Flat, HierarchyRule, Kind, day_extent, number_extent
from shoal.schema.rules import Regions, RuledColumn, countries, text

_EPOCH = dt.date(1970, 1, 1)
#: what stands behind a label that a finer level uses for other values
_MARKED = re.compile(r"^(.*) \(level (\d+)\)'*$", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelLevels:
    """At which levels each of some labels may stand; level 0 is that of the values."""

    #: The number of the last level, where everything is ``*``.
    height: int
    levels: Mapping[str, frozenset[int]]
    #: Whether the schema does not say which values there are, so that any text may be one.
    any_value: bool = False
    #: Whether the levels were read off the original data, so that any interval may be a label.
    any_interval: bool = False
    #: The places of the values in their order, where the schema lists them.
    places: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, label: str) -> frozenset[int]:
        """Return the levels of a label; none if the column cannot have it."""
        return self.levels.get(label, frozenset())


def label_levels(attribute: Attribute, labels: Collection[str], *, folder: Path = Path()) -> LabelLevels:
    """Return the levels at which each of the labels may stand.

    Where the schema lists the values, the hierarchy is built from them. Elsewhere a value is looked for that a label
    stands for, ``20`` for ``[20, 25)``; the label must be what the rule makes of it.

    Examples
    --------
    >>> from shoal.schema import Intervals
    >>> age = Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10)))
    >>> found = label_levels(age, ["[20, 25)", "[20, 30)", "[21, 26)", "*", "23"])
    >>> [sorted(found[label]) for label in ("[20, 25)", "[20, 30)", "[21, 26)", "*", "23")]
    [[1], [2], [], [3], [0]]
    """
    rule = attribute.hierarchy or Flat()
    if rule.lists_values or (attribute.domain is not None and attribute.domain.values is not None):
        return _find_levels_by_hierarchy(attribute, labels, folder)
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        return _find_levels_by_extent(attribute, rule, labels)
    return _texts(attribute, rule, labels, folder)


def _find_levels_by_hierarchy(attribute: Attribute, labels: Collection[str], folder: Path) -> LabelLevels:
    """Look the labels up in the hierarchy; files are read as the column's type was, which a release need not show."""
    readings = []
    for kind in (pa.string(), pa.float64()) if attribute.kind is Kind.NUMERIC else (pa.string(), pa.int64()):
        try:
            hierarchy = build(attribute, pa.array([], kind), folder=folder)
        except HierarchyError:
            continue
        levels: dict[str, set[int]] = {}
        for level, names in enumerate(hierarchy.labels):
            for name in names:
                levels.setdefault(str(name), set()).add(level)
        levels_by_label = {label: frozenset(levels[label]) for label in labels if label in levels}
        positions = {str(value): position for position, value in enumerate(hierarchy.labels[0])}
        readings.append(LabelLevels(height=hierarchy.height, levels=levels_by_label, places=positions))
    if not readings:
        raise HierarchyError(f"the hierarchy of column `{attribute.name}` cannot be used")
    return max(readings, key=lambda reading: len(reading.levels))


def _find_levels_by_extent(attribute: Attribute, rule: HierarchyRule, labels: Collection[str]) -> LabelLevels:
    """Return the levels of labels of numbers or days."""
    read = number_extent if attribute.kind is Kind.NUMERIC else day_extent
    extents = {label: extent for label in labels if label != TOP and (extent := read(label)) is not None}
    if rule.data_dependent:
        height = len(rule.tree(_column(attribute, [])).levels) + 1
        levels_by_label = {label: frozenset(range(height)) for label in extents}
        return LabelLevels(height=height, levels=levels_by_label | {TOP: frozenset({height})}, any_interval=True)
    values = {label: value for label, extent in extents.items() if (value := _inside(attribute, *extent)) is not None}
    column = _column(attribute, sorted({*values.values()}))
    leaves = column.leaves.to_pylist()
    positions = {value: position for position, value in enumerate(sorted({*values.values()}))}
    made = [[name[group] for group in groups] for groups, name in _levels(rule, column)]
    height = len(made) + 1
    levels = {
        label: frozenset(level for level, names in enumerate([leaves, *made]) if names[positions[value]] == label)
        for label, value in values.items()
    }
    return LabelLevels(height=height, levels=levels | {TOP: frozenset({height})})


def _inside(attribute: Attribute, low: float, high: float) -> float | None:
    """Return the least value of the domain in an interval; None if there is none."""
    domain = attribute.domain
    least, most = (-math.inf, math.inf)
    if domain is not None:
        least = -math.inf if domain.minimum is None else _place(domain.minimum)
        most = math.inf if domain.maximum is None else _place(domain.maximum)
    value = max(low, least)
    if math.isinf(value):
        value = math.nextafter(high, -math.inf) if attribute.kind is Kind.NUMERIC else high - 1
    return value if math.isfinite(value) and least <= value <= min(high, most) else None


def _place(bound: float | dt.date) -> float:
    return float((bound - _EPOCH).days) if isinstance(bound, dt.date) else float(bound)


def _column(attribute: Attribute, places: list[float]) -> RuledColumn:
    """Return ascending numbers, or days since 1970, as a rule reads them."""
    if attribute.kind is Kind.DATE:
        values = pa.array([int(position) for position in places], pa.int32()).cast(pa.date32())
    else:
        values = pa.array(places, pa.float64())
    return RuledColumn(
        name=attribute.name,
        kind=attribute.kind,
        domain=attribute.domain,
        values=values,
        leaves=text(values),
        counts=np.ones(len(values), dtype=np.int64),
        source=values.type,
    )


def _levels(rule: HierarchyRule, column: RuledColumn) -> Iterator[tuple[Integers, list[str]]]:
    for level in rule.tree(column).levels:
        yield level.groups, level.labels.to_pylist()


def _texts(attribute: Attribute, rule: HierarchyRule, labels: Collection[str], folder: Path) -> LabelLevels:
    """Return the levels of labels of a rule that makes them of any text, such as a mask."""
    bare = {label: _MARKED.sub(r"\1", label) for label in labels}
    known = {*labels, *bare.values(), *(countries() if isinstance(rule, Regions) else ())}
    values = pa.array(sorted(known), pa.string())
    column = RuledColumn(
        name=attribute.name,
        kind=attribute.kind,
        domain=attribute.domain,
        values=values,
        leaves=values,
        counts=np.ones(len(values), dtype=np.int64),
        source=pa.string(),
        folder=folder,
    )
    tree = rule.tree(column)
    height = len(tree.levels) + 1
    leaves = {*tree.leaves.to_pylist()}
    above = []
    for level in tree.levels:
        names = [level.labels[group].as_py() for group in level.groups.tolist()]
        # a region is a label whoever lives there; what a mask makes of a label must be that label
        above.append({*names} if isinstance(rule, Regions) else {name for name in names if name in known})
    levels = {
        label: frozenset(
            ({0} if label in leaves else set())
            | {level for level, names in enumerate(above, start=1) if label in names or name in names}
            | ({height} if label == TOP else set())
        )
        for label, name in bare.items()
    }
    return LabelLevels(height=height, levels=levels, any_value=True)
