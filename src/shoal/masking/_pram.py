"""PRAM: every value of a column is drawn again, with probabilities that depend on the value alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, ParameterError
from shoal.exact import above, logarithm
from shoal.kernels import Floats
from shoal.masking._step import Columns, ColumnStep, plain_text
from shoal.mechanisms import RandomSource

#: probabilities are whole multiples of one over this, so that drawing is exact
UNITS = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram(ColumnStep):
    """Randomise a categorical column: the post-randomisation method (Gouweleeuw et al. 1998).

    Parameters
    ----------
    column
        The column; missing values stay missing.
    keep
        The probability with which a value stays, in (0, 1); the others are equally likely. With ``invariant`` it is no
        floor: of a rare value much less may stay.
    invariant
        Whether the matrix is made so that the expected number of every value does not change; it then depends on the
        numbers in the table.
    alpha
        With ``invariant``: how much of that matrix is mixed with staying, in (0, 1].

    Guarantee
    ---------
    Without ``invariant``: local differential privacy of the column, epsilon = ln max P(v | u) / P(v | u'), rounded up.
    The probabilities that are drawn are those of the matrix exactly. With it: none, as the matrix depends on the data.

    Assumptions
    -----------
    The set of values is public, each record's value is drawn once and on its own, and no other column tells the value.
    Missing values are not covered.

    Examples
    --------
    >>> transitions(3, 0.8).tolist()
    [[3435973836, 429496730, 429496730], [429496730, 3435973836, 429496730], [429496730, 429496730, 3435973836]]
    """

    name: ClassVar[str] = "pram"
    keep: float
    invariant: bool = False
    alpha: float = 1.0

    def __post_init__(self) -> None:
        problems = [
            f"`{name}` of `Pram` must be in {interval}; got {value}."
            for name, value, interval, fits in (
                ("keep", self.keep, "(0, 1)", 0 < self.keep < 1),
                ("alpha", self.alpha, "(0, 1]", 0 < self.alpha <= 1),
            )
            if not fits
        ]
        if problems:
            raise ParameterError(problems)

    def detail(self, table: Columns) -> dict[str, object]:
        """Return the values and, if it depends on their numbers, the matrix; with them, statistics can be corrected."""
        text = plain_text(table[self.column]).drop_null()
        counted = sorted(text.value_counts().to_pylist(), key=lambda entry: str(entry["values"]))
        values = [entry["values"] for entry in counted]
        if len(values) < 2:
            raise DataError(f"column `{self.column}` has fewer than two values, so nothing can be exchanged")
        if not self.invariant:
            return {"values": values}
        counts = np.array([entry["counts"] for entry in counted])
        return {"values": values, "matrix": invariant(counts, self.keep, self.alpha).tolist()}

    def describe(self) -> str:
        if self.invariant:
            return (
                f"Invariant PRAM of `{self.column}`: every value was drawn anew by a matrix that keeps the expected "
                f"number of every value (made with {self.keep:g}, mixed with {self.alpha:g})."
            )
        return (
            f"PRAM of `{self.column}`: every value was drawn anew; it stays with probability {self.keep:g}, and the "
            "others are equally likely."
        )

    def promise(self, detail: Mapping[str, object]) -> str:
        """Say the local differential privacy of the matrix, or that nothing is promised."""
        matrix = self.matrix(detail)
        if self.invariant:
            return (
                f"Nothing is promised about `{self.column}`: the probabilities depend on the data, so this is not "
                "differential privacy; what an intruder learns is stated above."
            )
        ratio = max(Fraction(int(column.max()), int(column.min())) for column in matrix.T)
        epsilon = above(lambda: logarithm(ratio))
        return (
            f"Whatever is released as the value of `{self.column}` of a person is at most e^{_up(epsilon)} times as "
            "likely under one original value as under another (local differential privacy of this column alone, if its "
            "set of values is public and no other column reveals it; missing values are not covered)."
        )

    def matrix(self, detail: Mapping[str, object]) -> np.ndarray:
        """Return the matrix of the values that :meth:`detail` names, in `UNITS`; refuse one that is none."""
        values = detail["values"]
        if not isinstance(values, list) or len({*values}) != len(values) or len(values) < 2:
            raise ValueError("the values are not all different")
        if not self.invariant:
            return transitions(len(values), self.keep)
        matrix = np.array(detail["matrix"], dtype=np.int64)
        if matrix.shape != (len(values),) * 2 or (matrix < 0).any() or (matrix.sum(axis=1) != UNITS).any():
            raise ValueError("the rows of the matrix do not add up to one")
        return matrix

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that there are values that the matrix does not have, if there are."""
        self.matrix(detail)
        shown = {*plain_text(table[self.column]).drop_null().unique().to_pylist()}
        more = shown - {*detail["values"]}  # type: ignore[misc]
        return f"`{self.column}` holds values that the matrix does not have" if more else None

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        detail = self.detail(table)
        values, matrix = list(map(str, detail["values"])), self.matrix(detail)  # type: ignore[call-overload]
        text = plain_text(table[self.column])
        codes = pc.index_in(text, value_set=pa.array(values, pa.string()), skip_nulls=True).fill_null(-1)
        codes = np.asarray(codes.to_numpy(zero_copy_only=False))
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        drawn = np.where(codes >= 0, _draw_values(matrix, codes, source), -1)
        changed = pa.array([None if code < 0 else values[code] for code in drawn.tolist()], pa.string())
        return {self.column: changed}, self._describe_change(matrix, counts, codes, drawn)

    def _describe_change(self, matrix: np.ndarray, counts: np.ndarray, codes: np.ndarray, drawn: np.ndarray) -> str:
        right = _posterior(matrix, counts)
        kind = "invariant PRAM" if self.invariant else "PRAM"
        least, most = (f"{share:.3g}" for share in (np.diag(matrix).min() / UNITS, np.diag(matrix).max() / UNITS))
        stays = least if least == most else f"{least} to {most}"
        return (
            f"{kind} of `{self.column}`: a value stays with probability {stays}; "
            f"{int((codes != drawn).sum()):,} of {len(codes):,} values changed. Anyone who sees a value and knows the "
            f"matrix and how frequent values are is right about the original with probability {right.min():.3g} to "
            f"{right.max():.3g}."
        )


def transitions(values: int, keep: float) -> np.ndarray:
    """Return the matrix in which a value stays with a probability and the others are equally likely, in `UNITS`."""
    other = max(1, round((1 - keep) / (values - 1) * UNITS))
    matrix = np.full((values, values), other, dtype=np.int64)
    np.fill_diagonal(matrix, UNITS - other * (values - 1))
    return matrix


def invariant(counts: np.ndarray, keep: float, alpha: float = 1.0) -> np.ndarray:
    """Return a matrix R with p R = p, p being the shares of the values: R = P Q, Q the way back by Bayes' rule.

    Rounded to `UNITS`; what rounding leaves goes to the diagonal.
    """
    shares = counts / counts.sum()
    forward = transitions(len(counts), keep) / UNITS
    back = (forward * shares[:, None]).T / (shares @ forward)[:, None]
    mixed = alpha * (forward @ back) + (1 - alpha) * np.eye(len(counts))
    matrix = np.floor(mixed * UNITS).astype(np.int64)
    matrix[np.diag_indices_from(matrix)] += UNITS - matrix.sum(axis=1)
    return np.asarray(matrix)


def _draw_values(matrix: np.ndarray, codes: np.ndarray, source: RandomSource) -> np.ndarray:
    """Draw a new value for every code; exact, as rows are whole numbers that add up to `UNITS`."""
    draws = (source.uint64(len(codes)) >> np.uint64(32)).astype(np.int64)
    upto = np.cumsum(matrix, axis=1)
    result = np.zeros(len(codes), dtype=np.int64)
    for code in range(len(matrix)):
        rows = codes == code
        result[rows] = np.searchsorted(upto[code], draws[rows], side="right")
    return result


def _posterior(matrix: np.ndarray, counts: np.ndarray) -> Floats:
    """Return, for every value that is released, the greatest probability of any original value."""
    joint = matrix * (counts / counts.sum())[:, None]
    return np.asarray(joint.max(axis=0) / joint.sum(axis=0))


def _up(epsilon: float) -> str:
    return f"{np.ceil(epsilon * 1e4 + 1e-6) / 1e4:.4f}"
