"""The grid that noise lives on: whole multiples of one step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shoal.exact import Number, positive, rational

__all__ = ["Grid"]


@dataclass(frozen=True, slots=True, init=False)
class Grid:
    """The numbers 0, +-step, +-2 step, ...

    Noise is drawn as a whole number of steps, by integer arithmetic, so no low-order bits of a float can betray the
    true answer (Mironov, "On significance of the least significant bits", 2012).

    Parameters
    ----------
    step : number, above 0
        A float means what it prints: 0.1 is one tenth.

    Examples
    --------
    >>> grid = Grid("0.01")
    >>> grid.steps("3.14159"), grid.value(314), grid.span("0.025")
    (314, 3.14, 3)
    """

    step: Fraction

    def __init__(self, step: Number) -> None:
        object.__setattr__(self, "step", positive(step, "step", "Grid"))

    def steps(self, value: Number) -> int:
        """Return the multiple nearest to ``value``, halves upwards.

        floor(x + 1/2) commutes with whole shifts and is monotone, so two values that differ by at most
        ``sensitivity`` become multiples that differ by at most ``span(sensitivity)``.
        """
        return math.floor(rational(value, "value", "Grid") / self.step + Fraction(1, 2))

    def holds(self, value: Number) -> bool:
        """Return whether ``value`` is a multiple of the step."""
        return (rational(value, "value", "Grid") / self.step).denominator == 1

    def value(self, steps: int) -> int | float:
        """Return the number at a multiple of the step: an int on whole grids, else the nearest float."""
        exact = steps * self.step
        return int(exact) if self.step.denominator == 1 else float(exact)

    def span(self, sensitivity: Number) -> int:
        """Return the sensitivity in whole steps, rounded up."""
        return math.ceil(rational(sensitivity, "sensitivity", "Grid") / self.step)
