"""The interface of hierarchy rules, and the columns and trees that they work on.

A rule kind is one class: it reads itself from a table of a schema file and writes itself to one, says what is wrong
with it, explains itself, says where its levels come from, and makes them for the values of a column. Every hierarchy
starts with the values themselves (level 0) and ends with ``*``; rules make what lies between.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import HierarchyError, Problems
from shoal.kernels import Floats, Integers
from shoal.schema._domain import Domain, Kind
from shoal.schema._entry import TomlTable
from shoal.schema._values import Days, days, numbers

TEXT = (Kind.CATEGORICAL, Kind.ORDINAL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuledColumn:
    """The column that a rule is applied to."""

    #: What the schema says of the column.
    name: str
    kind: Kind
    domain: Domain | None
    #: Distinct values without null, ascending: the declared ones where the schema declares them, else the observed ones
    #: that lie in the declared bounds.
    values: pa.Array = field(repr=False)
    #: The text of each of the ``values``.
    leaves: pa.StringArray = field(repr=False)
    #: Records per value; 1 each where they are not known.
    counts: Integers = field(repr=False)
    #: The type of the observed values, which decides how the texts of a hierarchy file are read.
    source: pa.DataType
    #: Where relative paths start.
    folder: Path = Path()

    @property
    def numbers(self) -> Floats:
        """The values as numbers."""
        return numbers(self.values, self.name)

    @property
    def days(self) -> Days:
        """The values as days."""
        return days(self.values, self.name)

    def ranks(self, leaves: pa.StringArray, what: str = "values") -> Integers:
        """Return where each leaf wants to stand: by number, by day, as declared, or as it stands."""
        if self.kind is Kind.NUMERIC:
            keys: npt.NDArray[np.generic] = numbers(leaves, self.name, what)
        elif self.kind is Kind.DATE:
            keys = days(leaves, self.name, what)
        elif self.domain is not None and self.domain.values is not None:
            declared = pc.index_in(leaves, value_set=pa.array(self.domain.values, pa.string()))
            keys = declared.fill_null(len(self.domain.values)).to_numpy(zero_copy_only=False)
        else:
            return np.arange(len(leaves), dtype=np.int64)
        rank = np.empty(len(leaves), dtype=np.int64)
        rank[np.argsort(keys, kind="stable")] = np.arange(len(leaves))
        return rank

    def measure_coverage(self, low: pa.Array, high: pa.Array) -> Floats:
        """Return the part of the domain that each interval of numbers or days covers, in [0, 1]."""
        minimum, maximum = self._bounds()
        if not maximum > minimum:
            return np.zeros(len(low))
        # halves: the width of the domain may exceed the largest float
        starts, ends = (
            np.clip(edge.cast(pa.float64(), safe=False).to_numpy(), minimum, maximum) / 2 for edge in (low, high)
        )
        return np.asarray((ends - starts) / (maximum / 2 - minimum / 2))

    def _bounds(self) -> tuple[float, float]:
        """Return the bounds of a column of numbers or days: declared, else the smallest and largest value."""
        low, high = (None, None) if self.domain is None else (self.domain.minimum, self.domain.maximum)
        if low is None or high is None:
            positions = self.numbers if self.kind is Kind.NUMERIC else self.days.astype(np.int64).astype(np.float64)
            low = float(positions.min(initial=np.inf)) if low is None else low
            high = float(positions.max(initial=-np.inf)) if high is None else high
        return place_of(low), place_of(high)


def place_of(bound: float | dt.date) -> float:
    """Return a bound as a number; a day as days since 1970."""
    return float(np.datetime64(bound, "D").astype(np.int64)) if isinstance(bound, dt.date) else float(bound)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Level:
    """One level above the values."""

    #: The group of every leaf, any integers ``0..len(labels)-1``.
    groups: Integers
    #: The label of every group.
    labels: pa.StringArray
    #: The part of the domain that every group covers; None for ``(leaves - 1) / (all leaves - 1)``.
    shares: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tree:
    """The result of a rule for a column: leaves and the nested levels above them.

    If the last level has one label and holds all values that may occur it is the top; else ``*`` is added above it.

    ``ranks`` says where each leaf wants to stand; leaves of one group are put together all the same, each group
    where its first leaf wants to stand. None: the leaves are in tree order as they are.
    """

    leaves: pa.StringArray
    levels: Sequence[Level] = ()
    ranks: Integers | None = None


def at(
    key: str, read: Callable[[object], object], write: Callable[[Any], object] = lambda value: value
) -> Mapping[str, Any]:
    """Say where a field of a rule stands in a schema file, how it is read there and how it is written."""
    return {"key": key, "read": read, "write": write}


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyRule(ABC):
    """Base of all rules; the fields of a rule say with :func:`at` where they stand in a schema file."""

    #: the key that names the rule in a schema file
    name: ClassVar[str] = ""
    kinds: ClassVar[tuple[Kind, ...]] = tuple(Kind)
    #: whether the levels depend on the data that is anonymised
    data_dependent: ClassVar[bool] = False
    #: whether the rule itself lists all values, observed or not
    lists_values: ClassVar[bool] = False
    #: whether a long rule is written as tables of its own
    tabular: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # lists become tuples, so that rules can be compared and hashed
        for parameter in dataclasses.fields(self):
            object.__setattr__(self, parameter.name, _frozen(getattr(self, parameter.name)))
        problems = Problems()
        for problem in self.problems():
            problems.add(problem)
        problems.raise_as(HierarchyError)

    @classmethod
    def read(cls, entry: TomlTable) -> Self | None:
        """Return the rule that a table of a schema file describes, or None and note why there is none."""
        parameters = {}
        for parameter in cls._places():
            required = parameter.default is dataclasses.MISSING
            parameters[parameter.name] = entry.get(
                parameter.metadata["key"], parameter.metadata["read"], required=required
            )
        if not entry.close():
            return None
        return cls(**{name: value for name, value in parameters.items() if value is not None})

    def write(self) -> dict[str, object]:
        """Return the table of a schema file that describes the rule; what has its default value is left out."""
        values = {field: getattr(self, field.name) for field in self._places()}
        return {
            each.metadata["key"]: each.metadata["write"](value)
            for each, value in values.items()
            if each.metadata["key"] == self.name or value != each.default
        }

    @classmethod
    def _places(cls) -> list[dataclasses.Field[Any]]:
        """Return the fields as they stand in a file, that which names the rule first."""
        return sorted(dataclasses.fields(cls), key=lambda each: each.metadata["key"] != cls.name)

    @abstractmethod
    def problems(self) -> Iterable[str]:
        """Say everything that is wrong with the rule."""

    @abstractmethod
    def explain(self) -> str:
        """Say in a few words what the rule does to values."""

    @abstractmethod
    def tree(self, column: RuledColumn) -> Tree:
        """Return the levels between the values of a column and ``*``."""

    @property
    def file(self) -> str | None:
        """The file that the rule reads, relative to the schema's folder."""
        return None

    def with_path(self, path: str) -> Self:
        """Return the rule with its file at another place; a rule that reads none is the same everywhere."""
        return self

    def source(self, domain: Domain | None) -> str:
        """Say where the leaves come from, as messages call it."""
        if self.file is not None:
            return f"its hierarchy `{self.file}`"
        if self.lists_values or domain is None:
            return "its hierarchy"
        return "its declared values" if domain.values is not None else "its declared bounds"


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsRule(HierarchyRule):
    """A rule that takes some of its known levels, in their order."""

    known: ClassVar[tuple[str, ...]]
    levels: tuple[str, ...]

    def problems(self) -> Iterable[str]:
        if not self.levels or [*self.levels] != [level for level in self.known if level in self.levels]:
            yield f"`levels` of a `{self.name}` hierarchy must be taken, in this order, from {', '.join(self.known)}"
