"""Groups of values that a search put together because their records are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.errors import counted
from shoal.schema._entry import many, pairs, text
from shoal.schema._rule import at
from shoal.schema.rules._groups import Groups, Labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroups(Groups):
    """`Groups` that were read off the data, so that differential privacy refuses them."""

    name: ClassVar[str] = "found"
    data_dependent: ClassVar[bool] = True
    levels: tuple[Labelled, ...] = field(
        metadata=at(
            "found",
            many(pairs(many(text), 'a table of `label = ["member", ...]`')),
            write=lambda levels: [dict(level) for level in levels],
        )
    )

    def explain(self) -> str:
        """Return how many groups each level has, and that the data chose them."""
        numbers = ", then ".join(counted(len(level), "group") for level in self.levels)
        return f"{numbers} of values whose records are alike, found in the data"
