"""Delta of the truthful operator straight from the definitions: every class size, every outcome, exact fractions."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import comb

Distribution = dict[int, Fraction]


def exponential(epsilon: Fraction) -> Fraction:
    """Return e^epsilon to 80 digits; no tested threshold is nearer to an integer than that."""
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


@cache
def released(n: int, k: int, beta: Fraction) -> Distribution:
    """Return the distribution of the number of copies released of a class of n records."""
    mass = {i: comb(n, i) * beta**i * (1 - beta) ** (n - i) for i in range(n + 1)}
    kept = {i: p for i, p in mass.items() if i >= k}
    kept[0] = kept.get(0, Fraction(0)) + sum((p for i, p in mass.items() if i < k), Fraction(0))
    return kept


def probabilistic(first: Distribution, second: Distribution, factor: Fraction) -> Fraction:
    """Return the larger probability of outcomes whose ratio is outside [1/factor, factor]: [LQS10 Def. 2]."""
    zero = Fraction(0)
    bad = [
        outcome
        for outcome in first.keys() | second.keys()
        if first.get(outcome, zero) > factor * second.get(outcome, zero)
        or second.get(outcome, zero) > factor * first.get(outcome, zero)
    ]
    return max(sum((side.get(outcome, zero) for outcome in bad), zero) for side in (first, second))


def hockey_stick(first: Distribution, second: Distribution, factor: Fraction) -> Fraction:
    """Return the larger of the two hockey-stick divergences."""
    zero = Fraction(0)
    return max(
        sum((max(zero, p - factor * other.get(outcome, zero)) for outcome, p in one.items()), zero)
        for one, other in ((first, second), (second, first))
    )


DIVERGENCES = {"probabilistic": probabilistic, "standard": hockey_stick}


def delta(k: int, beta: Fraction, factor: Fraction, largest_class: int, definition: str) -> Fraction:
    """Return the largest divergence over all classes of 1 .. largest_class records; factor is e^epsilon."""
    divergence = DIVERGENCES[definition]
    return max(divergence(released(n, k, beta), released(n - 1, k, beta), factor) for n in range(1, largest_class + 1))
