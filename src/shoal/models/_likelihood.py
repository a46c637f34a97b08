"""Likelihood ratios: how much more or less frequent a sensitive value is in a class than in the release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.exact import Quantity
from shoal.models._ratios import Ratios, arithmetic
from shoal.models._rows import Rows
from shoal.tables import Counts, Mask

__all__ = ["complete", "distance", "likelihood_ratios", "within"]


def likelihood_ratios(rows: Rows, totals: Counts, records: int) -> Ratios:
    """Return p / q = c N / (Q e) for every value present in a row.

    A row has e records, c of them with the value; the release has N = ``records``, Q of them with the value.
    """
    kind = arithmetic(int(rows.sizes.max(initial=0)) * records)
    sizes = np.repeat(rows.sizes.astype(kind), rows.lengths)
    return Ratios(rows.counts.astype(kind) * records, totals[rows.codes].astype(kind) * sizes)


def complete(rows: Rows, totals: Counts) -> Mask:
    """Return the rows in which no value of the release is missing."""
    return np.asarray(rows.lengths == np.count_nonzero(totals))


def within(rows: Rows, factor: Fraction) -> Mask:
    """Return the rows with ``1 / factor <= p / q <= factor`` for every value of the release, exactly."""
    totals = rows.totals()
    verdict = complete(rows, totals)
    if verdict.any():
        chosen = rows.select(verdict)
        ratios = likelihood_ratios(chosen, totals, rows.records)
        inside = ratios.at_most(factor) & ratios.at_least(1 / factor)
        verdict[verdict] = np.logical_and.reduceat(inside, chosen.starts)
    return verdict


def distance(rows: Rows) -> Quantity:
    """Return the greatest ``max(p / q, q / p)`` over all rows and values; infinite if a row misses a value."""
    totals = rows.totals()
    if not complete(rows, totals).all():
        return float("inf")
    ratios = likelihood_ratios(rows, totals, rows.records)
    return max(Fraction(ratios.largest()), 1 / Fraction(ratios.smallest()))
