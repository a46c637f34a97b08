"""Privacy loss in whole units, so that a budget can be added up exactly for ever; and what many questions cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from shoal.errors import MissingExtraError, ParameterError, RequirementError
from shoal.exact import STARTING_BITS, Number, ball, positive, rational, round_up, working_precision
from shoal.guarantees import convert_epsilon_to_rho
from shoal.mechanisms import DiscreteGaussian, Laplace
from shoal.policy import in_force

Measure = Literal["epsilon", "zcdp"]
"""What a budget adds up: epsilon, or rho of zero-concentrated differential privacy."""

# of rho as well
EPSILON_UNITS = 10**12
DELTA_UNITS = 10**18
LARGEST_EPSILON = 10**6
# of delta, of which half is used
LEAST_DELTA = 2
# of either part: an epsilon of 10^6, a delta of 1; 64-bit sums of two amounts cannot overflow
LARGEST_UNITS = 10**18
LONGEST = 64
# of numerators and denominators: 64 digits have 213 bits
LARGEST_BITS = 512


@dataclass(frozen=True, slots=True)
class Loss:
    """Epsilon or rho, in units of 10^-12, and delta in units of 10^-18.

    A loss of rho is one of delta-approximate rho-zero-concentrated differential privacy (Bun and Steinke 2016, Def.
    8.1), which Gaussian noise keeps and which adds up as epsilon and delta do (Lemma 8.2). A budget holds one of the
    two; what was computed for epsilon is counted in the other by `concentrated`.

    Amounts are what the user wrote: 0.1 is one tenth, not the binary number nearest to it, so that ten answers of 0.1
    fit into a budget of 1. Amounts between two units are rounded down: never more is spent than was asked for.

    Examples
    --------
    >>> tenth = Loss.of(0.1)
    >>> sum([tenth] * 9, start=tenth) == Loss.of(1)
    True
    >>> Loss.of("1/3").epsilon
    Fraction(333333333333, 1000000000000)
    >>> print(Loss.of("0.1", "1e-6").concentrated())
    rho 0.005, delta 0.000001
    """

    epsilon_units: int = 0
    delta_units: int = 0
    rho_units: int = 0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            units = getattr(self, f"{name}_units")
            if type(units) is not int or not 0 <= units <= LARGEST_UNITS:
                raise ParameterError(f"`{name}_units` of `Loss` must be a whole number in [0, 10^18].")

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0) -> Loss:
        """Return the loss that the user wrote; ``epsilon`` in (0, 10^6], ``delta`` in [0, 1)."""
        exact, extra = written(epsilon, "epsilon"), written(delta, "delta")
        if not 0 < exact <= LARGEST_EPSILON:
            raise ParameterError(f"`epsilon` must be in (0, {LARGEST_EPSILON:,}]; got {epsilon}.")
        if not 0 <= extra < 1:
            raise ParameterError(f"`delta` must be in [0, 1); got {delta}.")
        found = cls(math.floor(exact * EPSILON_UNITS), math.floor(extra * DELTA_UNITS))
        if not found.epsilon_units:
            raise ParameterError(f"`epsilon` must be at least 1e-12; got {epsilon}.")
        return found

    @classmethod
    def of_rho(cls, rho: Number, delta: Number = 0) -> Loss:
        """Return the loss of rho that the user wrote, in (0, 10^6]; ``delta`` in [0, 1)."""
        try:
            found = cls.of(rho, delta)
        except ParameterError as error:
            raise ParameterError([problem.replace("`epsilon`", "`rho`") for problem in error.problems]) from None
        return cls(0, found.delta_units, found.epsilon_units)

    @classmethod
    def within_both(cls, epsilon: Number, delta: Number) -> Loss:
        """Return the budget in rho that keeps (epsilon, delta)-differential privacy.

        Guarantee
        ---------
        Half of delta is left for what has a delta of its own; rho is the largest multiple of 2^-40, rounded down to a
        unit, that the tight conversion (Canonne, Kamath and Steinke 2020, Prop. 12) takes to epsilon and the other
        half, decided in ball arithmetic. What is d-approximately rho-concentrated is (epsilon, d + d')-private where
        what is rho-concentrated is (epsilon, d')-private (Bun and Steinke 2016, Lemma 8.8).

        Examples
        --------
        >>> print(Loss.within_both(1, "1e-6"))
        rho 0.022934338446, delta 0.0000005
        """
        wanted = cls.of(epsilon, delta)
        if wanted.delta_units < LEAST_DELTA:
            raise ParameterError(
                "`delta` must be at least 2e-18 if rho is counted: without a delta, rho implies no epsilon.",
                hint="choose one well below one over the number of records, such as 1e-6",
            )
        from shoal.methods.truthful.gaussian import largest_rho

        half = wanted.delta_units // 2
        rho = math.floor(largest_rho(wanted.epsilon, Fraction(half, DELTA_UNITS)) * EPSILON_UNITS)
        if not rho:
            raise ParameterError(f"`epsilon` is too small for a budget of rho; got {epsilon}.")
        return cls(0, half, rho)

    @classmethod
    def at_least(cls, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Loss:
        """Return the smallest loss in whole units that covers an exact epsilon in (0, 10^6] and delta in [0, 1]."""
        if not 0 < epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"an answer may cost an epsilon of at most {LARGEST_EPSILON:,}; this one would cost more.",
                hint="use a larger `scale`: the cost is sensitivity / scale",
            )
        return cls(math.ceil(epsilon * EPSILON_UNITS), math.ceil(min(delta, Fraction(1)) * DELTA_UNITS))

    @classmethod
    def at_least_rho(cls, rho: Fraction, delta: Fraction = Fraction(0)) -> Loss:
        """Return the smallest loss in whole units that covers an exact rho in (0, 10^6] and delta in [0, 1]."""
        covered = cls.at_least(rho, delta)
        return cls(0, covered.delta_units, covered.epsilon_units)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as an exact number."""
        return Fraction(self.epsilon_units, EPSILON_UNITS)

    @property
    def rho(self) -> Fraction:
        """Rho as an exact number."""
        return Fraction(self.rho_units, EPSILON_UNITS)

    def concentrated(self) -> Loss:
        """Return what a loss of epsilon is as one of rho, rounded up.

        Guarantee
        ---------
        What is (epsilon, delta)-differentially private is delta-approximately rho-concentrated with rho = epsilon^2 / 2
        (Bun and Steinke 2016, Prop. 1.4 and section 8), and with rho = epsilon, since no divergence is above epsilon.
        """
        return Loss(
            0, self.delta_units, self.rho_units + math.ceil(convert_epsilon_to_rho(self.epsilon) * EPSILON_UNITS)
        )

    @property
    def delta(self) -> Fraction:
        """Delta as an exact number."""
        return Fraction(self.delta_units, DELTA_UNITS)

    @property
    def units(self) -> tuple[int, int, int]:
        """The parts: of epsilon, of delta and of rho."""
        return self.epsilon_units, self.delta_units, self.rho_units

    def __add__(self, other: Loss) -> Loss:
        return Loss(*(one + another for one, another in zip(self.units, other.units, strict=True)))

    def __sub__(self, other: Loss) -> Loss:
        """Return what is left, never below 0."""
        return Loss(*(max(one - another, 0) for one, another in zip(self.units, other.units, strict=True)))

    def within(self, budget: Loss) -> bool:
        """Whether all parts fit into a budget."""
        return all(part <= most for part, most in zip(self.units, budget.units, strict=True))

    def check_policy(self) -> None:
        """Refuse a budget that the policy in force does not allow."""
        policy = in_force()
        if policy is None:
            return
        if not self.rho_units or policy.most_epsilon is None:
            policy.check_budget(self.epsilon, self.delta)
        elif not self.within(Loss.within_both(policy.most_epsilon, policy.most_delta)):
            raise RequirementError(f"the policy of {policy.office} does not allow a budget of {self}")

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {amount}" for name, amount in self.amounts().items() if name != "delta" or amount != "0"
        )

    def amounts(self) -> dict[str, str]:
        """Return the parts as exact decimal texts: epsilon, or rho where there is any, and delta."""
        rho, epsilon = _decimal(self.rho_units, 12), _decimal(self.epsilon_units, 12)
        first = {"epsilon": epsilon} if self.epsilon_units or not self.rho_units else {}
        second = {"rho": rho} if self.rho_units else {}
        return first | second | {"delta": _decimal(self.delta_units, 18)}


def budget_of(epsilon: Number, delta: Number, measure: Measure = "epsilon") -> Loss:
    """Return a budget of (epsilon, delta) in the terms in which it is counted."""
    if measure not in get_args(Measure):
        raise ParameterError(f"`measure` of a budget must be 'epsilon' or 'zcdp'; got {measure!r}.")
    return Loss.of(epsilon, delta) if measure == "epsilon" else Loss.within_both(epsilon, delta)


def written(value: Number, name: str) -> Fraction:
    """Return the number that the user wrote, if it is short: amounts come over the network."""
    if len(str(value)) > LONGEST:
        raise ParameterError(f"`{name}` must be a finite number of at most {LONGEST} characters.")
    exact = rational(value, name)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LARGEST_BITS:
        raise ParameterError(f"`{name}` must be 0, or between 1e-150 and 1e150 in size.")
    return exact


def _decimal(units: int, places: int) -> str:
    whole, part = divmod(units, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")


LARGEST_QUESTIONS = 10**6
#: attained epsilons are multiples of this
_STEP = Fraction(1, 10**6)
#: of the privacy losses that numerical accounting tells apart
_GRID = 1e-4


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
        raise ParameterError("the budget is too small for that many questions.")
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
    from shoal.methods.truthful.gaussian import delta_of

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


def of_population(epsilon: Fraction, delta: Fraction, rate: Number) -> tuple[float, Fraction]:
    """Return what a member of the population loses where the table is a secret sample, epsilon rounded up.

    Guarantee
    ---------
    If a record of the population is in the table with a probability of at most ``rate``, independently of all others,
    and what is told of the table is (epsilon, delta)-private, add or remove one record, then it is (ln(1 + rate
    (e^epsilon - 1)), rate delta)-private for the population [LQS10 Thm 1], in the standard sense. Only a total may be
    converted so, once: two releases that are converted apart do not add up.

    Examples
    --------
    >>> of_population(Fraction(1), Fraction(1, 10**6), "0.1")
    (0.15856507874042913, Fraction(1, 10000000))
    """
    share = positive(rate, "rate", "of_population")
    if share > 1:
        raise ParameterError(f"`rate` must be in (0, 1]; got {rate}.")
    with working_precision(STARTING_BITS):
        amplified = min(round_up((ball(share) * ball(epsilon).expm1()).log1p()), round_up(ball(epsilon)))
    return amplified, share * delta


SAMPLED = (
    "all records or persons, whichever the account counts, were drawn independently, with a probability of at most the "
    "rate (households that are drawn whole are not)",
    "nobody outside knows who was drawn",
    "nothing else was released of this sample, with or without differential privacy",
    "the sizes of parts of the sample were not fixed beforehand, as proportional allocation does",
    "the standard definition is meant: a set of outcomes, not each by itself",
)
"""What must hold for `of_population`."""


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
