"""What every mechanism states about itself, and the grid that noise lives on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from shoal.errors import ParameterError
from shoal.exact import Number, positive, rational

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
