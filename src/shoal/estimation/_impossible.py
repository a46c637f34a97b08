"""Keeping to combinations of values that everybody knows to be impossible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.fitting import Codes, Margins
from shoal.hierarchies import Hierarchy, derive_columns
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.conditions import Condition, In, attributes, certain_and_possible, holds, members
from shoal.schema.filters import parse

Mask = npt.NDArray[np.bool_]
#: A rule that calls more of a released table impossible than this is a mistake, or the release is of other people.
_LARGEST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class ImpossibleRules:
    """The rules of a schema that speak of given columns and of what is derived from them.

    Parameters
    ----------
    schema
        The schema; rules that name a column which is not there say nothing.
    conditions
        What no record fulfils, with the place of the rule in the schema.
    """

    schema: Schema
    conditions: tuple[tuple[int, Condition], ...]

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str]) -> ImpossibleRules:
        """Return the rules that can be decided on these columns."""
        known = {*columns}
        while more := {each.name for each in schema if each.derived and each.derived.source in known} - known:
            known |= more
        parsed = [(place, parse(rule, schema, derived=True)) for place, rule in enumerate(schema.impossible, start=1)]
        usable = [(place, rule) for place, rule in parsed if rule is not None and attributes(rule) <= known]
        return cls(schema, tuple(usable))

    def violated(self, columns: Mapping[str, pa.Array]) -> Mask:
        """Return which records break a rule; the columns are those of the rules, derived ones included."""
        size = len(next(iter(columns.values())))
        broken = np.zeros(size, dtype=np.bool_)
        for _, condition in self.conditions:
            broken |= holds(condition, lambda part: members(part.values, columns[part.attribute]))
        return broken

    def certainly_violated(self, margins: Margins) -> Callable[[Codes], Mask]:
        """Return what tells which possible records break a rule, whatever values lie below their codes."""
        known = _KnownLeaves(self.schema, margins)

        def broken(codes: Codes) -> Mask:
            found = np.zeros(len(codes), dtype=np.bool_)
            for _, condition in self.conditions:
                certain, _possible = certain_and_possible(condition, lambda part: known.of_codes(part, codes))
                found |= certain
            return found

        return broken

    def check(self, margins: Margins) -> None:
        """Refuse rules that contradict the released tables: more than a tenth of one would be impossible."""
        known = _KnownLeaves(self.schema, margins)
        for place, condition in self.conditions:
            base = {known.base(name) for name in attributes(condition)}
            for table in margins.tables:
                if not base <= {margins.names[j] for j in table.columns} or not len(table.sizes):
                    continue
                certain, _ = certain_and_possible(condition, lambda part, t=table: known.of_classes(part, t))  # type: ignore[misc]
                share = float(table.sizes[certain].sum() / table.sizes.sum())
                refuse_if_contradicted(place, share)


def refuse_if_contradicted(place: int, share: float) -> None:
    """Refuse a rule that calls too large a share of released records impossible."""
    if share > _LARGEST_SHARE:
        raise InputError(
            f"item {place} of `impossible` in the schema rules out {share:.0%} of a released table",
            hint="a rule names what cannot occur at all; correct or remove it",
        )


class _KnownLeaves:
    """For every column and level, which codes lie in a set as a whole, and which in part."""

    def __init__(self, schema: Schema, margins: Margins) -> None:
        self._schema, self._margins = schema, margins
        self._leaves = {
            hierarchy.attribute: _typed_leaves(hierarchy, schema[hierarchy.attribute])
            for hierarchy in margins.hierarchies
        }
        self._base = {name: name for name in self._leaves}
        for name, values in [*self._leaves.items()]:
            for derived, column in derive_columns(schema, {name: values}).items():
                self._base[derived], self._leaves[derived] = name, column

    def base(self, name: str) -> str:
        """Return the released column that a column is, or is derived from."""
        return self._base[name]

    def of_codes(self, part: In, codes: Codes) -> tuple[Mask, Mask]:
        """Return which possible records are in a set for certain, and which may be."""
        column = self._margins.names.index(self.base(part.attribute))
        certain, possible = self._at_level(part, column, self._margins.lows[column])
        return certain[codes[:, column]], possible[codes[:, column]]

    def of_classes(self, part: In, table: object) -> tuple[Mask, Mask]:
        """Return the same of the classes of a table."""
        columns, levels, codes = table.columns, table.levels, table.codes  # type: ignore[attr-defined]
        column = self._margins.names.index(self.base(part.attribute))
        place = columns.index(column)
        certain, possible = self._at_level(part, column, levels[place])
        return certain[codes[:, place]], possible[codes[:, place]]

    def _at_level(self, part: In, column: int, level: int) -> tuple[Mask, Mask]:
        inside = members(part.values, self._leaves[part.attribute])
        codes = self._margins.hierarchies[column].codes[level]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return np.logical_and.reduceat(inside, starts), np.logical_or.reduceat(inside, starts)


def _typed_leaves(hierarchy: Hierarchy, attribute: Attribute) -> pa.Array:
    """Return the values of a hierarchy in the type of their kind."""
    labels = pa.array(hierarchy.labels[0], pa.string())
    if attribute.kind is Kind.NUMERIC:
        return labels.cast(pa.float64())
    return labels.cast(pa.date32()) if attribute.kind is Kind.DATE else labels
