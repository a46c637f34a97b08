"""All codes of so many digits, such as postal codes: ``12345``, ``1234*``, ``123**``; known without the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from shoal.schema._domain import Kind
from shoal.schema._entry import many, whole
from shoal.schema._rule import TEXT, HierarchyRule, RuledColumn, Tree, at
from shoal.schema._values import listed
from shoal.schema.rules._mask import Mask

MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits(HierarchyRule):
    """List all codes of ``length`` digits, and hide their last digits level by level.

    As `Mask`, but what may occur is known without the data, as differential privacy asks. ``hidden`` lists how many
    digits each level hides. Codes are text: a table that holds them as numbers has lost its leading zeros.

    Examples
    --------
    >>> Digits(length=5, hidden=(1, 2, 3)).explain()
    'all codes of 5 digits; 1, 2 and 3 hidden from the right'
    """

    name: ClassVar[str] = "digits"
    kinds: ClassVar[tuple[Kind, ...]] = TEXT
    lists_values: ClassVar[bool] = True
    length: int = field(metadata=at("digits", whole))
    hidden: tuple[int, ...] = field(metadata=at("hide", many(whole)))

    def problems(self) -> Iterable[str]:
        """Say what is wrong with the number of digits, and with how many are hidden."""
        if not 1 <= self.length <= MOST:
            yield f"`digits` of a `digits` hierarchy must be from 1 to {MOST}"
        if list(self.hidden) != sorted({*self.hidden}) or not all(0 < each < self.length for each in self.hidden):
            yield "`hide` of a `digits` hierarchy must be ascending numbers of digits, fewer than there are"

    def explain(self) -> str:
        """Say how many digits there are, and how many are hidden."""
        hidden = f"; {listed(map(str, self.hidden))} hidden from the right" if self.hidden else ""
        return f"all codes of {self.length} digits{hidden}"

    def tree(self, column: RuledColumn) -> Tree:
        """Return all codes in ascending order, with ever more digits hidden."""
        codes = pa.array([f"{number:0{self.length}d}" for number in range(10**self.length)], pa.string())
        if not self.hidden:
            return Tree(leaves=codes)
        every = dataclasses.replace(column, values=codes, leaves=codes, source=pa.string())
        return Mask(length=self.length, masked=self.hidden).tree(every)
