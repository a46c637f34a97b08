"""Records that stay on their engine, which counts them by the columns that filters look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.queries._conditions import And, Condition, In, Not, Ranges, attributes
from shoal.queries._counted_values import CountedValues, codes_of, numbers_of
from shoal.queries._cubes import Column, Kept
from shoal.queries._records import Scale
from shoal.tables import RecordStore, Selection, Table

KEPT_CELLS = 32
# a condition on these many cells takes about a millisecond
LARGEST_CELLS = 1 << 18


class EngineRecords:
    """See :class:`shoal.queries._records.ExactFigures`. The records are copied once on the engine and stay there.

    Parameters
    ----------
    most_cells
        The engine counts the combinations of the columns that a query looks at once, if at most so many occur, and
        further queries on the same columns are answered from that; any other query looks at all records.
    """

    def __init__(self, table: Table, *, most_cells: int = LARGEST_CELLS) -> None:
        self._store, self._most_cells = RecordStore(table), most_cells
        self._kept: Kept[frozenset[str], CountedValues | None] = Kept(KEPT_CELLS)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        cells = self._cells(attributes(where))
        return self._store.count(self._selected(where)) if cells is None else cells.count(where)

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.total(where, attribute, scale)
        return self._store.total(self._selected(where), attribute, **_units(scale))

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally(where, attribute, scale)
        return self._store.tally(self._selected(where), attribute, **_units(scale))

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally_between(where, attribute, edges)
        return self._store.tally_between(self._selected(where), attribute, edges)

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        cells = self._cells(attributes(where) | {attribute})
        if cells is not None:
            return cells.tally_texts(where, attribute, values)
        return self._store.tally_texts(self._selected(where), attribute, values)

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier."""
        return self._store.value_of(identifier, person, attribute)

    def _cells(self, names: frozenset[str]) -> CountedValues | None:
        """Return the counts of some columns, unless they or one of the columns alone have too many combinations."""
        if len(names) > 1 and any(self._cells(frozenset({name})) is None for name in names):
            return None
        return self._kept.get(names, lambda: self._counted(sorted(names)))

    def _counted(self, names: Sequence[str]) -> CountedValues | None:
        if not names:
            return CountedValues({}, np.array([self._store.count(None)], dtype=np.int64))
        found = self._store.combinations(names, most=self._most_cells)
        if found is None:
            return None
        columns, counts = found
        return CountedValues(
            {name: _column(each) for name, each in columns.items()}, counts.to_numpy().astype(np.int64)
        )

    def _selected(self, condition: Condition | None) -> Selection | None:
        return None if condition is None else self._selection(condition)

    def _selection(self, condition: Condition) -> Selection:
        if isinstance(condition, In):
            name, values = condition.attribute, condition.values
            if isinstance(values, Ranges):
                return self._store.within(name, values.parts, missing=values.missing)
            return self._store.among(name, sorted(values.values), excluded=values.excluded, missing=values.missing)
        if isinstance(condition, Not):
            return ~self._selection(condition.part)
        parts = [self._selection(part) for part in condition.parts]
        return self._store.every(parts) if isinstance(condition, And) else self._store.some(parts)


def _column(values: pa.ChunkedArray) -> Column:
    return numbers_of(values) if pa.types.is_floating(values.type) else codes_of(values)


def _units(scale: Scale) -> dict[str, Any]:
    return {"origin": scale.origin, "step": scale.step, "bounds": (scale.low, scale.high)}
