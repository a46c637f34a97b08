"""How values generalise, as plain data: the hierarchy part of a schema.

A rule says what to do; :func:`shoal.hierarchies.build` does it for the values of a column.
Every hierarchy starts with the values themselves (level 0) and ends with ``*``; rules describe what lies between.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from shoal.errors import HierarchyError, Problems

__all__ = [
    "Cuts",
    "Dates",
    "Flat",
    "FromFile",
    "Groups",
    "HierarchyRule",
    "Intervals",
    "Mask",
    "Quantiles",
    "Taxonomy",
]

_TEXT = ("categorical", "ordinal")
_ANY = ("categorical", "ordinal", "numeric", "date")
DATE_LEVELS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyRule:
    """Base of all rules."""

    name: ClassVar[str] = ""
    kinds: ClassVar[tuple[str, ...]] = _ANY
    #: whether the levels depend on the data that is anonymised
    data_dependent: ClassVar[bool] = False

    def _freeze(self) -> None:
        """Turn lists into tuples, at any depth, so that rules can be compared and hashed."""
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))

    def fits(self, kind: str) -> bool:
        """Return whether the rule can be used for a column of this kind."""
        return kind in self.kinds


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat(HierarchyRule):
    """Two levels: the value, then ``*``."""

    name: ClassVar[str] = "flat"


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFile(HierarchyRule):
    """A table in ARX format, one row per leaf: ``leaf;level1;...;*``. The path is relative to the schema's file."""

    name: ClassVar[str] = "file"
    path: str
    delimiter: str = ";"

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        _check_file(self.name, self.path, self.delimiter, problems)
        problems.raise_as(HierarchyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals(HierarchyRule):
    """Equal-width half-open intervals ``[a, b)``; each width is a multiple of the one before it."""

    name: ClassVar[str] = "intervals"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    widths: tuple[float, ...]
    origin: float = 0.0

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        if not self.widths or not all(math.isfinite(w) and w > 0 for w in self.widths):
            problems.add("`widths` of an `intervals` hierarchy must be positive numbers, at least one")
        elif any(b <= a or Decimal(str(b)) % Decimal(str(a)) for a, b in itertools.pairwise(self.widths)):
            problems.add("each of the `widths` of an `intervals` hierarchy must be a multiple of the one before it")
        if not math.isfinite(self.origin):
            problems.add("`origin` of an `intervals` hierarchy must be a finite number")
        problems.raise_as(HierarchyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts(HierarchyRule):
    """Intervals between given cut points, finest level first; a coarser level keeps some of the finer one's cuts."""

    name: ClassVar[str] = "cuts"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    levels: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        if not self.levels or not all(self.levels):
            problems.add("`levels` of a `cuts` hierarchy must hold at least one level of at least one cut point")
        for level in self.levels:
            if not all(math.isfinite(cut) for cut in level) or any(b <= a for a, b in itertools.pairwise(level)):
                problems.add("the cut points of each level of a `cuts` hierarchy must be finite and ascending")
        for fine, coarse in itertools.pairwise(self.levels):
            if not set(coarse) < set(fine):
                problems.add(
                    "each level of a `cuts` hierarchy must use some, not all, of the cut points of the level before it"
                )
        problems.raise_as(HierarchyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles(HierarchyRule):
    """Intervals of about equally many records. They depend on the data, so differential privacy refuses them."""

    name: ClassVar[str] = "quantiles"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    data_dependent: ClassVar[bool] = True
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        self._freeze()
        if not self.counts or self.counts[-1] < 2 or any(a % b or b >= a for a, b in itertools.pairwise(self.counts)):
            raise HierarchyError(
                "`counts` of a `quantiles` hierarchy must be at least 2, each a divisor of the one before it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask(HierarchyRule):
    """Replace characters from one end, for codes such as ZIP: ``12345, 1234*, 123**``.

    ``masked`` lists how many characters each level hides; ``length`` is the code's full length (shorter codes are
    padded on the masked side before masking, so that levels stay nested).
    """

    name: ClassVar[str] = "mask"
    kinds: ClassVar[tuple[str, ...]] = _TEXT
    length: int
    masked: tuple[int, ...]
    side: str = "right"
    symbol: str = "*"

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        if self.length < 1:
            problems.add("`length` of a `mask` hierarchy must be at least 1")
        if not self.masked or any(b <= a for a, b in itertools.pairwise((0, *self.masked))):
            problems.add("`masked` of a `mask` hierarchy must be ascending numbers of characters, at least one")
        elif self.masked[-1] >= self.length:
            problems.add(
                "`masked` of a `mask` hierarchy must stay below `length`; hiding all characters is the `*` level"
            )
        if self.side not in ("left", "right"):
            problems.add("`side` of a `mask` hierarchy must be `left` or `right`")
        if len(self.symbol) != 1:
            problems.add("`symbol` of a `mask` hierarchy must be one character")
        problems.raise_as(HierarchyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates(HierarchyRule):
    """Truncate a day to ``month``, ``quarter``, ``year``, ``decade``; any ascending choice of these.

    ``day`` is for time stamps; the values of a column of days are days already.
    """

    name: ClassVar[str] = "dates"
    kinds: ClassVar[tuple[str, ...]] = ("date",)
    levels: tuple[str, ...] = DATE_LEVELS[1:]

    def __post_init__(self) -> None:
        self._freeze()
        order = [DATE_LEVELS.index(level) for level in self.levels if level in DATE_LEVELS]
        if not self.levels or len(order) != len(self.levels) or order != sorted(set(order)):
            raise HierarchyError(
                f"`levels` of a `dates` hierarchy must be an ascending choice of {', '.join(DATE_LEVELS)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(HierarchyRule):
    """Named groups of values, finest level first: each level is pairs ``(label, members)``.

    The members of the first level are values, those of a later level are labels of the level before it.
    """

    name: ClassVar[str] = "groups"
    kinds: ClassVar[tuple[str, ...]] = _TEXT
    levels: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        if not self.levels or not all(self.levels):
            problems.add("`levels` of a `groups` hierarchy must hold at least one group each")
        for number, level in enumerate(self.levels, start=1):
            labels = [label for label, _ in level]
            members = [member for _, group in level for member in group]
            if len(set(labels)) < len(labels):
                problems.add(f"level {number} of a `groups` hierarchy has a label twice")
            if len(set(members)) < len(members):
                problems.add(f"level {number} of a `groups` hierarchy has a member in two groups")
            if not all(group for _, group in level):
                problems.add(f"level {number} of a `groups` hierarchy has an empty group")
            if not all(labels):
                problems.add(f"level {number} of a `groups` hierarchy has a group without a label")
        for number, (fine, coarse) in enumerate(itertools.pairwise(self.levels), start=2):
            if {label for label, _ in fine} != {member for _, group in coarse for member in group}:
                problems.add(
                    f"the members of level {number} of a `groups` hierarchy must be the labels of level {number - 1}"
                )
        problems.raise_as(HierarchyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxonomy(HierarchyRule):
    """A tree given as child-parent pairs, inline or in a two-column file; values are its leaves.

    Branches shorter than the deepest one repeat their leaf at the finer levels, so that all levels are complete.
    """

    name: ClassVar[str] = "taxonomy"
    kinds: ClassVar[tuple[str, ...]] = _TEXT
    pairs: tuple[tuple[str, str], ...] = ()
    path: str | None = None
    delimiter: str = ";"

    def __post_init__(self) -> None:
        self._freeze()
        problems = Problems()
        if bool(self.pairs) == (self.path is not None):
            problems.add("a `taxonomy` hierarchy needs either `pairs` or `path`")
        if len({child for child, _ in self.pairs}) < len(self.pairs):
            problems.add("`pairs` of a `taxonomy` hierarchy must name every child once")
        if not all(child and parent for child, parent in self.pairs):
            problems.add("`pairs` of a `taxonomy` hierarchy must not hold empty names")
        _check_file(self.name, "-" if self.path is None else self.path, self.delimiter, problems)
        problems.raise_as(HierarchyError)


def _check_file(name: str, path: str, delimiter: str, problems: Problems) -> None:
    if not path:
        problems.add(f"`path` of a `{name}` hierarchy must not be empty")
    if len(delimiter) != 1 or delimiter in '"\r\n':
        problems.add(f"`delimiter` of a `{name}` hierarchy must be one character, neither a quote nor a line end")
