"""Randomised response: everybody hides their own answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import Number, positive
from shoal.mechanisms._coins import bernoulli_exponential
from shoal.mechanisms._mechanism import Neighbours
from shoal.mechanisms._random import SYSTEM, RandomSource


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse:
    """Tell the truth with probability e^epsilon / (e^epsilon + c - 1), else one of the other c - 1 values.

    Parameters
    ----------
    values
        All values that anybody can have, two or more; declared, never read off the data.
    epsilon : number, above 0
        The privacy cost of one response.

    Guarantee
    ---------
    epsilon-differential privacy for each response by itself, against everybody who sees it (local model; neighbours
    replace the value): the probability of an output is p for its own value and p e^-epsilon for every other, so the
    ratio is at most e^epsilon.

    Assumptions
    -----------
    Sampling is exact. Running time is not protected.

    Notes
    -----
    A value is proposed uniformly; the truth is accepted at once, another with probability exp(-epsilon), else a new
    one is proposed. About c / (1 + (c - 1) e^-epsilon) proposals are expected.

    Examples
    --------
    >>> mechanism = RandomizedResponse(("yes", "no"), epsilon=1)
    >>> round(mechanism.truth, 4)
    0.7311
    >>> mechanism.release("yes") in ("yes", "no")
    True
    >>> mechanism.privacy_map(1)
    Fraction(1, 1)
    """

    values: tuple[str, ...]
    epsilon: Fraction

    def __init__(self, values: tuple[str, ...], *, epsilon: Number) -> None:
        if len(values) < 2 or len(set(values)) != len(values):
            raise ParameterError("`values` of `RandomizedResponse` must be two or more different values.")
        object.__setattr__(self, "values", tuple(values))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon", "RandomizedResponse"))

    @property
    def domain(self) -> str:
        """What goes in."""
        return f"one of {len(self.values)} values"

    @property
    def neighbours(self) -> Neighbours:
        """The neighbour relation of the guarantee."""
        return "replace"

    @property
    def truth(self) -> float:
        """The probability of the true value."""
        return 1 / (1 + (len(self.values) - 1) * math.exp(-float(self.epsilon)))

    def privacy_map(self, changes: int) -> Fraction:
        """Return the epsilon between two inputs that differ in so many responses."""
        return self.epsilon * changes

    def release(self, value: str, *, source: RandomSource = SYSTEM) -> str:
        """Return a response. A source other than the system's is for tests."""
        if value not in self.values:
            raise ParameterError("`value` of `RandomizedResponse` must be one of its `values`.")
        while True:
            proposed = self.values[source.below(len(self.values))]
            if proposed == value or bernoulli_exponential(self.epsilon, source=source):
                return proposed

    def estimate(self, responses: Mapping[str, int]) -> dict[str, float]:
        """Return unbiased estimates of how many people have each value, from how many responded it.

        E[responses of v] = q n + (p - q) n_v with p = `truth`, q = (1 - p) / (c - 1).
        """
        q = (1 - self.truth) / (len(self.values) - 1)
        everybody = sum(responses.get(value, 0) for value in self.values)
        return {value: (responses.get(value, 0) - q * everybody) / (self.truth - q) for value in self.values}
