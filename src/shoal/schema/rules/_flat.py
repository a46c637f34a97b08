"""Two levels: the value, then ``*``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from shoal.schema._domain import Kind
from shoal.schema._entry import TomlTable, Unlike
from shoal.schema._rule import HierarchyRule, RuledColumn, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat(HierarchyRule):
    """Two levels: the value, then ``*``."""

    name: ClassVar[str] = "flat"

    @classmethod
    def read(cls, entry: TomlTable) -> Self | None:
        entry.get("flat", _true)
        return cls() if entry.close() else None

    def write(self) -> dict[str, object]:
        return {"flat": True}

    def problems(self) -> Iterable[str]:
        return ()

    def explain(self) -> str:
        return "the value, then *"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the values alone; declared values keep their declared order."""
        ascending = column.kind in (Kind.NUMERIC, Kind.DATE)
        return Tree(leaves=column.leaves, ranks=None if ascending else column.ranks(column.leaves))


def _true(value: object) -> bool:
    if value is not True:
        raise Unlike("true")
    return True
