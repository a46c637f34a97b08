"""Singling out: does the release help to describe a person whom nobody else resembles?"""

from __future__ import annotations

import numpy as np

from shoal.errors import ParameterError
from shoal.risk._attack import Attack, Rate
from shoal.risk._axes import Axis
from shoal.risk._boxes import Index, Rows
from shoal.risk._pair import Pair

__all__ = ["singling_out"]

_QUESTION = "Does a description taken from the release fit exactly one person of the original table?"


def singling_out(pair: Pair, *, attempts: int = 1000, seed: int = 0) -> Attack:
    """Describe people by what the release says of single records, and count how often one person fits.

    A description is what a released record says in a random set of at least two columns: "between 20 and 24, from
    0012*, with diagnosis N17". It succeeds if exactly one original record fits it. The baseline takes the values of
    each column from another released record, so that it knows the columns but no record. In a column that was perturbed
    a description says "at least" or "at most" the released value, whichever is nearer to its end of the column.

    Parameters
    ----------
    pair
        A table and its release.
    attempts
        The number of descriptions.
    seed
        Of the draws.

    Notes
    -----
    The first of the three questions of the EU's Article 29 Working Party (Opinion 05/2014), as asked by Giomi et al.
    (2022). A description that is rare enough isolates one person by luck with a chance of up to 1/e, which is why the
    baseline matters (Cohen and Nissim 2020).
    """
    if attempts < 1:
        raise ParameterError(f"`attempts` of `singling_out` must be at least 1; got {attempts}.")
    generator = np.random.default_rng(seed)
    released, columns = pair.released, len(pair.axes)
    if not len(released):
        return _attack(0, 0, 0)
    index = Index(pair.original.low, pair.original.counts)
    chances = np.cumsum(released.counts)
    right = lucky = 0
    for _ in range(attempts):
        size = int(generator.integers(min(2, columns), columns + 1))
        chosen = sorted(generator.choice(columns, size=size, replace=False).tolist())
        rows = np.searchsorted(chances, generator.integers(released.records, size=size + 1), side="right")
        right += _isolates(pair, index, chosen, np.repeat(rows[:1], size))
        lucky += _isolates(pair, index, chosen, rows[1:])
    return _attack(right, lucky, attempts)


def _attack(right: int, lucky: int, attempts: int) -> Attack:
    return Attack(
        name="singling out", question=_QUESTION, success=Rate.of(right, attempts), baseline=Rate.of(lucky, attempts)
    )


def _isolates(pair: Pair, index: Index, columns: list[int], rows: Rows) -> bool:
    """Return whether what the released ``rows`` say, one per column, fits exactly one original record."""
    low, high = pair.released.low[rows, columns], pair.released.high[rows, columns]
    for position, column in enumerate(columns):
        if pair.axes[column].perturbed:
            low[position], high[position] = _condition(pair.axes[column], int(low[position]), int(high[position]))
    return index.records(columns, low, high) == 1


def _condition(axis: Axis, low: int, high: int) -> tuple[int, int]:
    """Return the leaves that are at least, or at most, a released value that is no leaf."""
    if axis.places is None or low < axis.leaves or not np.isfinite(axis.places[low]):
        return low, high
    known = np.flatnonzero(np.isfinite(axis.places[: axis.leaves]))
    places = axis.places[known]
    if np.any(np.diff(places) < 0) or np.any(np.diff(known) != 1):  # then no range of leaves says "at least"
        return low, high
    below = int(np.searchsorted(places, axis.places[low]))
    first = int(known[0])
    return (first + below, first + len(known) - 1) if below >= len(places) / 2 else (first, first + below - 1)
