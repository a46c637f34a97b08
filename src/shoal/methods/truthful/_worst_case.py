"""The worst class: how much one record can show, over every possible class size.

The operator draws X ~ Bin(n, beta) for a class of n records and releases X copies if X >= k, nothing otherwise.
Everything here is about the two distributions of a class of n and of n - 1 records, for all n >= 1 at once.

Notation: f(i; n) is the binomial mass, T(j; n) = P[Bin(n, beta) >= j], gamma = 1 - (1 - beta) e^-epsilon,
beta <= 1 - e^-epsilon. The outcome i >= k has likelihood ratio P_n(i) / P_{n-1}(i) = n (1 - beta) / (n - i), which
exceeds e^epsilon exactly if i > gamma n; the outcome "nothing" has a ratio in [1 - beta, 1]; no ratio is below
1 - beta >= e^-epsilon ([LQS10 Thm 1], seed 002). Both definitions reduce to one number per j >= k:

probabilistic
    d(k) = max_{j >= k} b_j with b_j = T(j; n_j), n_j = ceil(j / gamma) - 1 the largest n with gamma n < j.
    *Proof.* The probability of a bad outcome in a class of n is T(max(k, floor(gamma n) + 1); n). For all n with the
    same threshold j it increases with n, so only the largest such n counts; that is n_j, and thresholds run over
    j >= k. The smaller class of n - 1 records has the smaller tail T(j; n - 1).

standard (hockey-stick)
    d(k) = max_{j >= k} B_j with B_j = T(j; m_j) - e^epsilon T(j; m_j - 1), m_j = max(j, ceil((j - 1) / gamma)).
    *Proof.* Ratios increase with i >= k, so sum_i max(0, P_n(i) - e^epsilon P_{n-1}(i)) = max_{j >= k} g(j, n) with
    g(j, n) = T(j; n) - e^epsilon T(j; n - 1); outcomes of ratio at most e^epsilon add nothing. Exchange the maxima
    over n and j. From T(j; n + 1) = T(j; n) + beta f(j - 1; n) follows
    g(j, n + 1) - g(j, n) = beta f(j - 1; n - 1) (n (1 - beta) / (n - j + 1) - e^epsilon) for n >= j,
    which is positive exactly if gamma n < j - 1: g(j, .) rises up to m_j and falls after it. The other direction,
    P_{n-1} over P_n, is 0 because no ratio is below e^-epsilon.
    As a sum, B_j = sum_{i >= j} f(i; n) (1 - (n - i) / ((1 - gamma) n)) at n = m_j, all terms positive.

tail of j
    b_j and B_j are at most exp(-j c), c = ln(gamma / beta) - epsilon (1 - gamma) / gamma > 0.
    *Proof.* Both are at most T(j; n) for an n < j / gamma. Chernoff: T(j; n) <= exp(-n KL(j/n || beta)), whose
    exponent has the derivative -ln((1 - j/n) / (1 - beta)) > 0 in n while beta n < j, so it is at most its value at
    n = j / gamma; and KL(gamma || beta) / gamma = c because (1 - gamma) / (1 - beta) = e^-epsilon.

So the maximum over infinitely many n is a maximum over finitely many j, d is monotone in k by its form, and b_j does
not depend on k or delta. Successive terms of a tail have a ratio of at most beta e^-epsilon / gamma <= 1/2, so a tail
costs at most as many terms as the bits wanted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, precisions, rational, round_up, working_precision

Definition = Literal["probabilistic", "standard"]

# At epsilon = 40 the threshold k is about 10^18; class sizes beyond 64 bits are of no use to anybody.
LARGEST_EPSILON = 40
FLOAT_BITS = 60  # accuracy from which on rounding to a float, not the ball's radius, decides the last digit


@dataclass(slots=True)
class WorstCase:
    """The numbers b_j or B_j of one (beta, epsilon), evaluated in ball arithmetic and kept.

    Assumes 0 < beta <= 1 - e^-epsilon; `permits` decides it.
    """

    beta: Fraction
    epsilon: Fraction
    definition: Definition
    _known: dict[tuple[int, int], Any] = field(default_factory=dict)
    _constants: dict[int, _Constants] = field(default_factory=dict)

    def minimal_k(self, delta: Fraction) -> int:
        """Return the smallest k such that every number from k on is certainly at most ``delta``."""
        j = self._horizon(delta)
        while j > 1 and self.is_at_most(j - 1, delta):
            j -= 1
        return j

    def permits(self, k: int, delta: Fraction) -> bool:
        """Decide whether every number from ``k`` on is certainly at most ``delta``."""
        return all(self.is_at_most(j, delta) for j in range(k, self._horizon(delta)))

    def maximum(self, k: int) -> float:
        """Return the maximum of all numbers from ``k`` on, rounded up."""
        for bits in precisions():
            with working_precision(bits):
                worst, j = self._number(k, bits), k + 1
                if worst.rel_accuracy_bits() < FLOAT_BITS:
                    continue
                rate = self._at(bits).rate
                while not (-rate * j).exp() <= worst:
                    worst = worst.max(self._number(j, bits))
                    j += 1
                return round_up(worst)
        return 1.0

    def is_at_most(self, j: int, delta: Fraction) -> bool:
        """Decide the j-th number against ``delta``; undecided at the highest precision counts as larger."""
        for bits in precisions():
            with working_precision(bits):
                number, bound = self._number(j, bits), ball(delta)
                if number <= bound:
                    return True
                if number > bound:
                    return False
        return False

    def _horizon(self, delta: Fraction) -> int:
        """Return a j >= 1 from which on exp(-j c) <= delta, so that nothing has to be computed."""
        with working_precision(STARTING_BITS):
            bound = -ball(delta).log() / self._at(STARTING_BITS).rate
            return max(1, _integer(bound.upper().ceil()))

    def _number(self, j: int, bits: int) -> Any:
        """Return a ball that holds b_j or B_j; the working precision is ``bits``."""
        if (j, bits) not in self._known:
            constants = self._at(bits)
            numbers = [constants.tail(j, n, self.definition) for n in self._class_sizes(j)]
            number = numbers[0]
            for other in numbers[1:]:
                number = number.max(other)
            self._known[j, bits] = number
        return self._known[j, bits]

    def _class_sizes(self, j: int) -> list[int]:
        """Return n_j or m_j: one value, or both neighbours where gamma n cannot be told from an integer.

        For rational beta and epsilon gamma is transcendental (Lindemann), so enough bits always give one value;
        where the highest precision is not enough the maximum over the candidates errs to the larger delta.
        """
        probabilistic = self.definition == "probabilistic"
        sizes: list[int] = []
        for bits in precisions():
            with working_precision(bits):
                quotient = (j if probabilistic else j - 1) / self._at(bits).gamma
                ceilings = range(_integer(quotient.lower().ceil()), _integer(quotient.upper().ceil()) + 1)
            sizes = [n - 1 if probabilistic else max(j, n) for n in ceilings]
            if len(sizes) == 1:
                break
        return sizes

    def _at(self, bits: int) -> _Constants:
        if bits not in self._constants:
            self._constants[bits] = _Constants.of(self.beta, self.epsilon)
        return self._constants[bits]


@dataclass(frozen=True, slots=True)
class _Constants:
    """What all tails of one (beta, epsilon) share, as balls of the working precision."""

    beta: Any
    gamma: Any
    rest: Any  # 1 - gamma, without cancellation
    odds: Any
    rate: Any

    @classmethod
    def of(cls, beta: Fraction, epsilon: Fraction) -> _Constants:
        b, e = ball(beta), ball(epsilon)
        rest = (1 - b) * (-e).exp()
        gamma = 1 - rest
        # ln(gamma / beta) as log1p of (gamma - beta) / beta, gamma - beta = (1 - beta)(1 - e^-epsilon).
        rate = ((1 - b) * -(-e).expm1() / b).log1p() - e * rest / gamma
        return cls(beta=b, gamma=gamma, rest=rest, odds=b / (1 - b), rate=rate)

    def tail(self, j: int, n: int, definition: Definition) -> Any:
        """Sum f(i; n) w(i) over i >= j with w = 1, or w(i) = 1 - (n - i) / ((1 - gamma) n)."""
        from flint import arb, ctx

        negligible = arb(2) ** -ctx.prec
        loss = 0 if definition == "probabilistic" else 1 / (self.rest * n)
        total, term, i = arb(0), arb(1), j
        while i <= n and not term <= negligible:
            total += term - term * loss * (n - i) if loss else term
            term = term * (self.odds * (n - i)) / (i + 1)
            i += 1
        # Terms halve (nearly so where n is the upper of two candidates), so the rest is below thrice its first term.
        total += arb(0, 3 * term.upper())
        return arb.bin_uiui(n, j) * self.beta**j * (1 - self.beta) ** (n - j) * total


def permits(beta: Fraction, epsilon: Fraction) -> bool:
    """Decide beta <= 1 - e^-epsilon, the condition of [LQS10 Thm 1]; undecided counts as violated."""
    for bits in precisions():
        with working_precision(bits):
            difference = 1 - (-ball(epsilon)).exp() - ball(beta)
            if difference >= 0:
                return True
            if difference < 0:
                return False
    return False


def worst_case(k: int, beta: Number, epsilon: Number, definition: Definition, owner: str) -> WorstCase:
    """Check the parameters and return the worst case they stand for."""
    rate, exact = rational(beta, "beta", owner), rational(epsilon, "epsilon", owner)
    check_unit("beta", rate, owner)
    check_epsilon(exact, owner)
    check_k(k, owner)
    check_definition(definition, owner)
    if not permits(rate, exact):
        raise ParameterError(
            f"`beta` of `{owner}` must be at most 1 - exp(-epsilon) = {-math.expm1(-exact):.6g}; got {float(rate)!r}.",
            hint="sample less, or use a larger epsilon",
        )
    return WorstCase(rate, exact, definition)


def check_unit(name: str, value: Fraction, owner: str) -> None:
    if not 0 < value < 1:
        raise ParameterError(f"`{name}` of `{owner}` must be in (0, 1); got {float(value)!r}.")


def check_epsilon(epsilon: Fraction, owner: str) -> None:
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"`epsilon` of `{owner}` must be in (0, {LARGEST_EPSILON}]; got {float(epsilon)!r}.",
            hint="values around 1 are common",
        )


def check_k(k: int, owner: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"`k` of `{owner}` must be an integer of at least 1; got {k!r}.")


def check_definition(definition: Definition, owner: str) -> None:
    if definition not in get_args(Definition):
        raise ParameterError(f"`definition` of `{owner}` must be 'probabilistic' or 'standard'; got {definition!r}.")


def _integer(value: Any) -> int:
    return int(value.unique_fmpz())
