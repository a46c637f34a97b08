"""What all selection mechanisms share: parameters, their meaning, their cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from numpy.typing import ArrayLike

from shoal.errors import ParameterError
from shoal.exact import Number, positive, rational
from shoal.mechanisms._random import SYSTEM, RandomSource

__all__ = ["Neighbours", "Selection"]

Neighbours = Literal["add/remove", "replace"]


@dataclass(frozen=True, slots=True, init=False)
class Selection(ABC):
    """Choose one of many candidates by their scores, privately.

    Parameters
    ----------
    epsilon : number, above 0
        The privacy cost of one selection. A float means what it prints: 0.1 is one tenth.
    sensitivity : number, above 0
        Delta: a bound on the change of every score between neighbours, all read as they print. If the scores are
        float sums, add a bound on their rounding error.
    monotone
        Whether adding a record never lowers (or never raises) any score. The exponent may then be twice as large.
    neighbours : "add/remove" or "replace"
        The neighbour relation that the sensitivity is about.
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool
    neighbours: Neighbours

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number,
        monotone: bool = False,
        neighbours: Neighbours = "add/remove",
    ) -> None:
        owner = type(self).__name__
        for name, value in (("epsilon", epsilon), ("sensitivity", sensitivity)):
            object.__setattr__(self, name, positive(value, name, owner))
        if neighbours not in get_args(Neighbours):
            raise ParameterError(f"`neighbours` of `{owner}` must be 'add/remove' or 'replace'; got {neighbours!r}.")
        if monotone and neighbours == "replace":
            raise ParameterError(
                f"`monotone` of `{owner}` must be False for neighbours that replace a record; got True.",
                hint="a replaced record is one removed and one added, so scores may move both ways",
            )
        object.__setattr__(self, "monotone", monotone)
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def domain(self) -> str:
        """What goes in."""
        return "one score per candidate; the candidates do not depend on the data"

    @property
    def rate(self) -> Fraction:
        """The factor of the scores in the exponent: epsilon / Delta if monotone, else epsilon / (2 Delta)."""
        return self.epsilon / self.sensitivity / (1 if self.monotone else 2)

    def privacy_map(self, distance: Number) -> Fraction:
        """Return the epsilon between two inputs whose scores differ by at most ``distance`` each."""
        return self.epsilon * abs(rational(distance, "distance", type(self).__name__)) / self.sensitivity

    def cost(self, selections: int = 1) -> Fraction:
        """Return the epsilon spent on so many selections, whatever each learnt from those before; delta is 0."""
        return self.epsilon * selections

    @abstractmethod
    def select(self, scores: ArrayLike | Sequence[Number], *, source: RandomSource = SYSTEM) -> int:
        """Return the position of one candidate."""
