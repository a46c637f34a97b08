"""Singling out: does the release help to describe a person whom nobody else resembles?"""

from __future__ import annotations

import numpy as np

from shoal.errors import ParameterError
from shoal.risk._attack import Attack, Rate
from shoal.risk._axes import Axis
from shoal.risk._boxes import Boxes, Codes, totals_in
from shoal.risk._pair import Pair

__all__ = ["singling_out"]

_QUESTION = "Does a description taken from the release fit exactly one person of the original table?"


def singling_out(pair: Pair, *, attempts: int = 1000, subsets: int = 20, seed: int = 0) -> Attack:
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
    subsets
        The number of random sets of columns that they are spread over.
    seed
        Of the draws.

    Notes
    -----
    The first of the three questions of the EU's Article 29 Working Party (Opinion 05/2014), as asked by Giomi et al.
    (2022). A description that is rare enough isolates one person by luck with a chance of up to 1/e, which is why the
    baseline matters (Cohen and Nissim 2020).
    """
    if attempts < 1 or subsets < 1:
        raise ParameterError("`attempts` and `subsets` of `singling_out` must be at least 1.")
    generator = np.random.default_rng(seed)
    columns = len(pair.axes)
    each = -(-attempts // subsets)
    right = lucky = made = 0
    for _ in range(min(subsets, attempts)):
        size = int(generator.integers(min(2, columns), columns + 1))
        chosen = sorted(generator.choice(columns, size=size, replace=False).tolist())
        small = pair.only(chosen)
        if not len(small.released):
            break
        number = min(each, attempts - made)
        chances = small.released.counts / small.released.records
        rows = generator.choice(len(chances), size=(number, 1), p=chances)
        mixed = generator.choice(len(chances), size=(number, size), p=chances)
        right += _isolating(small, np.repeat(rows, size, axis=1))
        lucky += _isolating(small, mixed)
        made += number
    return Attack(name="singling out", question=_QUESTION, success=Rate.of(right, made), baseline=Rate.of(lucky, made))


def _isolating(pair: Pair, rows: np.typing.NDArray[np.int64]) -> int:
    """Count the descriptions, one row per column each, that fit exactly one original record."""
    low, high = np.empty(rows.shape, dtype=np.int32), np.empty(rows.shape, dtype=np.int32)
    for column, axis in enumerate(pair.axes):
        low[:, column], high[:, column] = _condition(
            axis, pair.released.low[rows[:, column], column], pair.released.high[rows[:, column], column]
        )
    described = Boxes(low=low, high=high, counts=np.ones(len(rows), dtype=np.int64))
    return int(np.count_nonzero(totals_in(described, pair.original.low, pair.original.counts) == 1))


def _condition(axis: Axis, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    if not axis.perturbed or axis.places is None:
        return low, high
    known = np.flatnonzero(np.isfinite(axis.places[: axis.leaves]))
    known = known[np.argsort(axis.places[known], kind="stable")]
    places = axis.places[known]
    if np.any(np.diff(known) != 1):  # the leaves are not in the order of their places: no range says "at least"
        return low, high
    value = axis.places[low]
    rank = np.searchsorted(places, value)
    above = rank >= len(places) / 2
    first = known[0] + np.where(above, rank, 0)
    last = known[0] + np.where(above, len(places), np.searchsorted(places, value, side="right")) - 1
    exact = (low < axis.leaves) | ~np.isfinite(value)
    return np.where(exact, low, first).astype(np.int32), np.where(exact, high, last).astype(np.int32)
