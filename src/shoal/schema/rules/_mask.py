"""Codes with characters hidden from one end: ``12345``, ``1234*``, ``123**``; of the data, or all there can be."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema._domain import Domain, Kind
from shoal.schema._entry import many, text, whole
from shoal.schema._rule import TEXT, HierarchyRule, Level, RuledColumn, Tree, at
from shoal.schema._values import encode_texts, join_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask(HierarchyRule):
    """Replace characters from one end, for codes such as ZIP: ``12345, 1234*, 123**``.

    ``masked`` lists how many characters each level hides; ``length`` is the code's full length (shorter codes are
    padded on the masked side before masking, so that levels stay nested).
    """

    name: ClassVar[str] = "mask"
    kinds: ClassVar[tuple[Kind, ...]] = TEXT
    length: int = field(metadata=at("length", whole))
    masked: tuple[int, ...] = field(metadata=at("mask", many(whole)))
    side: str = field(default="right", metadata=at("side", text))
    symbol: str = field(default="*", metadata=at("symbol", text))

    def problems(self) -> Iterable[str]:
        if self.length < 1:
            yield "`length` of a `mask` hierarchy must be at least 1"
        if not self.masked or any(b <= a for a, b in itertools.pairwise((0, *self.masked))):
            yield "`masked` of a `mask` hierarchy must be one or more ascending numbers of characters"
        elif self.masked[-1] >= self.length:
            yield "`masked` of a `mask` hierarchy must stay below `length`; hiding all characters is the `*` level"
        if self.side not in ("left", "right"):
            yield "`side` of a `mask` hierarchy must be `left` or `right`"
        if len(self.symbol) != 1:
            yield "`symbol` of a `mask` hierarchy must be one character"

    def explain(self) -> str:
        hidden = join_words(f"{count}" for count in self.masked)
        return f"{hidden} of {self.length} characters hidden from the {self.side}"

    def source(self, domain: Domain | None) -> str:
        """Say that the rule itself leaves codes out: those that are too long."""
        return "its hierarchy"

    def tree(self, column: RuledColumn) -> Tree:
        """Return the codes with ever more characters hidden.

        Codes longer than ``length`` are left out. Shorter ones are filled up with blanks on the masked side; whole
        numbers are filled up with the zeros that they lost when they were read as numbers.
        """
        leaves = column.leaves.filter(pc.less_equal(pc.utf8_length(column.leaves), self.length))
        filled = self._pad_leaves(leaves, zeros=pa.types.is_integer(column.source))
        levels = []
        for hidden in self.masked:
            if self.side == "right":
                shown = pc.utf8_slice_codeunits(filled, 0, self.length - hidden)
                texts = pc.binary_join_element_wise(shown, self.symbol * hidden, "")
            else:
                shown = pc.utf8_slice_codeunits(filled, hidden)
                texts = pc.binary_join_element_wise(self.symbol * hidden, shown, "")
            encoded = encode_texts(texts)
            levels.append(Level(groups=encoded.groups, labels=encoded.labels))
        return Tree(leaves=leaves, levels=levels, ranks=column.ranks(leaves))

    def _pad_leaves(self, leaves: pa.StringArray, *, zeros: bool) -> pa.StringArray:
        if zeros:
            return pc.utf8_lpad(leaves, self.length, "0")
        pad = pc.utf8_rpad if self.side == "right" else pc.utf8_lpad
        return pad(leaves, self.length, " ")


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
        if not 1 <= self.length <= MOST:
            yield f"`digits` of a `digits` hierarchy must be from 1 to {MOST}"
        if list(self.hidden) != sorted({*self.hidden}) or not all(0 < each < self.length for each in self.hidden):
            yield "`hide` of a `digits` hierarchy must be ascending numbers of digits, each below `digits`"

    def explain(self) -> str:
        hidden = f"; {join_words(map(str, self.hidden))} hidden from the right" if self.hidden else ""
        return f"all codes of {self.length} digits{hidden}"

    def tree(self, column: RuledColumn) -> Tree:
        codes = pa.array([f"{number:0{self.length}d}" for number in range(10**self.length)], pa.string())
        if not self.hidden:
            return Tree(leaves=codes)
        every = dataclasses.replace(column, values=codes, leaves=codes, source=pa.string())
        return Mask(length=self.length, masked=self.hidden).tree(every)
