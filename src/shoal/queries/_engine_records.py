"""Records on an engine: conditions are computed where the data lives, and only figures come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.queries._conditions import And, Condition, In, Not
from shoal.queries._records import Scale
from shoal.queries._regions import Ranges
from shoal.tables import RecordStore, Selection, Table

__all__ = ["EngineRecords"]


class EngineRecords:
    """See :class:`shoal.queries._records.Records`. The records are copied once on the engine and stay there."""

    def __init__(self, table: Table) -> None:
        self._store = RecordStore(table)

    def count(self, where: Condition | None) -> int:
        """Return the number of records."""
        return self._store.count(self._selected(where))

    def total(self, where: Condition | None, attribute: str, scale: Scale) -> tuple[int, int]:
        """Return the sum of an attribute in units, and the number of records that have it."""
        return self._store.total(self._selected(where), attribute, **_units(scale))

    def tally(self, where: Condition | None, attribute: str, scale: Scale) -> list[int]:
        """Return how many records lie at each unit."""
        return self._store.tally(self._selected(where), attribute, **_units(scale))

    def tally_between(self, where: Condition | None, attribute: str, edges: Sequence[float]) -> list[int]:
        """Return how many records lie in each [edge, next edge)."""
        return self._store.tally_between(self._selected(where), attribute, edges)

    def tally_texts(self, where: Condition | None, attribute: str, values: Sequence[str | None]) -> list[int]:
        """Return how many records have each value."""
        return self._store.tally_texts(self._selected(where), attribute, values)

    def value_of(self, identifier: str, person: str, attribute: str) -> str | float | None:
        """Return an attribute of the one record with this identifier."""
        return self._store.value_of(identifier, person, attribute)

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


def _units(scale: Scale) -> dict[str, Any]:
    return {"origin": scale.origin, "step": scale.step, "bounds": (scale.low, scale.high)}
