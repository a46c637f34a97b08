"""The number of records that trimming takes off for given (epsilon, delta), and back.

The trimming operator shows X = c - M copies of a class of c records if that is at least ``least``, and nothing
otherwise. M = m + L is a whole number, at least 0: L is discrete Laplace, P[L = j] proportional to e^(-epsilon |j|),
conditioned on L >= -m. With r = e^-epsilon,

    P[M = j] = r^|j - m| / Z,    Z = (1 + r - r^(m + 1)) / (1 - r).

**Theorem.** For a scheme chosen without these random bits the operator is (epsilon, delta)-differentially private, add
or remove one record, in the *probabilistic* and in the *standard* sense, for every ``least`` >= 1, with

    delta = P[M = 0] = r^m (1 - r) / (1 + r - r^(m + 1)).

*Proof.* A record changes one class, from c to c + 1 records. To show x copies, least <= x <= c, has the probability
P[M = c - x] against P[M = c + 1 - x]. The distance from m changes by one, so the ratio is r or 1 / r. To show nothing
has the probability P[M > c - least] against P[M > c + 1 - least]: the larger class hides no more often, and less often
by a factor of at most 1 / r, because P[M = j] <= P[M = j + 1] / r for all j >= 0 and hence for the sums of both sides
over j > c - least. What is left is x = c + 1, which only the larger class can show, with the probability P[M = 0] =
delta. So outcomes whose ratio is not within e^-epsilon and e^epsilon have the probability delta from c + 1 records and
0 from c: that is the probabilistic definition, and the standard one follows. No smaller delta will do for either. QED

delta falls with m: in r^m (1 - r) / (1 + r - r^(m + 1)) the numerator falls and the denominator rises.

Compared with the optimal partition selection of Desfontaines, Voss, Gipson and Mandayam (PoPETs 2022) the counts are
shown, and the noise is one-sided: a class never shows more records than it has. Every answer is decided in ball
arithmetic and errs, where it must err, to the side of more privacy.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import Any

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, precisions, rational, round_up, working_precision
from shoal.methods.truthful._worst_case import check_epsilon, check_unit

__all__ = ["exact_delta", "minimal_m", "satisfies"]

LARGEST_M = 1 << 40


def exact_delta(m: int, epsilon: Number) -> float:
    """Return P[M = 0], the smallest delta that trimming by m attains, rounded up.

    Examples
    --------
    >>> f"{exact_delta(12, '0.9'):.3g}"
    '8.61e-06'
    """
    exact = _checked(m, epsilon, "exact_delta")
    with working_precision(STARTING_BITS):
        return min(1.0, round_up(_delta(m, exact)))


def minimal_m(epsilon: Number, delta: Number) -> int:
    """Return the smallest m with P[M = 0] <= delta.

    Examples
    --------
    >>> [minimal_m(epsilon, "1e-6") for epsilon in ("0.1", "0.9", 1, 2)]
    [109, 15, 14, 7]
    """
    owner = "minimal_m"
    exact, wanted = rational(epsilon, "epsilon", owner), rational(delta, "delta", owner)
    check_epsilon(exact, owner)
    check_unit("delta", wanted, owner)
    # delta <= r^m (1 - r), because 1 + r - r^(m + 1) >= 1
    near = (math.log(-math.expm1(-exact)) - math.log(wanted.numerator) + math.log(wanted.denominator)) / exact
    if near > LARGEST_M:
        raise ParameterError(
            f"`epsilon` of `{owner}` is so small that classes would lose more than {LARGEST_M:,} records.",
            hint="values around 1 are common",
        )
    enough = max(0, math.floor(near) + 2)
    return bisect_left(range(enough), True, key=lambda m: _at_most(m, exact, wanted))


def satisfies(*, m: int, epsilon: Number, delta: Number) -> bool:
    """Decide whether trimming by m is certainly (epsilon, delta)-private, in both senses.

    Examples
    --------
    >>> satisfies(m=15, epsilon="0.9", delta="1e-6"), satisfies(m=14, epsilon="0.9", delta="1e-6")
    (True, False)
    """
    exact, wanted = _checked(m, epsilon, "satisfies"), rational(delta, "delta", "satisfies")
    check_unit("delta", wanted, "satisfies")
    return _at_most(m, exact, wanted)


def _at_most(m: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Decide P[M = 0] <= delta; undecided at the highest precision counts as larger."""
    for bits in precisions():
        with working_precision(bits):
            actual, bound = _delta(m, epsilon), ball(delta)
            if actual <= bound:
                return True
            if actual > bound:
                return False
    return False


def _delta(m: int, epsilon: Fraction) -> Any:
    """Return a ball around P[M = 0] at the working precision."""
    ratio = (-ball(epsilon)).exp()
    # 1 - r without cancellation
    rest = -(-ball(epsilon)).expm1()
    return (-ball(epsilon * m)).exp() * rest / (1 + ratio - (-ball(epsilon * (m + 1))).exp())


def _checked(m: int, epsilon: Number, owner: str) -> Fraction:
    exact = rational(epsilon, "epsilon", owner)
    check_epsilon(exact, owner)
    if isinstance(m, bool) or not isinstance(m, int) or not 0 <= m <= LARGEST_M:
        raise ParameterError(f"`m` of `{owner}` must be an integer in [0, {LARGEST_M:,}]; got {m!r}.")
    return exact
