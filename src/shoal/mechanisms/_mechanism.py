"""The interface of mechanisms, the grid that noise lies on, and groups of records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from shoal.errors import ParameterError
from shoal.exact import STARTING_BITS, Number, ball, enclosures, positive, rational, round_up, working_precision

Neighbours = Literal["add/remove", "replace"]


@runtime_checkable
class Mechanism(Protocol):
    """A random answer with a proof: a value that knows what goes in, who neighbours are, and what a change costs.

    ``release`` or ``select`` draws from it, exactly, with the operating system's random bits unless told otherwise.

    Examples
    --------
    >>> from shoal.mechanisms import Laplace
    >>> mechanism = Laplace(sensitivity=1, epsilon="0.5")
    >>> isinstance(mechanism, Mechanism), mechanism.domain, mechanism.neighbours
    (True, 'numbers, rounded to multiples of 1', 'add/remove')
    """

    @property
    def domain(self) -> str:
        """What goes in, in words."""
        ...

    @property
    def neighbours(self) -> str:
        """Which inputs must not be told apart."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """What one release costs between neighbours."""
        ...

    def privacy_map(self, distance: Any, /) -> Fraction | tuple[Fraction, Fraction]:
        """Return the epsilon, or epsilon and delta, between two inputs that are so far apart."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class NoiseGrid:
    """The numbers 0, +-step, +-2 step, ...

    Noise is drawn as a whole number of steps, by integer arithmetic, so no low-order bits of a float can betray the
    true answer (Mironov, "On significance of the least significant bits", 2012).

    Examples
    --------
    >>> grid = NoiseGrid("0.01")
    >>> grid.steps("3.14159"), grid.value(314), grid.span("0.025")
    (314, 3.14, 3)
    """

    #: A float means what it prints: 0.1 is one tenth.
    step: Fraction

    def __init__(self, step: Number) -> None:
        object.__setattr__(self, "step", positive(step, "step", "NoiseGrid"))

    def steps(self, value: Number) -> int:
        """Return the multiple nearest to ``value``, halves upwards.

        floor(x + 1/2) commutes with whole shifts and is monotone, so two values that differ by at most
        ``sensitivity`` become multiples that differ by at most ``span(sensitivity)``.
        """
        return math.floor(rational(value, "value", "NoiseGrid") / self.step + Fraction(1, 2))

    def holds(self, value: Number) -> bool:
        """Return whether ``value`` is a multiple of the step."""
        return (rational(value, "value", "NoiseGrid") / self.step).denominator == 1

    def value(self, steps: int) -> int | float:
        """Return the number at a multiple of the step: an int on whole grids, else the nearest float."""
        exact = steps * self.step
        return int(exact) if self.step.denominator == 1 else float(exact)

    def span(self, sensitivity: Number) -> int:
        """Return the sensitivity in whole steps, rounded up."""
        return math.ceil(rational(sensitivity, "sensitivity", "NoiseGrid") / self.step)


def check_neighbours(neighbours: str, owner: str) -> None:
    """Refuse a neighbour relation that does not exist."""
    if neighbours not in get_args(Neighbours):
        raise ParameterError(f"`neighbours` of `{owner}` must be 'add/remove' or 'replace'; got {neighbours!r}.")


def record_delta(epsilon: Fraction, delta: Fraction, records: int) -> Fraction:
    """Return the delta that a record may have where a person with so many records has (epsilon, delta): never more.

    Guarantee
    ---------
    **Lemma.** If a mechanism is (e, d)-differentially private for neighbours that differ by one record, it is
    (r e, d (e^(r e) - 1) / (e^e - 1))-private for tables that differ by r records. *Proof.* Let D = D_0, ..., D_r = D'
    differ by one record each. P_i[S] <= e^e P_(i+1)[S] + d, applied r times, gives P_0[S] <= e^(r e) P_r[S] + d (1 +
    e^e + ... + e^((r-1) e)). QED

    So a person with at most r records is promised (epsilon, delta) where a record is promised

        (epsilon / r, delta (e^(epsilon / r) - 1) / (e^epsilon - 1)).

    This is the *standard* definition. Of the *probabilistic* one, where outcomes whose ratio is too large have the
    probability delta together, the lemma is not known to hold: the bad outcomes of D_i and D_(i+1) have a small
    probability for D_i, and nothing is said of it for D_0.

    The records of a person are drawn before (`shoal.tables.at_most`). Draw the same for everybody else in both tables;
    what is left then differs by at most r records, and both sides of the inequality are averages over such pairs of
    draws: it holds for the averages as well. (Of the probabilistic definition it would not follow either.)

    Examples
    --------
    >>> record_delta(Fraction(1), Fraction(1, 10), 1)
    Fraction(1, 10)
    >>> round(float(record_delta(Fraction(1), Fraction(1, 10), 2)), 6)  # 0.1 (e^0.5 - 1) / (e - 1)
    0.037754
    """
    if records == 1 or not delta:
        return delta
    lower, _ = next(enclosures(lambda: ball(delta) / _factor(epsilon, records)))
    return lower


def person_delta(epsilon: Fraction, delta: float, records: int) -> float:
    """Return the delta of a person with so many records, where a record has (epsilon / records, delta): never less.

    Examples
    --------
    >>> person_delta(Fraction(1), 0.1, 1)
    0.1
    >>> round(person_delta(Fraction(1), 0.1, 2), 6)
    0.264872
    """
    if records == 1:
        return delta
    with working_precision(STARTING_BITS):
        return min(1.0, round_up(ball(Fraction(delta)) * _factor(epsilon, records)))


def _factor(epsilon: Fraction, records: int) -> Any:
    """Return a ball around (e^epsilon - 1) / (e^(epsilon / records) - 1)."""
    return ball(epsilon).expm1() / ball(epsilon / records).expm1()
