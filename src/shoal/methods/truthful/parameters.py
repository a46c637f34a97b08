"""Sampling rate beta and threshold k for given (epsilon, delta), and back.

The truthful operator samples every record with probability beta, generalises by a scheme that does not depend on
the sample, and suppresses every tuple that appears fewer than k times. `parameters` gives the (beta, k) that make
it (epsilon, delta)-differentially private; `exact_delta`, `minimal_k` and `minimal_epsilon` are the three
directions one by one; `satisfies` is the question that a verifier asks. The derivation is in
`shoal.methods.truthful._worst_case` and, to be read, in ``docs/explanation/truthful-parameters.md``.

Every answer is decided in ball arithmetic and errs, where it must err, to the side of more privacy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, fraction, rational, round_up, working_precision
from shoal.methods.truthful._worst_case import (
    LARGEST_EPSILON,
    Definition,
    WorstCase,
    check_definition,
    check_epsilon,
    check_k,
    check_unit,
    permits,
    worst_case,
)

__all__ = [
    "Definition",
    "Parameters",
    "UncertainPrivacy",
    "chernoff_delta",
    "compose",
    "exact_delta",
    "minimal_epsilon",
    "minimal_k",
    "parameters",
    "sampling_rate",
    "satisfies",
    "smoothness",
]

SAMPLER_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A sampling rate and a threshold, with the promise they keep."""

    #: Exactly what was asked for.
    epsilon: Fraction
    #: Exactly what was asked for.
    delta: Fraction
    #: The rate at which the sampler really samples, a multiple of 2^-64.
    beta: Fraction
    #: Tuples that appear fewer times in the sample are suppressed.
    k: int
    #: The smallest delta that (k, beta, epsilon) attains, rounded up to a float.
    exact_delta: float
    #: What (epsilon, delta) means, see `parameters`.
    definition: Definition = "probabilistic"

    def __post_init__(self) -> None:
        owner = "Parameters"
        for name in ("epsilon", "delta", "beta"):
            object.__setattr__(self, name, rational(getattr(self, name), name, owner))
        check_epsilon(self.epsilon, owner)
        check_unit("delta", self.delta, owner)
        check_unit("beta", self.beta, owner)
        check_k(self.k, owner)
        check_definition(self.definition, owner)

    def hold(self) -> bool:
        """Decide anew, from (k, beta, epsilon, delta) alone, whether the promise is kept."""
        return satisfies(k=self.k, beta=self.beta, epsilon=self.epsilon, delta=self.delta, definition=self.definition)


def parameters(epsilon: Number, delta: Number, *, definition: Definition = "probabilistic") -> Parameters:
    """Return the largest sampling rate and the smallest threshold that keep (epsilon, delta).

    Parameters
    ----------
    epsilon : number in (0, 40]
        A float means what it prints: 0.1 is one tenth.
    delta : number in (0, 1)
    definition
        "probabilistic": with probability at least 1 - delta the output's probability changes by at most a factor
        e^epsilon when a record is added or removed. "standard": P[S] <= e^epsilon P'[S] + delta for every set S of
        outputs; weaker, so its k is smaller.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy of sampling with probability beta, generalising, and suppressing below k,
    for add/remove neighbours and any scheme chosen without the sample: [LQS10 Thm 1] (seed 002) = [Bild24 Thm 3]
    (seed 003). beta = floor((1 - e^-epsilon) 2^64) / 2^64 and k = min{k : d(k, beta, epsilon) <= delta}, with d
    evaluated at that very beta.

    Assumptions
    -----------
    Each record is sampled independently with probability exactly beta (`shoal.mechanisms.binomial`).

    Notes
    -----
    d(k, beta, epsilon) falls with k and with epsilon, but for the probabilistic definition *not* with beta: a
    slightly smaller beta can need a larger k. O(log(1/delta)) tails of O(128) terms; well under a millisecond.

    Examples
    --------
    >>> found = parameters(1, "1e-6")
    >>> found.k, float(found.beta), found.exact_delta
    (74, 0.6321205588285577, 8.994780812377257e-07)
    >>> parameters(1, "1e-6", definition="standard").k
    58
    """
    exact_epsilon, beta = rational(epsilon, "epsilon", "parameters"), sampling_rate(epsilon)
    wanted = rational(delta, "delta", "parameters")
    check_unit("delta", wanted, "parameters")
    check_definition(definition, "parameters")
    case = WorstCase(beta, exact_epsilon, definition)
    k = case.minimal_k(wanted)
    return Parameters(
        epsilon=exact_epsilon,
        delta=wanted,
        beta=beta,
        k=k,
        exact_delta=case.maximum(k),
        definition=definition,
    )


def sampling_rate(epsilon: Number) -> Fraction:
    """Return the largest multiple of 2^-64 that is at most 1 - e^-epsilon and below 1.

    Examples
    --------
    >>> rate = sampling_rate(1)
    >>> rate.denominator <= 2**64, float(rate)
    (True, 0.6321205588285577)
    """
    exact = rational(epsilon, "epsilon", "sampling_rate")
    check_epsilon(exact, "sampling_rate")
    with working_precision(STARTING_BITS):
        steps = ((1 - (-ball(exact)).exp()) * 2**SAMPLER_BITS).lower().floor()
        beta = Fraction(int(steps.unique_fmpz()), 2**SAMPLER_BITS)
    if beta <= 0:
        raise ParameterError(
            f"`epsilon` of `sampling_rate` must be at least 2^-63; got {float(exact)!r}.",
            hint="with so small an epsilon no record is ever sampled",
        )
    return beta


def exact_delta(k: int, beta: Number, epsilon: Number, *, definition: Definition = "probabilistic") -> float:
    """Return d(k, beta, epsilon), the smallest delta that these parameters attain, rounded up.

    Examples
    --------
    >>> f"{exact_delta(75, '0.632', 1):.4g}"  # [Bild24 7.3]
    '8.897e-07'
    """
    return worst_case(k, beta, epsilon, definition, "exact_delta").maximum(k)


def minimal_k(beta: Number, epsilon: Number, delta: Number, *, definition: Definition = "probabilistic") -> int:
    """Return the smallest threshold k with d(k, beta, epsilon) <= delta.

    Every larger k keeps the promise too: d is a maximum over all j >= k.

    Examples
    --------
    >>> minimal_k("0.2", "0.5", "1e-6")
    25
    """
    wanted = rational(delta, "delta", "minimal_k")
    check_unit("delta", wanted, "minimal_k")
    return worst_case(1, beta, epsilon, definition, "minimal_k").minimal_k(wanted)


def minimal_epsilon(k: int, beta: Number, delta: Number, *, definition: Definition = "probabilistic") -> float:
    """Return the smallest float epsilon >= -ln(1 - beta) with d(k, beta, epsilon) <= delta.

    The answer is certified; the float before it is not (d falls with epsilon, [Bild24 Thm 11]).

    Raises
    ------
    ParameterError
        If no epsilon will do: a class of exactly k records is released whole with probability beta^k > delta.

    Examples
    --------
    >>> epsilon = minimal_epsilon(75, "0.632", "1e-6")
    >>> satisfies(k=75, beta="0.632", epsilon=epsilon, delta="1e-6")
    True
    """
    owner = "minimal_epsilon"
    rate, wanted = rational(beta, "beta", owner), rational(delta, "delta", owner)
    check_unit("beta", rate, owner)
    check_unit("delta", wanted, owner)
    check_k(k, owner)
    check_definition(definition, owner)

    def enough(epsilon: float) -> bool:
        exact = fraction(epsilon)
        return permits(rate, exact) and WorstCase(rate, exact, definition).permits(k, wanted)

    if not enough(LARGEST_EPSILON):
        raise ParameterError(
            f"`delta` of `{owner}` must be above what k = {k} and beta = {float(rate):.6g} attain at "
            f"epsilon = {LARGEST_EPSILON}; got {float(wanted)!r}.",
            hint="raise k or lower beta: a class of k records is sampled whole with probability beta^k",
        )
    too_small, large_enough = 0.0, float(LARGEST_EPSILON)
    while (middle := (too_small + large_enough) / 2) not in (too_small, large_enough):
        if enough(middle):
            large_enough = middle
        else:
            too_small = middle
    return large_enough


def satisfies(
    *, k: int, beta: Number, epsilon: Number, delta: Number, definition: Definition = "probabilistic"
) -> bool:
    """Decide whether sampling at ``beta`` and suppressing below ``k`` is certainly (epsilon, delta)-private.

    False where beta > 1 - e^-epsilon: [LQS10 Thm 1] says nothing there.

    Examples
    --------
    >>> satisfies(k=74, beta=sampling_rate(1), epsilon=1, delta="1e-6")
    True
    >>> satisfies(k=73, beta=sampling_rate(1), epsilon=1, delta="1e-6")
    False
    """
    owner = "satisfies"
    rate, exact = rational(beta, "beta", owner), rational(epsilon, "epsilon", owner)
    wanted = rational(delta, "delta", owner)
    check_unit("beta", rate, owner)
    check_unit("delta", wanted, owner)
    check_epsilon(exact, owner)
    check_k(k, owner)
    check_definition(definition, owner)
    return permits(rate, exact) and WorstCase(rate, exact, definition).permits(k, wanted)


def smoothness(
    k: int, beta: Number, epsilons: Iterable[Number], *, definition: Definition = "probabilistic"
) -> list[float]:
    """Return the curve epsilon' -> d(k, beta, epsilon'), each value rounded up.

    The operator keeps all these pairs at once: a worse breach of epsilon is less likely [Bild24 Thm 11].

    Examples
    --------
    >>> ["%.1e" % delta for delta in smoothness(75, sampling_rate(1), [1, "1.5", 2])]
    ['9.0e-07', '1.1e-09', '1.5e-11']
    """
    return [worst_case(k, beta, epsilon, definition, "smoothness").maximum(k) for epsilon in epsilons]


def chernoff_delta(k: int, beta: Number, epsilon: Number) -> float:
    """Return the Chernoff bound of [LQS10 Thm 6] on d(k, beta, epsilon), rounded up.

    exp(-k (ln(gamma / beta) - (gamma - beta) / gamma)), gamma = 1 - (1 - beta) e^-epsilon. Its ratio at epsilon' =
    z epsilon to epsilon is the function f of f-smooth (epsilon, delta)-privacy. Far above `exact_delta`; it is
    here for comparison and for proofs.

    Notes
    -----
    The seed's proof replaces n_m = ceil(k / gamma) - 1 by k / gamma, which is larger. The bound holds all the
    same: Chernoff at the threshold j gives T(j; n) <= exp(-(j ln(j / (beta n)) - j + beta n)), which increases
    with n up to n = j / beta; put n = j / gamma, then j = k.

    Examples
    --------
    >>> round(chernoff_delta(75, "0.632", 1), 4)
    0.0359
    """
    case = worst_case(k, beta, epsilon, "probabilistic", "chernoff_delta")
    with working_precision(STARTING_BITS):
        b = ball(case.beta)
        gamma = 1 - (1 - b) * (-ball(case.epsilon)).exp()
        return min(1.0, round_up((-k * ((gamma / b).log() - (gamma - b) / gamma)).exp()))


# -- what an algorithm promises when its input is sampled first


@dataclass(frozen=True, slots=True, init=False)
class UncertainPrivacy:
    """(beta, epsilon, delta)-UDP: sampling with probability beta, then the algorithm, is (epsilon, delta)-private.

    Guarantee
    ---------
    [LQS10 Def. 4] (seed 002), add/remove neighbours.

    Examples
    --------
    >>> laplace = UncertainPrivacy(beta=1, epsilon=1, delta=0)
    >>> round(float(laplace.sampled_at("0.1").epsilon), 4)
    0.1586
    """

    #: 1 says that the algorithm is (epsilon, delta)-differentially private without sampling.
    beta: Fraction
    epsilon: Fraction
    delta: Fraction
    definition: Definition

    def __init__(self, *, beta: Number, epsilon: Number, delta: Number, definition: Definition = "standard") -> None:
        owner = "UncertainPrivacy"
        for name, value in (("beta", beta), ("epsilon", epsilon), ("delta", delta)):
            object.__setattr__(self, name, rational(value, name, owner))
        object.__setattr__(self, "definition", definition)
        for name, fits, interval in (
            ("beta", 0 < self.beta <= 1, "(0, 1]"),
            ("epsilon", self.epsilon >= 0, "[0, infinity)"),
            ("delta", 0 <= self.delta < 1, "[0, 1)"),
        ):
            if not fits:
                value = float(getattr(self, name))
                raise ParameterError(f"`{name}` of `{owner}` must be in {interval}; got {value!r}.")
        check_definition(definition, owner)

    def sampled_at(self, beta: Number) -> UncertainPrivacy:
        """Return what the same algorithm promises at the smaller sampling rate ``beta``: amplification.

        With b = beta / self.beta: epsilon' = ln(1 + b (e^epsilon - 1)), rounded up, and delta' = b delta.

        Guarantee
        ---------
        For delta = 0 [LQS10 Thm 3]. The seed leaves delta > 0 open; for the standard definition it holds as
        follows. Let X be the output on the sampled rest and Y the output on the sampled rest with the record. By
        convexity Y(S) <= e^epsilon X(S) + delta and X(S) <= e^epsilon Y(S) + delta. The output with the record in
        the data is Z = (1 - b) X + b Y, hence Z(S) <= (1 + b (e^epsilon - 1)) X(S) + b delta. In the other
        direction Z >= (1 - b) X + b e^-epsilon (X - delta), so X <= (Z + b e^-epsilon delta) / (1 - b (1 -
        e^-epsilon)) <= e^epsilon' Z + b delta, because (1 - b (1 - e^-epsilon)) (1 + b (e^epsilon - 1)) >= 1 and 1
        - b (1 - e^-epsilon) >= e^-epsilon.

        Raises
        ------
        ParameterError
            If ``beta`` is larger than the present rate, or delta > 0 under the probabilistic definition, where
            nothing is proved.
        """
        rate = rational(beta, "beta", "sampled_at")
        if not 0 < rate <= self.beta:
            raise ParameterError(f"`beta` of `sampled_at` must be in (0, {float(self.beta)!r}]; got {float(rate)!r}.")
        if self.definition == "probabilistic" and self.delta > 0:
            raise ParameterError(
                f"`delta` of `sampled_at` must be 0 under the probabilistic definition; got {float(self.delta)!r}.",
                hint="use definition='standard', or compute the parameters at the smaller rate",
            )
        share = rate / self.beta
        with working_precision(STARTING_BITS):
            amplified = (ball(share) * ball(self.epsilon).expm1()).log1p()
            epsilon = min(fraction(round_up(amplified)), self.epsilon)
        return UncertainPrivacy(beta=rate, epsilon=epsilon, delta=share * self.delta, definition=self.definition)


def compose(*parts: UncertainPrivacy) -> UncertainPrivacy:
    """Return what running all parts promises, *each on a fresh sample of its own*: epsilons and deltas add.

    Guarantee
    ---------
    [LQS10 Thm 2] (seed 002) for independent samples. The seed's Definition 4 would let the parts share one sample;
    its proof then fails, and so does the statement: two releases of one sample by different schemes can be
    subtracted to show a single record (see docs/explanation/truthful-parameters.md).

    Examples
    --------
    >>> part = UncertainPrivacy(beta="0.5", epsilon="0.25", delta="1e-7")
    >>> both = compose(part, part)
    >>> float(both.epsilon), float(both.delta)
    (0.5, 2e-07)
    """
    if not parts:
        raise ParameterError("`parts` of `compose` must hold at least one guarantee; got none.")
    if len({(part.beta, part.definition) for part in parts}) > 1:
        raise ParameterError(
            "`parts` of `compose` must have one sampling rate and one definition; got several.",
            hint="bring them to the smallest rate with `sampled_at`",
        )
    return UncertainPrivacy(
        beta=parts[0].beta,
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=sum((part.delta for part in parts), Fraction(0)),
        definition=parts[0].definition,
    )
