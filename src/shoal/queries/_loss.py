"""Privacy loss in whole units, so that a budget can be added up exactly for ever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import Number, rational

__all__ = ["Loss", "written"]

EPSILON_UNITS = 10**12
DELTA_UNITS = 10**18
LARGEST_EPSILON = 10**6
# of either part: an epsilon of 10^6, a delta of 1; 64-bit sums of two amounts cannot overflow
LARGEST_UNITS = 10**18
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Loss:
    """A pair (epsilon, delta), in units of 10^-12 and 10^-18.

    Amounts are what the user wrote: 0.1 is one tenth, not the binary number nearest to it, so that ten answers of 0.1
    fit into a budget of 1. Amounts between two units are rounded down: never more is spent than was asked for.

    Examples
    --------
    >>> tenth = Loss.of(0.1)
    >>> sum([tenth] * 9, start=tenth) == Loss.of(1)
    True
    >>> Loss.of("1/3").epsilon
    Fraction(333333333333, 1000000000000)
    """

    epsilon_units: int = 0
    delta_units: int = 0

    def __post_init__(self) -> None:
        for name, units in (("epsilon", self.epsilon_units), ("delta", self.delta_units)):
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
    def at_least(cls, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Loss:
        """Return the smallest loss in whole units that covers an exact epsilon in (0, 10^6] and delta in [0, 1]."""
        if not 0 < epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"an answer must cost an epsilon in (0, {LARGEST_EPSILON:,}]; this one would cost more.",
                hint="use a larger `scale`: the cost is sensitivity / scale",
            )
        return cls(math.ceil(epsilon * EPSILON_UNITS), math.ceil(min(delta, Fraction(1)) * DELTA_UNITS))

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as an exact number."""
        return Fraction(self.epsilon_units, EPSILON_UNITS)

    @property
    def delta(self) -> Fraction:
        """Delta as an exact number."""
        return Fraction(self.delta_units, DELTA_UNITS)

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon_units + other.epsilon_units, self.delta_units + other.delta_units)

    def __sub__(self, other: Loss) -> Loss:
        """Return what is left, never below 0."""
        return Loss(max(self.epsilon_units - other.epsilon_units, 0), max(self.delta_units - other.delta_units, 0))

    def within(self, budget: Loss) -> bool:
        """Whether both parts fit into a budget."""
        return self.epsilon_units <= budget.epsilon_units and self.delta_units <= budget.delta_units

    def __str__(self) -> str:
        epsilon = f"epsilon {_decimal(self.epsilon_units, 12)}"
        return f"{epsilon}, delta {_decimal(self.delta_units, 18)}" if self.delta_units else epsilon


def written(value: Number, name: str) -> Fraction:
    """Return the number that the user wrote, if it is short: amounts come over the network."""
    if len(str(value)) > LONGEST:
        raise ParameterError(f"`{name}` must be a finite number of at most {LONGEST} characters.")
    return rational(value, name)


def _decimal(units: int, places: int) -> str:
    whole, part = divmod(units, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
