"""Many tables of one set of records: trimming with Gaussian noise, and what all of it promises together.

A record is in one class of every table, so the noise of many tables composes; Gaussian noise composes best. The
operator is that of `shoal.methods.truthful.trimming` with another distribution: a class of c records shows X = c - M
copies if that is at least ``least``, and nothing otherwise. M = m + G is a whole number, at least 0: G is discrete
Gaussian, P[G = g] proportional to phi(g) = e^(-g^2 / 2v), conditioned on G >= -m.

**Lemma 1** (one table). Between c and c + 1 records of one class, *unless M = 0* for the larger class, which has the
probability beta = phi(m) / sum over g >= -m of phi(g), the Renyi divergences of all whole orders a >= 2 are, in both
directions, at most a rho with rho = 1 / (2v). That holds for the number X itself, below zero as it may be, and so for
everything that is made of it: records, or a count of a class that has none to show.

*Proof.* Showing nothing below ``least`` is a function of X, which no divergence grows under; so compare X. From c
records G = c - m - X is distributed as phi on g >= -m. From c + 1 records, M = 0 excluded, the same number c - m - X =
G - 1 has phi(g + 1) on g >= -m. With T(i) = sum over j >= i of phi(j) the normalisers are T(-m) and T(-m + 1). Complete
the square in phi(g)^a phi(g + 1)^(1 - a), and in the other order: for a whole number a the sums over g are again tails
of phi, and the moments exp((a - 1) D_a) are

    exp(a (a - 1) / 2v)  times  T(-m - a + 1) T(-m + 1)^(a - 1) / T(-m)^a,   or   T(-m + a) T(-m)^(a - 1) / T(-m + 1)^a.

Both fractions are at most 1 because T is log-concave on the integers: -m is a weighted mean of -m - a + 1 and -m + 1
with the weights 1 / a and 1 - 1 / a, and -m + 1 one of -m + a and -m, with the same weights. T is log-concave since
T(i)^2 - T(i - 1) T(i + 1) = sum over j >= i of (phi(j) phi(i) - phi(j + 1) phi(i - 1)), and no term is negative,
because phi is log-concave. QED

**Lemma 2** (a choice). The exponential mechanism that is e-differentially private has D_a <= a e^2 / 8 for all a > 1.

*Proof* (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021). The logarithm L of the ratio of probabilities is rate
a_i minus a constant, and lies in an interval of length e. K(a) = log E'[e^(a L)] has K(0) = K(1) = 0 and K'' <= e^2 /
4, the largest variance of a number in such an interval, under every tilt. So a^2 e^2 / 8 - K(a) is convex, hence at
a > 1 at least its linear extrapolation from 0 and 1, which is a e^2 / 8: K(a) = (a - 1) D_a <= a (a - 1) e^2 / 8. QED

**Theorem.** t tables, each of which may depend on what the ones before it showed, with sums rho of all numbers 1 / (2v)
and e^2 / 8 and beta of all numbers beta, are (epsilon, beta + delta')-differentially private (add or remove one record,
the standard definition), for every epsilon and every whole order a >= 2 with

    delta' = exp((a - 1) (a rho - epsilon)) / a  times  (1 - 1 / a)^(a - 1).

*Proof.* Call a run on the larger table bad if M = 0 for the record's class in any table. Let Q be the run on the larger
table in which M is drawn on the condition M > 0 wherever it counts the record's class, everything else as before. Q is
not P' on the condition that the run is not bad: where a choice decides how likely M = 0 is in a later table, that
condition would make some choices likelier. But step by step the probability of a run that is not bad is that of Q times
the product of all (1 - beta_i), with the beta_i of the tables on its path, whose sum is at most beta. So

    (1 - beta) Q[S] <= P'[S and not bad] <= Q[S],   and   P'[bad] <= beta, with S all there is.

Each step of Q has divergences of order a of at most a rho_i from that of the smaller table, in both directions; they
add up, also for adaptive steps (Mironov 2017, Prop. 1), hence Q[S] <= e^epsilon P[S] + delta' and P[S] <= e^epsilon
Q[S] + delta' (Canonne, Kamath and Steinke 2020, Prop. 12). First, P'[S] <= P'[bad] + P'[S and not bad] <= beta + Q[S].
Second, P[S] = beta P[S] + (1 - beta) P[S] <= beta + e^epsilon (1 - beta) Q[S] + (1 - beta) delta', and
(1 - beta) Q[S] <= P'[S]. QED

All of it is decided in ball arithmetic, and errs to the side of more privacy.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, ball, round_up, working_precision

__all__ = ["attained", "delta_of", "largest_rho", "lost", "minimal_m", "satisfies"]

LARGEST_ORDER = 4096
LARGEST_M = 1 << 40
_RHO_BITS = 40


def lost(m: int, variance: Fraction) -> float:
    """Return an upper bound of P[M = 0], rounded up.

    The sum over g >= 0 of phi is at least its integral from 0, and that over 1 <= g <= m at least the one from 1 to
    m + 1.

    Examples
    --------
    >>> f"{lost(90, Fraction(400)):.2g}"
    '8.2e-07'
    """
    with working_precision(STARTING_BITS):
        return round_up(_lost(m, variance))


def minimal_m(variance: Fraction, delta: Fraction) -> int:
    """Return the smallest m for which P[M = 0] is certainly at most delta."""
    # phi(m) <= delta is enough, since the sum is at least phi(0) = 1
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    enough = math.isqrt(math.ceil(-2 * variance * Fraction(log_delta))) + 1
    if enough > LARGEST_M:
        raise ParameterError(
            f"`epsilon` is so small that classes would lose more than {LARGEST_M:,} records.",
            hint="values around 1 are common",
        )
    return bisect_left(range(enough), True, key=lambda m: _at_most(partial(_lost, m, variance), delta))


def delta_of(rho: Fraction, epsilon: Fraction) -> float:
    """Return delta' at the order that makes it smallest, rounded up.

    Examples
    --------
    >>> f"{delta_of(Fraction(1, 40), Fraction(1)):.2g}"
    '1.3e-06'
    """
    with working_precision(STARTING_BITS):
        return min(1.0, round_up(_converted(_order(rho, epsilon), rho, epsilon)))


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest multiple of 2^-40 whose delta' is certainly at most delta."""

    def too_much(steps: int) -> bool:
        rho = Fraction(steps, 2**_RHO_BITS)
        return not _at_most(partial(_converted, _order(rho, epsilon), rho, epsilon), delta)

    enough = bisect_left(range(1, math.ceil(epsilon * 2**_RHO_BITS)), True, key=too_much)
    if not enough:
        raise ParameterError(f"epsilon = {float(epsilon):.3g} is too small for so many tables.")
    return Fraction(enough, 2**_RHO_BITS)


def satisfies(*, rho: Fraction, tables: Sequence[tuple[int, Fraction]], epsilon: Fraction, delta: Fraction) -> bool:
    """Decide whether tables trimmed by (m, variance), which lose rho in all, are certainly (epsilon, delta)-private."""
    return _at_most(lambda: _total(rho, tables, epsilon), delta)


def attained(rho: Fraction, tables: Sequence[tuple[int, Fraction]], epsilon: Fraction) -> float:
    """Return a delta that such tables attain, rounded up."""
    with working_precision(STARTING_BITS):
        return min(1.0, round_up(_total(rho, tables, epsilon)))


def _total(rho: Fraction, tables: Sequence[tuple[int, Fraction]], epsilon: Fraction) -> Any:
    kinds = Counter(tables)
    return sum(
        (number * _lost(m, variance) for (m, variance), number in kinds.items()),
        start=_converted(_order(rho, epsilon), rho, epsilon),
    )


def _at_most(quantity: Callable[[], Any], bound: Fraction) -> bool:
    """Decide whether a quantity is certainly at most a bound."""
    with working_precision(STARTING_BITS):
        return bool(quantity() <= ball(bound))


def _order(rho: Fraction, epsilon: Fraction) -> int:
    """Return a whole order at which delta' is about as small as it can be; any will do for the proof."""
    near = math.floor((float(epsilon / rho) + 1) / 2)
    orders = {min(max(2, near + step), LARGEST_ORDER) for step in (-1, 0, 1, 2)}
    return min(orders, key=lambda order: (order - 1) * (order * rho - epsilon) - math.log(order))


def _converted(order: int, rho: Fraction, epsilon: Fraction) -> Any:
    exponent = (order - 1) * (order * rho - epsilon)
    return ball(exponent).exp() / order * ball(Fraction(order - 1, order)) ** (order - 1)


def _lost(m: int, variance: Fraction) -> Any:
    """Return a ball whose upper end is at least P[M = 0]; see `lost`."""
    root = ball(2 * variance).sqrt()
    # the integral of phi from 0 to x is sqrt(pi v / 2) erf(x / sqrt(2 v)), 4 atan(1) is pi
    half = (ball(variance / 2) * 4 * ball(1).atan()).sqrt()
    integrals = half * (1 + (ball(m + 1) / root).erf() - (1 / root).erf())
    return (-ball(m * m / (2 * variance))).exp() / integrals
