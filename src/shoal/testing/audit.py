"""Audit: a lower bound on the epsilon of a mechanism, from running it.

A proof bounds epsilon from above; an audit bounds it from below. If the lower bound exceeds what a mechanism
claims, the mechanism is broken (at the stated confidence); if not, nothing is proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from shoal.errors import ParameterError

__all__ = ["Audit", "audit", "clopper_pearson"]

Input = TypeVar("Input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit."""

    #: The mechanism is not (epsilon', delta)-differentially private for any epsilon' < epsilon, with ``confidence``.
    epsilon: float
    #: What was granted to the mechanism.
    delta: float
    #: Probability that the statement is true, over the mechanism's coins.
    confidence: float
    #: Runs on each input that count; as many again chose the event.
    trials: int
    #: How often the event occurred among the trials, on the input that makes it likely and on the other.
    likely: int
    unlikely: int
    #: Whether the second input is the one that makes the event likely.
    reversed: bool
    #: The outcomes that form the event; only with outcomes of neighbouring toy inputs should it be shown.
    event: frozenset[Hashable]

    def refutes(self, epsilon: float) -> bool:
        """Whether the audit refutes (epsilon, delta)-differential privacy."""
        return self.epsilon > epsilon


def audit(
    mechanism: Callable[[Input], Hashable],
    first: Input,
    second: Input,
    *,
    delta: float = 0.0,
    trials: int = 10_000,
    confidence: float = 0.999,
) -> Audit:
    """Bound from below the epsilon of ``mechanism`` on the neighbours ``first`` and ``second``.

    Parameters
    ----------
    mechanism
        Takes an input, draws fresh coins at every call and returns a hashable outcome. To audit one given event,
        return whether it occurred; to audit a rich output, return the feature of it that should leak.
    first, second
        Neighbouring inputs, chosen to be bad for the mechanism.
    delta : number in [0, 1)
    trials : int, at least 1
        Runs on each input to choose an event, and again as many to measure it.
    confidence : number in (0, 1)

    Guarantee
    ---------
    If the mechanism is (e, delta)-differentially private, the result exceeds e with probability at most 1 -
    confidence. The event S and its direction are chosen on the first half of the runs only: the outcomes most
    typical of one input. On the second half the counts of S are binomial, so with a = (1 - confidence) / 2 the
    Clopper-Pearson bounds hold: P_likely(S) >= p and P_unlikely(S) <= q, each but with probability a. Then p <=
    e^e q + delta, that is e >= ln((p - delta) / q). The standard definition is meant; the probabilistic one
    implies it.

    Assumptions
    -----------
    Runs are independent. Cost: 4 ``trials`` runs.

    Examples
    --------
    >>> audit(lambda records: len(records), [1, 2], [1, 2, 3], trials=1000).refutes(4)
    True
    """
    _check(delta, trials, confidence)
    chosen = [Counter(mechanism(data) for _ in range(trials)) for data in (first, second)]
    event, is_reversed = _most_telling_event(chosen[0], chosen[1], delta, trials, confidence)
    likely_input, unlikely_input = (second, first) if is_reversed else (first, second)
    likely = sum(mechanism(likely_input) in event for _ in range(trials))
    unlikely = sum(mechanism(unlikely_input) in event for _ in range(trials))
    return Audit(
        epsilon=max(0.0, _log_ratio(likely, unlikely, delta, trials, confidence)),
        delta=delta,
        confidence=confidence,
        trials=trials,
        likely=likely,
        unlikely=unlikely,
        reversed=is_reversed,
        event=event,
    )


def clopper_pearson(successes: int, trials: int, *, error: float) -> tuple[float, float]:
    """Return one-sided bounds (lower, upper) on a probability, each wrong with probability at most ``error``.

    The lower bound is the p with P[Bin(trials, p) >= successes] = error, the upper bound the p with P[Bin(trials,
    p) <= successes] = error, found by bisection in ball arithmetic and rounded outwards.

    Examples
    --------
    >>> lower, upper = clopper_pearson(0, 100, error=0.05)
    >>> lower, round(upper, 5)
    (0.0, 0.02951)
    """
    if not (0 <= successes <= trials and 0 < error < 0.5):
        raise ParameterError(
            f"`clopper_pearson` needs 0 <= successes <= trials and an error in (0, 0.5); "
            f"got {successes!r} of {trials!r} and {error!r}."
        )
    # By symmetry; the subtraction rounds by at most half a float, so one float up is outwards.
    upper = math.nextafter(1 - _lower_bound(trials - successes, trials, error), 2.0)
    return _lower_bound(successes, trials, error), min(1.0, upper)


def _most_telling_event(
    first: Counter[Hashable], second: Counter[Hashable], delta: float, trials: int, confidence: float
) -> tuple[frozenset[Hashable], bool]:
    """Choose the event, and the direction, whose bound would be best if the counts came out the same again.

    Candidates are the sets {outcome : ratio of counts >= r}: no other sets are optimal for the true probabilities
    (Neyman and Pearson).
    """
    best: tuple[float, frozenset[Hashable], bool] = (-math.inf, frozenset(), False)
    for is_reversed in (False, True):
        likely, unlikely = (second, first) if is_reversed else (first, second)
        ranked = sorted(likely, key=lambda outcome: (unlikely[outcome] / likely[outcome], -likely[outcome]))
        p = q = 0
        for size, outcome in enumerate(ranked, start=1):
            p, q = p + likely[outcome], q + unlikely[outcome]
            # A quick bound in the manner of Clopper-Pearson; only the choice depends on it, not the validity.
            quick = _quick_log_ratio(p / trials, q / trials, delta, trials, confidence)
            if quick > best[0]:
                best = (quick, frozenset(ranked[:size]), is_reversed)
    return best[1], best[2]


def _quick_log_ratio(p: float, q: float, delta: float, trials: int, confidence: float) -> float:
    evidence = math.log(2 / (1 - confidence)) / trials
    p_low = p - math.sqrt(2 * p * (1 - p) * evidence) - evidence
    q_high = q + math.sqrt(2 * q * (1 - q) * evidence) + evidence
    return math.log((p_low - delta) / q_high) if p_low > delta else -math.inf


def _log_ratio(likely: int, unlikely: int, delta: float, trials: int, confidence: float) -> float:
    error = (1 - confidence) / 2
    p, _ = clopper_pearson(likely, trials, error=error)
    _, q = clopper_pearson(unlikely, trials, error=error)
    return math.log((p - delta) / q) if p > delta else 0.0


def _lower_bound(successes: int, trials: int, error: float) -> float:
    """Return the largest float p that certainly has P[Bin(trials, p) >= successes] <= error."""
    certain, beyond = 0.0, 1.0
    while successes > 0 and (middle := (certain + beyond) / 2) not in (certain, beyond):
        if _tail_is_at_most(error, successes, trials, middle):
            certain = middle
        else:
            beyond = middle
    return certain


def _tail_is_at_most(error: float, successes: int, trials: int, p: float) -> bool:
    """Decide P[Bin(trials, p) >= successes] <= error; an error of 1/2 or more is never asked for."""
    from flint import arb

    from shoal.exact import STARTING_BITS, working_precision

    if successes <= math.floor(trials * p):
        return False  # not above the median, so the tail is at least 1/2
    with working_precision(STARTING_BITS):
        chance = arb(p)
        odds = chance / (1 - chance)
        total, term, i = arb(0), arb(1), successes
        while i <= trials and term > 1e-30:
            total += term
            term *= odds * (trials - i) / (i + 1)
            i += 1
        # Beyond i the ratio of terms falls, so the rest is below a geometric series.
        ratio = odds * (trials - i) / (i + 1)
        rest = term / (1 - ratio) if i <= trials else arb(0)
        mass = arb.bin_uiui(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)
        return bool(mass * (total + rest) <= error)


def _check(delta: float, trials: int, confidence: float) -> None:
    if not 0 <= delta < 1:
        raise ParameterError(f"`delta` of `audit` must be in [0, 1); got {delta!r}.")
    if trials < 1:
        raise ParameterError(f"`trials` of `audit` must be at least 1; got {trials!r}.")
    if not 0 < confidence < 1:
        raise ParameterError(f"`confidence` of `audit` must be in (0, 1); got {confidence!r}.")
