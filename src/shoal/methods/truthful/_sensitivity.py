"""How much one record can change a score, from what a certificate says: the score's name, the operator, the columns."""

from __future__ import annotations

import math
from fractions import Fraction

from shoal.methods.truthful._survival import SCALE, surviving_classes, surviving_records

__all__ = ["sensitivity_range"]


def sensitivity_range(score: str, *, beta: Fraction, k: int, columns: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest sensitivity that a score can have, whatever the weights of the columns.

    Qualities are rounded down once per column, so that their sum is less than ``columns`` units below the scale
    [`shoal.methods.truthful._scores`]; of the scores of [Bild24] the sensitivity is a formula [`_paper_scores`].

    Examples
    --------
    >>> low, high = sensitivity_range("granularity", beta=Fraction(1, 2), k=50, columns=4)
    >>> float(high / SCALE**2), high - low == 4 * 1.75 * SCALE
    (1.75, True)
    """
    if score in ("granularity", "intensity", "classification"):
        step = surviving_records(beta, k).step
        return Fraction(step * (SCALE - (0 if score == "classification" else columns))), Fraction(step * SCALE)
    if score == "group-size":
        # these steps are probabilities in floating point, which another machine may round to the next unit
        step = surviving_classes(beta, k).step
        return Fraction(max(step - 1, 1) * SCALE), Fraction((step + 1) * SCALE)
    terms = {"discernibility": 1, "non-uniform-entropy": columns}[score]
    threshold = max(2, math.ceil(k / beta))
    exact = terms * (Fraction(threshold**2, threshold - 1) + 1) + Fraction(terms**2, 2**22)
    return exact, exact
