"""Slicing: groups of columns that go together are anonymised apart and released as separate tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.exact import Arguments
from shoal.models import Model
from shoal.schema import Role, Schema

__all__ = ["Slice", "associations", "grouped"]

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Divide the columns into groups, anonymise each group with another method, and release a table for each.

    Few columns at a time need little generalisation, so tables of many quasi-identifiers keep far more detail in
    slices; what is lost is how columns of different groups go together.

    Parameters
    ----------
    groups
        Columns that stay together; every column but identifiers is in exactly one. Where not given, columns that go
        together are found in the data.
    size
        The most columns of a group that is found.
    inner
        The name of the method for each group.
    options
        The parameters of that method.

    Guarantee
    ---------
    Every table keeps the promises that are about its columns; k-anonymity and other promises about sizes are kept by
    each. Conditional: what all tables together promise, see `shoal.methods.classes.composition`.

    Assumptions
    -----------
    An intruder does not know how columns of different groups go together. With groups that are found, the groups
    themselves tell which columns do.

    Examples
    --------
    >>> Slice(groups=[["age", "illness"], ["zip", "income"]]).groups
    (('age', 'illness'), ('zip', 'income'))
    """

    groups: Sequence[Sequence[str]] | None = None
    size: int = 4
    inner: str = "generalize"
    options: Mapping[str, object] = field(default_factory=dict)
    name: ClassVar[str] = "slice"
    title: ClassVar[str] = "Slice"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.whole("size", self.size, minimum=1)
        if self.groups is not None:
            made = tuple(arguments.columns("groups", list(group)) for group in self.groups)
            object.__setattr__(self, "groups", made)
        if self.inner == self.name:
            arguments.problems.add(f"`inner` of `{self.title}` must be another method.")
        arguments.finish()

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}

    def weighted(self, weights: Mapping[str, float]) -> Self:
        """Return the method as it is: weights are given to the method of each group."""
        del weights
        return self

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return what keeps this method from being used with a schema and promises."""
        found = []
        if any(model.capabilities.population for model in models):
            found.append(f"method `{self.name}` cannot compare with a population")
        if self.groups is None:
            return found
        wanted = [
            attribute.name for attribute in schema if attribute.role is not Role.IDENTIFIER or attribute.pseudonym
        ]
        named = [name for group in self.groups for name in group]
        for name in dict.fromkeys(named):
            if name not in wanted:
                found.append(f"`groups` of `{self.title}` names `{name}`, which is not a column to release")
            elif named.count(name) > 1:
                found.append(f"`groups` of `{self.title}` has `{name}` twice: tables must share no column")
        found += [f"`groups` of `{self.title}` leaves out `{name}`" for name in wanted if name not in named]
        for model in models:
            needed = set(model.capabilities.sensitive)
            if needed and not any(needed <= set(group) for group in self.groups):
                found.append(f"no group of `{self.title}` has all columns that `{model.title}` is about")
        return found


def associations(codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how strongly every two columns go together: Cramér's V, in [0, 1].

    V = sqrt(chi^2 / (n (min(r, c) - 1))) of the table of counts, r and c the different values; corrected for the part
    of it that chance gives (Bergsma 2013). Columns of more than ten values are cut into tenths by rank.

    Examples
    --------
    >>> x = np.arange(100) % 2
    >>> associations(np.stack([x, x, np.arange(100) // 50], axis=1)).round(2).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    columns = [_few(codes[:, j]) for j in range(codes.shape[1])]
    found = np.eye(len(columns))
    for i, left in enumerate(columns):
        for j in range(i):
            found[i, j] = found[j, i] = _cramer(left, columns[j])
    return found


def grouped(strengths: NDArray[np.float64], most: int, together: Sequence[Sequence[int]] = ()) -> list[list[int]]:
    """Merge the two groups of columns that go together best, on average, while groups have at most ``most`` columns.

    Columns in one entry of ``together`` are never parted. Groups without any association are not merged.

    Examples
    --------
    >>> grouped(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]), 2)
    [[0, 2], [1]]
    """
    groups = [sorted(set(entry)) for entry in together]
    taken = {column for group in groups for column in group}
    groups += [[column] for column in range(len(strengths)) if column not in taken]
    while True:
        pairs = [
            (float(strengths[np.ix_(left, right)].mean()), -i, -j)
            for i, left in enumerate(groups)
            for j, right in enumerate(groups[:i])
            if len(left) + len(right) <= most
        ]
        if not pairs or max(pairs)[0] <= 0.0:
            return sorted(groups)
        _, i, j = max(pairs)
        groups[-j] = sorted(groups[-j] + groups[-i])
        del groups[-i]


def _few(codes: NDArray[np.integer]) -> NDArray[np.int64]:
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(values) <= BINS:
        return np.asarray(places)
    middle = (np.cumsum(counts) - counts / 2) / len(codes)
    return np.asarray(np.unique(np.floor(middle * BINS).astype(np.int64), return_inverse=True)[1][places])


def _cramer(left: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    rows, columns = int(left.max()) + 1, int(right.max()) + 1
    n = len(left)
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    observed = np.bincount(left * columns + right, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / n
    share = max(
        0.0, float((np.square(observed - expected) / expected).sum()) / n - (rows - 1) * (columns - 1) / (n - 1)
    )
    r, c = rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)
    return min(1.0, float(np.sqrt(share / (min(r, c) - 1)))) if min(r, c) > 1 else 0.0
