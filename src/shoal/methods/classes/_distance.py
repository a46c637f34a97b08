"""How far records are apart: numbers on a common scale, concepts by their semantic distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.methods.classes._records import Records

__all__ = ["Scaling", "Space", "standardize"]

Matrix = NDArray[np.float64]

Scaling = Literal["z-score", "domain", "none"]
"""What numbers are divided by: their standard deviation, the width of their declared domain, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """Records made ready for distances.

    The squared distance of two records is the sum over the attributes of the squares of [SC13 (6.7)]

        dist(a_1, a_2) / dist(a_b, a_t),

    a_b and a_t the boundaries of the attribute's domain: for concepts the semantic distance (6.6) over the distance of
    the most marginal value and the value farthest from it; for numbers the difference over the width of the
    declared domain (``scaling="domain"``) or over the standard deviation (``"z-score"``, the usual choice where
    nothing is declared; it depends on the data, so no differential privacy may rest on it). With ``"none"``
    nothing is divided.

    Parameters
    ----------
    numeric
        The scaled numbers.
    codes
        The codes of the concepts.
    tables
        For each categorical attribute the scaled squared distances of all pairs of concepts.
    """

    numeric: Matrix
    codes: NDArray[np.int32]
    tables: tuple[Matrix, ...]

    @classmethod
    def of(cls, records: Records, scaling: Scaling = "z-score") -> Space:
        """Scale records."""
        if scaling not in get_args(Scaling):
            names = ", ".join(f"{name!r}" for name in get_args(Scaling))
            raise ParameterError(f"`scaling` must be one of {names}; got {scaling!r}.")
        tables = tuple(
            np.square(taxonomy.distances / (1.0 if scaling == "none" else taxonomy.width))
            for taxonomy in records.taxonomies
        )
        return cls(numeric=_scaled(records, scaling), codes=records.codes, tables=tables)

    def __len__(self) -> int:
        return len(self.numeric)

    def distances(self, numeric: Matrix, codes: NDArray[np.int32], rows: NDArray[np.int64] | None = None) -> Matrix:
        """Return the squared distances from one record, given by its scaled numbers and codes, to rows of the space.

        The terms are added attribute by attribute, numbers first: O(rows * attributes).
        """
        mine, own = (self.numeric, self.codes) if rows is None else (self.numeric[rows], self.codes[rows])
        total = np.zeros(len(mine))
        for column, value in zip(mine.T, numeric, strict=True):
            total += np.square(column - value)
        for column, code, table in zip(own.T, codes, self.tables, strict=True):
            total += table[code][column]
        return total


def standardize(values: Matrix) -> Matrix:
    """Return z-scores: each column with mean 0 and standard deviation 1 (of the population); constants become 0.

    >>> standardize(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    data = np.ascontiguousarray(values, dtype=np.float64)
    if len(data) == 0:
        return data
    # Powers of two change no ratio and keep the squares of very large or small numbers in range.
    largest = np.abs(data).max(axis=0)
    data = np.ldexp(data, -np.frexp(largest)[1])
    centred = data - data.mean(axis=0)
    deviation = np.sqrt(np.square(centred).mean(axis=0))
    constant = data.max(axis=0) == data.min(axis=0)
    result: Matrix = np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))
    return result


def _scaled(records: Records, scaling: Scaling) -> Matrix:
    if scaling == "none" or records.numeric.shape[1] == 0:
        return records.numeric
    if scaling == "z-score":
        return standardize(records.numeric)
    lower, upper = records.bounds
    scaled: Matrix = (records.numeric - lower) / (upper - lower)
    return scaled
