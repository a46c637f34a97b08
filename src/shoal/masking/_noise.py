"""Noise on numeric columns: independent, or in the directions in which the columns vary together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, ParameterError, quoted
from shoal.kernels import Floats
from shoal.masking._step import Columns, MaskingStep, format_numbers, generator, numbers_of
from shoal.mechanisms import RandomSource

NoiseKind = Literal["additive", "correlated", "kept-variance", "kept-moments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNoise(MaskingStep):
    """Add normal noise to numeric columns. Nothing is promised; this is not differential privacy.

    Parameters
    ----------
    names
        The columns; missing values stay missing.
    amount
        The variance of the noise as a multiple of that of the column, positive; below 1 with ``kept-variance``.
    kind
        ``additive``: every column on its own. ``correlated``: noise with the covariance of the columns, so that
        correlations stay and variances grow by ``1 + amount``. ``kept-variance``: the same, shrunk to the mean so that
        means, variances and correlations stay in expectation. ``kept-moments``: correlated noise, then a linear map
        that gives the records with all values exactly the means and covariances that they had, which is what random
        orthogonal matrix masking (Ting, Fienberg and Trottini 2008) keeps.

    Examples
    --------
    >>> AddNoise(names=("income",), amount=0.1).columns
    ('income',)
    """

    name: ClassVar[str] = "noise"
    names: tuple[str, ...]
    amount: float
    kind: NoiseKind = "additive"

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in get_args(NoiseKind):
            problems.append(f"`kind` of `AddNoise` must be one of {', '.join(get_args(NoiseKind))}; got {self.kind!r}.")
        if not (np.isfinite(self.amount) and self.amount > 0) or (self.kind == "kept-variance" and self.amount >= 1):
            problems.append(
                f"`amount` of `AddNoise` must be positive, and below 1 if variances stay; got {self.amount}."
            )
        if not self.names or len({*self.names}) != len(self.names):
            problems.append("`names` of `AddNoise` must be one or more different columns.")
        if problems:
            raise ParameterError(problems)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def describe(self) -> str:
        return f"Added {self.kind} normal noise to {quoted(self.names)}, {self.amount:g} times their variance."

    def contradiction(self, table: Columns, detail: Mapping[str, object]) -> str | None:
        """Say that a column holds what is no number, if it does."""
        del detail
        try:
            for name in self.names:
                numbers_of(table, name)
        except DataError as error:
            return "; ".join(error.problems)
        return None

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        numbers = np.stack([numbers_of(table, name) for name in self.names], axis=1)
        whole = numbers[~np.isnan(numbers).any(axis=1)]
        if len(whole) < 2:
            raise DataError(f"columns {quoted(self.names)} have too few records with all values")
        mean, spread = whole.mean(axis=0), np.atleast_2d(np.cov(whole.T))
        if self.kind == "additive":
            spread = np.diag(np.diag(spread))
        noise = generator(source).multivariate_normal(
            np.zeros(len(mean)), self.amount * spread, size=len(numbers), method="svd"
        )
        kept = np.sqrt(1 - self.amount) if self.kind == "kept-variance" else 1.0
        changed = mean + kept * (numbers - mean) + noise
        if self.kind == "kept-moments":
            changed = _with_moments(changed, mean, spread)
        return {name: format_numbers(changed[:, j]) for j, name in enumerate(self.names)}, self.describe()


def _with_moments(numbers: Floats, mean: Floats, spread: Floats) -> Floats:
    """Return numbers moved and stretched so that those of whole records have this mean and covariance."""
    whole = numbers[~np.isnan(numbers).any(axis=1)]
    have, want = (_root(each) for each in (np.atleast_2d(np.cov(whole.T)), spread))
    return np.asarray(mean + (numbers - whole.mean(axis=0)) @ np.linalg.pinv(have) @ want)


def _root(spread: Floats) -> Floats:
    """Return the symmetric square root of a covariance."""
    values, vectors = np.linalg.eigh(spread)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
