"""Columns as noise sees them: numbers between declared bounds, and concepts of a declared taxonomy.

What is here depends on the schema alone, so a checker makes the same columns from the plan of a release.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import hierarchies
from shoal.errors import ParameterError
from shoal.exact import fraction
from shoal.hierarchies import Concepts, Hierarchy
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
        """The name of the column."""
        return self.attribute.name

    @property
    def width(self) -> Fraction:
        """The width of the domain; 0 where there is one value only, which needs no noise."""
        return Fraction(self.upper) - Fraction(self.lower)

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
        if decimals is None:
            decimals = -math.floor(math.log10(min(scale, float(self.width)) / FINENESS))
        return Fraction(10) ** -decimals

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
        """The name of the column."""
        return self.attribute.name

    def codes(self, values: pa.Array) -> NDArray[np.int32]:
        """Return the concepts of values; -1 where a value is not declared."""
        found = hierarchies.leaf_codes(self.hierarchy, values)
        return np.where(found < 0, np.int32(-1), self.leaves[found])

    def released(self, codes: NDArray[np.int32]) -> pa.Array:
        """Return concepts as they are released."""
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
        """Return the columns that a schema declares."""
        every = number_columns(schema)
        return cls(
            numbers=tuple(each for each in every if each.width),
            concepts=concept_columns(schema),
            constants=tuple(each for each in every if not each.width),
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns that have noise: numbers first."""
        return [*(each.name for each in self.numbers), *(each.name for each in self.concepts)]

    @property
    def widths(self) -> tuple[Fraction, ...]:
        """The widths of their domains, in the same order."""
        return (*(each.width for each in self.numbers), *(Fraction(each.taxonomy.width) for each in self.concepts))


def covered(schema: Schema) -> tuple[Attribute, ...]:
    """Return the columns that are released: all but the identifiers, all with noise."""
    return tuple(attribute for attribute in schema if not attribute.role.names_someone)


def number_columns(schema: Schema) -> tuple[NumberColumn, ...]:
    """Return the released columns of numbers, days and ranks, in the order of the schema."""
    return tuple(NumberColumn.of(each) for each in covered(schema) if each.kind is not Kind.CATEGORICAL)


def concept_columns(schema: Schema) -> tuple[ConceptColumn, ...]:
    """Return the released categorical columns, in the order of the schema."""
    return tuple(ConceptColumn.of(each, schema) for each in covered(schema) if each.kind is Kind.CATEGORICAL)


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
    number = {key: place for place, key in enumerate(ordered)}
    parents = [-1] * len(ordered)
    for path in paths:
        for below, above in itertools.pairwise(path):
            parents[number[below]] = number[above]
    labels = tuple(key[0] for key in ordered)
    return labels, parents, np.array([number[path[0]] for path in paths], np.int32)
