"""What many questions cost, counted in epsilon and in rho, before any of them is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import MissingExtraError, ParameterError
from shoal.exact import Number
from shoal.mechanisms import DiscreteGaussian, Laplace
from shoal.methods.truthful.gaussian import delta_of
from shoal.queries._loss import Loss, Measure, budget_of

LARGEST_QUESTIONS = 10**6
#: attained epsilons are multiples of this
_STEP = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """How well counts can be answered within a budget."""

    #: What is added up.
    measure: Measure
    #: What each of them may cost.
    each: Loss
    #: The standard deviation of the noise.
    deviation: float
    #: The true count is within so much of the answer, with a confidence of 95 %.
    margin: float


def prospects(questions: int, epsilon: Number, delta: Number) -> tuple[Prospect, Prospect]:
    """Return how well so many counts of everybody can be answered, with either way of counting.

    Examples
    --------
    >>> pure, concentrated = prospects(1000, 1, "1e-6")
    >>> round(pure.deviation), round(concentrated.deviation)
    (1414, 148)
    """
    if type(questions) is not int or not 1 <= questions <= LARGEST_QUESTIONS:
        raise ParameterError(f"`questions` must be a whole number from 1 to {LARGEST_QUESTIONS:,}; got {questions!r}.")
    pure, rho = Loss.of(epsilon, delta), budget_of(epsilon, delta, "zcdp")
    one, other = Loss(pure.epsilon_units // questions), Loss(rho_units=rho.rho_units // questions)
    if not one.epsilon_units or not other.rho_units:
        raise ParameterError("the budget is too small for so many questions.")
    laplace = Laplace(sensitivity=1, epsilon=one.epsilon)
    gaussian = DiscreteGaussian(sensitivity=1, rho=other.rho)
    return (
        Prospect(measure="epsilon", each=one, deviation=math.sqrt(laplace.variance), margin=laplace.interval()),
        Prospect(measure="zcdp", each=other, deviation=math.sqrt(gaussian.variance), margin=gaussian.interval()),
    )


def attained_epsilon(spent: Loss, delta: Fraction) -> Fraction | None:
    """Return an epsilon that a loss of rho keeps at a delta, rounded up to a millionth; None where there is none.

    Examples
    --------
    >>> attained_epsilon(Loss.within_both(1, "1e-6"), Fraction(1, 10**6)) <= 1
    True
    """
    rest = delta - spent.delta
    if rest <= 0:
        return None
    if not spent.rho_units:
        return Fraction(0)
    enough = 1
    while delta_of(spent.rho, enough * _STEP) > rest:
        enough *= 2
    too_little = enough // 2
    while enough - too_little > 1:
        middle = (enough + too_little) // 2
        if delta_of(spent.rho, middle * _STEP) <= rest:
            enough = middle
        else:
            too_little = middle
    return enough * _STEP


def numeric_epsilon(spendings: Iterable[Loss], delta: Fraction) -> float:
    """Return the epsilon that numerical accounting gives for independent spendings: a report, not a promise.

    Every loss of rho is taken for one Gaussian answer, every other one for the worst mechanism that is (epsilon,
    delta)-private, and all of them for answers about the same person. The package dp-accounting composes their privacy
    loss distributions, pessimistically but in floating point.
    """
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise MissingExtraError("dp-accounting", extra="accounting") from None
    composed = privacy_loss_distribution.identity()
    for loss, times in Counter(spendings).items():
        if loss.rho_units:
            deviation = math.sqrt(1 / (2 * loss.rho))
            one = privacy_loss_distribution.from_gaussian_mechanism(deviation, value_discretization_interval=_GRID)
        else:
            worst = common.DifferentialPrivacyParameters(float(loss.epsilon), float(loss.delta))
            one = privacy_loss_distribution.from_privacy_parameters(worst, value_discretization_interval=_GRID)
        composed = composed.compose(one.self_compose(times))
    return float(composed.get_epsilon_for_delta(float(delta)))


_GRID = 1e-4
