"""Columns and records as noise sees them: numbers between declared bounds, and concepts of a declared taxonomy.

Columns depend on the schema alone, so a checker makes the same ones from the plan of a release.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from shoal import hierarchies
from shoal.errors import DataError, ParameterError, Problems
from shoal.exact import fraction
from shoal.hierarchies import Concepts, Hierarchy
from shoal.methods.classes import Space
from shoal.methods.truthful import released
from shoal.schema import Attribute, Kind, Missing, Schema
from shoal.schema.rules import text

UNITS = {Kind.NUMERIC: "", Kind.DATE: "days", Kind.ORDINAL: "ranks"}
"""What widths and scales are in."""
FINENESS = 50
"""Released numbers are rounded to a power of ten that goes at least so often into the scale of the noise."""
Key = tuple[str | None, int, int]
"""A concept: its label, its first leaf and how many it has."""
LARGEST_TAXONOMY = 3_000
"""Concepts of a column; a choice among all of them is made for every cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """A column of numbers, days (from 1970-01-01) or ranks (from 0), with declared bounds.

    Examples
    --------
    >>> from shoal.schema import Domain
    >>> age = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99))
    >>> column = NumberColumn.of(age)
    >>> column.width, column.step(7.5)
    (Fraction(99, 1), Fraction(1, 10))
    >>> column.released(np.array([41.26, 99.0]), column.step(7.5)).to_pylist()
    [41.3, 99.0]
    """

    attribute: Attribute
    lower: float
    upper: float

    @classmethod
    def of(cls, attribute: Attribute) -> NumberColumn:
        """Return the column of an attribute with bounds, or with values in order."""
        domain = attribute.domain
        assert domain is not None  # noqa: S101 - the method refuses others
        if attribute.kind is Kind.ORDINAL:
            return cls(attribute=attribute, lower=0.0, upper=float(len(domain.values or ()) - 1))
        lower, upper = (_number(bound) for bound in (domain.minimum, domain.maximum))
        return cls(attribute=attribute, lower=lower, upper=upper)

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def width(self) -> Fraction:
        """The width of the domain; 0 where there is one value only, which needs no noise."""
        return Fraction(self.upper) - Fraction(self.lower)

    @property
    def middle(self) -> int | float | dt.date | str:
        """The value in the middle of the domain."""
        middle = (self.lower + self.upper) / 2
        if self.attribute.kind is Kind.ORDINAL:
            assert self.attribute.domain is not None  # noqa: S101 - ordinal attributes have one
            return (self.attribute.domain.values or ())[math.floor(middle)]
        if self.attribute.kind is Kind.DATE:
            return dt.date(1970, 1, 1) + dt.timedelta(days=math.floor(middle))
        return int(middle) if middle.is_integer() else middle

    def place(self, value: object) -> float | None:
        """Return a declared value as a number, day or rank of the domain; None if it is none."""
        if self.attribute.kind is Kind.ORDINAL:
            values = list(self.attribute.domain.values or ()) if self.attribute.domain else []
            return float(values.index(value)) if isinstance(value, str) and value in values else None
        of_kind = dt.date if self.attribute.kind is Kind.DATE else int | float
        if not isinstance(value, of_kind) or isinstance(value, bool | dt.datetime):
            return None
        number = _number(value)
        return number if self.lower <= number <= self.upper else None

    def step(self, scale: float, decimals: int | None = None) -> Fraction:
        """Return what released numbers are rounded to: as told, or by the (public) scale of the noise."""
        if self.attribute.kind is not Kind.NUMERIC:
            return Fraction(1)
        if decimals is not None:
            return Fraction(10) ** -decimals
        wanted = min(scale, float(self.width)) / FINENESS
        step = Fraction(10) ** (math.floor(math.log10(wanted)) + 1)
        while step > wanted:  # a logarithm of a power of ten may be rounded down or up
            step /= 10
        return step

    def released(self, values: NDArray[np.float64], step: Fraction) -> pa.Array:
        """Return numbers as they are released: rounded, inside the bounds, in the type of the column."""
        # a float divided by a power of ten that is a float too is the decimal nearest to it, as one would write it
        rounded = np.rint(values / float(step)) * float(step) if step >= 1 else _decimal(values, int(1 / step))
        clamped = np.clip(rounded, self.lower, self.upper)
        if self.attribute.kind is Kind.ORDINAL:
            assert self.attribute.domain is not None  # noqa: S101 - ordinal attributes have one
            return pa.array(self.attribute.domain.values, pa.string()).take(pa.array(clamped.astype(np.int64)))
        if self.attribute.kind is Kind.DATE:
            return pa.array(clamped.astype(np.int32)).cast(pa.date32())
        whole = step >= 1 and self.lower.is_integer() and self.upper.is_integer() and self._exact
        return pa.array(clamped.astype(np.int64) if whole else clamped)

    def strange(self, cells: pa.ChunkedArray, step: Fraction) -> int:
        """Count released cells that are missing, outside the domain, or neither on the grid nor at a bound."""
        if self.attribute.kind is Kind.ORDINAL:
            assert self.attribute.domain is not None  # noqa: S101 - ordinal attributes have one
            known = pc.is_in(text(cells), value_set=pa.array(self.attribute.domain.values, pa.string()))
            return len(cells) - int(pc.sum(known).as_py() or 0)
        if self.attribute.kind is Kind.DATE:
            cells = cells.cast(pa.date32()).cast(pa.int32())
        counts = pc.value_counts(cells.cast(pa.float64()))
        return sum(
            count
            for value, count in zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
            if not self._holds(value, step)
        )

    def _holds(self, value: float | None, step: Fraction) -> bool:
        if value is None or not self.lower <= value <= self.upper:  # NaN is not between anything
            return False
        return value in (self.lower, self.upper) or (fraction(value) / step).denominator == 1

    @property
    def _exact(self) -> bool:
        return max(abs(self.lower), abs(self.upper)) < 2**53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConceptColumn:
    """A categorical column: all concepts of its hierarchy, values and what they generalise to.

    A concept that stands alone under one of the same label is one concept with it, so the missing value is one, too.
    """

    #: What it is and how it generalises; all leaves are declared.
    attribute: Attribute
    hierarchy: Hierarchy = field(repr=False)
    #: What a concept is called in a release, in alphabetical order; None is the missing value.
    labels: tuple[str | None, ...] = field(repr=False)
    #: The concept of each leaf.
    leaves: NDArray[np.int32] = field(repr=False)
    taxonomy: Concepts = field(repr=False)

    @classmethod
    def of(cls, attribute: Attribute, schema: Schema) -> ConceptColumn:
        """Return the column of an attribute whose values are declared."""
        hierarchy = hierarchies.build(
            attribute,
            pa.array([], pa.string()),
            folder=schema.folder,
            missing=attribute.missing is Missing.CATEGORY,
        )
        if sum(map(len, hierarchy.labels)) > LARGEST_TAXONOMY:
            raise ParameterError(
                f"column `{attribute.name}` has more than {LARGEST_TAXONOMY:,} concepts, too many to choose from",
                hint="give it a hierarchy of coarser values",
            )
        labels, parents, leaves = _concepts(hierarchy)
        taxonomy = Concepts.from_parents(parents, domain=sorted(set(leaves.tolist())))
        return cls(attribute=attribute, hierarchy=hierarchy, labels=labels, leaves=leaves, taxonomy=taxonomy)

    @property
    def name(self) -> str:
        return self.attribute.name

    def codes(self, values: pa.Array) -> NDArray[np.int32]:
        """Return the concepts of values; -1 where a value is not declared."""
        codes = hierarchies.leaf_codes(self.hierarchy, values)
        return np.where(codes < 0, np.int32(-1), self.leaves[codes])

    def released(self, codes: NDArray[np.int32]) -> pa.Array:
        return pa.array(self.labels, pa.string()).take(pa.array(codes))

    def strange(self, cells: pa.ChunkedArray) -> int:
        """Count released cells that are no concept of the column."""
        known = pc.is_in(text(cells), value_set=pa.array(self.labels, pa.string()))
        return len(cells) - int(pc.sum(known).as_py() or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The released columns; those of numbers with a single value have no noise and are apart."""

    numbers: tuple[NumberColumn, ...]
    concepts: tuple[ConceptColumn, ...]
    constants: tuple[NumberColumn, ...]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Return the released columns that a schema declares, in its order."""
        every = [NumberColumn.of(each) for each in released(schema) if each.kind is not Kind.CATEGORICAL]
        concepts = (ConceptColumn.of(each, schema) for each in released(schema) if each.kind is Kind.CATEGORICAL)
        return cls(
            numbers=tuple(each for each in every if each.width),
            concepts=tuple(concepts),
            constants=tuple(each for each in every if not each.width),
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns that have noise: numbers first."""
        return [*(number.name for number in self.numbers), *(concept.name for concept in self.concepts)]

    @property
    def widths(self) -> tuple[Fraction, ...]:
        """The widths of their domains, in the same order."""
        return (
            *(number.width for number in self.numbers),
            *(Fraction(concept.taxonomy.width) for concept in self.concepts),
        )


def _number(bound: object) -> float:
    if isinstance(bound, dt.date):
        return float((bound - dt.date(1970, 1, 1)).days)
    assert isinstance(bound, int | float)  # noqa: S101 - the method refuses domains without bounds
    return float(bound)


def _decimal(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    return np.asarray(np.rint(values * parts) / parts)


def _concepts(hierarchy: Hierarchy) -> tuple[tuple[str | None, ...], list[int], NDArray[np.int32]]:
    """Return labels in alphabetical order, the parent of each concept, and the concept of each leaf."""
    paths: list[list[Key]] = []
    firsts = [
        np.searchsorted(codes, np.arange(len(labels)))
        for codes, labels in zip(hierarchy.codes, hierarchy.labels, strict=True)
    ]
    for leaf in range(hierarchy.size):
        path: list[Key] = []
        for level, codes in enumerate(hierarchy.codes):
            code = int(codes[leaf])
            label = hierarchy.labels[level][code]
            key = (label, int(firsts[level][code]), int(hierarchy.leaves[level][code]))
            path += [key] if not path or path[-1] != key else []
        paths.append(path)
    ordered = sorted({key for path in paths for key in path}, key=lambda key: (key[0] is None, key[0] or "", key))
    number = {key: position for position, key in enumerate(ordered)}
    parents = [-1] * len(ordered)
    for path in paths:
        for below, above in itertools.pairwise(path):
            parents[number[below]] = number[above]
    labels = tuple(key[0] for key in ordered)
    return labels, parents, np.array([number[path[0]] for path in paths], np.int32)


# -- records whose domains are declared: numbers within bounds, and codes of concepts with their taxonomies


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Records of p numeric and q categorical attributes, row by row.

    Examples
    --------
    >>> people = Records(numeric=[[31, 2.5], [47, 3.0]], codes=[[0], [1]], taxonomies=[Concepts.flat(2)])
    >>> people
    Records(2 records, 2 numeric and 1 categorical attributes)
    """

    #: A matrix of n x p finite numbers.
    numeric: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    #: A matrix of n x q codes of concepts.
    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 0), np.int32))
    #: One per column of ``codes``.
    taxonomies: tuple[Concepts, ...] = ()
    #: The declared bounds of the numeric attributes, both or none; every number lies within.
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        numeric = np.array(self.numeric, dtype=np.float64, order="C")
        codes = np.array(self.codes, dtype=np.int32, order="C")
        if numeric.ndim != 2 or codes.ndim != 2:
            raise ParameterError("`numeric` and `codes` of `Records` must be matrices, one row per record.")
        # An absent part has no columns, and as many rows as the other.
        numeric = numeric.reshape(len(codes), 0) if numeric.size == 0 and codes.size else numeric
        codes = codes.reshape(len(numeric), 0) if codes.size == 0 else codes
        object.__setattr__(self, "numeric", numeric)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "taxonomies", tuple(self.taxonomies))
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            object.__setattr__(self, name, None if bound is None else np.array(bound, dtype=np.float64))
        self._check()
        for array in (numeric, codes, self.lower, self.upper):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.numeric)

    def __repr__(self) -> str:
        numeric, categorical = self.numeric.shape[1], self.codes.shape[1]
        return f"Records({len(self)} records, {numeric} numeric and {categorical} categorical attributes)"

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.lower is None or self.upper is None:
            raise ParameterError(
                "`Records` must declare the bounds of its numeric attributes here.",
                hint="pass lower= and upper=; they may not be read off the data where privacy depends on them",
            )
        return self.lower, self.upper

    def space(self) -> Space:
        """Return the records ready for distances: numbers are divided by the width of their declared domain."""
        numeric = self.numeric
        if numeric.shape[1]:
            lower, upper = self.bounds
            numeric = (numeric - lower) / (upper - lower)
        return Space.of(numeric, self.codes, self.taxonomies)

    def take(self, rows: ArrayLike) -> Self:
        index = np.asarray(rows)
        return dataclasses.replace(self, numeric=self.numeric[index], codes=self.codes[index])

    def _check(self) -> None:
        problems = Problems()
        if self.numeric.shape[1] and self.codes.shape[1] and len(self.numeric) != len(self.codes):
            problems.add(f"`Records` has {len(self.numeric)} rows of numbers and {len(self.codes)} of codes")
        if len(self.taxonomies) != self.codes.shape[1]:
            problems.add(f"`Records` has {self.codes.shape[1]} columns of codes and {len(self.taxonomies)} taxonomies")
        if not np.isfinite(self.numeric).all():
            rows = int((~np.isfinite(self.numeric)).any(axis=1).sum())
            problems.add(f"`numeric` of `Records` holds values that are not finite numbers, in {rows} rows")
        for column, (codes, taxonomy) in enumerate(zip(self.codes.T, self.taxonomies, strict=False)):
            if len(codes) and (codes.min() < 0 or codes.max() >= taxonomy.count):
                problems.add(f"column {column} of `codes` of `Records` holds codes outside [0, {taxonomy.count})")
        self._check_bounds(problems)
        problems.raise_as(DataError)

    def _check_bounds(self, problems: Problems) -> None:
        if (self.lower is None) != (self.upper is None):
            problems.add("`lower` and `upper` of `Records` must be given together")
        if self.lower is None or self.upper is None:
            return
        shape = (self.numeric.shape[1],)
        if self.lower.shape != shape or self.upper.shape != shape:
            problems.add(f"`lower` and `upper` of `Records` must hold one bound for each of {shape[0]} attributes")
        elif not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all() and (self.lower < self.upper).all()):
            problems.add("`lower` of `Records` must be below `upper`, both finite")
        else:
            for column in np.flatnonzero(((self.numeric < self.lower) | (self.numeric > self.upper)).any(axis=0)):
                problems.add(f"column {column} of `numeric` of `Records` holds values outside its bounds")


@dataclass(frozen=True, slots=True)
class AttributeSet:
    """One of the disjoint sets AS_1, ..., AS_m of attributes: columns of numbers and columns of codes."""

    numeric: tuple[int, ...] = ()
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.numeric and not self.categorical:
            raise ParameterError("an `AttributeSet` must hold at least one attribute.")

    def of(self, records: Records) -> Records:
        """Return the records with these attributes only."""
        columns, concepts = list(self.numeric), list(self.categorical)
        return Records(
            numeric=records.numeric[:, columns],
            codes=records.codes[:, concepts],
            taxonomies=tuple(records.taxonomies[column] for column in concepts),
            lower=None if records.lower is None else records.lower[columns],
            upper=None if records.upper is None else records.upper[columns],
        )


def require_disjoint(sets: Sequence[AttributeSet]) -> None:
    """Raise if an attribute is in two sets."""
    for kind in ("numeric", "categorical"):
        columns = [column for attributes in sets for column in getattr(attributes, kind)]
        if len(columns) != len(set(columns)):
            raise ParameterError(f"sets of attributes must be disjoint; a {kind} attribute is in two of them.")
