"""Records whose domains are declared: numbers within bounds, and codes of concepts with their taxonomies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError, Problems
from shoal.hierarchies import Concepts
from shoal.methods.classes import Space, standardize

Scaling = Literal["z-score", "domain"]
"""What numbers are divided by: their standard deviation, or the width of their declared domain."""


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

    @classmethod
    def of(cls, values: Records | ArrayLike) -> Records:
        """Return records as they are, or a matrix (or one column) of numbers as records."""
        if isinstance(values, Records):
            return values
        matrix = np.asarray(values, dtype=np.float64)
        return cls(numeric=matrix[:, None] if matrix.ndim == 1 else matrix)

    def __len__(self) -> int:
        return len(self.numeric)

    def __repr__(self) -> str:
        numeric, categorical = self.numeric.shape[1], self.codes.shape[1]
        return f"Records({len(self)} records, {numeric} numeric and {categorical} categorical attributes)"

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The declared bounds of the numeric attributes."""
        if self.lower is None or self.upper is None:
            raise ParameterError(
                "`Records` must declare the bounds of its numeric attributes here.",
                hint="pass lower= and upper=; they may not be read off the data where privacy depends on them",
            )
        return self.lower, self.upper

    def space(self, scaling: Scaling) -> Space:
        """Return the records ready for distances, all attributes on one scale.

        Numbers are divided by the width of their declared domain or, where nothing is declared, by their standard
        deviation, which depends on the data: no differential privacy may rest on it.
        """
        numeric = self.numeric
        if scaling == "z-score":
            numeric = standardize(numeric)
        elif numeric.shape[1]:
            lower, upper = self.bounds
            numeric = (numeric - lower) / (upper - lower)
        return Space.of(numeric, self.codes, self.taxonomies)

    def take(self, rows: ArrayLike) -> Self:
        """Return some of the records."""
        index = np.asarray(rows)
        return self._with(self.numeric[index], self.codes[index])

    def attributes(self, *, numeric: Sequence[int] = (), categorical: Sequence[int] = ()) -> Self:
        """Return the records with some of their attributes: one of the attribute sets AS_1, ..., AS_m."""
        columns, concepts = list(numeric), list(categorical)
        return type(self)(
            numeric=self.numeric[:, columns],
            codes=self.codes[:, concepts],
            taxonomies=tuple(self.taxonomies[column] for column in concepts),
            lower=None if self.lower is None else self.lower[columns],
            upper=None if self.upper is None else self.upper[columns],
        )

    def replace(self, numeric: NDArray[np.float64], codes: NDArray[np.int32]) -> Self:
        """Return records with other values of the same attributes."""
        return self._with(numeric, codes)

    def _with(self, numeric: NDArray[np.float64], codes: NDArray[np.int32]) -> Self:
        return type(self)(numeric=numeric, codes=codes, taxonomies=self.taxonomies, lower=self.lower, upper=self.upper)

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
        return records.attributes(numeric=self.numeric, categorical=self.categorical)


def require_disjoint(sets: Sequence[AttributeSet]) -> None:
    """Raise if an attribute is in two sets."""
    for kind in ("numeric", "categorical"):
        columns = [column for attributes in sets for column in getattr(attributes, kind)]
        if len(columns) != len(set(columns)):
            raise ParameterError(f"sets of attributes must be disjoint; a {kind} attribute is in two of them.")
